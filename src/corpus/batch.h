/*
 * batch - sentences as runs of tokens, without padding.
 *
 * Sentence s is the rows [src_at[s], src_at[s+1]) of the source arrays and
 * [tgt_at[s], tgt_at[s+1]) of the target ones. A source is S tokens EOS; the labels of a
 * target are S tokens EOS, and the decoder reads them shifted right by one, starting
 * from -1, which stands for a zero vector. Models of other architectures (corpus_read_as)
 * may read them without S, and start with a token. Every token carries its position and
 * its pair id, so that dropout can be a function of these and not of how pairs were
 * packed.
 *
 * Owns:    one block that holds all arrays but the weights, contiguous and in the order
 *          of the struct, and one of weights; they grow and are then reused without
 *          allocation.
 * Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/corpus.h"

struct batch {
    size_t n_sents, n_src, n_tgt;         /* n_tgt is 0 in a batch without targets */
    size_t max_src, max_tgt;              /* the longest sentence of each side */
    int32_t *pair;                        /* [n_sents] */
    int32_t *src_at, *tgt_at;             /* [n_sents + 1] */
    int32_t *src_id, *src_pos, *src_pair; /* [n_src] */
    int32_t *tgt_in, *tgt_label, *tgt_pos, *tgt_pair; /* [n_tgt] */
    float *weight; /* [n_sents] of each pair; NULL: all 1 */
    int32_t *block;
    size_t n_block, cap; /* int32s used and there */
    float *weights;      /* room for them */
    size_t cap_weights;
};

void batch_release(struct batch *b);

/* The most tokens of one micro-batch; 0: any number. */
struct batch_limit {
    size_t n_src, n_tgt;
};

/*
 * How many of the pairs, from the first on, make the next micro-batch: as many as stay
 * inside both limits, and at least one unless n is 0.
 */
size_t batch_cut(const struct corpus *c, const uint32_t *pair, size_t n,
                 size_t max_length, struct batch_limit limit);

/*
 * What an update trains on, as a number: every pair adds a hash of its id and of the
 * update's step, modulo 2^64. So the sum over all batches and ranks of an update does not
 * depend on how its pairs were divided; a pair that is left out, trained on twice or in
 * another update changes it.
 */
uint64_t batch_hash(const struct batch *b, uint64_t step);

/* Fill *b (zeroed or used before) with n pairs of a corpus, in the order given. */
status batch_gather(struct batch *b, const struct corpus *c, const uint32_t *pair,
                    size_t n, size_t max_length, struct err *err);
