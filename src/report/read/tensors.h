/*
 * tensors - what the .index of a checkpoint says fills its .data file, sorted by purpose.
 *
 * Owns nothing. A checkpoint that cannot be read is not an error of a report: is_known
 * is false and `why` says the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* id, colour of its part of the bar, in words; the order of the page */
#define TENSORS_LIST(T)                            \
    T(WEIGHTS, 1, "weights")                       \
    T(MASTERS, 2, "weights in fp32 beside those")  \
    T(AVERAGE, 5, "moving average of the weights") \
    T(MOMENTS, 3, "moments of the optimizer")      \
    T(OTHER, 4, "other arrays")                    \
    T(COUNTERS, 6, "counters")

enum tensors_kind {
#define T(id, color, name) TENSORS_##id,
    TENSORS_LIST(T)
#undef T
        TENSORS_N
};

struct tensors {
    bool is_known;
    char why[256]; /* not known, in words */
    double bytes[TENSORS_N];
    size_t n[TENSORS_N];
    double total;
    double parameters;  /* elements of the weights, no masters or moments; 0: none */
    char counters[256]; /* the counters by name and size, as far as they fit */
};

void tensors_read(struct tensors *t, const char *index_path);

struct tensors_look {
    int color;
    const char *name;
};
extern const struct tensors_look tensors_looks[];
