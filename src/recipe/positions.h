/*
 * positions - the signal that tells a model where in its sentence a token stands:
 *
 *   signal[p,i] = sin(p w_i), signal[p,D/2+i] = cos(p w_i), w_i = 10000^(-i / (D/2 - 1))
 *
 * Threads: any.
 */
#pragma once

#include <stddef.h>

/* Channel c < D of position p. */
double positions_signal(size_t p, size_t c, size_t D);

/* w_i, for whoever needs the signal of many positions. */
double positions_rate(size_t i, size_t D);
