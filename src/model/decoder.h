/*
 * decoder - one target position at a time, with cached keys and values.
 *
 * After model_encode(), decoder_begin() projects the memory to each layer's keys and
 * values once; decoder_step() then feeds one token a row and gives the likeliest next
 * ids. Rows are hypotheses in any grouping: which sentence a row belongs to is the range
 * of memory rows it reads, and which history it continues is its list of physical rows
 * (struct cache in device/kernels.h). So choosing beams copies integers, never keys.
 *
 * Owns: caches and buffers on the model's device. Borrows: the model, which outlives it.
 */
#pragma once

#include "base/err.h"
#include "model/model.h"

struct decoder;

struct decoder_shape {
    size_t rows;    /* hypotheses in flight */
    size_t n_src;   /* source tokens of a batch */
    size_t max_len; /* target positions */
    size_t n_top;   /* candidates a row */
};

status decoder_open(struct decoder **dec, struct model *m, struct decoder_shape shape,
                    struct err *err);
void decoder_close(struct decoder *dec);

/* Take over the memory of the last model_encode(). */
void decoder_begin(struct decoder *dec);

struct decoder_rows {
    size_t n;
    const int32_t *token; /* [n] the id at the previous position; any at the start */
    const int32_t *first, *last; /* [n] memory rows first..last of the row's sentence */
    const int32_t *physical; /* [n,t+1] physical row at each step; the last is r itself */
};

/* Position t of every row: top[n,n_top] log-probabilities (reals of the device) and
 * their ids, best first. */
void decoder_step(struct decoder *dec, size_t t, const struct decoder_rows *rows,
                  void *top, int32_t *id);
