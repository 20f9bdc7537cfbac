/*
 * shortlist - the target ids that a sentence's translation is likely to need, so that the
 * output layer of the decoder computes a few hundred rows instead of the vocabulary.
 *
 * A list of some ids for each source id, made of a translation table (align/ttable.h),
 * and the most frequent target ids for all, as flat little-endian bytes that a model file
 * carries (docs/formats/shortlist.md). Reading them needs no memory and none of the
 * aligner: shortlist_view() checks everything once and points into the bytes.
 *
 * Owns: nothing. The bytes outlive every view. Threads: immutable, used from any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct str;
struct ttable;

enum { SHORTLIST_VERSION = 1, SHORTLIST_HEAD = 24, SHORTLIST_MOST_IDS = 1 << 16 };

struct shortlist {
    const unsigned char *offset;   /* u32 [vocab + 1] into `best` */
    const unsigned char *best;     /* u16, ascending for each source id */
    const unsigned char *frequent; /* u16 [n_frequent], ascending */
    uint32_t vocab, n_frequent;
    uint32_t n_best; /* the most ids that a source id has */
};

/*
 * Append to `blob` the list of the n_best likeliest target ids of every source id and the
 * n_frequent most frequent ids of all. ERR_USAGE: `vocab` is not the table's, or a number
 * is more than it.
 */
status shortlist_make(struct str *blob, const struct ttable *t, size_t n_frequent,
                      size_t n_best, size_t vocab, struct err *err);

/*
 * Check n bytes and point *s into them, which need no alignment. `vocab` is the model's.
 * ERR_FORMAT: not a shortlist, of another vocabulary, or damaged.
 */
status shortlist_view(struct shortlist *s, const void *bytes, size_t n, size_t vocab,
                      struct err *err);

/* The most ids that shortlist_collect() finds for n source ids. */
size_t shortlist_most(const struct shortlist *s, size_t n);

/*
 * The target ids for a sentence of n source ids: the specials, the frequent ones and
 * those of every source id, each once, ascending. Source ids outside the vocabulary add
 * none. Returns how many there are; the first `cap` of them are in `out`. Time is linear
 * in the lists and the vocabulary's bits; nothing is allocated (8 KiB of stack).
 */
size_t shortlist_collect(const struct shortlist *s, const int32_t *source_ids, size_t n,
                         uint16_t *out, size_t cap);
