/*
 * bpe_learn - the pieces that SentencePiece's BPE trainer learns, from word counts.
 *
 * Words start as characters. The most frequent pair of neighbours becomes a piece and is
 * merged wherever it stands, until there are enough pieces; the characters follow, most
 * frequent first. A piece has at most 16 characters, all of one script, and a space mark
 * only in front. Ties go to the shorter piece, then to the first by its characters; a
 * piece that two pairs spell is taken once, and the second pair is not merged. A pair
 * that has died out still counts as one that occurs 0 times. All this as SentencePiece
 * does.
 *
 * Where SentencePiece looks for the best pair again and again, counts are kept exact
 * here while merging, so that learning takes time in proportion to the merges made.
 *
 * Owns: the pieces. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "text/subword/word_counts.h"

struct bpe_learn {
    struct str text; /* the pieces, one after the other */
    size_t *end;     /* where each ends */
    size_t n_pieces, cap;
    size_t n_chars; /* the last ones of them, or what there would have to be */
};

/* Learn at most n_wanted pieces; none when even the characters are more. On failure *l is
 * released. */
status bpe_learn_run(struct bpe_learn *l, const struct word_counts *words,
                     size_t n_wanted, struct err *err) MUST_CHECK;
void bpe_learn_release(struct bpe_learn *l);

struct line bpe_learn_piece(const struct bpe_learn *l, size_t i);
