#include "dist/codec.h"

#ifdef FERRY_CODEC_V3
extern const struct codec_loops codec_loops_v3;
#endif

const struct codec_loops *codec_loops(void)
{
#ifdef FERRY_CODEC_V3
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        return &codec_loops_v3;
#endif
    return &codec_loops_plain;
}

uint64_t codec_hash(const float *x, size_t n)
{
    return codec_loops()->hash(x, n);
}
