/* train_lines - a BPE model learned from lines, for tests. */
#pragma once

#include "base/lines.h"
#include "text/subword/spm_train.h"

/* The next line to learn from; false at the end. The text lives until the next call. */
typedef bool train_lines_fn(void *ctx, struct line *line);

static inline bool train_lines_next(void *ctx, struct line *line)
{
    return lines_next(ctx, line);
}

static inline status train_lines_count(struct word_counts *words, train_lines_fn *next,
                                       void *ctx, struct err *err)
{
    struct line line;

    while (next(ctx, &line))
        TRY(word_counts_add(words, line, err));
    return word_counts_finish(words, err);
}

/* On failure *spm is NULL. `seen` may be NULL. */
static inline status train_lines(struct spm **spm, struct spm_train_options options,
                                 train_lines_fn *next, void *ctx,
                                 struct word_counts_seen *seen, struct err *err)
{
    struct word_counts *words;
    status s;

    *spm = NULL;
    TRY(word_counts_new(&words, (struct word_counts_options){0}, err));
    s = train_lines_count(words, next, ctx, err);
    if (seen)
        *seen = word_counts_seen(words);
    if (s == OK)
        s = spm_train_words(spm, options, words, err);
    word_counts_free(words);
    return s;
}
