#include "text/subword/script.h"

#include <stddef.h>

#include "text/subword/script_ranges.h"

struct range {
    uint32_t first, last;
    unsigned script;
};

static const struct range ranges[] = {
#define R(first, last, script) {first, last, script},
    SCRIPT_RANGES(R)
#undef R
};

unsigned script_of(uint32_t code)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code > ranges[middle].last)
            low = middle + 1;
        else if (code < ranges[middle].first)
            high = middle;
        else
            return ranges[middle].script;
    }
    return SCRIPT_COMMON;
}
