#include "decode/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Found are finished hypotheses, or those that a search without any ended with. */
struct sentence {
    struct beam_limit limit;
    struct beam_hypothesis *found; /* [width] best first */
    size_t n_found;
    double short_score; /* the best that min_length rejected; -INFINITY: none */
    bool had_repeats;
};

/* The living hypotheses at one step, grouped by sentence, best first in each group. */
struct living {
    size_t n;
    int32_t *token, *sentence; /* [rows] */
    double *log_prob;          /* [rows] */
    size_t *n_text;            /* [rows] tokens with text */
    int32_t *physical;         /* [rows,t+1] */
};

struct candidate {
    double log_prob;
    size_t row;
    int32_t id;
};

enum { NO_TOKEN = -1 };

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
    int32_t *history;       /* [max_len] of one row */
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
    TRY(mem_alloc(&l->n_text, rows, sizeof *l->n_text, err));
    return mem_alloc(&l->physical, n_physical, sizeof *l->physical, err);
}

static void close_living(struct living *l)
{
    free(l->token);
    free(l->sentence);
    free(l->log_prob);
    free(l->n_text);
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
    TRY(mem_alloc(&b->history, b->max_len, sizeof *b->history, err));
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
    free(b->history);
    close_living(&b->now);
    close_living(&b->next);
    free(b);
}

/* The t tokens that row `row` of step t has generated so far. */
static void copy_history(const struct beam *b, int32_t *to, size_t t, size_t row)
{
    const size_t rows = b->n_sents * b->width;
    const int32_t *physical = b->now.physical + row * (t + 1);

    for (size_t i = 1; i <= t; i++)
        to[i - 1] = b->fed[i * rows + (size_t)physical[i]];
}

/* Enter a hypothesis into the sentence's list, if it is good enough: what c's row has
 * generated before step t, and c's token unless it has none. */
static void keep(struct beam *b, size_t s, size_t t, const struct candidate *c)
{
    struct sentence *sent = &b->sent[s];
    const size_t n = t + (c->id != NO_TOKEN);
    const double score = c->log_prob / beam_penalty(n, b->options.alpha);
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
        (struct beam_hypothesis){token, n, c->log_prob, score, c->id == BEAM_EOS};
    copy_history(b, token, t, c->row);
    if (n > t)
        token[t] = c->id;
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

/* Are t tokens and the next enough for a run to occur too often? Occurrences overlap. */
static bool may_repeat(size_t t, size_t max_repeats)
{
    return max_repeats && t + 1 >= BEAM_GRAM + max_repeats;
}

/* Would `id` after the t tokens of b->history be one occurrence too many of a run? */
static bool is_repeat(const struct beam *b, size_t t, int32_t id, size_t max_repeats)
{
    enum { BEFORE = BEAM_GRAM - 1 };
    const int32_t *h = b->history;
    size_t n = 0;

    if (!may_repeat(t, max_repeats))
        return false;
    for (size_t i = BEFORE; i < t; i++)
        if (h[i] == id && memcmp(h + i - BEFORE, h + t - BEFORE, BEFORE * sizeof *h) == 0)
            n++;
    return n >= max_repeats;
}

/* Does a rule forbid the candidate, whose row's tokens are in b->history? */
static bool is_rejected(const struct beam *b, struct sentence *sent, size_t t,
                        const struct candidate *c)
{
    if (c->id != BEAM_EOS)
        return is_repeat(b, t, c->id, sent->limit.max_repeats);
    if (b->now.n_text[c->row] >= b->options.min_length)
        return false;
    const double score = c->log_prob / beam_penalty(t + 1, b->options.alpha);
    sent->short_score = score > sent->short_score ? score : sent->short_score;
    return true;
}

/* What a step offers a sentence; the candidates themselves are in b->best. */
struct offer {
    size_t n_best, n_rejected;
    double repeated; /* the likeliest that was rejected as a repeat; -INFINITY: none */
};

/* One candidate of sentence s, whose row's tokens are in b->history. */
static void consider(struct beam *b, size_t t, size_t s, struct candidate c,
                     struct offer *offer)
{
    if (!is_rejected(b, &b->sent[s], t, &c)) {
        offer->n_best = insert(b->best, offer->n_best, 2 * b->options.width, c);
        return;
    }
    offer->n_rejected++;
    if (c.id != BEAM_EOS && c.log_prob > offer->repeated)
        offer->repeated = c.log_prob;
}

/* The 2 * width likeliest continuations of rows [first, last) of sentence s that the
 * rules allow, best first. */
static status choose(struct beam *b, size_t t, size_t s, size_t first, size_t last,
                     struct offer *offer, struct err *err)
{
    const size_t K = 2 * b->options.width;

    *offer = (struct offer){.repeated = -INFINITY};
    for (size_t row = first; row < last; row++) {
        if (may_repeat(t, b->sent[s].limit.max_repeats))
            copy_history(b, b->history, t, row);
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
            consider(b, t, s, (struct candidate){sum, row, id}, offer);
        }
    }
    return OK;
}

