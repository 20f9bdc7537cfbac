#include "train/update/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "train/update/upload.h"

void inputs_release(struct inputs *in)
{
    free(in->block);
    *in = (struct inputs){0};
}

/* One side of a batch, as it is and as it is shown. */
struct side {
    size_t n_sents, n;
    const int32_t *at, *id, *pos, *pair;
    int32_t *to_at, *to_id, *to_pos, *to_pair;
    uint64_t words, cut; /* streams of random numbers */
};

static bool is_hit(uint64_t stream, int32_t pair, int32_t pos, double rate)
{
    const uint64_t x = rng_hash(rng_hash(stream, (uint32_t)pair), (uint32_t)pos);

    return (double)(x >> 11) * 0x1p-53 < rate;
}

/* View v of a side: 0, or 1 behind it. */
static void show(const struct side *s, const struct inputs_rule *rule, size_t v)
{
    const size_t first = v * s->n;
    int32_t *at = s->to_at + v * s->n_sents;

    for (size_t i = 0; i <= s->n_sents; i++)
        at[i] = (int32_t)first + s->at[i];
    memcpy(s->to_pos + first, s->pos, s->n * sizeof *s->pos);
    for (size_t i = 0; i < s->n; i++) {
        const int32_t pair = v ? ~s->pair[i] : s->pair[i], pos = s->pos[i];
        const bool is_out = is_hit(s->words, pair, pos, rule->word_dropout) ||
                            (v && is_hit(s->cut, pair, pos, rule->cut));
        s->to_pair[first + i] = pair;
        s->to_id[first + i] = is_out ? -1 : s->id[i];
    }
}

static uint64_t stream(const struct inputs_rule *rule, const char *name)
{
    return rng_hash(rng_key(rule->seed, name), rule->step);
}

/* Where the arrays of a side begin; returns where they end. */
static int32_t *place(struct side *s, int32_t *block, size_t n_views)
{
    s->to_at = block;
    s->to_id = s->to_at + n_views * s->n_sents + 1;
    s->to_pos = s->to_id + n_views * s->n;
    s->to_pair = s->to_pos + n_views * s->n;
    return s->to_pair + n_views * s->n;
}

/* What is shown has the batch's lengths, once for each view. */
static struct model_batch shown(const struct batch *b, const struct side *src,
                                const struct side *tgt, const int32_t *label,
                                size_t n_views)
{
    return (struct model_batch){.n_sents = n_views * b->n_sents,
                                .n_src = n_views * b->n_src,
                                .n_tgt = n_views * b->n_tgt,
                                .max_src = b->max_src,
                                .max_tgt = b->max_tgt,
                                .src_at = src->to_at,
                                .tgt_at = tgt->to_at,
                                .src_id = src->to_id,
                                .src_pos = src->to_pos,
                                .src_pair = src->to_pair,
                                .tgt_in = tgt->to_id,
                                .tgt_pos = tgt->to_pos,
                                .tgt_pair = tgt->to_pair,
                                .tgt_label = label,
                                .weight = b->weight};
}

status inputs_show(struct inputs *in, struct model_batch *out,
                   const struct inputs_rule *rule, const struct batch *b, struct err *err)
{
    const size_t k = rule->has_views ? 2 : 1;
    struct side src = {b->n_sents,
                       b->n_src,
                       b->src_at,
                       b->src_id,
                       b->src_pos,
                       b->src_pair,
                       .words = stream(rule, "word_dropout of sources"),
                       .cut = stream(rule, "simcut of sources")};
    struct side tgt = {b->n_sents,
                       b->n_tgt,
                       b->tgt_at,
                       b->tgt_in,
                       b->tgt_pos,
                       b->tgt_pair,
                       .words = stream(rule, "word_dropout of targets"),
                       .cut = stream(rule, "simcut of targets")};

    if (!rule->has_views && !(rule->word_dropout > 0)) {
        *out = upload_batch(b);
        return OK;
    }
    TRY(mem_grow(&in->block, &in->cap,
                 2 * (k * b->n_sents + 1) + 3 * k * b->n_src + 4 * k * b->n_tgt,
                 sizeof *in->block, err));
    int32_t *label = place(&tgt, place(&src, in->block, k), k);
    for (size_t v = 0; v < k; v++) {
        show(&src, rule, v);
        show(&tgt, rule, v);
        memcpy(label + v * b->n_tgt, b->tgt_label, b->n_tgt * sizeof *label);
    }
    *out = shown(b, &src, &tgt, label, k);
    return OK;
}
