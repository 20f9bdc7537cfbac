#include "decode/beam/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/beam/beam_state.h"

double beam_penalty(size_t n, double alpha)
{
    return pow((5 + (double)n) / 6, alpha);
}

static status open_living(struct beam_living *l, size_t width, size_t max_len,
                          struct err *err)
{
    size_t n_physical;

    TRY(mem_mul(&n_physical, width, max_len + 1, err));
    TRY(mem_alloc(&l->token, width, sizeof *l->token, err));
    TRY(mem_alloc(&l->log_prob, width, sizeof *l->log_prob, err));
    TRY(mem_alloc(&l->n_text, width, sizeof *l->n_text, err));
    TRY(mem_alloc(&l->state, width, sizeof *l->state, err));
    TRY(mem_alloc(&l->sample, width, sizeof *l->sample, err));
    TRY(mem_alloc(&l->wanted, width * GUIDE_WANTED, sizeof *l->wanted, err));
    TRY(mem_alloc(&l->n_wanted, width, sizeof *l->n_wanted, err));
    return mem_alloc(&l->physical, n_physical, sizeof *l->physical, err);
}

static void close_living(struct beam_living *l)
{
    free(l->token);
    free(l->log_prob);
    free(l->n_text);
    free(l->state);
    free(l->sample);
    free(l->wanted);
    free(l->n_wanted);
    free(l->physical);
}

static status open_parts(struct beam *b, struct err *err)
{
    size_t n_fed;

    TRY(mem_mul(&n_fed, b->width, b->max_len, err));
    TRY(mem_alloc(&b->found, b->width, sizeof *b->found, err));
    TRY(mem_alloc(&b->token, n_fed, sizeof *b->token, err));
    TRY(mem_alloc(&b->fed, n_fed, sizeof *b->fed, err));
    TRY(mem_alloc(&b->best, 2 * b->width, sizeof *b->best, err));
    TRY(mem_alloc(&b->history, b->max_len, sizeof *b->history, err));
    TRY(open_living(&b->now, b->width, b->max_len, err));
    return open_living(&b->next, b->width, b->max_len, err);
}

status beam_open(struct beam **out, size_t max_len, size_t width, struct err *err)
{
    struct beam *b;

    *out = NULL;
    TRY(mem_alloc(&b, 1, sizeof *b, err));
    *b = (struct beam){.max_len = max_len, .width = width};
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
    free(b->found);
    free(b->token);
    free(b->fed);
    free(b->best);
    free(b->all);
    free(b->history);
    close_living(&b->now);
    close_living(&b->next);
    free(b);
}

void beam_begin(struct beam *b, struct beam_limit limit, struct beam_options options)
{
    const struct guide *g = limit.guide;

    BUG_ON(limit.max_len <= (g ? g->n_prefix : 0) || limit.max_len > b->max_len ||
           options.width == 0 || options.width + options.n_extra > b->width ||
           options.n_best == 0 || options.n_best > options.width ||
           (options.is_greedy && options.width > 1));
    b->options = options;
    b->limit = limit;
    b->n_given = g ? g->n_prefix : 0;
    b->t = 0;
    b->n_found = 0;
    b->n_stale = 0;
    b->short_score = -INFINITY;
    b->had_repeats = false;
    b->now.n = 1;
    b->now.token[0] = b->fed[0] = BEAM_START;
    b->now.physical[0] = 0;
    b->now.log_prob[0] = 0;
    b->now.n_text[0] = 0;
    b->now.n_wanted[0] = 0;
    if (g)
        guide_begin(g, &b->now.state[0]);
}

struct beam_rows beam_rows(const struct beam *b)
{
    return (struct beam_rows){b->now.n, b->t, b->now.token, b->now.physical};
}

struct beam_wish beam_wish(const struct beam *b, size_t row)
{
    const struct guide *g = b->limit.guide;

    if (b->options.sampler || !g)
        return (struct beam_wish){.wants_logits = b->options.sampler};
    return (struct beam_wish){.wants_logits = guide_is_choosy(g, &b->now.state[row]),
                              .id = b->now.wanted + row * GUIDE_WANTED,
                              .n = b->now.n_wanted[row]};
}

void beam_copy_history(const struct beam *b, int32_t *to, size_t row)
{
    const int32_t *physical = b->now.physical + row * (b->t + 1);

    for (size_t i = 1; i <= b->t; i++)
        to[i - 1] = b->fed[i * b->width + (size_t)physical[i]];
}

/* The score of a hypothesis of n tokens; what was given does not count. */
static double score_of(const struct beam *b, double log_prob, size_t n)
{
    return log_prob / beam_penalty(n - b->n_given, b->options.alpha);
}

