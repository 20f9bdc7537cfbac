/*
 * glossary - terms of the source and the phrases that their translations must say.
 *
 * A file of lines "term TAB phrase". Where a term stands in a sentence, as whole words
 * and with these capitals, the phrase must stand in its translation. Of terms that
 * overlap the first counts, and of those that begin together the longest: "ferry" is not
 * looked for in "car ferry" if that is a term too. Both sides are compared as the
 * tokenizer normalises them.
 *
 * Owns: what was read. Borrows: the letters, which outlive it. Threads: immutable once
 * read; read by any.
 */
#pragma once

#include "decode/steer/guide.h"

struct encoder;

struct glossary_term {
    size_t phrase;   /* of all phrases */
    uint64_t number; /* of its line */
    size_t n;        /* letters of the term */
};

/* Zeroed = empty. */
struct glossary {
    struct phrases terms;
    struct glossary_term *term; /* [terms.n_phrases] by number less 1 */
    size_t cap_terms;
    struct required *phrase; /* [n] different ones */
    size_t n, cap;
    struct phrases said; /* the same, by their letters */
};

/* What a phrase is read with. */
struct glossary_tools {
    const struct spm *spm;         /* of sources, that knows the one of targets */
    struct encoder *encoder;       /* of targets */
    const struct letters *letters; /* with their index */
    const struct phrases *forbidden;
};

/* Into *g (zeroed). ERR_FORMAT names file and line: no tab or two, an empty, unknown or
 * too long phrase, a term with two phrases. ERR_USAGE: a phrase that is forbidden. */
status glossary_read(struct glossary *g, const struct glossary_tools *tools,
                     const char *path, struct err *err);
void glossary_release(struct glossary *g);

struct glossary_hit {
    size_t at, n;  /* letters of the sentence */
    size_t phrase; /* of all */
};

/* Terms of a sentence. Zeroed = none. */
struct glossary_hits {
    struct glossary_hit *hit;
    size_t n, cap;
};

/* The terms that count, in their order, and of each phrase the first. */
status glossary_find(const struct glossary *g, const struct spm *spm,
                     struct line sentence, struct glossary_hits *h, struct err *err);
void glossary_release_hits(struct glossary_hits *h);
