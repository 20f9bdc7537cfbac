/* Any bytes, of which the first says as which format they are read: refused with a
 * sentence, or every element of every tensor can be read. */
#include <stdint.h>
#include <stdlib.h>

#include "format/foreign/tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile double seen; /* so that what is read is read */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct tensors t;
    struct err err = {0};

    if (!n)
        return 0;
    if (tensors_parse(&t, (enum tensors_format)(*data % N_TENSORS_FORMATS), data + 1,
                      n - 1, &err) != OK) {
        if (!err.msg[0])
            abort();
        return 0;
    }
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0; k < t.item[i].n; k++)
            seen = tensors_value(&t.item[i], k);
    tensors_close(&t);
    return 0;
}
