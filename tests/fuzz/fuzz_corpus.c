/* Any bytes as a packed corpus, once as they are and once with the checksum of their ends
 * made right: refused with a sentence, or every batch can be gathered or is refused, and
 * a corpus that passes corpus_file_verify() gives them all. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/batch.h"
#include "corpus/checksum.h"
#include "corpus/corpus.h"
#include "corpus/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void read_all(const struct corpus *c)
{
    struct err why;
    const bool is_sound = corpus_file_verify(c, &why) == OK;
    const struct order_rule rule = {.max_length = 9, .batch_tokens = 32};
    struct order_cursor at = {0};
    struct order order;
    struct batch batch = {0};
    struct err err;

    if (order_open(&order, c, rule, &err) != OK)
        return;
    while (at.epoch == 0) {
        const struct order_update u = order_next(&order, &at);
        if (batch_gather(&batch, c, u.pair, u.n_pairs, rule.max_length, &err) != OK) {
            if (is_sound)
                abort();
            break;
        }
        for (size_t i = 0; i < batch.n_src; i++)
            if (batch.src_id[i] < 0 || (uint32_t)batch.src_id[i] >= c->vocab)
                abort();
    }
    batch_release(&batch);
    order_close(&order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *copy = calloc(n ? n : 1, 1);
    struct corpus c;
    struct err err;

    if (!copy)
        return 0;
    if (n)
        memcpy(copy, data, n);
    if (corpus_file_parse(&c, copy, n, &err) == OK)
        read_all(&c);
    if (n >= CORPUS_FILE_HEAD + CORPUS_FILE_FOOT) {
        struct checksum ends = checksum_start();
        checksum_add(&ends, copy, CORPUS_FILE_HEAD);
        checksum_add(&ends, copy + n - CORPUS_FILE_FOOT, 24);
        const uint64_t sum = checksum_value(&ends);
        memcpy(copy + n - 16, &sum, sizeof sum);
        if (corpus_file_parse(&c, copy, n, &err) == OK)
            read_all(&c);
    }
    free(copy);
    return 0;
}
