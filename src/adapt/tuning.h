/*
 * tuning - how a trained model is trained on: the numbers that follow from how much text
 * there is.
 *
 * A model forgets by going far from where it was. So the rate stays near a tenth of what
 * a model of this width peaks at when it is trained from nothing (train/run/proposal.c
 * lets width D peak near 0.5 / D), after a warm-up that fills the moments of Adam, which
 * begin at zero; weights are averaged from the first step on; training ends when
 * validation pairs of both texts say so; and every pass over the new pairs has as many
 * general pairs beside it, each time others, as `mix_ratio` says. Without general text
 * nothing would show what is forgotten: the rate is halved, and so are the passes.
 *
 * Owns: nothing. Threads: any.
 */
#pragma once

#include <stdint.h>

#include "train/run/config.h"

/* Training pairs, and what was asked for; 0: choose. */
struct tuning_text {
    uint64_t n_new, n_general; /* n_general 0: there is no general text */
    double mix_ratio;          /* general pairs for each new one */
    int64_t d_model, passes;
    double rate;
};

struct tuning {
    int64_t passes;   /* over the new pairs, at most */
    uint64_t n_drawn; /* general pairs of a pass */
    double rate;      /* the highest */
};

/* Fewer pairs leave nothing to hold out that would say anything. */
enum { TUNING_PAIRS_LEAST = 100 };

/* Validation pairs, and as many test pairs, of a text of so many pairs. */
uint64_t tuning_held_out(uint64_t n_pairs);

struct tuning tuning_choose(const struct tuning_text *t);

/* What all passes have together. */
struct tuning_size {
    uint64_t n_pairs, n_target; /* tokens of targets, specials included */
    size_t longest;             /* tokens of the longest side, without specials */
};

/* Rate, steps, batches and cadence; the shape of the model, what the run is made of and
 * its patience are the caller's. */
void tuning_set(struct train_config *c, const struct tuning *t,
                const struct tuning_size *size);
