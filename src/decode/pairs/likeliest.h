/*
 * likeliest - which of many pairs are among the so likely share of them all.
 *
 * Owns: a number for each pair. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Zeroed: empty. */
struct likeliest {
    double *value; /* [n] */
    size_t n, cap;
    double least; /* that stays; with n_least of the pairs that have just this one */
    size_t n_least;
};

/* What is no number becomes -INFINITY. */
status likeliest_add(struct likeliest *l, double value, struct err *err);
void likeliest_release(struct likeliest *l);

/* Of all that were added this share stays, the first ones of those that are equal. */
status likeliest_choose(struct likeliest *l, double share, struct err *err);

/* Whether pair i stays, which one of -INFINITY never does; asked of each once, in order.
 */
bool likeliest_stays(struct likeliest *l, size_t i);
