/*
 * One target position of every row: the decoder's layers from the embedding up, as
 * model/forward.c computes them for whole sentences.
 */
#include "infer/session.h"

#include <math.h>
#include <string.h>

#include "infer/session_crew.h"
#include "infer/session_output.h"
#include "recipe/special_ids.h"

struct job {
    struct session *s;
    const struct session_row *row;
    size_t n;
};

/* The model's position of a row, and the entries up to it. */
static size_t position(const struct session *s, const struct session_row *row)
{
    return row->t - session_unseen(s);
}

static const int32_t *entries(const struct session *s, const struct session_row *row)
{
    return row->entry + session_unseen(s);
}

static void embed(const struct session_crew *c, const struct job *j)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, j->n);
    const struct linear *table = network_target(s->net);

    for (size_t r = rows.begin; r < rows.end; r++)
        s->k->embed(s->x + r * s->d_stride, table,
                    session_token(s, j->row[r].token, position(s, &j->row[r])),
                    s->target_signal + position(s, &j->row[r]) * s->D, s->embed_scale);
    session_wait(c);
}

/* Row r's new key and value, which are in wide = q|k|v, become its entry; then it attends
 * to all that it has. */
static void attend_self(struct session *s, const struct session_row *row, size_t r,
                        size_t layer, float *scratch)
{
    const float *q = s->wide + r * s->wide_stride;
    float *cache = s->cache + layer * s->shape.n_entries * s->entry_stride;
    const struct kernels_history h = {.cache = cache,
                                      .stride = s->entry_stride,
                                      .v_at = s->D,
                                      .entry = entries(s, row),
                                      .n = position(s, row) + 1};

    memcpy(cache + (size_t)row->entry[row->t] * s->entry_stride, q + s->D,
           2 * s->D * sizeof *q);
    s->k->attend_history(s->y.real + r * s->y.stride, q, s->heads, s->d,
                         (float)(1 / sqrt((double)s->d)), &h, scratch);
}

static void self_attention(const struct session_crew *c, const void *job, size_t layer)
{
    const struct job *j = job;
    const struct session_share rows = session_share(c, j->n);

    for (size_t r = rows.begin; r < rows.end; r++)
        attend_self(c->s, &j->row[r], r, layer, session_scratch(c));
    session_wait(c);
}

/* Add what the n rows' one head attends to, to their means. */
static void tell(const struct session *s, float *told, size_t n, size_t n_source,
                 size_t head, const float *weights, size_t n_round)
{
    const size_t unseen = session_unseen(s);
    const float share = 1 / (float)s->heads;

    for (size_t i = 0; i < n; i++, told += n_source) {
        memset(told, 0, unseen * sizeof *told);
        for (size_t k = unseen; k < n_source; k++)
            told[k] = (head ? told[k] : 0) + share * weights[i * n_round + k - unseen];
    }
}

void session_attend_source(struct session *s, struct session_source source, size_t r,
                           size_t n, size_t layer, float *told, float *weights)
{
    const size_t n_keys = source.n - session_unseen(s);
    const size_t n_round = linear_round(n_keys, SESSION_ROUND);
    const size_t at = (layer * s->shape.n_memory + source.at) * s->D;

    for (size_t head = 0; head < s->heads; head++) {
        const struct kernels_attend a = {.d = s->d,
                                         .scale = (float)(1 / sqrt((double)s->d)),
                                         .kt = s->keys + at + head * s->d * n_round,
                                         .n = n_keys,
                                         .n_round = n_round,
                                         .v = s->values + at + head * s->d,
                                         .v_stride = s->D};
        float *out[KERNELS_ROWS];
        const float *q[KERNELS_ROWS];
        size_t seen[KERNELS_ROWS];
        for (size_t i = 0; i < n; i++) {
            out[i] = s->y.real + (r + i) * s->y.stride + head * s->d;
            q[i] = s->wide + (r + i) * s->wide_stride + head * s->d;
            seen[i] = n_keys;
        }
        s->k->attend(out, q, n, &a, seen, weights);
        if (told)
            tell(s, told, n, source.n, head, weights, n_round);
    }
}

static void cross_attention(const struct session_crew *c, const void *job, size_t layer)
{
    const struct job *j = job;
    const struct session_share rows = session_share(c, j->n);

    for (size_t r = rows.begin, n; r < rows.end; r += n) {
        const struct session_source source = j->row[r].source;
        for (n = 1; n < KERNELS_ROWS && r + n < rows.end &&
                    j->row[r + n].source.at == source.at;)
            n++;
        session_attend_source(c->s, source, r, n, layer, NULL, session_scratch(c));
    }
    session_wait(c);
}

static void step_part(void *ctx, size_t part, size_t n_parts)
{
    static const struct session_attention how = {self_attention, cross_attention};
    const struct job *j = ctx;
    const struct session_crew crew = {j->s, part, n_parts}, *c = &crew;

    embed(c, j);
    session_decode(c, &how, j, j->n, j->s->net->decoder.n_layers);
    session_output(c, j->row, j->n);
}

/* The first token of a target whose S the model does not see. */
static void say_begin(struct session *s, const struct session_row *row)
{
    struct session_wish *w = row->wish;

    for (size_t i = 0; i < row->best.n; i++) {
        row->best.id[i] = i ? -1 : ID_BOS;
        row->best.log_prob[i] = i ? -INFINITY : 0;
    }
    if (!w)
        return;
    for (size_t i = 0; i < w->n; i++)
        w->log_prob[i] = w->id[i] == ID_BOS ? 0 : -INFINITY;
    for (size_t i = 0; w->logit && i < s->V; i++)
        w->logit[i] = i == ID_BOS ? 0 : -INFINITY;
    w->log_sum = 0;
}

/* Rows that the model computes; of the others the answer is known. */
static size_t take_rows(struct session *s, const struct session_row *row, size_t n)
{
    size_t n_taken = 0;

    for (size_t i = 0; i < n; i++)
        if (row[i].t < session_unseen(s))
            say_begin(s, &row[i]);
        else
            s->row[n_taken++] = row[i];
    return n_taken;
}

void session_step(struct session *s, const struct session_row *row, size_t n)
{
    struct job j = {s, row, n};

    BUG_ON(n > s->shape.n_rows);
    if (session_unseen(s)) {
        j.n = take_rows(s, row, n);
        j.row = s->row;
    }
    if (j.n)
        session_run(s, step_part, &j);
}
