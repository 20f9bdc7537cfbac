/*
 * state - what a checkpoint must hold beside tensors: model.ckpt-N.state.
 *
 * The place in the data, the counters of patience, the best scores: one JSON object with
 * a version and a checksum (docs/formats/state.md), part of the checkpoint. A checkpoint
 * without it was made by another tool.
 *
 * A new field is a member here and a row in state.c that older states may lack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/order.h"
#include "train/update/loss_scale.h"

/* The best evaluation so far, by one measure. */
struct state_best {
    bool is_there;
    double value;
    int64_t step;
};

struct state {
    int64_t step; /* updates made */
    struct order_cursor cursor;
    struct state_best loss, bleu; /* of the validation set */
    struct state_best chosen;     /* by best_metric of best_set, where that is neither */
    int64_t evals_since_best;     /* by best_metric */
    int64_t n_skipped, skipped_in_a_row;
    uint64_t n_source, n_target; /* tokens trained on */
    double t_trained;            /* seconds spent in updates */
    uint64_t pairs_hash;         /* batch_hash() of all updates, summed */
    int64_t n_ranks;             /* that made the checkpoint; 0: not known */
    uint64_t corpus_pairs;       /* of the training corpus: a check at resume */
    uint64_t tokenizer_hash;
    uint64_t train_hash;  /* of the training corpus; 0: not known */
    int64_t micro_tokens; /* target tokens that a rank computes at once; 0: not known */
    uint64_t rest;        /* number of the ranks' files that belong to it; 0: none */
    struct loss_scale
        scale; /* of mixed precision: among the tensors, as the reference's */
};

status state_write(const struct state *s, const char *path, struct err *err);

/* ERR_IO when there is no such file, ERR_FORMAT when it is not whole, ERR_USAGE when a
 * newer program wrote it. */
status state_read(struct state *s, const char *path, struct err *err);
/* The same of n bytes at hand; `path` stands for them in messages. */
status state_parse(struct state *s, const char *path, const void *bytes, size_t n,
                   struct err *err);
