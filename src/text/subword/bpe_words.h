/*
 * bpe_words - the words of a text as rows of symbols that merge, for spm_train.
 *
 * A row of cells holds all words, the most frequent first, equally frequent ones in the
 * order of their bytes. Before each word stands a cell that names it. A symbol stands in
 * the cell of its first character; the cell of its last one tells how far back that is.
 *
 * Symbols 0 .. n_chars-1 are characters, most frequent first; n_chars is every character
 * that gets no piece. The first symbol of a word is the space mark.
 *
 * Owns: everything. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "text/subword/word_counts.h"

enum { BPE_WORDS_SPACE = 0x2581 };

/* What a cell may be besides a symbol, with a number in the other bits. */
#define BPE_WORDS_HEAD (1u << 31) /* the word that follows */
#define BPE_WORDS_BACK (1u << 30) /* cells back to where the symbol starts */
#define BPE_WORDS_MASK (BPE_WORDS_BACK - 1)

struct bpe_words {
    uint32_t *cell;
    size_t n_cells; /* the last one is the head of no word */
    uint64_t *count;
    size_t n_words;
    uint32_t *code; /* of each character that gets a piece */
    size_t n_chars;
};

/* *b is zeroed, and released by the caller also after a failure: for want of memory, or
 * when there are over 2^30 words or 2^32 characters. */
status bpe_words_make(struct bpe_words *b, const struct word_counts *words,
                      struct err *err);
void bpe_words_release(struct bpe_words *b);

/* Where the symbol before the one that starts at i starts; 0 when i is the first. */
static inline size_t bpe_words_before(const struct bpe_words *b, size_t i)
{
    const uint32_t c = b->cell[i - 1];

    return c & BPE_WORDS_HEAD   ? 0
           : c & BPE_WORDS_BACK ? i - 1 - (c & BPE_WORDS_MASK)
                                : i - 1;
}

/* How often the word occurs to which the symbol that starts at i belongs. */
static inline uint64_t bpe_words_count(const struct bpe_words *b, size_t i)
{
    while (!(b->cell[i - 1] & BPE_WORDS_HEAD))
        i = bpe_words_before(b, i);
    return b->count[b->cell[i - 1] & BPE_WORDS_MASK];
}
