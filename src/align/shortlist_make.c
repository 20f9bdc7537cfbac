#include <stdlib.h>

#include "align/shortlist.h"
#include "align/ttable.h"
#include "base/mem.h"
#include "base/str.h"
#include "format/le.h"

static int by_id(const void *a, const void *b)
{
    const uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;

    return (x > y) - (x < y);
}

static void put_ids(struct str *out, uint16_t *id, size_t n)
{
    qsort(id, n, sizeof *id, by_id);
    for (size_t k = 0; k < n; k++) {
        unsigned char bytes[2];
        le_put16(bytes, id[k]);
        str_add(out, bytes, sizeof bytes);
    }
}

static void put32(struct str *out, size_t v)
{
    unsigned char bytes[4];

    le_put32(bytes, (uint32_t)v);
    str_add(out, bytes, sizeof bytes);
}

static status check_sizes(const struct ttable *t, size_t n_frequent, size_t n_best,
                          size_t vocab, struct err *err)
{
    if (vocab != t->vocab)
        return err_set(err, ERR_USAGE,
                       "a translation table for %u ids, but the vocabulary has %zu",
                       t->vocab, vocab);
    if (n_frequent > vocab || n_best > vocab)
        return err_set(err, ERR_USAGE,
                       "a shortlist of %zu frequent and %zu best ids; the vocabulary has "
                       "%zu",
                       n_frequent, n_best, vocab);
    return OK;
}

status shortlist_make(struct str *blob, const struct ttable *t, size_t n_frequent,
                      size_t n_best, size_t vocab, struct err *err)
{
    RELEASED_BY(mem_release) uint16_t *id = NULL;
    RELEASED_BY(mem_release) float *prob = NULL;
    RELEASED_BY(str_release) struct str best = str_new(0);
    RELEASED_BY(str_release) struct str offsets = str_new(0);

    TRY(check_sizes(t, n_frequent, n_best, vocab, err));
    TRY(mem_alloc(&id, vocab, sizeof *id, err));
    TRY(mem_alloc(&prob, vocab, sizeof *prob, err));
    put32(&offsets, 0);
    for (uint32_t e = 0; e < vocab; e++) {
        put_ids(&best, id, ttable_best(t, e, n_best, id, prob));
        put32(&offsets, best.len / 2);
    }
    TRY(str_check(&best, "the shortlist", err));
    n_frequent = ttable_frequent(t, n_frequent, id);
    put32(blob, SHORTLIST_VERSION);
    put32(blob, vocab);
    put32(blob, n_frequent);
    put32(blob, n_best);
    put32(blob, best.len / 2);
    put32(blob, 0);
    str_add(blob, offsets.data, offsets.len);
    str_add(blob, best.data, best.len);
    put_ids(blob, id, n_frequent);
    return str_check(blob, "the shortlist", err);
}
