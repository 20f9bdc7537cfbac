/*
 * ensemble - several networks of one vocabulary that speak as one: the probability of a
 * token is the arithmetic mean of theirs.
 *
 *   log P(v) = log (1/M sum_m exp(z_m(v) - log sum exp z_m))
 *
 * The first network has a session of its own, whose owner lends its places and entries;
 * the others have sessions of the same shape, and keep what they know of a sentence or a
 * position at the same place. All of them are stepped with the same rows. M equal
 * networks give the very numbers of one.
 *
 * Owns: the sessions of the others, and logits of a step. Borrows: networks and pool.
 * Threads: one caller at a time, as a session.
 */
#pragma once

#include "infer/session.h"

/* Networks beside the first. */
struct ensemble_networks {
    const struct network *const *net; /* [n] */
    size_t n;
};

/* Zeroed = none: one network speaks alone. */
struct ensemble {
    struct session *session; /* [n] of the others */
    size_t n;
    size_t n_rows, n_vocab, stride; /* stride: floats of a row of logits */
    float *logit;                   /* [n+1][n_rows,stride] the first one's first */
    struct session_wish *wish;      /* [n+1][n_rows] */
    struct session_row *row;        /* [n_rows] */
};

/* Beside a session of this shape. Close also after a failure. */
status ensemble_open(struct ensemble *e, struct ensemble_networks more,
                     const struct infer_kernels *k, struct pool *pool,
                     struct session_shape shape, struct err *err);
void ensemble_close(struct ensemble *e);

/* What the first one's session_encode() does, for the others. */
void ensemble_encode(struct ensemble *e, const struct session_sentence *list, size_t n);

/* session_step() of all of them, with log-probabilities of the mean. Columns of rows are
 * not looked at. */
void ensemble_step(struct ensemble *e, struct session *first,
                   const struct session_row *row, size_t n);
