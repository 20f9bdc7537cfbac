/*
 * bitext - the pairs of a packed corpus as the aligner reads them: in one direction, and
 * without those it cannot learn from.
 *
 * A pair with an empty side says nothing about words, and the work of a pair grows with
 * the product of its lengths: both kinds read as empty on both sides, so that loops over
 * their tokens do nothing.
 *
 * Borrows: the corpus. Threads: immutable, read from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/corpus.h"

enum { BITEXT_LONGEST = 256 }; /* tokens of a side of a pair that is learnt from */

struct bitext {
    const struct corpus *corpus;
    bool is_reverse; /* the corpus's target side is the source here */
};

struct bitext_pair {
    struct sentence source, target;
};

/* Pair i < n_pairs of the corpus; both sides are empty, or both have 1 to BITEXT_LONGEST
 * tokens. */
struct bitext_pair bitext_pair(const struct bitext *b, uint32_t i);

/* What one pass over the corpus finds. */
struct bitext_count {
    uint64_t *source, *target; /* [vocab] tokens of an id, on sides of any length */
    uint64_t n_tokens;         /* target tokens of the pairs that are learnt from */
    uint32_t n_empty, n_long;  /* pairs that are not */
    uint32_t n_targets;        /* different ids on the target side */
};

/* ERR_FORMAT when a pair of the corpus is damaged. Release *n also after a failure. */
status bitext_count(struct bitext_count *n, const struct bitext *b, struct err *err);
void bitext_count_release(struct bitext_count *n);
