#include "corpus/batch.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "recipe/special_ids.h"

void batch_release(struct batch *b)
{
    free(b->block);
    free(b->weights);
    *b = (struct batch){0};
}

size_t batch_cut(const struct corpus *c, const uint32_t *pair, size_t n,
                 size_t max_length, struct batch_limit limit)
{
    size_t n_src = 0, n_tgt = 0, i = 0;

    for (; i < n; i++) {
        n_src += corpus_rows(c, corpus_source(c, pair[i]).len, max_length);
        n_tgt += corpus_rows(c, corpus_target(c, pair[i]).len, max_length);
        const bool is_full =
            (limit.n_src && n_src > limit.n_src) || (limit.n_tgt && n_tgt > limit.n_tgt);
        if (i && is_full)
            break;
    }
    return i;
}

uint64_t batch_hash(const struct batch *b, uint64_t step)
{
    const uint64_t key = rng_hash(rng_key(0, "pairs of an update"), step);
    uint64_t sum = 0;

    for (size_t i = 0; i < b->n_sents; i++)
        sum += rng_hash(key, (uint64_t)b->pair[i]);
    return sum;
}

/* Cut the block into the arrays. Counts of the batch are set before. */
static status place(struct batch *b, struct err *err)
{
    const size_t n_at = b->n_sents + 1;
    size_t n;

    if (b->n_src > INT32_MAX || b->n_tgt > INT32_MAX || b->n_sents >= INT32_MAX)
        return err_set(err, ERR_USAGE,
                       "a batch of %zu source and %zu target tokens is too large; lower "
                       "batch_tokens or batch_sentences",
                       b->n_src, b->n_tgt);
    n = b->n_sents + 2 * n_at + 3 * b->n_src + 4 * b->n_tgt;
    TRY(mem_grow(&b->block, &b->cap, n, sizeof *b->block, err));
    b->n_block = n;
    b->pair = b->block;
    b->src_at = b->pair + b->n_sents;
    b->tgt_at = b->src_at + n_at;
    b->src_id = b->tgt_at + n_at;
    b->src_pos = b->src_id + b->n_src;
    b->src_pair = b->src_pos + b->n_src;
    b->tgt_in = b->src_pair + b->n_src;
    b->tgt_label = b->tgt_in + b->n_tgt;
    b->tgt_pos = b->tgt_label + b->n_tgt;
    b->tgt_pair = b->tgt_pos + b->n_tgt;
    b->src_at[0] = b->tgt_at[0] = 0;
    return OK;
}

/* The arrays of one side. */
struct rows {
    int32_t *at, *id, *pos, *pair;
    size_t *max;
    bool has_begin;
};

/* Add a sentence of `len` rows, specials included; returns where its tokens go. */
static int32_t *add_rows(struct rows r, size_t s, size_t len, int32_t pair)
{
    const size_t at = (size_t)r.at[s];
    int32_t *id = r.id + at;

    r.at[s + 1] = (int32_t)(at + len);
    *r.max = len > *r.max ? len : *r.max;
    id[0] = ID_BOS;
    id[r.has_begin] = ID_UNK; /* stays when the sentence is empty */
    id[len - 1] = ID_EOS;
    for (size_t i = 0; i < len; i++) {
        r.pos[at + i] = (int32_t)i;
        r.pair[at + i] = pair;
    }
    return id + r.has_begin;
}

/* Returns the largest token. */
static uint16_t add_sentence(struct rows r, size_t s, struct sentence text, size_t len,
                             int32_t pair)
{
    const size_t n = len - 1 - r.has_begin;
    int32_t *id = add_rows(r, s, len, pair);
    uint16_t top = 0;

    for (size_t i = 0; i < n && i < text.len; i++) {
        id[i] = text.token[i];
        top = text.token[i] > top ? text.token[i] : top;
    }
    return top;
}

/* What the decoder reads: the labels, one later, behind its first token. */
static void shift_right(struct batch *b, size_t s, int32_t start)
{
    int32_t before = start;

    for (int32_t t = b->tgt_at[s]; t < b->tgt_at[s + 1]; t++) {
        b->tgt_in[t] = before;
        before = b->tgt_label[t];
    }
}

/* Pair `pair` becomes sentence s; false when the corpus is damaged there, since opening
 * did not look at every pair. */
static bool add_pair(struct batch *b, size_t s, const struct corpus *c, uint32_t pair,
                     size_t max_length)
{
    const bool has_begin = !c->arch.has_no_begin;
    const struct rows src = {b->src_at,   b->src_id,   b->src_pos,
                             b->src_pair, &b->max_src, has_begin};
    const struct rows tgt = {b->tgt_at,   b->tgt_label, b->tgt_pos,
                             b->tgt_pair, &b->max_tgt,  has_begin};
    const struct sentence source = corpus_source(c, pair),
                          target = corpus_target(c, pair);
    const int32_t id = b->pair[s] = (int32_t)(c->name ? c->name[pair] : pair);

    const uint16_t x =
        add_sentence(src, s, source, corpus_rows(c, source.len, max_length), id);
    const uint16_t y =
        add_sentence(tgt, s, target, corpus_rows(c, target.len, max_length), id);
    shift_right(b, s, c->arch.start - 1);
    return x < c->vocab && y < c->vocab && corpus_has_pair(c, pair);
}

status batch_gather(struct batch *b, const struct corpus *c, const uint32_t *pair,
                    size_t n, size_t max_length, struct err *err)
{
    *b = (struct batch){.n_sents = n,
                        .block = b->block,
                        .cap = b->cap,
                        .weights = b->weights,
                        .cap_weights = b->cap_weights};
    for (size_t s = 0; s < n; s++) {
        b->n_src += corpus_rows(c, corpus_source(c, pair[s]).len, max_length);
        b->n_tgt += corpus_rows(c, corpus_target(c, pair[s]).len, max_length);
    }
    TRY(place(b, err));
    for (size_t s = 0; s < n; s++)
        if (!add_pair(b, s, c, pair[s], max_length))
            return corpus_damaged((uint32_t)b->pair[s], err);
    if (!corpus_has_weights(c))
        return OK;
    TRY(mem_grow(&b->weights, &b->cap_weights, n, sizeof *b->weights, err));
    for (size_t s = 0; s < n; s++)
        b->weights[s] = corpus_weight(c, pair[s]);
    b->weight = b->weights;
    return OK;
}
