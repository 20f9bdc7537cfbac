#include "serve/detect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/language.h"

static struct language_guess guess(struct line text)
{
    struct language l = {0};
    struct language_guess g = {.name = ""};
    struct err err;

    if (language_open(&l, &err) == OK) {
        language_add(&l, text);
        g = language_guess(&l);
    }
    language_close(&l);
    return g;
}

/* What is taken when nothing is known. */
static const char *last_resort(const struct models *m)
{
    const char *only = NULL;

    for (size_t i = 0; models_language(m, i); i++)
        if (models_is_source(m, models_language(m, i))) {
            if (only)
                return "en";
            only = models_language(m, i);
        }
    return only ? only : "en";
}

/* The likeliest of the models' own profiles that they translate from. */
static struct detect_guess guess_by_profiles(const struct models *m,
                                             const struct profiles *p, struct line text)
{
    struct detect_guess result = {.confidence = 0};
    struct profile_guess *guess = calloc(p->n, sizeof *guess);

    if (!guess)
        return result;
    profile_detect(p, text, guess);
    for (size_t i = 0; i < p->n && !result.language[0]; i++) {
        const char *found = models_find(m, guess[i].name);
        if (guess[i].confidence <= 0 || !found || !models_is_source(m, found))
            continue;
        snprintf(result.language, sizeof result.language, "%s", found);
        result.confidence = round(guess[i].confidence);
    }
    free(guess);
    return result;
}

struct detect_guess detect_text(const struct models *m, struct line text)
{
    const struct profiles *profiles = models_profiles(m);
    struct detect_guess result = {.confidence = 0};

    if (profiles) {
        result = guess_by_profiles(m, profiles, text);
        if (result.language[0])
            return result;
    }
    const struct language_guess g = guess(text);
    const char *found = g.name[0] ? models_find(m, g.name) : NULL;
    const bool is_good = found && models_is_source(m, found);

    snprintf(result.language, sizeof result.language, "%s",
             is_good ? found : last_resort(m));
    if (is_good)
        result.confidence = round(g.confidence * 100);
    return result;
}
