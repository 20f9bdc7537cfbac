#include "serve/detect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/language.h"

/* A word or two that many languages have tell nothing. */
enum { LEAST_BY_WORDS = 20 };

/* Put a guess where it belongs, unless better ones leave no place for it. A language that
 * is there is passed over, so its best guess must come first: callers go from the best
 * to the worst, or hand out each language once. */
static void add(struct detect_guesses *g, const char *language, double confidence)
{
    const struct detect_guess guess = {language, round(confidence)};
    size_t at = 0;

    while (at < g->n && g->item[at].confidence >= guess.confidence) {
        if (g->item[at++].language == language)
            return;
    }
    if (guess.confidence < 1 || at == DETECT_MOST)
        return;
    g->n -= g->n == DETECT_MOST;
    memmove(g->item + at + 1, g->item + at, (g->n - at) * sizeof guess);
    g->item[at] = guess;
    g->n++;
}

/* What all profiles that mean the language of the i-th say together (pt and pt-BR, where
 * one of them is served); the others mean none then. */
static double take_all(struct profile_guess *guess, size_t n, size_t i)
{
    const char *language = guess[i].name;
    double sum = 0;

    for (size_t k = i; k < n; k++)
        if (guess[k].name == language) {
            sum += guess[k].confidence;
            guess[k].name = NULL;
        }
    return sum;
}

static void add_by_profiles(const struct models *m, const struct profiles *p,
                            struct line text, struct detect_guesses *g)
{
    struct profile_guess *guess = calloc(p->n, sizeof *guess);

    if (guess)
        profile_detect(p, text, guess);
    for (size_t i = 0; guess && i < p->n; i++)
        guess[i].name = models_source(m, guess[i].name);
    for (size_t i = 0; guess && i < p->n; i++) {
        const char *language = guess[i].name;
        if (language)
            add(g, language, take_all(guess, p->n, i));
    }
    free(guess);
}

static bool has_profile(const struct models *m, const struct profiles *p,
                        const char *language)
{
    for (size_t i = 0; i < p->n; i++)
        if (models_source(m, p->item[i].name) == language)
            return true;
    return false;
}

static void add_by_words(const struct models *m, const struct profiles *p,
                         struct line text, struct detect_guesses *g)
{
    struct language_guess guess[LANGUAGE_MOST];
    struct language l;
    struct err ignored;
    size_t n = 0;

    if (language_open(&l, &ignored) == OK)
        n = language_rank(&l, text, guess);
    language_close(&l);
    for (size_t i = 0; i < n; i++) {
        const char *language = models_source(m, guess[i].name);
        const double confidence = 100 * guess[i].confidence;
        if (language && confidence >= LEAST_BY_WORDS && !has_profile(m, p, language))
            add(g, language, confidence);
    }
}

void detect_text(struct models *m, struct line text, struct detect_guesses *g)
{
    const struct profiles *p = models_borrow_profiles(m);

    g->n = 0;
    add_by_profiles(m, p, text, g);
    add_by_words(m, p, text, g);
    models_return_profiles(m);
}

const char *detect_unknown(const struct models *m)
{
    const char *only = NULL;

    for (size_t i = 0; models_language(m, i); i++)
        if (models_source(m, models_language(m, i)) == models_language(m, i)) {
            if (only)
                return "en";
            only = models_language(m, i);
        }
    return only ? only : "en";
}
