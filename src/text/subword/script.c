#include "text/subword/script.h"

#include <stddef.h>

static const struct {
    uint32_t first, n;
    unsigned script;
} ranges[] = {
#include "text/subword/script_ranges.inc"
};

unsigned script_of(uint32_t code)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (code < ranges[middle].first)
            high = middle;
        else if (code - ranges[middle].first >= ranges[middle].n)
            low = middle + 1;
        else
            return ranges[middle].script;
    }
    return SCRIPT_COMMON;
}
