/*
 * Every function that we open by name is in the library that we open it from, where that
 * library is installed (CMake looks: NVIDIA's toolkit, with its stub of the driver). The
 * prototypes are compared when Ferry is compiled: tests/standin/cuda_prototypes.c and
 * tests/standin/nccl_prototypes.c.
 */
#include <stdlib.h>

#include "device/cuda/driver.h"
#include "device/cuda/nvml.h"
#include "dist/comm/nccl_calls.h"
#include "test.h"

#define NAME(name, args) #name,
static const char *const cuda_names[] = {DRIVER_CUDA_LIST(NAME) NULL};
static const char *const blas_names[] = {DRIVER_BLAS_LIST(NAME) NULL};
static const char *const nccl_names[] = {NCCL_LIST(NAME) NCCL_TEXT_LIST(NAME) NULL};
static const char *const nvml_names[] = {NVML_LIST(NAME) NULL};
#undef NAME

/* Mark the names that a line of nm speaks of: "0000000000009587 T cuEventQuery". */
static void mark(const char *line, const char *const *names, bool *is_there)
{
    char symbol[256] = "";
    const char *at = strrchr(line, ' ');

    if (at)
        snprintf(symbol, sizeof symbol, "%.*s", (int)strcspn(at + 1, "@\n"), at + 1);
    for (size_t i = 0; names[i]; i++)
        is_there[i] |= strcmp(symbol, names[i]) == 0;
}

static void check_library(const char *path, const char *what, const char *const *names)
{
    bool is_there[128] = {false};
    char command[1200], line[4096];
    size_t n = 0;

    if (!*path)
        test_skip("%s is not installed here", what);
    snprintf(command, sizeof command, "nm -D --defined-only '%s'", path);
    FILE *f = popen(command, "re");
    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        mark(line, names, is_there);
        n++;
    }
    CHECK(pclose(f) == 0 && n > 0);
    for (size_t i = 0; names[i]; i++)
        if (!is_there[i])
            test_fail(__FILE__, __LINE__, "%s has no %s", path, names[i]);
}

TEST(the_driver_has_what_we_open_of_it)
{
    check_library(LIB_CUDA, "the stub of libcuda", cuda_names);
}

TEST(cublaslt_has_what_we_open_of_it)
{
    check_library(LIB_BLAS, "libcublasLt", blas_names);
}

TEST(nccl_has_what_we_open_of_it)
{
    check_library(LIB_NCCL, "libnccl", nccl_names);
}

TEST(nvml_has_what_we_open_of_it)
{
    check_library(LIB_NVML, "libnvidia-ml", nvml_names);
}

/* Neither may the stand-ins of our tests lack any. */
TEST(the_stand_ins_have_them_too)
{
    check_library(STANDIN "/libcuda.so.1", "a stand-in", cuda_names);
    check_library(STANDIN "/libcublasLt.so.13", "a stand-in", blas_names);
    check_library(STANDIN "/libnccl.so.2", "a stand-in", nccl_names);
    check_library(STANDIN "/libnvidia-ml.so.1", "a stand-in", nvml_names);
}
