/* Any bytes as the YAML of a vocabulary: handed out pair by pair, or refused. */
#include <stdint.h>
#include <stdlib.h>

#include "format/foreign/yaml_pairs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile size_t seen;

static status take(void *ctx, struct line key, struct line value, struct err *err)
{
    (void)ctx;
    (void)err;
    for (size_t i = 0; i < key.n_bytes; i++)
        seen += (unsigned char)key.text[i];
    for (size_t i = 0; i < value.n_bytes; i++)
        seen += (unsigned char)value.text[i];
    return OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err err = {0};

    if (yaml_pairs_read(data, n, take, NULL, &err) != OK && !err.msg[0])
        abort();
    return 0;
}
