/*
 * embed_rows - the gradient of the tied embedding, reduced in two parts.
 *
 * A row gets its gradient twice: from the output layer, which is done before the rest of
 * backward begins, and from the sentences that contain its token, which backward reaches
 * last. Rows whose token is in no rank's sentences are final early and are reduced while
 * backward runs; the others, a few thousand of 32,768, follow at the end. The ranks first
 * merge their marks, so that all send the same rows, packed one behind the other.
 *
 * Owns: marks, room for packed rows. Threads: marks belong to the caller until the first
 * part is submitted, then to the communication thread, and may be read by both.
 */
#pragma once

#include "dist/exchange/exchange.h"

struct params;

struct embed_rows {
    size_t first, n_rows, stride; /* of the flat gradient */
    uint64_t *mine, *merged;      /* a bit per row: marked by this rank, by any */
    uint64_t *scratch;            /* marks on their way */
    float *packed;                /* [most * stride] */
    size_t most;                  /* rows that are exchanged at once */
};

/* n_max: elements that are exchanged at once, a row at least. */
status embed_rows_open(struct embed_rows *t, const struct params *p, size_t n_max,
                       struct err *err);
void embed_rows_close(struct embed_rows *t);

/* Mark all rows or none; mark the rows of these ids, where negative ids are skipped. */
void embed_rows_mark_all(struct embed_rows *t, bool is_marked);
void embed_rows_mark(struct embed_rows *t, const int32_t *row, size_t n);

/* The sum of squares of the rows that this rank has marked. */
double embed_rows_square(const struct embed_rows *t, const float *flat);

/* In jobs. embed_rows_merge: all-reduce of the marks. */
status embed_rows_merge(struct embed_rows *t, struct comm *c, struct err *err);
/* All-reduce of the marked rows, or of all others. */
status embed_rows_sum(struct embed_rows *t, struct exchange *x, float *flat,
                      bool is_marked, enum wire w, struct err *err);