/* Can a living hypothesis of log-probability p still become one of the n_best? */
static bool is_settled(const struct beam *b, const struct sentence *sent, double p)
{
    const size_t n = b->options.n_best;

    return sent->n_found >= n &&
           sent->found[n - 1].score >
               p / beam_penalty(sent->limit.max_len, b->options.alpha);
}

static bool has_text(const struct beam *b, int32_t id)
{
    return (size_t)id < b->options.n_ids && b->options.is_text[id];
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
    next->n_text[row] = b->now.n_text[c->row] + has_text(b, c->id);
    memcpy(physical, b->now.physical + c->row * (t + 1), (t + 1) * sizeof *physical);
    physical[t + 1] = (int32_t)row;
}

/* Rows [first, last) as they are, when the rules allow them no continuation. */
static void keep_rows(struct beam *b, size_t s, size_t t, size_t first, size_t last)
{
    for (size_t row = first; row < last; row++)
        keep(b, s, t, &(struct candidate){b->now.log_prob[row], row, NO_TOKEN});
}

/* Sentence s at step t, whose rows are [first, last). */
static status advance(struct beam *b, size_t t, size_t s, size_t first, size_t last,
                      struct err *err)
{
    struct sentence *sent = &b->sent[s];
    struct offer offer;
    size_t n_living = 0;

    TRY(choose(b, t, s, first, last, &offer, err));
    if (offer.n_best < 2 * b->options.width
            ? offer.repeated > -INFINITY
            : offer.repeated > b->best[offer.n_best - 1].log_prob)
        sent->had_repeats = true;
    for (size_t i = 0; i < offer.n_best; i++)
        if (b->best[i].id == BEAM_EOS)
            keep(b, s, t, &b->best[i]);
        else if (n_living < b->options.width)
            b->best[n_living++] = b->best[i];

    const bool is_over = t + 1 == sent->limit.max_len || !n_living ||
                         is_settled(b, sent, b->best[0].log_prob);
    const bool has_finished = sent->n_found > 0;
    for (size_t i = 0; i < n_living; i++)
        if (!is_over)
            live_on(b, s, t, &b->best[i]);
        else if (!has_finished)
            keep(b, s, t, &b->best[i]);
    if (is_over && !sent->n_found && offer.n_rejected)
        keep_rows(b, s, t, first, last);
    if (is_over && !sent->n_found)
        return err_set(err, ERR_NUMERIC,
                       "the model gives no token at target position %zu any probability; "
                       "its weights are damaged or training diverged",
                       t);
    return OK;
}

static void begin(struct beam *b, const struct beam_limit *limit, size_t n)
{
    b->now.n = n;
    for (size_t s = 0; s < n; s++) {
        BUG_ON(limit[s].max_len == 0 || limit[s].max_len > b->max_len);
        b->sent[s] = (struct sentence){.limit = limit[s],
                                       .found = b->found + s * b->width,
                                       .short_score = -INFINITY};
        b->now.token[s] = BEAM_START;
        b->now.sentence[s] = b->now.physical[s] = (int32_t)s;
        b->now.log_prob[s] = 0;
        b->now.n_text[s] = 0;
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
                   const struct beam_limit *limit, size_t n, struct beam_options options,
                   struct err *err)
{
    BUG_ON(n > b->n_sents || options.width == 0 || options.width > b->width ||
           options.n_best == 0 || options.n_best > options.width);
    b->options = options;
    begin(b, limit, n);
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

struct beam_acts beam_acts(const struct beam *b, size_t sentence)
{
    const struct sentence *sent = &b->sent[sentence];

    return (struct beam_acts){sent->short_score > sent->found[0].score,
                              sent->had_repeats};
}
