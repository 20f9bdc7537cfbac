#include "bench/doctor_libraries.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/symbol.h"

static const char *const prefixes[] = {
    "libcuda.so",   "libcublasLt.so", "libnccl.so", "libnvidia-ml.so",
    "libOpenCL.so", "libclblast.so",  "libpocl"};

static int tell_one(struct dl_phdr_info *info, size_t n_bytes, void *ctx)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash ? slash + 1 : info->dlpi_name;

    (void)n_bytes;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) != 0)
            continue;
        char *path = realpath(info->dlpi_name, NULL); /* where the links lead */
        fprintf(ctx, "  %s\n", path ? path : info->dlpi_name);
        free(path);
    }
    return 0;
}

/* The driver and NCCL have told theirs among the devices; cuBLASLt's file may be named
 * without one. */
static void tell_cublaslt(FILE *out)
{
    size_t (*version)(void);
    void *all = dlopen(NULL, RTLD_NOW);

    if (symbol_load(all, "cublasLtGetVersion", &version))
        fprintf(out, "  cuBLASLt says %zu\n", version());
    if (all)
        dlclose(all);
}

void doctor_libraries(FILE *out)
{
    fputs("libraries\n", out);
    dl_iterate_phdr(tell_one, out);
    tell_cublaslt(out);
}
