/*
 * evaluation - the validation set measured with the weights or their average, recorded,
 * and judged: is it the best so far?
 *
 * Owns: the translator. Borrows: everything else, set by the caller before the first
 * call. Threads: one at a time; evaluation_run() is collective.
 */
#pragma once

#include <stdbool.h>

#include "train/eval/evaluate.h"
#include "train/save/saving.h"
#include "train/update/moving_average.h"

struct evaluation {
    const struct train_config *config;
    struct peers *peers;
    struct record *record;
    struct state *state;
    struct model *model;
    struct moving_average *average;
    const struct dataset_set *set;
    struct saving *saving; /* of the best models */

    struct translator translator; /* open with eval_bleu and a validation set */
    int64_t evaluated_at;         /* step of the last one; -1: none */
    bool is_patience_used;        /* too many evaluations went by without a best one */
};

/* Close it in any case. */
status evaluation_open(struct evaluation *e, const struct spm *spm,
                       struct err *err) MUST_CHECK;
void evaluation_close(struct evaluation *e);

/* Nothing without a validation set, or when this step was evaluated before. */
status evaluation_run(struct evaluation *e, struct err *err) MUST_CHECK;
