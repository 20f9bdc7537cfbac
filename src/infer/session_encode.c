/*
 * The encoder, over as many sentences as fit at once, and what the decoder attends to:
 * keys and values of every decoder layer, the keys as columns.
 */
#include "infer/session.h"

#include <math.h>
#include <string.h>

#include "infer/session_crew.h"

struct job {
    struct session *s;
    const struct session_sentence *list;
    size_t n_sentences, n_tokens;
};

/* Tokens of a sentence that the model sees. */
static size_t length(const struct session *s, const struct session_sentence *sentence)
{
    return sentence->to.n - session_unseen(s);
}

/* Where the tokens of sentence i begin among those of all. */
static size_t first_token(const struct job *j, size_t i)
{
    size_t at = 0;

    while (i > 0)
        at += length(j->s, &j->list[--i]);
    return at;
}

static void embed(const struct session_crew *c, const struct job *j)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, j->n_tokens);
    size_t row = 0;

    for (size_t i = 0; i < j->n_sentences; i++)
        for (size_t p = 0; p < length(s, &j->list[i]); p++, row++)
            if (row >= rows.begin && row < rows.end)
                s->k->embed(s->x + row * s->d_stride, &s->net->embed,
                            j->list[i].id[p + session_unseen(s)],
                            s->source_signal + p * s->D, s->embed_scale);
    session_wait(c);
}

void session_attend_head(struct session *s, size_t first, size_t n, bool is_causal,
                         size_t head, float *scratch)
{
    const size_t n_round = linear_round(n, SESSION_ROUND), at = head * s->d;
    const float *q = s->wide + first * s->wide_stride + at;
    float *kt = scratch, *weights = scratch + s->d * n_round;
    const struct kernels_attend a = {.d = s->d,
                                     .scale = (float)(1 / sqrt((double)s->d)),
                                     .kt = kt,
                                     .n = n,
                                     .n_round = n_round,
                                     .v = q + 2 * s->D,
                                     .v_stride = s->wide_stride};

    s->k->transpose(kt, n_round, q + s->D, s->wide_stride, n, s->d);
    for (size_t i = 0; i < n; i += KERNELS_ROWS) {
        const size_t n_rows = n - i < KERNELS_ROWS ? n - i : KERNELS_ROWS;
        float *out[KERNELS_ROWS];
        const float *query[KERNELS_ROWS];
        size_t seen[KERNELS_ROWS];
        for (size_t r = 0; r < n_rows; r++) {
            out[r] = s->y.real + (first + i + r) * s->y.stride + at;
            query[r] = q + (i + r) * s->wide_stride;
            seen[r] = is_causal ? i + r + 1 : n;
        }
        s->k->attend(out, query, n_rows, &a, seen, weights);
    }
}

static void self_attention(const struct session_crew *c, const struct job *j)
{
    struct session *s = c->s;
    const struct session_share items = session_share(c, j->n_sentences * s->heads);

    for (size_t i = items.begin; i < items.end; i++)
        session_attend_head(s, first_token(j, i / s->heads),
                            length(s, &j->list[i / s->heads]), false, i % s->heads,
                            session_scratch(c));
    session_wait(c);
}

/* Keys and values of a decoder layer, which are in wide = k|v, to a sentence's place. */
static void store(struct session *s, size_t layer, size_t first,
                  const struct session_sentence *sentence, size_t head)
{
    const size_t n = length(s, sentence), n_round = linear_round(n, SESSION_ROUND);
    const size_t at = (layer * s->shape.n_memory + sentence->to.at) * s->D;
    const float *k = s->wide + first * s->wide_stride + head * s->d;

    s->k->transpose(s->keys + at + head * s->d * n_round, n_round, k, s->wide_stride, n,
                    s->d);
    for (size_t i = 0; i < n; i++)
        memcpy(s->values + at + i * s->D + head * s->d, k + s->D + i * s->wide_stride,
               s->d * sizeof(float));
}

/* A matrix that reads bytes, if any of the decoder's does. */
static const struct linear *neediest(const struct network_stack *decoder)
{
    const struct linear *w = &decoder->layer[0].cross.kv;

    for (size_t l = 0; l < decoder->n_layers; l++)
        if (decoder->layer[l].cross.kv.type == LINEAR_INT8)
            w = &decoder->layer[l].cross.kv;
    return w;
}

static void make_memory(const struct session_crew *c, const struct job *j)
{
    struct session *s = c->s;
    const struct network_stack *decoder = &s->net->decoder;
    const struct session_share items = session_share(c, j->n_sentences * s->heads);

    for (size_t l = 0; l < decoder->n_layers; l++) {
        session_multiply_normed(c, s->wide, s->wide_stride, &decoder->layer[l].cross.kv,
                                false, j->n_tokens);
        for (size_t i = items.begin; i < items.end; i++)
            store(s, l, first_token(j, i / s->heads), &j->list[i / s->heads],
                  i % s->heads);
        session_wait(c);
    }
}

static void encode_part(void *ctx, size_t part, size_t n_parts)
{
    const struct job *j = ctx;
    struct session *s = j->s;
    const struct session_crew crew = {s, part, n_parts}, *c = &crew;
    const struct network_stack *e = &s->net->encoder;
    const struct linear *memory = neediest(&s->net->decoder);
    const float *f = NULL;
    const size_t n = j->n_tokens;

    embed(c, j);
    session_begin(c, &e->layer[0].self.in, n);
    for (size_t l = 0; l < e->n_layers; l++, f = s->f) {
        const struct network_layer *w = &e->layer[l];
        const bool is_last = l + 1 == e->n_layers;
        session_enter(c, f, &w->self.norm, &w->self.in, n);
        session_multiply_normed(c, s->wide, s->wide_stride, &w->self.in, false, n);
        self_attention(c, j);
        session_multiply(c, s->f, s->d_stride, &s->y, &w->self.out, false, n);
        session_leave(c, &w->self.norm, &w->ff.up, n);
        session_enter(c, s->f, &w->ff.norm, &w->ff.up, n);
        session_feed_forward(c, &w->ff, n);
        session_leave(c, &w->ff.norm, is_last ? memory : &e->layer[l + 1].self.in, n);
    }
    session_enter(c, f, &e->end, memory, n);
    make_memory(c, j);
}

void session_encode(struct session *s, const struct session_sentence *list, size_t n)
{
    for (size_t first = 0, end; first < n; first = end) {
        struct job j = {.s = s, .list = list + first};
        for (end = first;
             end < n &&
             (end == first || j.n_tokens + length(s, &list[end]) <= s->shape.n_tokens);
             end++)
            j.n_tokens += length(s, &list[end]);
        BUG_ON(j.n_tokens > s->shape.n_tokens);
        j.n_sentences = end - first;
        session_run(s, encode_part, &j);
    }
}
