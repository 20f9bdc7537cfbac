/*
 * unigram_cut - ids of a unigram model cut again: one of all segmentations is drawn.
 *
 * A unigram model gives every piece a score, the logarithm of its probability. Encoding
 * takes the segmentation with the highest sum of scores; here each is drawn with a
 * probability proportional to exp(alpha * sum), among all that there are (subword
 * regularization, Kudo 2018, with l = infinity), as SentencePiece's sampling does with
 * nbest_size = -1. Small alphas make all about equally probable, large ones give the
 * best.
 *
 * Owns: the model's pieces as a trie, and working space as long as the longest line.
 * Borrows nothing. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/subword/bpe_cut.h"
#include "text/subword/spm.h"

struct unigram_cut;

/* Of a unigram model. alpha > 0. On failure *u is NULL. */
status unigram_cut_new(struct unigram_cut **u, const struct spm *spm, double alpha,
                       struct err *err);
void unigram_cut_free(struct unigram_cut *u); /* NULL is fine */

/*
 * Append n ids, which were cut by this model, with the text among them cut again: a
 * function of the key. They spell what they spelt: unknowns, bytes, specials and symbols
 * of the user stay, and no new ones come.
 */
status unigram_cut_again(struct unigram_cut *u, const uint16_t *id, size_t n,
                         uint64_t key, struct bpe_ids *out, struct err *err);
