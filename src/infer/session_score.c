/*
 * Given targets, all positions at once: the decoder's layers over packed tokens, each
 * token seeing those before it in its sentence.
 */
#include <math.h>

#include "infer/session.h"
#include "infer/session_crew.h"
#include "infer/session_output.h"

struct job {
    struct session *s;
    const struct session_pair *pair;
    size_t n_pairs, n; /* n: tokens of all */
    double *log_prob;
};

/* Where the tokens of pair i begin. */
static size_t first_row(const struct job *j, size_t i)
{
    size_t row = 0;

    while (i > 0)
        row += j->pair[--i].n;
    return row;
}

static void embed(const struct session_crew *c, const struct job *j)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, j->n);
    const float scale = (float)sqrt((double)s->D);
    size_t row = 0;

    for (size_t i = 0; i < j->n_pairs; i++)
        for (size_t p = 0; p < j->pair[i].n; p++, row++) {
            if (row < rows.begin || row >= rows.end)
                continue;
            const int32_t *label = j->pair[i].label;
            s->label[row] = label[p];
            s->k->embed(s->x + row * s->d_stride, &s->net->embed, p ? label[p - 1] : -1,
                        s->signal + p * s->D, scale);
        }
    session_wait(c);
}

static void self_attention(const struct session_crew *c, const void *job, size_t layer)
{
    const struct job *j = job;
    struct session *s = c->s;
    const struct session_share items = session_share(c, j->n_pairs * s->heads);

    (void)layer;
    for (size_t i = items.begin; i < items.end; i++)
        session_attend_head(s, first_row(j, i / s->heads), j->pair[i / s->heads].n, true,
                            i % s->heads, session_scratch(c));
    session_wait(c);
}

static void cross_attention(const struct session_crew *c, const void *job, size_t layer)
{
    const struct job *j = job;
    const struct session_share pairs = session_share(c, j->n_pairs);

    for (size_t i = pairs.begin; i < pairs.end; i++) {
        const struct session_pair *pair = &j->pair[i];
        const bool tells = pair->attention && layer == c->s->shape.tells;
        for (size_t p = 0, n; p < pair->n; p += n) {
            n = pair->n - p < KERNELS_ROWS ? pair->n - p : KERNELS_ROWS;
            session_attend_source(c->s, pair->source, first_row(j, i) + p, n, layer,
                                  tells ? pair->attention + p * pair->source.n : NULL,
                                  session_scratch(c));
        }
    }
    session_wait(c);
}

static void score_part(void *ctx, size_t part, size_t n_parts)
{
    static const struct session_attention how = {self_attention, cross_attention};
    const struct job *j = ctx;
    const struct session_crew crew = {j->s, part, n_parts}, *c = &crew;

    embed(c, j);
    session_decode(c, &how, j, j->n,
                   j->log_prob ? j->s->net->decoder.n_layers : j->s->shape.tells + 1);
    if (j->log_prob)
        session_output_score(c, j->n, j->s->label, j->log_prob);
}

void session_score(struct session *s, const struct session_pair *pair, size_t n,
                   double *log_prob)
{
    struct job j = {.s = s, .pair = pair, .n_pairs = n, .log_prob = log_prob};

    j.n = first_row(&j, n);
    BUG_ON(j.n > s->shape.n_tokens || s->shape.tells >= s->net->decoder.n_layers);
    if (j.n)
        session_run(s, score_part, &j);
}
