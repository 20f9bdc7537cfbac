#include "dist/exchange/codec.h"

#include "device/processor.h"

#ifdef FERRY_CODEC_V3
extern const struct codec_loops codec_loops_v3;
#endif

const struct codec_loops *codec_loops(void)
{
#ifdef FERRY_CODEC_V3
    if (processor_has_avx2())
        return &codec_loops_v3;
#endif
    return &codec_loops_plain;
}
