/*
 * bpe_cut - a word into the pieces of a BPE model, as SentencePiece cuts it.
 *
 * The word starts as characters; of all neighbours that together spell a piece, those
 * with the highest score merge first, the leftmost of equal ones, until none are left.
 * What then is no piece is unknown. This is what SentencePiece does with a line; a word
 * may be cut alone when no piece has a space mark but in front.
 *
 * With BPE-dropout (Provilkov et al., 2020) a merge whose turn has come is skipped with
 * some probability, and the word comes out in more and shorter pieces. A skipped merge
 * does not come back, as in SentencePiece's sampling.
 *
 * Owns: the table of pieces and working space as long as the longest word. Borrows: the
 * model's parts. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/rng.h"
#include "base/str.h"
#include "base/table.h"
#include "text/subword/bpe_heap.h"
#include "text/subword/spm_parts.h"

/* A growing row of ids of 16 bits. Zeroed = empty. */
struct bpe_ids {
    uint16_t *id;
    size_t n, cap;
};
void bpe_cut_ids_release(struct bpe_ids *ids);

struct bpe_cut {
    const struct spm_parts *parts;
    uint32_t unknown;
    size_t longest; /* bytes of the longest piece */
    struct table pieces;
    struct str word;
    struct bpe_symbol *symbol;
    size_t n_symbols, cap_symbols;
    struct bpe_pair *pair;
    size_t n_pairs, cap_pairs;
    struct bpe_heap heap; /* of pairs, by their scores */
};

/* True when words of this model may be cut here, with SentencePiece's own result. */
bool bpe_cut_can(const struct spm_parts *parts);

/* Of a model that can. Release it in any case. */
status bpe_cut_init(struct bpe_cut *c, const struct spm_parts *parts, struct err *err);
void bpe_cut_release(struct bpe_cut *c);

/* Append the ids of a space mark followed by `word`, which has none. Unknowns side by
 * side are one. */
status bpe_cut_word(struct bpe_cut *c, struct line word, struct bpe_ids *ids,
                    struct err *err);

/* Which merges are skipped: a function of the key. */
struct bpe_dropout {
    double rate;
    uint64_t key;
};

/*
 * Append n ids, which were cut by this model, with the words among them cut again. They
 * spell what they spelt: unknowns and specials stay, and a word that would come out with
 * an unknown stays as it is. Rate 0 gives the same ids.
 */
status bpe_cut_again(struct bpe_cut *c, const uint16_t *id, size_t n,
                     struct bpe_dropout how, struct bpe_ids *out, struct err *err);
