/*
 * Sentences drawn at random: every sample goes its own way, one token after the other. It
 * cannot wait and see whether a forbidden phrase becomes a longer word, so the token that
 * completes one is not drawn.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "decode/beam/beam_state.h"
#include "decode/beam/sampler.h"

/* The number in [0, 1) that draws for the n-th time at this position of sample k. */
static double uniform(const struct beam *b, size_t k, size_t n)
{
    const uint64_t key = rng_hash(rng_hash(b->limit.key, k), b->t);

    return (double)(rng_hash(key, n) >> 11) * 0x1p-53;
}

/* Begin with the row's logits, without what is known to be forbidden. */
static void begin(struct beam *b, size_t row, const struct beam_more *more)
{
    const struct guide *g = b->limit.guide;
    struct sampler *s = b->options.sampler;
    struct beam_candidate c = {.row = row, .id = BEAM_EOS};

    sampler_begin(s, more->logit, more->n_logits);
    if (!beam_guided_allows(b, &c) || b->now.n_text[row] < b->options.min_length)
        sampler_refuse(s, BEAM_EOS);
    if (!g || !guide_is_spelling(g, &b->now.state[row]))
        return;
    for (size_t i = 0; i < more->n_logits; i++) {
        c.id = (int32_t)i;
        if (!beam_guided_allows(b, &c))
            sampler_refuse(s, c.id);
    }
}

/* How row `row`, which is sample k, goes on; without a token when nothing is allowed. */
static status draw(struct beam *b, size_t row, size_t k, const struct beam_more *more,
                   struct beam_candidate *c, struct err *err)
{
    struct sampler *s = b->options.sampler;
    bool is_number;

    beam_copy_history(b, b->history, row);
    begin(b, row, more);
    for (size_t n = 0;; n++) {
        const int32_t id = sampler_draw(s, uniform(b, k, n), &is_number);
        if (!is_number)
            return beam_not_a_number(b, err);
        if (id < 0) {
            *c = beam_stopped(b, row);
            return n || b->limit.guide || b->options.min_length ? OK
                                                                : beam_no_token(b, err);
        }
        *c = beam_extend(b, row, id, (double)more->logit[id] - more->log_sum);
        const bool may_come = beam_guided_allows(b, c) && !c->is_pending;
        if (may_come && !beam_is_rejected(b, c))
            return OK;
        b->had_repeats |= may_come;
        sampler_refuse(s, id);
    }
}

/* All samples begin as one row, with what was given; then each has its own. */
status beam_sample_advance(struct beam *b, const struct beam_next *next, struct err *err)
{
    const bool is_first = b->t == b->n_given;
    const size_t n = is_first ? b->options.width : b->now.n;
    size_t n_living = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t row = is_first ? 0 : i, k = is_first ? i : b->now.sample[i];
        struct beam_candidate c = {0};
        TRY(draw(b, row, k, &next->more[row], &c, err));
        if (c.id == BEAM_EOS || c.id == BEAM_NO_TOKEN || b->t + 1 == b->limit.max_len) {
            beam_write(b, k, k, &c);
            continue;
        }
        b->best[n_living] = c;
        b->next.sample[n_living++] = k; /* the rows of the next step */
    }
    b->n_found = b->options.width;
    b->now.n = 0;
    if (n_living)
        beam_go_on(b, n_living);
    return OK;
}
