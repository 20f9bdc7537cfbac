/*
 * schedule - the learning rate of every update, as a pure function of its number.
 *
 * The policies are the reference's, by its names and with its option names. t counts
 * the updates that were made before this one, from 0. In the options 0 stands for "as
 * the run": decay_steps 0 decays until the run's last step, lr_d_model 0 is d_model.
 *
 * Owns: nothing. Threads: any, a schedule is constant after schedule_init.
 */
#pragma once

#include <stdint.h>

#include "base/opt.h"
#include "base/str.h"

#define SCHEDULE_POLICIES                                            \
    "fixed_lr|piecewise_constant|exp_decay|poly_decay|cosine_decay|" \
    "transformer_policy|inv_poly_decay"

/* kind, field, default, help, limits */
/* clang-format off */
#define SCHEDULE_OPTIONS(X)                                                            \
    X(CHOICE, lr_policy, "transformer_policy", "how the learning rate changes over the run", ONE_OF(SCHEDULE_POLICIES)) \
    X(REAL, learning_rate, "2.0", "factor of the policy; higher: faster, then unstable", RANGE(0, 1e6)) \
    X(INT, warmup_steps, "-1", "steps in which the rate grows; -1: 8000 for transformer, else 0", RANGE(-1, 1e12)) \
    X(INT, decay_steps, "0", "steps of the decay; 0: to the last step", RANGE(0, 1e12)) \
    X(REAL, decay_rate, "0.5", "exp_decay: factor per decay_steps", RANGE(0, 1e3))     \
    X(REAL, power, "1", "exponent of poly_decay, inv_poly_decay", RANGE(1e-3, 100))    \
    X(REAL, min_lr, "0", "lowest rate; cosine_decay: as a fraction of learning_rate", RANGE(0, 1e6)) \
    X(INT, begin_decay_at, "0", "step at which the decay begins", RANGE(0, 1e12))      \
    X(REAL, max_lr, "0", "highest rate of transformer_policy; 0: no limit", RANGE(0, 1e6)) \
    X(REAL, coefficient, "1", "second factor of transformer_policy", RANGE(0, 1e6))    \
    X(BOOL, use_staircase_decay, "false", "exp_decay: lower the rate once per decay_steps, not smoothly", ANY) \
    X(STR, boundaries, "", "piecewise_constant: last step of each piece", ANY)         \
    X(STR, decay_rates, "", "piecewise_constant: factor after each boundary", ANY)     \
    X(INT, lr_d_model, "0", "width in transformer_policy; 0: d_model", RANGE(0, 1e6))
/* clang-format on */

struct schedule_config {
    SCHEDULE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table schedule_config_table;

enum { SCHEDULE_PIECES_MAX = 64 };

struct schedule_policy;

/* A config with every 0 and -1 resolved. */
struct schedule {
    const struct schedule_policy *policy;
    struct schedule_config config;
    double d_model, last_step;
    double warmup, begin, decay_steps;
    size_t n_pieces;
    double boundary[SCHEDULE_PIECES_MAX], factor[SCHEDULE_PIECES_MAX];
};

/* What the options say together: ERR_USAGE for a contradiction. */
status schedule_check(const struct schedule_config *c, struct err *err);

/* The schedule of a run of last_step updates; checks the config. */
status schedule_init(struct schedule *s, const struct schedule_config *c, int64_t d_model,
                     int64_t last_step, struct err *err);

double schedule_rate(const struct schedule *s, int64_t t);

/* The formula with this run's numbers, and what it does, in a sentence or two. */
void schedule_describe(const struct schedule *s, struct str *out);
