/*
 * viterbi - the likeliest word alignment of one sentence pair under a translation table,
 * and one alignment of both directions.
 *
 * An alignment of T target words is an array of source positions, VITERBI_NULL where the
 * null word is the likeliest. Positions count from 0. Words of one target are independent
 * in the model, so that the best alignment is the best position of each.
 *
 * Nothing is allocated; threads do as they like.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ttable;

enum { VITERBI_NULL = -1 };

/*
 * Align target [T] to source [S]: a[j] = the i for which p(i | j, S, T) t(f_j | e_i) is
 * largest, the lowest of equals; the null word only where it is larger still.
 */
void viterbi_align(int32_t *a, const struct ttable *t, const uint16_t *source, size_t S,
                   const uint16_t *target, size_t T);

/*
 * Both directions in one matrix link [T,S], 1 where target j and source i belong
 * together. forward [T] aligns targets to sources, backward [S] sources to targets.
 *
 * viterbi_intersect: the links that both have, the surest.
 * viterbi_grow: these; then, while there are any, neighbours of links (diagonals too)
 * that one direction has and whose source or target has no link yet; last, links of
 * either direction whose source and target both have none (grow-diag-final-and).
 */
void viterbi_intersect(unsigned char *link, const int32_t *forward,
                       const int32_t *backward, size_t S, size_t T);
void viterbi_grow(unsigned char *link, const int32_t *forward, const int32_t *backward,
                  size_t S, size_t T);
