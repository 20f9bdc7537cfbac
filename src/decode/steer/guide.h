/*
 * guide - what the translation of one sentence must and must not say.
 *
 * It may have to begin with given tokens, and then with given letters, in whatever pieces
 * the model spells them. Forbidden phrases do not appear in it as whole words, however
 * they are spelled; what was given is not held against it. Required phrases appear in it.
 * The next word behind what is given may have to be another than those refused.
 * A hypothesis has a state, which reads its tokens one by one.
 *
 * Owns nothing. Threads: a guide is read by any; a state belongs to its hypothesis.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode/steer/letters.h"
#include "decode/steer/next.h"
#include "decode/steer/phrases.h"
#include "decode/steer/required.h"

enum {
    GUIDE_REQUIRED = 32,               /* phrases of a sentence at most */
    GUIDE_WANTED = 2 * GUIDE_REQUIRED, /* tokens that would go on with one of them */
    GUIDE_TOKENS = GUIDE_REQUIRED * REQUIRED_TOKENS /* of all phrases */
};

/* Zeroed but for the letters = anything goes. */
struct guide {
    const struct letters *letters; /* of the tokenizer */
    const int32_t *prefix;         /* [n_prefix] the first tokens, S before all */
    size_t n_prefix;
    struct letters_text rest; /* the letters behind them; a lone blank may be the end */
    const struct phrases *forbidden;        /* NULL: none */
    const struct required *const *required; /* [n_required] in any order */
    size_t n_required;
    struct next_refused refused; /* what must not come next behind what is given */
};

/* How far a hypothesis is. */
struct guide_state {
    uint32_t n_read;    /* tokens */
    uint32_t n_spelled; /* letters of the rest */
    uint32_t last;      /* the last letter; 0 at the start */
    struct phrases_state forbidden;
    struct next_state next;            /* if something is refused */
    bool is_after_given;               /* the last letter was given */
    uint16_t required[GUIDE_REQUIRED]; /* letters of each phrase, or REQUIRED_MET */
};

void guide_begin(const struct guide *g, struct guide_state *s);

/* The next token, which is not the end; false when it must not come. Given tokens always
 * may. */
bool guide_read(const struct guide *g, struct guide_state *s, int32_t id);

/* May the translation end here? */
bool guide_may_end(const struct guide *g, const struct guide_state *s);

/* Is a forbidden phrase, or a refused word, complete unless the next letter makes its
 * last word longer? */
bool guide_is_pending(const struct guide *g, const struct guide_state *s);

/* How many of these tokens may be the whole translation, if its end was cut off. */
size_t guide_length(const struct guide *g, const int32_t *token, size_t n);

/* Do these tokens say all that is required? */
bool guide_is_met(const struct guide *g, const int32_t *token, size_t n);

/* Are there letters that must come next? Then hardly a token may. */
static inline bool guide_is_spelling(const struct guide *g, const struct guide_state *s)
{
    return s->n_read >= g->n_prefix && s->n_spelled < g->rest.n;
}

/* May the likeliest tokens be out of the question? */
static inline bool guide_is_choosy(const struct guide *g, const struct guide_state *s)
{
    return guide_is_spelling(g, s) || (g->refused.n && s->next.stage == NEXT_OPEN);
}

/* Append the letters of the next word that these tokens say behind what is given. */
status guide_next_word(const struct guide *g, const int32_t *token, size_t n,
                       uint32_t **code, size_t *n_codes, size_t *cap, struct err *err);

/* Tokens of all required phrases, and of the longest. */
size_t guide_tokens(const struct guide *g);
size_t guide_longest(const struct guide *g);

/* How many of them are said: those of phrases that are, and of the one that is farthest.
 * So many tokens as are left are enough to say them all, if each goes on with a wanted
 * one. */
size_t guide_progress(const struct guide *g, const struct guide_state *s);

/* The tokens that would go on with a required phrase, or begin one; none before S. */
size_t guide_wanted(const struct guide *g, const struct guide_state *s,
                    int32_t id[GUIDE_WANTED]);
