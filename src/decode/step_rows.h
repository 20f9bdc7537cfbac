/*
 * step_rows - the rows of one step of a batch, and what the model says of each.
 *
 * Beams ask for their likeliest next tokens, each for as many as its own rules say, and
 * some for more (beam_wish); memory for that is taken when a sentence comes that may.
 *
 * Owns: rows, histories and answers. Threads: one at a time.
 */
#pragma once

#include "decode/search.h"
#include "infer/ensemble.h"
#include "infer/session.h"

struct step_rows {
    size_t n_rows, n_top, max_len, n_vocab; /* room */
    struct session_row *row;                /* [n_rows] */
    int32_t *history;                       /* [n_rows,max_len] entries of each row */
    double *log_prob;                       /* [n_rows,n_top] */
    int32_t *id;
    struct session_wish *wish; /* [n_rows] of those that wish more */
    struct beam_more *more;    /* [n_rows] */
    double *wanted;            /* [n_rows,GUIDE_WANTED] */
    float *logit; /* [cap_logits], the vocabulary rounded up to panels each */
    size_t cap_logits;
    size_t n_wishing; /* rows of this step that have one of these */
};

/* For the rows of a session of this shape, whose targets have up to max_len tokens. */
status step_rows_open(struct step_rows *a, const struct network *net,
                      struct session_shape shape, size_t max_len, struct err *err);
void step_rows_close(struct step_rows *a);

/* Room for so many rows of a step that wish logits. */
status step_rows_reserve(struct step_rows *a, size_t n_wishing, struct err *err);

/* What the rows of a sentence have in common. */
struct step_ask {
    const struct beam *beam;
    size_t n_top; /* at most that of the shape */
    bool wants_prob;
    struct session_source source;
    const struct session_columns *outputs; /* NULL: the whole vocabulary */
};

/* A new step. */
void step_rows_begin(struct step_rows *a);

/* Row r of a sentence whose first is row `first` of the step; it attends to the entries
 * of the cache that step_rows_history() of row first + r holds. */
void step_rows_ask(struct step_rows *a, const struct step_ask *ask, size_t first,
                   size_t r);

static inline int32_t *step_rows_history(const struct step_rows *a, size_t at)
{
    return a->history + at * a->max_len;
}

/* The model's answers to the first n rows, or those of an ensemble. */
void step_rows_get(struct step_rows *a, struct session *s, struct ensemble *others,
                   size_t n);

/* Those to a sentence whose first row this is. */
struct beam_next step_rows_next(const struct step_rows *a, size_t first, size_t n_top);
