#include "decode/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Found are finished hypotheses, or those that a search without any ended with. */
struct sentence {
    size_t max_len;
    struct beam_hypothesis *found; /* [width] best first */
    size_t n_found;
};

/* The living hypotheses at one step, grouped by sentence, best first in each group. */
struct living {
    size_t n;
    int32_t *token, *sentence; /* [rows] */
    double *log_prob;          /* [rows] */
    int32_t *physical;         /* [rows,t+1] */
};

struct candidate {
    double log_prob;
    size_t row;
    int32_t id;
};

struct beam {
    size_t n_sents, max_len, width; /* room */
    struct beam_options options;
    struct sentence *sent;         /* [n_sents] */
    struct beam_hypothesis *found; /* [n_sents,width] */
    int32_t *token;                /* [n_sents,width,max_len] of what was found */
    int32_t *fed;                  /* [max_len,rows] the token of row r at step t */
    struct living now, next;       /* [rows] */
    double *top;                   /* [rows,2*width] */
    int32_t *top_id;
    struct candidate *best; /* [2*width] */
};

double beam_penalty(size_t n, double alpha)
{
    return pow((5 + (double)n) / 6, alpha);
}

static status open_living(struct living *l, size_t rows, size_t max_len, struct err *err)
{
    size_t n_physical;

    TRY(mem_mul(&n_physical, rows, max_len, err));
    TRY(mem_alloc(&l->token, rows, sizeof *l->token, err));
    TRY(mem_alloc(&l->sentence, rows, sizeof *l->sentence, err));
    TRY(mem_alloc(&l->log_prob, rows, sizeof *l->log_prob, err));
    return mem_alloc(&l->physical, n_physical, sizeof *l->physical, err);
}

static void close_living(struct living *l)
{
    free(l->token);
    free(l->sentence);
    free(l->log_prob);
    free(l->physical);
}

static status open_parts(struct beam *b, struct err *err)
{
    size_t rows, n_fed, n_top;

    TRY(mem_mul(&rows, b->n_sents, b->width, err));
    TRY(mem_mul(&n_fed, rows, b->max_len, err));
    TRY(mem_mul(&n_top, rows, 2 * b->width, err));
    TRY(mem_alloc(&b->sent, b->n_sents, sizeof *b->sent, err));
    TRY(mem_alloc(&b->found, rows, sizeof *b->found, err));
    TRY(mem_alloc(&b->token, n_fed, sizeof *b->token, err));
    TRY(mem_alloc(&b->fed, n_fed, sizeof *b->fed, err));
    TRY(mem_alloc(&b->top, n_top, sizeof *b->top, err));
    TRY(mem_alloc(&b->top_id, n_top, sizeof *b->top_id, err));
    TRY(mem_alloc(&b->best, 2 * b->width, sizeof *b->best, err));
    TRY(open_living(&b->now, rows, b->max_len, err));
    return open_living(&b->next, rows, b->max_len, err);
}

status beam_open(struct beam **out, size_t n_sents, size_t max_len, size_t width,
                 struct err *err)
{
    struct beam *b;

    *out = NULL;
    TRY(mem_alloc(&b, 1, sizeof *b, err));
    *b = (struct beam){.n_sents = n_sents, .max_len = max_len, .width = width};
    if (open_parts(b, err) != OK) {
        beam_close(b);
        return err->code;
    }
    *out = b;
    return OK;
}

void beam_close(struct beam *b)
{
    if (!b)
        return;
    free(b->sent);
    free(b->found);
    free(b->token);
    free(b->fed);
    free(b->top);
    free(b->top_id);
    free(b->best);
    close_living(&b->now);
    close_living(&b->next);
    free(b);
}

/* What row `row` of step t has generated so far, and `id` after it. */
static void copy_history(const struct beam *b, int32_t *to, size_t t, size_t row,
                         int32_t id)
{
    const size_t rows = b->n_sents * b->width;
    const int32_t *physical = b->now.physical + row * (t + 1);

    for (size_t i = 1; i <= t; i++)
        to[i - 1] = b->fed[i * rows + (size_t)physical[i]];
    to[t] = id;
}

/* Enter a hypothesis of t + 1 tokens into the sentence's list, if it is good enough. */
static void keep(struct beam *b, size_t s, size_t t, const struct candidate *c)
{
    struct sentence *sent = &b->sent[s];
    const double score = c->log_prob / beam_penalty(t + 1, b->options.alpha);
    size_t at = sent->n_found;
    int32_t *token = b->token + (s * b->width + at) * b->max_len;

    if (at == b->options.width) {
        if (!(score > sent->found[--at].score))
            return;
        token = b->token + (sent->found[at].token - b->token); /* its place */
    } else {
        sent->n_found++;
    }
    for (; at > 0 && score > sent->found[at - 1].score; at--)
        sent->found[at] = sent->found[at - 1];
    sent->found[at] =
        (struct beam_hypothesis){token, t + 1, c->log_prob, score, c->id == BEAM_EOS};
    copy_history(b, token, t, c->row, c->id);
}

static size_t insert(struct candidate *best, size_t n, size_t max, struct candidate c)
{
    size_t at = n;

    if (n == max) {
        if (!(c.log_prob > best[--at].log_prob))
            return n;
    } else {
        n++;
    }
    for (; at > 0 && c.log_prob > best[at - 1].log_prob; at--)
        best[at] = best[at - 1];
    best[at] = c;
    return n;
}

