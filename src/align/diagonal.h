/*
 * diagonal - where a target word's source word is likely to stand: near the diagonal.
 *
 * With positions counted from 1, target word j of T comes of the null word with
 * probability p_null, otherwise of source word i of S with
 *
 *     p(i | j, S, T) = (1 - p_null) exp(-lambda |i/S - j/T|) / Z(j, S, T).
 *
 * Arguments count positions from 0.
 */
#pragma once

#include <math.h>
#include <stddef.h>

/* |i/S - j/T| */
static inline double diagonal_distance(size_t i, size_t S, size_t j, size_t T)
{
    return fabs((double)(i + 1) / (double)S - (double)(j + 1) / (double)T);
}

/* w[i] = exp(-lambda |i/S - j/T|) for i < S; returns their sum Z. S, T > 0. */
double diagonal_weights(double *w, size_t S, size_t T, size_t j, double lambda);
