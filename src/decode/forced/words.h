/*
 * words - the words of a text, as byte ranges, and which of its tokens belong to each.
 *
 * A word is what stands between white space, marks included, as far as tokens cover it.
 * In scripts without blanks (Chinese, Japanese, Thai) a token is a word. A token without
 * a text of its own (a lone blank, a byte of a character) belongs to the word behind it,
 * or to the last.
 *
 * Owns: its arrays, which are used again. Borrows: nothing. Threads: one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/lines.h"
#include "text/subword/spm.h"

struct words_range {
    size_t begin, end; /* bytes, without white space around them */
};

#define WORDS_NONE SIZE_MAX

/* Zeroed = empty. */
struct words {
    struct words_range *word;
    size_t n, cap;
    size_t *of; /* [n_tokens] the word of each token; WORDS_NONE: it has none */
    size_t n_tokens, tokens_cap;
    struct spm_spans spans;
    struct spm_ids pieces; /* tokens that have a text */
};

/* Of a text, whose tokens are S, the tokenizer's pieces and EOS, n altogether: as many
 * pieces as that leaves. */
status words_of_text(struct words *w, const struct spm *spm, struct line text, size_t n,
                     struct err *err);

/* Of n tokens, of which specials and those beyond the tokenizer have no text, in what the
 * others decode to, which is put into `text` (empty). */
status words_of_ids(struct words *w, const struct spm *spm, const int32_t *id, size_t n,
                    struct str *text, struct err *err);

void words_release(struct words *w);
