/*
 * Given targets, all positions at once: the decoder's layers over packed tokens, each
 * token seeing those before it in its sentence.
 */
#include <string.h>

#include "infer/session.h"
#include "infer/session_crew.h"
#include "infer/session_output.h"

struct job {
    struct session *s;
    const struct session_pair *pair;
    size_t n_pairs, n; /* n: tokens of all */
    double *log_prob;
};

/* Tokens of a target that the model sees. */
static size_t length(const struct session *s, const struct session_pair *pair)
{
    return pair->n - session_unseen(s);
}

/* Where the tokens of pair i begin. */
static size_t first_row(const struct job *j, size_t i)
{
    size_t row = 0;

    while (i > 0)
        row += length(j->s, &j->pair[--i]);
    return row;
}

static void embed(const struct session_crew *c, const struct job *j)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, j->n);
    const struct linear *table = network_target(s->net);
    size_t row = 0;

    for (size_t i = 0; i < j->n_pairs; i++)
        for (size_t p = 0; p < length(s, &j->pair[i]); p++, row++) {
            if (row < rows.begin || row >= rows.end)
                continue;
            const int32_t *label = j->pair[i].label + session_unseen(s);
            s->label[row] = label[p];
            s->k->embed(s->x + row * s->d_stride, table,
                        session_token(s, p ? label[p - 1] : -1, p),
                        s->target_signal + p * s->D, s->embed_scale);
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
        session_attend_head(s, first_row(j, i / s->heads),
                            length(s, &j->pair[i / s->heads]), true, i % s->heads,
                            session_scratch(c));
    session_wait(c);
}

static void cross_attention(const struct session_crew *c, const void *job, size_t layer)
{
    const struct job *j = job;
    const struct session_share pairs = session_share(c, j->n_pairs);

    for (size_t i = pairs.begin; i < pairs.end; i++) {
        const struct session_pair *pair = &j->pair[i];
        const bool tells = pair->attention && layer == c->s->shape.tells;
        const size_t n_all = length(c->s, pair), unseen = session_unseen(c->s);
        if (tells) /* of an S that the model does not see */
            memset(pair->attention, 0, unseen * pair->source.n * sizeof(float));
        for (size_t p = 0, n; p < n_all; p += n) {
            n = n_all - p < KERNELS_ROWS ? n_all - p : KERNELS_ROWS;
            session_attend_source(c->s, pair->source, first_row(j, i) + p, n, layer,
                                  tells ? pair->attention + (p + unseen) * pair->source.n
                                        : NULL,
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

/* Make room for the S of every target, which is certain; from the last on, since what
 * there is stands in front of where it goes. */
static void insert_begins(const struct job *j)
{
    size_t from = j->n, to = j->n + j->n_pairs;

    for (size_t i = j->n_pairs; i-- > 0;) {
        const size_t n = length(j->s, &j->pair[i]);
        from -= n;
        to -= n + 1;
        memmove(j->log_prob + to + 1, j->log_prob + from, n * sizeof *j->log_prob);
        j->log_prob[to] = 0;
    }
}

void session_score(struct session *s, const struct session_pair *pair, size_t n,
                   double *log_prob)
{
    struct job j = {.s = s, .pair = pair, .n_pairs = n, .log_prob = log_prob};

    j.n = first_row(&j, n);
    BUG_ON(j.n > s->shape.n_tokens || s->shape.tells >= s->net->decoder.n_layers);
    if (j.n)
        session_run(s, score_part, &j);
    if (log_prob && session_unseen(s))
        insert_begins(&j);
}
