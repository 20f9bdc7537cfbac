/*
 * spm_train - learn a BPE model, from lines or from word counts.
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
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "text/subword/spm.h"
#include "text/subword/word_counts.h"

/* n_done of n_all pieces are learned. */
typedef void spm_train_tick_fn(void *ctx, size_t n_done, size_t n_all);

struct spm_train_options {
    size_t vocab_size;       /* pieces, specials included */
    size_t max_line_bytes;   /* longer lines are left out; 0: SentencePiece's 4192 */
    bool is_at_most;         /* text too poor for vocab_size gives fewer, not an error */
    spm_train_tick_fn *tick; /* called now and then while pieces are learned; or NULL */
    void *tick_ctx;
};

/* What training looked at. */
struct spm_train_count {
    uint64_t n_lines;    /* non-empty ones offered */
    uint64_t n_too_long; /* of these, left out */
};

/* The next line to learn from; false at the end. The text lives until the next call. */
typedef bool spm_next_fn(void *ctx, struct line *line);

/* Learn a model from finished word counts. On failure *spm is NULL. */
status spm_train_words(struct spm **spm, struct spm_train_options options,
                       const struct word_counts *words, struct err *err) MUST_CHECK;

/* Learn a model from the lines that `next` gives. `count` may be NULL. */
status spm_train(struct spm **spm, struct spm_train_options options, spm_next_fn *next,
                 void *ctx, struct spm_train_count *count, struct err *err) MUST_CHECK;

/* The same from text files, read one after the other. */
status spm_train_files(struct spm **spm, struct spm_train_options options,
                       const char *const *paths, size_t n_paths,
                       struct spm_train_count *count, struct err *err) MUST_CHECK;
