/*
 * ranks - what the ranks tell each other with every update.
 *
 * Small numbers travel with the gradient: sums that make the update's record the same as
 * that of one rank, wishes (to stop) and progress (of a save) on which all must act at
 * the same step, and what each rank measured of itself. A rank whose loss or gradient is
 * not finite, or far from the others', is named.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "recipe/runlog_schema.h"

struct comm;

/* Of each rank. */
#define RANKS_OWN(S)                                                          \
    S(mean_loss) /* of its target tokens; 0 without any */                    \
    S(grad_norm) /* of its gradient's mean over its tokens, before the sum */ \
    S(n_tokens)                                                               \
    S(has_written) /* its part of the save under way... */                    \
    S(save_failed) /* ...and in vain */                                       \
    S(n_skipped)   /* updates in a row that its node, training alone, left out */

/* Summed over the ranks of an update. */
struct ranks_sums {
    double of_step[RUNLOG_STEP_ADDED + 2]; /* record_add_sums() */
    double n_stop;                         /* ranks that were told to stop */
    double n_damaged;                      /* ranks that found damage in their data */
    double n_written; /* ranks whose part of the save under way is done */
};

struct ranks_own {
#define S(name) double name;
    RANKS_OWN(S)
#undef S
};

enum {
    RANKS_N_SUMS = sizeof(struct ranks_sums) / sizeof(double),
    RANKS_N_OWN = sizeof(struct ranks_own) / sizeof(double)
};

/*
 * Finds a rank whose loss or gradient norm is not finite, or is ten times the median of
 * three or more ranks: a sentence about the first one in `text`, false when there is
 * none.
 */
bool ranks_find_odd(const struct comm *c, const struct ranks_own *all, char *text,
                    size_t n_text);

/* The first rank whose write failed, or -1. */
int ranks_failed_save(const struct comm *c, const struct ranks_own *all);

/* The first of those that have left out the most updates in a row. */
int ranks_most_skipped(const struct comm *c, const struct ranks_own *all);

/* "rank 2 on host b" */
enum { RANKS_NAME_MAX = 96 };
const char *ranks_name(const struct comm *c, int rank, char name[RANKS_NAME_MAX]);
