/*
 * detect - the languages that a text may be in, among those that the models translate
 * from.
 *
 * A language is known by its profile (text/profile.h) if a model brought one, otherwise
 * by its most frequent words (text/language.h).
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include "base/lines.h"
#include "serve/models.h"

enum { DETECT_MOST = 5 };

struct detect_guess {
    const char *language; /* of the models */
    double confidence;    /* 1 to 100 */
};

/* The best first; none: there was nothing to tell them by. */
struct detect_guesses {
    struct detect_guess item[DETECT_MOST];
    size_t n;
};

void detect_text(struct models *m, struct line text, struct detect_guesses *g);

/* What a text is taken for without a guess: the only language that the models translate
 * from, else English. */
const char *detect_unknown(const struct models *m);
