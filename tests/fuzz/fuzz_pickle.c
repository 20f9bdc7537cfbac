/* Any bytes as the pickle of a model's weights: refused with a sentence, or a list of
 * tensors whose names can be read. */
#include <stdint.h>
#include <stdlib.h>

#include "format/foreign/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile size_t seen;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct pickle p;
    struct err err = {0};

    if (pickle_read(&p, data, n, &err) != OK) {
        if (!err.msg[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < p.n; i++) {
        const struct pickle_tensor *t = &p.tensor[i];
        for (size_t k = 0; k < t->name.n_bytes; k++)
            seen += (unsigned char)t->name.text[k];
        for (size_t k = 0; k < t->key.n_bytes; k++)
            seen += (unsigned char)t->key.text[k];
        for (size_t k = 0; k < t->n_dims; k++)
            seen += (size_t)(t->dim[k] + t->stride[k]);
    }
    pickle_close(&p);
    return 0;
}
