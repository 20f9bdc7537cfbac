/* The program's modules are replaced by the stand-in, so that no MPI is needed here. */
#include "dist/comm/mpi_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "dist/comm/mpi_calls.h"
#include "test.h"

static unsigned char bytes[1 << 20];
static size_t n_bytes;
static const size_t n_few = 100;
static bool is_memory_refused;

const struct mpi_module mpi_module_list[] = {
    {"openmpi", bytes, &n_bytes}, {"cut short", bytes, &n_few}, {""}};

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!is_memory_refused)
        return __real_memfd_create(name, flags);
    errno = EPERM;
    return -1;
}

static void read_module(void)
{
    struct file_map m;
    struct err err = {0};

    CHECK_OK(file_map_open(&m, MPI_BROKEN, &err), &err);
    CHECK(m.n_bytes > n_few && m.n_bytes <= sizeof bytes);
    memcpy(bytes, m.data, m.n_bytes);
    n_bytes = m.n_bytes;
    file_map_close(&m);
}

static uint64_t hash;

/* Opens the module with a temporary directory of its own, which must be empty then. */
static status open_in(const char *dir, const char *library, void **handle,
                      struct err *err)
{
    char pattern[4096];
    glob_t left;

    read_module();
    setenv("TMPDIR", dir, 1);
    const status result = mpi_module_open(handle, &hash, library, err);
    unsetenv("TMPDIR");
    snprintf(pattern, sizeof pattern, "%s/*", dir);
    CHECK(glob(pattern, 0, NULL, &left) == GLOB_NOMATCH);
    return result;
}

static void check_open(const char *dir)
{
    struct err err = {0};
    void *handle = NULL;

    CHECK_OK(open_in(dir, "openmpi", &handle, &err), &err);
    const struct mpi_calls *calls = dlsym(handle, MPI_CALLS_SYMBOL);
    CHECK(calls && calls->version == MPI_CALLS_VERSION);
    dlclose(handle); /* a second copy would define the same names again */
}

TEST(a_module_is_opened_from_memory)
{
    check_open("/nowhere"); /* no directory is needed */
}

TEST(where_memory_is_refused_a_file_is_used_and_removed)
{
    is_memory_refused = true;
    check_open(test_dir());
    is_memory_refused = false;
}

TEST(what_cannot_be_loaded_is_named_and_leaves_no_file)
{
    struct err err = {0};
    void *handle = NULL;

    CHECK_FAILS(open_in(test_dir(), "cut short", &handle, &err), &err, ERR_USAGE,
                "MPI cannot be used: ");
}

TEST(a_library_without_a_module_is_named)
{
    struct err err = {0};
    void *handle = NULL;

    CHECK_FAILS(mpi_module_open(&handle, &hash, "mpich", &err), &err, ERR_USAGE,
                "no module for MPICH");
}

TEST(the_users_module_comes_first)
{
    struct err err = {0};
    void *handle = NULL;

    setenv("FERRY_MPI_MODULE", "/nowhere/mine.so", 1);
    CHECK_FAILS(mpi_module_open(&handle, &hash, "openmpi", &err), &err, ERR_USAGE,
                "mine.so");
    unsetenv("FERRY_MPI_MODULE");
}
