/* Any bytes as a packed model, once as they are and once with size and checksums made
 * right: refused with a sentence, or every number of every part can be read and its text
 * can be cut and joined. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decode/packed_model.h"
#include "mended_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static volatile float seen; /* so that what is read is read */

static void read_part(const struct network_part *part)
{
    float sum = 0;

    if (part->vector)
        for (size_t i = 0; i < part->n_out; i++)
            sum += (*part->vector)[i];
    else
        for (size_t k = 0; k < part->n_in; k++)
            for (size_t c = 0; c < part->n_out; c++)
                sum += linear_value(part->matrix, k, c);
    if (part->matrix && part->matrix->bias)
        sum += part->matrix->bias[part->n_out - 1];
    if (part->matrix && part->matrix->sum)
        sum += (float)part->matrix->sum[part->n_out - 1];
    seen = sum;
}

static void use(struct packed_model *m)
{
    const struct line text = {"the old ferry", 13};
    struct packed_model_tensor t;
    struct network_part part;
    struct spm_ids ids = {0};
    uint16_t list[64];
    struct err err = {0};

    for (size_t i = 0; network_part(&m->network, i, &part); i++)
        read_part(&part);
    for (size_t i = 0; packed_model_tensor(m, i, &t); i++)
        seen = (float)t.n_in;
    if (spm_encode(m->spm, text, &ids, &err) == OK && m->has_shortlist)
        (void)shortlist_collect(&m->shortlist, ids.id, ids.n, list, 64);
    spm_ids_release(&ids);
}

static void read_model(const unsigned char *bytes, size_t n)
{
    struct packed_model m;
    struct err err = {0};

    if (packed_model_parse(&m, bytes, n, &err) == OK) {
        use(&m);
        packed_model_close(&m);
    } else if (!err.msg[0]) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *bytes = aligned_alloc(64, (n + 64) / 64 * 64);

    if (!bytes)
        return 0;
    if (n)
        memcpy(bytes, data, n);
    read_model(bytes, n);
    if (mended_pack(bytes, n))
        read_model(bytes, n);
    free(bytes);
    return 0;
}