/* The 2 * width likeliest continuations of rows [first, last), best first. */
static status choose(struct beam *b, size_t t, size_t first, size_t last, size_t *n_best,
                     struct err *err)
{
    const size_t K = 2 * b->options.width;

    *n_best = 0;
    for (size_t row = first; row < last; row++) {
        for (size_t k = 0; k < K; k++) {
            const double p = b->top[row * K + k];
            const int32_t id = b->top_id[row * K + k];
            if (id < 0)
                break;
            if (isnan(p))
                return err_set(err, ERR_NUMERIC,
                               "the model's output at target position %zu is not a "
                               "number; its weights are damaged or training diverged",
                               t);
            if (isinf(p))
                continue; /* probability 0 */
            /* rounding may leave a certain token slightly above probability 1 */
            const double sum = b->now.log_prob[row] + (p > 0 ? 0 : p);
            *n_best = insert(b->best, *n_best, K, (struct candidate){sum, row, id});
        }
    }
    return OK;
}

/* Can a living hypothesis of log-probability p still become one of the n_best? */
static bool is_settled(const struct beam *b, const struct sentence *sent, double p)
{
    const size_t n = b->options.n_best;

    return sent->n_found >= n &&
           sent->found[n - 1].score > p / beam_penalty(sent->max_len, b->options.alpha);
}

/* Give the hypothesis a row of the next step. */
static void live_on(struct beam *b, size_t s, size_t t, const struct candidate *c)
{
    struct living *next = &b->next;
    const size_t row = next->n++;
    int32_t *physical = next->physical + row * (t + 2);

    next->token[row] = c->id;
    next->sentence[row] = (int32_t)s;
    next->log_prob[row] = c->log_prob;
    memcpy(physical, b->now.physical + c->row * (t + 1), (t + 1) * sizeof *physical);
    physical[t + 1] = (int32_t)row;
}

/* Sentence s at step t, whose rows are [first, last). */
static status advance(struct beam *b, size_t t, size_t s, size_t first, size_t last,
                      struct err *err)
{
    struct sentence *sent = &b->sent[s];
    size_t n_best, n_living = 0;

    TRY(choose(b, t, first, last, &n_best, err));
    for (size_t i = 0; i < n_best; i++)
        if (b->best[i].id == BEAM_EOS)
            keep(b, s, t, &b->best[i]);
        else if (n_living < b->options.width)
            b->best[n_living++] = b->best[i];

    const bool is_over =
        t + 1 == sent->max_len || !n_living || is_settled(b, sent, b->best[0].log_prob);
    const bool has_finished = sent->n_found > 0;
    for (size_t i = 0; i < n_living; i++)
        if (!is_over)
            live_on(b, s, t, &b->best[i]);
        else if (!has_finished)
            keep(b, s, t, &b->best[i]);
    if (is_over && !sent->n_found)
        return err_set(err, ERR_NUMERIC,
                       "the model gives no token at target position %zu any probability; "
                       "its weights are damaged or training diverged",
                       t);
    return OK;
}

static void begin(struct beam *b, const size_t *max_len, size_t n)
{
    b->now.n = n;
    for (size_t s = 0; s < n; s++) {
        BUG_ON(max_len[s] == 0 || max_len[s] > b->max_len);
        b->sent[s] = (struct sentence){max_len[s], b->found + s * b->width, 0};
        b->now.token[s] = BEAM_START;
        b->now.sentence[s] = b->now.physical[s] = (int32_t)s;
        b->now.log_prob[s] = 0;
    }
}

static status step(struct beam *b, const struct beam_source *source, size_t t,
                   struct err *err)
{
    const size_t rows = b->n_sents * b->width;
    const struct living *now = &b->now;
    const struct beam_rows ask = {now->n, now->token, now->sentence, now->physical};

    memcpy(b->fed + t * rows, now->token, now->n * sizeof *b->fed);
    TRY(source->step(source->ctx, t, &ask, b->top, b->top_id, err));
    b->next.n = 0;
    for (size_t first = 0, last; first < now->n; first = last) {
        for (last = first + 1;
             last < now->n && now->sentence[last] == now->sentence[first];)
            last++;
        TRY(advance(b, t, (size_t)now->sentence[first], first, last, err));
    }
    const struct living old = b->now;
    b->now = b->next;
    b->next = old;
    return OK;
}

status beam_search(struct beam *b, const struct beam_source *source,
                   const size_t *max_len, size_t n, struct beam_options options,
                   struct err *err)
{
    BUG_ON(n > b->n_sents || options.width == 0 || options.width > b->width ||
           options.n_best == 0 || options.n_best > options.width);
    b->options = options;
    begin(b, max_len, n);
    for (size_t t = 0; b->now.n; t++)
        TRY(step(b, source, t, err));
    return OK;
}

size_t beam_found(const struct beam *b, size_t sentence)
{
    const size_t n = b->sent[sentence].n_found;

    return n < b->options.n_best ? n : b->options.n_best;
}

struct beam_hypothesis beam_get(const struct beam *b, size_t sentence, size_t rank)
{
    BUG_ON(rank >= beam_found(b, sentence));
    return b->sent[sentence].found[rank];
}
