/*
 * spm_train - learn a BPE model from word counts.
 *
 * The result is the vocabulary that SentencePiece (0.2.2 and later) learns from the same
 * lines with the reference's options: pad 0, eos 1, bos 2, unk 3, character coverage 1,
 * everything else its default. BPE never looks across a space, so that counts of words
 * say all that there is to know. Normalisation is that of the installed library.
 *
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "text/subword/spm.h"
#include "text/subword/word_counts.h"

struct spm_train_options {
    size_t vocab_size; /* pieces, specials included */
    size_t n_merges;   /* at least, however many characters there are; 0: vocab_size is
                          what it is */
    const char *const
        *mark; /* [n_marks] tokens that no text becomes, after the specials */
    size_t n_marks;
    bool is_at_most; /* text too poor for vocab_size gives fewer, not an error */
};

/* Learn a model from finished word counts. On failure *spm is NULL. */
status spm_train_words(struct spm **spm, struct spm_train_options options,
                       const struct word_counts *words, struct err *err);
