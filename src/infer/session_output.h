/*
 * session_output - the output layer: logits pass by in blocks and are never stored whole.
 */
#pragma once

#include "infer/session_crew.h"

enum {
    SESSION_OUTPUT_BLOCK = 512, /* columns */
    SESSION_OUTPUT_ROWS = 12, /* rows whose block of logits stays in the nearest cache */
    SESSION_OUTPUT_FLOATS = SESSION_OUTPUT_BLOCK * SESSION_OUTPUT_ROWS
};

static inline size_t session_output_blocks(size_t V)
{
    return (V + SESSION_OUTPUT_BLOCK - 1) / SESSION_OUTPUT_BLOCK;
}

/* The log-probability of label[r] for each of n normalised rows; on every thread of the
 * call. */
void session_output_score(const struct session_crew *c, size_t n, const int32_t *label,
                          double *log_prob);

/* The likeliest tokens of n normalised rows, and what these wish; the same. */
void session_output(const struct session_crew *c, const struct session_row *row,
                    size_t n);
