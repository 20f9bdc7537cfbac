/*
 * positions - the signal that tells a model where in its sentence a token stands:
 *
 *   reference    signal[p,i] = sin(p w_i), signal[p,D/2+i] = cos(p w_i),
 *                w_i = 10000^(-i / (D/2 - 1))
 *   halves       the same with w_i = 10000^(-i / (D/2))
 *   interleaved  signal[p,2i] = sin(p w_i), signal[p,2i+1] = cos(p w_i), w_i as halves
 *   learned      a table of parameters, one of each stack; the functions here are not of
 * it
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>

#define POSITIONS_NAMES "reference|halves|interleaved|learned"
enum positions {
    POSITIONS_REFERENCE,
    POSITIONS_HALVES,
    POSITIONS_INTERLEAVED,
    POSITIONS_LEARNED
};

/* Channel c < D of position p. */
double positions_signal(enum positions kind, size_t p, size_t c, size_t D);

/* signal[p * D + c] of n positions. */
void positions_fill(enum positions kind, float *signal, size_t n, size_t D);
