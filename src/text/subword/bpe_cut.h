/*
 * bpe_cut - a word into the pieces of a BPE model.
 *
 * The word starts as characters; of all neighbours that together spell a piece, those
 * with the highest score merge first, the leftmost of equal ones, until none are left.
 * What then is no piece is unknown. This is what SentencePiece does with a line; a word
 * may be cut alone when no piece has a space mark but in front.
 *
 * Borrows: the parts of the model. Owns: the table of pieces and working space.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "base/table.h"
#include "text/subword/bpe_heap.h"
#include "text/subword/spm_parts.h"

/* A run of bytes that will be one piece; n_bytes 0: merged into the one before. */
struct bpe_cut_symbol {
    size_t at, n_bytes, prev, next; /* SIZE_MAX: none */
    uint32_t id;
};

/* Neighbours that spell a piece, as they stood when they became neighbours. */
struct bpe_cut_pair {
    uint32_t id;
    size_t left, right, n_bytes;
};

struct bpe_cut {
    const struct spm_parts *parts;
    uint32_t unknown;
    size_t longest; /* bytes of the longest piece */
    struct table pieces;
    struct str word;
    struct bpe_cut_symbol *symbol;
    size_t n_symbols, cap_symbols;
    struct bpe_cut_pair *pair;
    size_t n_pairs, cap_pairs;
    struct bpe_heap heap; /* of pairs, by their scores */
};

/* True when words of this model may be cut here, with SentencePiece's own result. */
bool bpe_cut_fits(const struct spm_parts *parts);

/* `parts` outlives *c. On failure *c is released. */
status bpe_cut_init(struct bpe_cut *c, const struct spm_parts *parts,
                    struct err *err) MUST_CHECK;
void bpe_cut_release(struct bpe_cut *c);

/* A growing row of ids of 16 bits. Zeroed = empty. */
struct bpe_cut_ids {
    uint16_t *id;
    size_t n, cap;
};

/*
 * Append the ids of a space mark followed by `word`, which has none. Unknowns side by
 * side are one, also with the last id that is there, unless it stands before `first`.
 */
status bpe_cut_word(struct bpe_cut *c, struct line word, struct bpe_cut_ids *ids,
                    size_t first, struct err *err) MUST_CHECK;
