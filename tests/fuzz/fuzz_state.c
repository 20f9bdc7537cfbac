#include "train/save/state.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct state s;
    struct err err;

    if (state_parse(&s, "fuzz", data, n, &err) == OK && (s.step < 0 || s.n_skipped < 0))
        __builtin_trap();
    return 0;
}
