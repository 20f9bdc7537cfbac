/*
 * say - a tree said in one of the two languages, word by word.
 *
 * english.c and german.c write clauses and noun phrases; what is the same in both is
 * here. Commas are asked for and appear before the next word, so that two clauses that
 * end together share one and none is left before the full stop. Borrows the string.
 */
#pragma once

#include "base/str.h"
#include "sample/tree.h"

struct say;

/* What a language must be able to say for itself. */
struct language {
    enum sample_side side;
    void (*clause)(struct say *s, const struct clause *c, enum order order);
    void (*np)(struct say *s, const struct np *np, enum casus casus);
    void (*pp)(struct say *s, const struct prep *prep, const struct np *np);
};

extern const struct language sample_english, sample_german;

struct say {
    const struct language *language;
    struct str *out;
    size_t start; /* where the sentence begins in out */
    bool is_comma_due;
};

/* One word or several; NULL and "" add nothing. */
void say_word(struct say *s, const char *text);
/* NULL adds nothing. */
void say_phrase(struct say *s, const struct phrase *p);
void say_comma(struct say *s);
/* The mark ('.' or '?') and the capital letter of the first word. */
void say_end(struct say *s, char mark);

void say_adverbial(struct say *s, const struct adverbial *a);
/* What stands before the subject of a statement, if anything. */
void say_front(struct say *s, const struct clause *c);
/* "very old", "three years old" */
void say_predicate(struct say *s, const struct clause *c);
/* that, whether... and its clause, if there is one. */
void say_complement(struct say *s, const struct clause *c);
/* Appends the sentence to out, without a line end. */
void say_sentence(const struct language *language, const struct sentence *t,
                  struct str *out);
