/*
 * table - the gradient of the tied embedding, summed in two parts.
 *
 * A row of it is made twice: by the output layer, which is through before backward
 * begins, and by the sentences that name it, which backward reaches last of all. So a row
 * that no rank's sentences name is final early and travels while backward runs; only the
 * named ones, a few thousand of 32,768, are left for the end. Ranks put their marks
 * together first: all send the same rows, packed one behind the other.
 *
 * Owns: marks, room for packed rows. Threads: marks belong to the caller until the first
 * part is handed over, then to the communication thread, and may be read by both.
 */
#pragma once

#include "dist/exchange/exchange.h"

struct params;

struct table {
    size_t first, n_rows, stride;   /* of the flat gradient */
    uint64_t *mine, *heard, *named; /* a bit a row: of this rank, another, all */
    float *packed;                  /* [most * stride] */
    size_t most;                    /* rows that are exchanged at once */
};

/* n_max: elements that are exchanged at once, a row at least. */
status table_open(struct table *t, const struct params *p, size_t n_max,
                  struct err *err) MUST_CHECK;
void table_close(struct table *t);

/* This rank's marks: all rows, none, and these besides; negative ones are no rows. */
void table_mark_all(struct table *t);
void table_mark_none(struct table *t);
void table_mark(struct table *t, const int32_t *row, size_t n);

/* The sum of squares of the rows that this rank has marked. */
double table_square(const struct table *t, const float *flat);

/* In jobs. table_merge: everybody's marks into `named`. */
status table_merge(struct table *t, struct comm *c, struct err *err) MUST_CHECK;
/* Rows that are named, or all others, become their sums over all ranks. */
status table_sum(struct table *t, struct exchange *x, float *flat, bool is_named,
                 enum wire w, struct err *err) MUST_CHECK;
