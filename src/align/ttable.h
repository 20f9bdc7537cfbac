/*
 * ttable - the translation table of a packed corpus: t(f | e), the probability that
 * source id e becomes target id f, learnt from sentence pairs alone.
 *
 * The model is IBM model 1 with a prior that favours the diagonal, that of Dyer,
 * Chahuneau and Smith (2013); align/diagonal.h has the prior, docs/align.md the formulas.
 * The tables are learnt by EM. The same corpus and options give the same bytes for any
 * number of threads. Ids are those of the corpus, which has no specials but UNK.
 *
 * Owns: its arrays; nothing of corpus, pool or options is kept. Threads: immutable once
 * learnt, read from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct corpus;
struct pool;
struct progress;

enum { TTABLE_MOST_ITERATIONS = 50, TTABLE_NOTE = 320 };

#define TTABLE_FLOOR 1e-8f /* smaller probabilities are not kept */

struct ttable_options {
    int iterations;            /* of EM, 1 to TTABLE_MOST_ITERATIONS */
    double p_null;             /* of the null word, above 0 and below 1 */
    double lambda;             /* to begin with, 0.1 to 20 */
    double alpha;              /* of the Dirichlet prior of a row; 0: likelihood alone */
    bool is_reverse;           /* learn t(source | target) of the corpus instead */
    size_t memory_bytes;       /* to stay within; see below */
    struct pool *pool;         /* NULL: the calling thread alone */
    struct progress *progress; /* NULL: silent */
};

struct ttable {
    uint32_t vocab;
    size_t *row_at; /* [vocab + 2] cells of e begin here; row `vocab` is the null word */
    uint16_t *target;    /* [row_at[vocab + 1]] ascending in a row */
    float *prob;         /* [row_at[vocab + 1]] at least TTABLE_FLOOR */
    uint64_t *frequency; /* [vocab] of target ids in the corpus */
    double p_null, lambda;
    int n_iterations;
    double log_prob[TTABLE_MOST_ITERATIONS]; /* of the corpus, natural, before each one */
    uint64_t n_tokens;                       /* target tokens that log_prob sums over */
    uint64_t n_cells, n_cut; /* cells that were learnt, and left out for want of memory */
    char note[TTABLE_NOTE];  /* a sentence on pairs or cells that were left out, or "" */
};

/* 5 iterations, p_null 0.08, lambda 4, alpha 0, 2 GiB, no pool, silent. */
struct ttable_options ttable_defaults(void);

/*
 * Learn from all pairs of `c`. Pairs with an empty side or one of more than 256 tokens
 * are left out. A corpus that has no others gives a table without cells. What the threads
 * have of their own, 10 bytes of every id, and the mapped corpus are not part of
 * memory_bytes. ERR_USAGE: an option, or too little memory. ERR_FORMAT: the corpus is
 * damaged. On failure *t needs no ttable_release().
 */
status ttable_learn(struct ttable *t, const struct corpus *c,
                    const struct ttable_options *o, struct err *err);
void ttable_release(struct ttable *t);

/* t(target | source); `source` may be the vocabulary: the null word. 0 where not kept. */
float ttable_prob(const struct ttable *t, uint32_t source, uint32_t target);

/* The n likeliest target ids of a source id, best first, ties by lower id. Returns how
 * many there are, at most n. Time grows with n: it is for some hundreds. */
size_t ttable_best(const struct ttable *t, uint32_t source, size_t n, uint16_t *id,
                   float *prob);

/* The n most frequent target ids of the corpus, ties by lower id; ids that do not occur
 * are not listed. Returns how many there are. */
size_t ttable_frequent(const struct ttable *t, size_t n, uint16_t *id);
