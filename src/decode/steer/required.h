/*
 * required - a phrase that a translation must say, and how far a hypothesis is with it.
 *
 * The phrase must stand in the text as whole words, in whatever pieces it is spelled. How
 * far a hypothesis is, is the number of letters that its text ends with and the phrase
 * begins with (Knuth, Morris and Pratt): a phrase that is interrupted begins again, and
 * what was said may be the beginning of it already. When all letters are there, the next
 * one shows whether its last word has ended.
 *
 * From any letter on, a token is known that goes on: the tokenizer's own pieces of the
 * phrase where these have come so far, else the longest piece that fits.
 *
 * Owns: letters and tables. Threads: immutable once open; read by any.
 */
#pragma once

#include "decode/steer/letters.h"

enum {
    REQUIRED_TOKENS = 64,         /* of a phrase at most */
    REQUIRED_MET = UINT16_MAX - 1 /* in place of a number of letters: it was said */
};

struct required {
    uint32_t *code; /* [n] a word may begin before the first and end behind the last */
    size_t n;
    uint16_t *fail;  /* [n+1] letters that are left when the one behind i is another */
    uint16_t *left;  /* [n+1] tokens from letter i to the end */
    int32_t *next;   /* [n] the token that goes on from letter i; [0]: with a blank */
    int32_t bare;    /* the first token without one; -1: there is none */
    bool is_apart;   /* next[0] is a blank alone, and `bare` follows it */
    size_t n_tokens; /* of the whole phrase */
};

/* A phrase of these letters, whose pieces are the tokenizer's ids, a blank first. The
 * index of the letters must be there. ERR_FORMAT when pieces cannot spell it. */
status required_open(struct required *r, const struct letters *l,
                     struct letters_text phrase, const int32_t *id, size_t n_ids,
                     struct err *err);
void required_close(struct required *r);

/* Letters of the phrase, or REQUIRED_MET, when `code` follows the letter `last`. */
uint16_t required_read(const struct required *r, uint16_t n, uint32_t last,
                       uint32_t code);

/* Is it said, if the text ends here? */
static inline bool required_is_said(const struct required *r, uint16_t n)
{
    return n == REQUIRED_MET || n == r->n;
}

/* Tokens of it that are said, as far as they count, when `last` was the last letter. */
static inline size_t required_progress(const struct required *r, uint16_t n,
                                       uint32_t last)
{
    if (required_is_said(r, n))
        return r->n_tokens;
    if (n == 0)
        return r->is_apart && last == ' ';
    return r->left[n] < r->n_tokens ? r->n_tokens - r->left[n] : 0;
}
