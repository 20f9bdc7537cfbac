/*
 * A step of a search that a guide leads. Of every row the likeliest tokens that rules and
 * guide allow are candidates; the 2 * width best of them go on as in the plain search, so
 * that a guide that refuses nothing changes nothing.
 *
 * A forbidden phrase that is complete may still be the beginning of a longer word, which
 * the next token shows: "hat" is forbidden, "hatte" is not. Such a hypothesis is pending.
 * It takes no place of another but one of n_extra, and goes on only if the likeliest
 * token behind it makes the word longer: else the model meant what is forbidden, and what
 * would be left are words that nobody knows. If that leaves nothing, it goes on so
 * nevertheless.
 *
 * Required phrases are said by dynamic beam allocation (Post and Vilar 2018, in the form
 * of Hu et al. 2019). A hypothesis ends only when it has said them all. Beside the best
 * candidates of all rows, each row's best is one, and so are the tokens that would go on
 * with a phrase. Candidates are in banks by the number of tokens of phrases that they
 * have; the best of every bank goes on, the fullest bank first, then the second best of
 * each, and so forth. A token after which the rest of the phrases would not fit into the
 * positions that are left is refused. Where phrases are forbidden too, what is required
 * may not be allowed at once; so tokens that say nothing of it leave some spare
 * positions, as long as there are others.
 *
 * What lacks phrases has not paid for them yet, and its probability bounds little. So
 * when no complete hypothesis can become a result any more, the others have as many steps
 * as the longest phrase has tokens, and PATIENCE, to give a better one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/beam/beam_state.h"

/* Does it say more of a required phrase than its row? */
static bool is_gain(const struct beam *b, const struct beam_candidate *c)
{
    const struct guide *g = b->limit.guide;

    return g->n_required && c->id != BEAM_EOS &&
           c->bank > guide_progress(g, &b->now.state[c->row]);
}

/* Is there room for what will be left to say behind the candidate? */
static bool leaves_room(const struct beam *b, const struct beam_candidate *c)
{
    const size_t n_left = guide_tokens(b->limit.guide) - c->bank;
    const size_t n_spare = n_left && !is_gain(b, c) ? b->n_spare : 0;

    return n_left + n_spare < b->limit.max_len - b->t;
}

bool beam_guided_allows(const struct beam *b, struct beam_candidate *c)
{
    const struct guide *g = b->limit.guide;
    struct guide_state state;

    if (!g)
        return true;
    if (c->id == BEAM_EOS)
        return guide_may_end(g, &b->now.state[c->row]);
    state = b->now.state[c->row];
    const bool may_come = guide_read(g, &state, c->id);
    c->is_pending = guide_is_pending(g, &state);
    if (!g->n_required)
        return may_come;
    c->bank = (uint16_t)guide_progress(g, &state);
    return may_come && leaves_room(b, c);
}

/* What a step offers; the candidates themselves are in b->all. */
struct offer {
    size_t n_rejected;
    double repeated; /* the likeliest that was rejected as a repeat; -INFINITY: none */
};

/* One candidate, whose row's tokens are in b->history; whether it may come. */
static bool consider(struct beam *b, struct beam_candidate c, struct offer *offer)
{
    const bool may_come = beam_guided_allows(b, &c);

    if (may_come &&
        (is_gain(b, &c) /* which may be a repetition */ || !beam_is_rejected(b, &c))) {
        c.order = (uint32_t)b->n_all;
        b->all[b->n_all++] = c;
        return true;
    }
    offer->n_rejected++;
    if (may_come && c.id != BEAM_EOS && c.log_prob > offer->repeated)
        offer->repeated = c.log_prob;
    return false;
}

/* Did the model mean the forbidden phrase that the row ends with? */
static bool is_meant(const struct beam *b, size_t row, int32_t likeliest)
{
    const struct guide *g = b->limit.guide;
    struct beam_candidate c = {.row = row, .id = likeliest};

    return guide_is_pending(g, &b->now.state[row]) && !beam_guided_allows(b, &c);
}

static status reserve(struct beam *b, size_t n, struct err *err)
{
    return mem_grow(&b->all, &b->cap_all, b->n_all + n, sizeof *b->all, err);
}

