/*
 * health - what is wrong with a run, each with its evidence and what to do about it.
 *
 * HEALTH_LIST is the only place that names a finding. A check reports only what stands
 * out from healthy runs: people stop reading a page that gives false alarms.
 *
 * Owns: its strings. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct run;

/* id, the function that looks, what is named */
#define HEALTH_LIST(H)                                                              \
    H(errors, health_log_errors, "The log holds errors")                            \
    H(early_end, health_log_early_end, "It finished long before its last step")     \
    H(died, health_run_died, "The run did not end by itself")                       \
    H(lost, health_run_lost, "Work was lost by restarts")                           \
    H(fewer_ranks, health_ranks_fewer, "Steps were trained on fewer ranks")         \
    H(diverged, health_learning_diverged, "Training diverged")                      \
    H(spikes, health_learning_spikes, "The loss jumped")                            \
    H(skipped, health_learning_skipped, "Updates were skipped")                     \
    H(rate_scale, health_learning_rate, "The learning rate has the wrong scale")    \
    H(disagree, health_learning_disagree, "BLEU and loss disagree")                 \
    H(repeating, health_learning_repeating, "Translations repeat themselves")       \
    H(lengths, health_learning_lengths, "Translations have the wrong length")       \
    H(straggler, health_ranks_straggler, "One rank keeps the others waiting")       \
    H(link_errors, health_ranks_errors, "A network card reports errors")            \
    H(slow_port, health_ranks_port, "A network port runs at 100 Mb/s")              \
    H(clocks, health_ranks_clocks, "The clocks of the hosts differ")                \
    H(oversubscribed, health_ranks_crowded, "Threads do not get a core each")       \
    H(starved, health_pace_starved, "Steps wait for data")                          \
    H(evaluation, health_pace_evaluation, "Evaluation takes much of the time")      \
    H(checkpoints, health_pace_checkpoints, "Training stands still while it saves") \
    H(memory, health_pace_memory, "Memory grows")

struct health_finding {
    const char *id, *title;
    struct str evidence, advice; /* plain text */
    status failed;               /* told in *err, which is there during a check */
    struct err *err;
};

#define H(id, fn, title) HEALTH_##id,
enum { HEALTH_LIST(H) HEALTH_N };
#undef H

struct health {
    struct health_finding found[HEALTH_N]; /* the first n are there */
    size_t n;
};

status health_open(struct health *h, const struct run *run, struct err *err);
void health_close(struct health *h);

/* A check: what it reports is a finding. */
typedef void health_fn(struct health_finding *f, const struct run *run);
#define H(id, fn, title) health_fn fn;
HEALTH_LIST(H)
#undef H

/* What was seen, and what to do about it; advice is given once. */
void health_found(struct health_finding *f, const char *advice, const char *fmt, ...)
    PRINTF(3, 4);
