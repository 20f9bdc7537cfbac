#include "format/tf/tf_checkpoint.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tf_checkpoint c;
    struct err err;

    if (tf_checkpoint_parse(&c, (const char *)data, n, &err) == OK)
        tf_checkpoint_release(&c);
    return 0;
}