void beam_write(struct beam *b, size_t at, size_t place, const struct beam_candidate *c)
{
    size_t n = b->t + (c->id != BEAM_NO_TOKEN);
    int32_t *token = b->token + place * b->max_len;

    beam_copy_history(b, token, c->row);
    if (n > b->t)
        token[b->t] = c->id;
    if (b->limit.guide && c->id != BEAM_EOS)
        n = guide_length(b->limit.guide, token, n);
    b->found[at] = (struct beam_hypothesis){.token = token,
                                            .n = n,
                                            .n_given = b->n_given,
                                            .log_prob = c->log_prob,
                                            .score = score_of(b, c->log_prob, n),
                                            .is_finished = c->id == BEAM_EOS};
}

void beam_keep(struct beam *b, const struct beam_candidate *c)
{
    const double score = score_of(b, c->log_prob, b->t + (c->id != BEAM_NO_TOKEN));
    size_t at = b->n_found, place = at;

    if (at == b->options.width) {
        if (!(score > b->found[--at].score))
            return;
        place = (size_t)(b->found[at].token - b->token) / b->max_len;
    } else {
        b->n_found++;
    }
    for (; at > 0 && score > b->found[at - 1].score; at--)
        b->found[at] = b->found[at - 1];
    if (at < b->options.n_best)
        b->n_stale = 0;
    beam_write(b, at, place, c);
}

static size_t insert(struct beam_candidate *best, size_t n, size_t max,
                     struct beam_candidate c)
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

bool beam_may_repeat(const struct beam *b)
{
    return b->limit.max_repeats && b->t + 1 >= BEAM_GRAM + b->limit.max_repeats;
}

/* Would `id` after the tokens of b->history be one occurrence too many of a run? */
static bool is_repeat(const struct beam *b, int32_t id)
{
    enum { BEFORE = BEAM_GRAM - 1 };
    const int32_t *h = b->history;
    size_t n = 0;

    if (!beam_may_repeat(b))
        return false;
    for (size_t i = BEFORE; i < b->t; i++)
        if (h[i] == id &&
            memcmp(h + i - BEFORE, h + b->t - BEFORE, BEFORE * sizeof *h) == 0)
            n++;
    return n >= b->limit.max_repeats;
}

bool beam_is_rejected(struct beam *b, const struct beam_candidate *c)
{
    if (c->id != BEAM_EOS)
        return is_repeat(b, c->id);
    if (b->now.n_text[c->row] >= b->options.min_length)
        return false;
    if (b->options.is_greedy)
        return true; /* logits have no score */
    const double score = score_of(b, c->log_prob, b->t + 1);
    b->short_score = score > b->short_score ? score : b->short_score;
    return true;
}

/* What a step offers; the candidates themselves are in b->best. */
struct offer {
    size_t n_best, n_rejected;
    double repeated; /* the likeliest that was rejected as a repeat; -INFINITY: none */
};

/* One candidate, whose row's tokens are in b->history. */
static void consider(struct beam *b, struct beam_candidate c, struct offer *offer)
{
    if (!beam_is_rejected(b, &c)) {
        offer->n_best = insert(b->best, offer->n_best, 2 * b->options.width, c);
        return;
    }
    offer->n_rejected++;
    if (c.id != BEAM_EOS && c.log_prob > offer->repeated)
        offer->repeated = c.log_prob;
    if (c.id == BEAM_EOS && b->options.is_greedy && !offer->n_best)
        b->short_score = INFINITY; /* it would have been the end */
}

status beam_not_a_number(const struct beam *b, struct err *err)
{
    return err_set(err, ERR_NUMERIC,
                   "the model's output at target position %zu is not a number; its "
                   "weights are damaged or training diverged",
                   b->t);
}

status beam_no_token(const struct beam *b, struct err *err)
{
    return err_set(err, ERR_NUMERIC,
                   "the model gives no token at target position %zu any probability; "
                   "its weights are damaged or training diverged",
                   b->t);
}

struct beam_candidate beam_extend(const struct beam *b, size_t row, int32_t id, double p)
{
    /* rounding may leave a certain token slightly above probability 1; logits of a greedy
     * search keep their order */
    const double sum = b->now.log_prob[row] + (p > 0 && !b->options.is_greedy ? 0 : p);

    return (struct beam_candidate){.log_prob = sum, .row = row, .id = id};
}

struct beam_candidate beam_stopped(const struct beam *b, size_t row)
{
    return (struct beam_candidate){
        .log_prob = b->now.log_prob[row], .row = row, .id = BEAM_NO_TOKEN};
}

/* The 2 * width likeliest continuations that the rules allow, best first. */
static status choose(struct beam *b, const struct beam_next *next, struct offer *offer,
                     struct err *err)
{
    *offer = (struct offer){.repeated = -INFINITY};
    for (size_t row = 0; row < b->now.n; row++) {
        const double *top = next->log_prob + row * next->n_top;
        const int32_t *id = next->id + row * next->n_top;
        if (beam_may_repeat(b))
            beam_copy_history(b, b->history, row);
        for (size_t k = 0; k < 2 * b->options.width && id[k] >= 0; k++) {
            if (isnan(top[k]))
                return beam_not_a_number(b, err);
            if (!isinf(top[k])) /* else its probability is 0 */
                consider(b, beam_extend(b, row, id[k], top[k]), offer);
        }
    }
    return OK;
}

