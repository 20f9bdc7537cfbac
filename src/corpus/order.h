/*
 * order - which pairs make up each update, in which order.
 *
 * A pure function of (corpus, rule, epoch): ranks, threads and micro-batches do not
 * enter, so any number of machines trains on the same updates. An epoch is one
 * permutation of all pairs, cut from the front into updates; no update crosses its end,
 * every pair is in exactly one. A cursor of two integers says where to continue, and is
 * all that a checkpoint needs to keep.
 *
 * With a mix (corpus/mix.h) an epoch has so many pairs of each part of the corpus as its
 * stage says. They are the next of an endless row of permutations of the part, so that no
 * pair comes again before all others of its part have; where that row is at the beginning
 * of an epoch follows from the counts of the epochs before it.
 *
 * Owns:    the permutation of one epoch, 4 bytes per pair, and with a mix two lists of
 * the corpus's pairs; nothing is allocated after order_open(). Borrows: the corpus and
 * the mix, which must outlive it. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/corpus.h"
#include "corpus/mix.h"

struct order_rule {
    uint64_t seed;
    bool in_file_order;     /* no shuffle: evaluation */
    bool drop_overlong;     /* leave out pairs that max_length would truncate */
    size_t max_length;      /* tokens of a side, S and EOS included */
    size_t batch_tokens;    /* target tokens of an update, specials included, or 0 */
    size_t batch_sentences; /* pairs of an update; exactly one of the two is set */
    const struct mix *mix;  /* of the parts of the corpus; NULL: every pair once */
};

/* Where the next update begins. */
struct order_cursor {
    uint64_t epoch;
    uint64_t next; /* pairs of the epoch already used; less than order.n_pairs */
};

struct order {
    const struct corpus *corpus;
    struct order_rule rule;
    uint32_t *pair; /* [n_pairs] the present epoch */
    size_t n_pairs; /* of the present epoch; before the first, of epoch 0 */
    size_t n_dropped;
    uint32_t *kept;   /* of a mix: the pairs that are used, part by part */
    uint32_t *passed; /* one permutation of a part */
    size_t n_kept[MIX_CORPORA];
    uint64_t epoch; /* of `pair`; UINT64_MAX before the first */
};

struct order_update {
    const uint32_t *pair; /* [n_pairs] valid until the next order_next() */
    size_t n_pairs;
    size_t n_src, n_tgt; /* tokens, specials included, after truncation */
    bool ends_epoch;
};

status order_open(struct order *o, const struct corpus *corpus, struct order_rule rule,
                  struct err *err);
void order_close(struct order *o);

/* ERR_FORMAT unless the cursor, read from a checkpoint, lies inside this order. */
status order_check(const struct order *o, struct order_cursor cursor, struct err *err);

/* The update at *cursor, which moves behind it. */
struct order_update order_next(struct order *o, struct order_cursor *cursor);