/* The likeliest tokens behind a row, the first 2 * width that may come. */
static status add_likely(struct beam *b, size_t row, const double *top, const int32_t *id,
                         size_t n_top, struct offer *offer, struct err *err)
{
    const size_t first = b->n_all;
    size_t n = 0;

    TRY(reserve(b, 2 * b->options.width, err));
    for (size_t k = 0; k < n_top && n < 2 * b->options.width && id[k] >= 0; k++) {
        if (isnan(top[k]))
            return beam_not_a_number(b, err);
        if (!isinf(top[k])) /* else its probability is 0 */
            n += consider(b, beam_extend(b, row, id[k], top[k]), offer);
    }
    if (n && b->limit.guide->n_required)
        b->all[first].is_sure = true; /* the row's best */
    return OK;
}

/* The tokens of required phrases behind a row whose others begin at `first`. */
static status add_wanted(struct beam *b, size_t row, size_t first,
                         const struct beam_more *more, struct offer *offer,
                         struct err *err)
{
    const struct beam_wish wish = beam_wish(b, row);

    TRY(reserve(b, wish.n, err));
    for (size_t i = 0; i < wish.n; i++) {
        size_t at = first;
        if (isnan(more->log_prob[i]))
            return beam_not_a_number(b, err);
        while (at < b->n_all && b->all[at].id != wish.id[i])
            at++;
        if (at < b->n_all ||
            consider(b, beam_extend(b, row, wish.id[i], more->log_prob[i]), offer))
            b->all[at].is_sure = true;
    }
    return OK;
}

static int by_log_prob(const void *a, const void *b)
{
    const struct beam_candidate *x = a, *y = b;

    if (x->log_prob != y->log_prob)
        return x->log_prob > y->log_prob ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* The likeliest of those from `first` on, up to 2 * width that are not pending. */
static void keep_likely(struct beam *b, size_t first)
{
    size_t n = 0, end = first;

    if (b->n_all - first <= 2 * b->options.width)
        return;
    qsort(b->all + first, b->n_all - first, sizeof *b->all, by_log_prob);
    while (end < b->n_all && n < 2 * b->options.width)
        n += !b->all[end++].is_pending;
    b->n_all = end;
}

/* The whole vocabulary, of which the guide may allow little that is likely. */
static status add_any(struct beam *b, size_t row, const struct beam_more *more,
                      struct offer *offer, struct err *err)
{
    const size_t first = b->n_all;

    for (size_t i = 0; i < more->n_logits; i++) {
        const double p = (double)more->logit[i] - more->log_sum;
        if (isnan(p))
            return beam_not_a_number(b, err);
        TRY(reserve(b, 1, err));
        if (!isinf(p))
            consider(b, beam_extend(b, row, (int32_t)i, p), offer);
    }
    keep_likely(b, first);
    return OK;
}

static status add_row(struct beam *b, const struct beam_next *next, size_t row,
                      struct offer *offer, struct err *err)
{
    const size_t at = row * next->n_top;

    if (beam_wish(b, row).wants_logits)
        return add_any(b, row, &next->more[row], offer, err);
    return add_likely(b, row, next->log_prob + at, next->id + at, next->n_top, offer,
                      err);
}

/* All that may follow the rows; those that meant what is forbidden only if asked. */
static status add_rows(struct beam *b, const struct beam_next *next, bool takes_meant,
                       struct offer *offer, struct err *err)
{
    for (size_t row = 0; row < b->now.n; row++) {
        const size_t first = b->n_all;
        if (beam_may_repeat(b))
            beam_copy_history(b, b->history, row);
        if (is_meant(b, row, next->id[row * next->n_top]) == takes_meant)
            TRY(add_row(b, next, row, offer, err));
        if (b->limit.guide->n_required)
            TRY(add_wanted(b, row, first, &next->more[row], offer, err));
    }
    return OK;
}

static status gather(struct beam *b, const struct beam_next *next, struct offer *offer,
                     struct err *err)
{
    enum { SPARE = 4, PASSES = 3 };

    *offer = (struct offer){.repeated = -INFINITY};
    b->n_all = 0;
    for (int pass = 0; pass < PASSES && !b->n_all; pass++) {
        b->n_spare = pass == 0 && b->limit.guide->forbidden ? SPARE : 0;
        TRY(add_rows(b, next, pass == PASSES - 1, offer, err));
    }
    if (b->n_all)
        qsort(b->all, b->n_all, sizeof *b->all, by_log_prob);
    return OK;
}

/* Candidates that end are kept, of the likeliest n_looked_at and of those that are sure;
 * the others of these move to the front in their order. Returns how many. */
static size_t keep_finished(struct beam *b, size_t n_looked_at)
{
    size_t n_seen = 0, n = 0;

    for (size_t i = 0; i < b->n_all; i++) {
        const struct beam_candidate c = b->all[i];
        const bool is_looked_at = n_seen < n_looked_at || c.is_sure;
        n_seen += !c.is_pending;
        if (is_looked_at && c.id == BEAM_EOS)
            beam_keep(b, &c);
        else if (is_looked_at)
            b->all[n++] = c;
    }
    return n;
}

/* The fullest bank first in every round, then by probability; pending ones behind all
 * others, those that have more of the phrases first. */
static int by_round(const void *a, const void *b)
{
    const struct beam_candidate *x = a, *y = b;

    if (x->is_pending != y->is_pending)
        return x->is_pending ? 1 : -1;
    if (x->is_pending && x->bank != y->bank)
        return x->bank > y->bank ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->log_prob != y->log_prob)
        return x->log_prob > y->log_prob ? -1 : 1;
    return (x->bank < y->bank) - (x->bank > y->bank);
}

