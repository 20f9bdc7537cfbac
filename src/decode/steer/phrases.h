/*
 * phrases - finds any of many phrases, as whole words, in letters that come one by one.
 *
 * The automaton of Aho and Corasick: a node is a beginning of some phrase, the state is
 * the longest one that the letters so far end with, and `fail` leads to the next shorter
 * one. A phrase counts where words begin and end around it (letters_is_border), so a
 * beginning is only followed where a word may begin, and whether a phrase is there shows
 * with the letter behind it. Letters of scripts without blanks between words border on
 * everything.
 *
 * Owns: its nodes. Threads: immutable once built; read by any, each with its own state.
 */
#pragma once

#include "decode/steer/letters.h"

enum { PHRASES_NONE = 0 };

struct phrases_node {
    uint32_t code, parent;
    uint32_t depth;
    uint32_t fail;   /* the longest beginning that this one ends with; 0: none */
    uint32_t phrase; /* that ends here, from 1; PHRASES_NONE: none does */
    uint32_t ends;   /* this node or the next along `fail` where a phrase ends; 0: none */
};

/* Zeroed = no phrase, and built. */
struct phrases {
    struct phrases_node *node; /* [n] node 0 is the empty beginning */
    size_t n, cap;
    struct table child; /* of a node and a letter */
    uint32_t n_phrases;
};

/* One more, which is not empty; its number, from 1. One that is there already keeps its
 * number. */
status phrases_add(struct phrases *p, struct letters_text phrase, uint32_t *number,
                   struct err *err);
/* When all were added. */
status phrases_build(struct phrases *p, struct err *err);
void phrases_release(struct phrases *p);

struct phrases_state {
    uint32_t node;
    uint32_t last; /* the letter before the next */
};

static inline void phrases_begin(struct phrases_state *s)
{
    *s = (struct phrases_state){0, ' '};
}

void phrases_read(const struct phrases *p, struct phrases_state *s, uint32_t code);

/* The node of the longest phrase that ends before the letter `next`, a blank at the end
 * of a text; 0: none does. Shorter ones are at the `ends` of its `fail`, and so on. */
static inline uint32_t phrases_found(const struct phrases *p,
                                     const struct phrases_state *s, uint32_t next)
{
    const uint32_t ends = s->node ? p->node[s->node].ends : 0;

    return ends && letters_is_border(s->last, next) ? ends : 0;
}
