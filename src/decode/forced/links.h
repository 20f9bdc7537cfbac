/*
 * links - which words of a pair belong together, read off the attention of a decoder.
 *
 * The weight of a target word and a source word is the attention of the positions that
 * give the target's tokens, their mean, to all tokens of the source word together. Each
 * target word proposes the source word that it attends to most, and each source word the
 * target word that attends to it most; the two are made one as statistical alignments of
 * two directions are (viterbi_grow): what both propose, neighbours of that which one
 * proposes, and last words that would have no link. Attention to S and EOS is left out.
 * docs/translate.md has what other rules gave.
 *
 * Owns: its arrays, which are used again. Threads: one at a time.
 */
#pragma once

#include "decode/forced/words.h"

/* Word `source` and word `target`, counted from 0. */
struct links_link {
    size_t source, target;
};

/* Zeroed = empty. */
struct links {
    struct links_link *link; /* by target, then source */
    size_t n, cap;
    float *weight; /* [target words,source words] */
    unsigned char *is_link;
    int32_t *best; /* of target words, then of source words */
    size_t weight_cap, is_link_cap, best_cap;
};

/* Of a pair whose attention is [target tokens,source tokens], as passes_run() tells it;
 * in place of what was there. */
status links_find(struct links *l, const float *attention, const struct words *source,
                  const struct words *target, struct err *err);
void links_release(struct links *l);

/* The layer whose attention is likely to align words, where nobody has measured it: the
 * last but one, of one or two layers the last. */
static inline int links_usual_layer(size_t n_layers)
{
    return (int)(n_layers > 2 ? n_layers - 2 : n_layers - 1);
}