/* Of the first n candidates, which are sorted, the order in which banks send them. */
static void sort_banks(struct beam *b, size_t n)
{
    uint32_t n_sent[GUIDE_TOKENS + 1];
    uint16_t fullest = 0;

    memset(n_sent, 0, (guide_tokens(b->limit.guide) + 1) * sizeof *n_sent);
    for (size_t i = 0; i < n; i++)
        if (!b->all[i].is_pending && b->all[i].bank > fullest)
            fullest = b->all[i].bank;
    for (size_t i = 0; i < n; i++) {
        struct beam_candidate *c = &b->all[i];
        if (!c->is_pending)
            c->order = 2 * n_sent[c->bank]++ + (c->bank < fullest);
    }
    qsort(b->all, n, sizeof *b->all, by_round);
}

/* Those that end are kept, of the others the best go on: `width`, and n_extra pending
 * ones, or `width` of these when there are no others. Returns how many are in b->best. */
static size_t choose(struct beam *b)
{
    const struct beam_options *o = &b->options;
    const size_t n_all = keep_finished(b, o->is_greedy ? 1 : 2 * o->width);
    size_t n = 0;

    if (o->is_greedy && b->n_found)
        return 0;
    if (b->limit.guide->n_required)
        sort_banks(b, n_all);
    for (size_t i = 0; i < n_all && n < o->width; i++)
        if (!b->all[i].is_pending)
            b->best[n++] = b->all[i];
    const size_t most = n ? n + o->n_extra : o->width;
    for (size_t i = 0; i < n_all && n < most; i++)
        if (b->all[i].is_pending)
            b->best[n++] = b->all[i];
    return n;
}

/* The highest log-probability of the n that go on and have so many tokens of phrases. */
static double likeliest(const struct beam *b, size_t n, size_t bank)
{
    double top = -INFINITY;

    for (size_t i = 0; i < n; i++)
        if (b->best[i].bank >= bank && b->best[i].log_prob > top)
            top = b->best[i].log_prob;
    return top;
}

static bool is_over(const struct beam *b, size_t n)
{
    enum { PATIENCE = 4 };
    const struct guide *g = b->limit.guide;

    if (b->t + 1 == b->limit.max_len || !n || beam_is_settled(b, likeliest(b, n, 0)))
        return true;
    return g->n_required && b->n_stale > PATIENCE + guide_longest(g) &&
           beam_is_settled(b, likeliest(b, n, guide_tokens(g)));
}

status beam_guided_advance(struct beam *b, const struct beam_next *next, struct err *err)
{
    struct offer offer;
    const size_t n_most = 2 * b->options.width;

    TRY(gather(b, next, &offer, err));
    if (b->n_all < n_most ? offer.repeated > -INFINITY
                          : offer.repeated > b->all[n_most - 1].log_prob)
        b->had_repeats = true;
    const size_t n = choose(b);
    b->n_stale++;
    if (is_over(b, n))
        return beam_finish(b, n, offer.n_rejected > 0, err);
    beam_go_on(b, n);
    return OK;
}
