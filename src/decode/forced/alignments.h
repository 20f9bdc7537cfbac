/*
 * alignments - links between words of sources and of their translations, for a list of
 * them that a search has found.
 *
 * Translations go through the network once more, all positions at once, up to the layer
 * whose attention is read (decode/forced/links.h). That costs little beside a search, and
 * depends neither on how a translation was found nor on what else was. Where a
 * translation does not say what its tokens decode to, because its beginning was given,
 * words are matched by their number. One that copies its source has its words linked one
 * by one.
 *
 * Owns: tokens and links. Borrows: what pairs point to, during the call. Threads: one at
 * a time.
 */
#pragma once

#include "decode/forced/passes.h"
#include "decode/forced/words.h"

/* Bytes of a source and of its translation that belong together. */
struct alignments_link {
    struct words_range source, target;
};

struct alignments_item {
    size_t at, n; /* its tokens; none: the source was copied */
    size_t first, n_links;
};

/* Zeroed = empty. */
struct alignments {
    struct spm_ids ids;
    struct alignments_item *item;
    size_t n, cap;
    struct alignments_link *link;
    size_t n_links, links_cap;
};

/* The tokens of the next translation, as it was found; none: the source was copied. */
status alignments_add(struct alignments *a, const int32_t *token, size_t n,
                      struct err *err);

/* The texts of a translation, and S, pieces, EOS of its source. */
struct alignments_pair {
    struct line source, target;
    const int32_t *id;
    size_t n;
};

/* Find the links of all, pair i being that of the i-th that was added. */
status alignments_run(struct alignments *a, struct passes *passes, int layer,
                      const struct spm *spm, const struct alignments_pair *pair,
                      struct err *err);
void alignments_release(struct alignments *a);

/* Append n links in Pharaoh format, "0-0 1-2": a word of the source, a word of the
 * target, counted from 0 between white space; by target, then source, each once. */
status alignments_pharaoh(struct str *out, struct line source, struct line target,
                          const struct alignments_link *link, size_t n, struct err *err);
