#include "dist/exchange/codec.h"

#ifdef FERRY_CODEC_V3
#include <cpuid.h>
#include <stdbool.h>

extern const struct codec_loops codec_loops_v3;

/* clang knows no name for F16C; the operating system's part is AVX's. */
static bool has_f16c(void)
{
    unsigned a, b, c = 0, d;

    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}

static bool has_v3(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2") && has_f16c();
}
#endif

const struct codec_loops *codec_loops(void)
{
#ifdef FERRY_CODEC_V3
    if (has_v3())
        return &codec_loops_v3;
#endif
    return &codec_loops_plain;
}
