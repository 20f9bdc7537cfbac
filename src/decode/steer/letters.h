/*
 * letters - what each token adds to the text of a translation, as code points.
 *
 * A phrase may be cut into pieces in many ways; its letters are always the same. So what
 * a translation must and must not say is asked of letters, and holds for every way that
 * the model may spell it.
 *
 * A piece that begins a word begins with a blank here. Tokens without text (start, end,
 * padding, ids beyond the tokenizer) have no letters; the unknown one has those that
 * stand for it in the text.
 *
 * Owns: the letters of all tokens. Threads: immutable once open; read by any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/table.h"
#include "text/subword/spm.h"

/* Zeroed = of no token. */
struct letters {
    uint32_t *code;
    size_t *at; /* [n_ids + 1] */
    size_t n_ids, n, cap;
    struct table by_text; /* of ids, if there is an index */
};

/* Letters in a row. */
struct letters_text {
    const uint32_t *code;
    size_t n;
};

/* Of a tokenizer that was checked (spm_check_special). */
status letters_open(struct letters *l, const struct spm *spm, struct err *err);
/* Of n tokens whose texts these are, blanks and all. */
status letters_open_texts(struct letters *l, const char *const *text, size_t n,
                          struct err *err);
void letters_close(struct letters *l);

/* Of one token; ids that are none have no letters. */
static inline struct letters_text letters_of(const struct letters *l, int32_t id)
{
    if (id < 0 || (size_t)id >= l->n_ids)
        return (struct letters_text){0};
    return (struct letters_text){l->code + l->at[id], l->at[id + 1] - l->at[id]};
}

/* An index of tokens by their letters, and the lowest one that has these; -1: none. */
status letters_index(struct letters *l, struct err *err);
int32_t letters_find(const struct letters *l, struct letters_text text);

/* A text as the tokenizer would write it, a blank first: normalised, with one blank where
 * there is white space. *code is the caller's to free. */
status letters_normalise(const struct spm *spm, struct line text, uint32_t **code,
                         size_t *n, struct err *err);

/* Is it part of a word that blanks or marks separate from others? Scripts that put
 * nothing between words have no such letters. */
bool letters_is_word(uint32_t code);

/* May a word end between two letters that stand side by side? */
static inline bool letters_is_border(uint32_t before, uint32_t after)
{
    return !letters_is_word(before) || !letters_is_word(after);
}