/* The first candidate is the next token, or the end. */
static size_t only_first(struct beam *b, size_t n_best)
{
    if (n_best && b->best[0].id == BEAM_EOS) {
        beam_keep(b, &b->best[0]);
        return 0;
    }
    return n_best ? 1 : 0;
}

bool beam_is_settled(const struct beam *b, double p)
{
    const size_t n = b->options.n_best;

    return b->n_found >= n && b->found[n - 1].score > score_of(b, p, b->limit.max_len);
}

static bool has_text(const struct beam *b, int32_t id)
{
    return (size_t)id < b->options.n_ids && b->options.is_text[id];
}

/* Give the hypothesis a row of the next step. */
static void live_on(struct beam *b, const struct beam_candidate *c)
{
    struct beam_living *next = &b->next;
    const size_t row = next->n++, t = b->t;
    int32_t *physical = next->physical + row * (t + 2);

    next->token[row] = c->id;
    next->log_prob[row] = c->log_prob;
    next->n_text[row] = b->now.n_text[c->row] + has_text(b, c->id);
    memcpy(physical, b->now.physical + c->row * (t + 1), (t + 1) * sizeof *physical);
    physical[t + 1] = (int32_t)row;
    if (b->limit.guide) {
        next->state[row] = b->now.state[c->row];
        guide_read(b->limit.guide, &next->state[row], c->id);
        next->n_wanted[row] = guide_wanted(b->limit.guide, &next->state[row],
                                           next->wanted + row * GUIDE_WANTED);
    }
}

/* Of the candidates those that end are kept, the best others are moved to the front of
 * b->best; returns how many. */
static size_t keep_finished(struct beam *b, size_t n_best)
{
    size_t n_living = 0;

    for (size_t i = 0; i < n_best; i++)
        if (b->best[i].id == BEAM_EOS)
            beam_keep(b, &b->best[i]);
        else if (n_living < b->options.width)
            b->best[n_living++] = b->best[i];
    return n_living;
}

status beam_finish(struct beam *b, size_t n_living, bool was_rejected, struct err *err)
{
    const bool has_finished = b->n_found > 0;

    for (size_t i = 0; i < n_living && !has_finished; i++)
        beam_keep(b, &b->best[i]);
    for (size_t row = 0; row < b->now.n && !n_living && !has_finished; row++)
        if (was_rejected) {
            const struct beam_candidate c = beam_stopped(b, row);
            beam_keep(b, &c);
        }
    b->now.n = 0;
    return b->n_found ? OK : beam_no_token(b, err);
}

void beam_go_on(struct beam *b, size_t n)
{
    b->next.n = 0;
    for (size_t i = 0; i < n; i++)
        live_on(b, &b->best[i]);
    const struct beam_living old = b->now;
    b->now = b->next;
    b->next = old;
    b->t++;
    memcpy(b->fed + b->t * b->width, b->now.token, b->now.n * sizeof *b->fed);
}

/* The only way on is the next given token, which costs nothing. */
static status go_on_given(struct beam *b)
{
    b->best[0] = (struct beam_candidate){.id = b->limit.guide->prefix[b->t]};
    beam_go_on(b, 1);
    return OK;
}

status beam_advance(struct beam *b, const struct beam_next *next, struct err *err)
{
    struct offer offer;

    BUG_ON(b->now.n == 0);
    if (b->t < b->n_given)
        return go_on_given(b);
    if (b->options.sampler)
        return beam_sample_advance(b, next, err);
    if (b->limit.guide)
        return beam_guided_advance(b, next, err);
    BUG_ON(next->n_top < 2 * b->options.width);
    TRY(choose(b, next, &offer, err));
    if (offer.n_best < 2 * b->options.width
            ? offer.repeated > -INFINITY
            : offer.repeated > b->best[offer.n_best - 1].log_prob)
        b->had_repeats = true;
    const size_t n_living = b->options.is_greedy ? only_first(b, offer.n_best)
                                                 : keep_finished(b, offer.n_best);
    if (b->t + 1 == b->limit.max_len || !n_living ||
        beam_is_settled(b, b->best[0].log_prob))
        return beam_finish(b, n_living, offer.n_rejected > 0, err);
    beam_go_on(b, n_living);
    return OK;
}

size_t beam_found(const struct beam *b)
{
    return b->n_found < b->options.n_best ? b->n_found : b->options.n_best;
}

struct beam_hypothesis beam_get(const struct beam *b, size_t rank)
{
    BUG_ON(rank >= beam_found(b));
    return b->found[rank];
}

static bool is_unmet(const struct beam *b)
{
    for (size_t i = 0; b->limit.guide && i < beam_found(b); i++)
        if (!guide_is_met(b->limit.guide, b->found[i].token, b->found[i].n))
            return true;
    return false;
}

struct beam_acts beam_acts(const struct beam *b)
{
    return (struct beam_acts){.min_length = b->short_score > b->found[0].score,
                              .repeats = b->had_repeats,
                              .unmet = is_unmet(b)};
}
