#include "dist/comm/mpi_module.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "format/le.h"
#include "format/sha256.h"

#ifndef MFD_EXEC /* Linux 6.3; older ones refuse it and need it not */
#define MFD_EXEC 0x10U
#endif

enum { PATH = 4096, NAME = 64 };

/* NULL leaves the reason in dlerror(). Global: plug-ins of the library look here. */
static void *load(const char *path)
{
    return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

static void *load_from_memory(const struct mpi_module *m, const char *name)
{
    char path[NAME];
    void *handle = NULL;
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_EXEC);

    if (fd < 0 && errno == EINVAL)
        fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (os_write(fd, m->bytes, *m->n_bytes))
        handle = load(path);
    if (!handle)
        close(fd); /* else it stays: dlopen takes an equal name for the same module */
    return handle;
}

static void *load_from_directory(const struct mpi_module *m, const char *name,
                                 const char *parent)
{
    char dir[PATH], path[PATH + NAME];
    void *handle = NULL;

    if (snprintf(dir, sizeof dir, "%s/ferry-XXXXXX", parent) >= (int)sizeof dir ||
        !mkdtemp(dir))
        return NULL;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wxe");
    if (f) {
        const bool is_whole = os_write(fileno(f), m->bytes, *m->n_bytes);
        fclose(f);
        if (is_whole)
            handle = load(path);
        unlink(path);
    }
    rmdir(dir);
    return handle;
}

static void *load_carried(const struct mpi_module *m)
{
    const char *const parents[] = {getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm",
                                   getenv("HOME")};
    char name[NAME];

    snprintf(name, sizeof name, "ferry-mpi-%s.so", m->library);
    void *handle = load_from_memory(m, name);
    for (size_t i = 0; !handle && i < sizeof parents / sizeof *parents; i++)
        if (parents[i] && parents[i][0])
            handle = load_from_directory(m, name, parents[i]);
    return handle;
}

static const struct mpi_module *find(const char *library)
{
    const struct mpi_module *m = mpi_module_list;

    while (*m->library && strcmp(m->library, library) != 0)
        m++;
    return *m->library ? m : NULL;
}

static uint64_t hash_of(const struct mpi_module *m, const char *path)
{
    uint8_t hash[SHA256_BYTES] = {0};
    struct err ignored;
    struct sha256 s;

    if (path && sha256_file(hash, path, &ignored) != OK)
        return 0;
    if (!path) {
        sha256_init(&s);
        sha256_add(&s, m->bytes, *m->n_bytes);
        sha256_end(&s, hash);
    }
    return le_get64(hash);
}

status mpi_module_open(void **handle, uint64_t *hash, const char *library,
                       struct err *err)
{
    const char *given = getenv("FERRY_MPI_MODULE");
    const struct mpi_module *m = find(library);

    given = given && given[0] ? given : NULL;
    *hash = given || m ? hash_of(m, given) : 0;
    if (given)
        *handle = load(given);
    else if (m)
        *handle = load_carried(m);
    else
        return err_set(err, ERR_USAGE,
                       "this ferry has no module for %s: install that library's "
                       "development package and build again, or start with the other "
                       "library's mpirun",
                       strcmp(library, "mpich") == 0 ? "MPICH" : "Open MPI");
    if (*handle)
        return OK;
    const char *why = dlerror();
    return err_set(err, ERR_USAGE, "MPI cannot be used: %.500s",
                   why ? why : "no memory or directory to open its module from");
}
