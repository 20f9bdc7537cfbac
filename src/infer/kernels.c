#include "infer/kernels.h"

#include <string.h>

#include "device/processor.h"

static bool runs_anywhere(void)
{
    return true;
}

extern const struct infer_kernels infer_plain_kernels;
#if defined(__x86_64__)
extern const struct infer_kernels infer_avx2_kernels, infer_avx512_kernels,
    infer_vnni_kernels, infer_amx_kernels;
#elif defined(__aarch64__)
extern const struct infer_kernels infer_dot_kernels;
#endif

/* Best first. A kind of device is a ceiling: the first variant from its own on that runs
 * here. */
static const struct variant {
    const char *kind;
    bool (*runs_here)(void);
    const struct infer_kernels *kernels;
} variants[] = {
#if defined(__x86_64__)
    {"cpu", processor_has_amx_int8, &infer_amx_kernels},
    {"cpu-avx512", processor_has_dot_product, &infer_vnni_kernels},
    {"cpu-avx512", processor_has_avx512, &infer_avx512_kernels},
    {"cpu-avx2", processor_has_avx2, &infer_avx2_kernels},
#elif defined(__aarch64__)
    {"cpu", processor_has_dot_product, &infer_dot_kernels},
#endif
    {"cpu-plain", runs_anywhere, &infer_plain_kernels},
};

enum { N_VARIANTS = sizeof variants / sizeof *variants };

size_t kernels_variants(const struct infer_kernels **list, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < N_VARIANTS && n < max; i++)
        if (variants[i].runs_here() && (!n || list[n - 1] != variants[i].kernels))
            list[n++] = variants[i].kernels;
    return n;
}

const struct infer_kernels *kernels_choose(const char *device_kind)
{
    bool allowed = strcmp(device_kind, "auto") == 0;

    for (size_t i = 0; i < N_VARIANTS; i++) {
        allowed |= strcmp(device_kind, variants[i].kind) == 0;
        if (allowed && variants[i].runs_here())
            return variants[i].kernels;
    }
    return strncmp(device_kind, "cpu-", 4) == 0 ? &infer_plain_kernels : NULL;
}
