/*
 * models - the models of a server: which directions they give, and newer files of them.
 *
 * A direction without a model goes through a third language where two models allow it;
 * of several such languages English is preferred, then the one named first.
 *
 * A file that was replaced is noticed by models_look(), loaded beside the old one and put
 * in its place: requests that begin then use it, those under way end on the old one,
 * which goes with the last of them. One that cannot be loaded, or is of other languages,
 * changes nothing but a sentence. A run directory is looked at by the list of its
 * checkpoints, one of another program by its files, and a glossary is part of its model.
 *
 * Owns: models. Threads: any; models_look() by one, models_close() when no request is
 * under way.
 */
#pragma once

#include "base/err.h"
#include "serve/codes.h"
#include "serve/translators.h"
#include "text/profile.h"

enum { MODELS_MAX = 256, MODELS_LEGS = 2 };

struct models;

/* The models one after the other that translate in a direction; none for a language into
 * itself. */
struct models_route {
    size_t leg[MODELS_LEGS], n_legs;
};

/* A word is PATH or PATH:SOURCE-TARGET, for a model that does not know its languages.
 * `glossaries`: such words too, with commas between them; a path alone is of the only
 * model. "": none. */
status models_open(struct models **m, const char *const *words, size_t n,
                   const char *glossaries, const struct translators_options *o,
                   struct err *err);
void models_close(struct models *m);

/* Languages in the order of the alphabet; NULL behind the last. */
const char *models_language(const struct models *m, size_t i);
/* The language that a client's code means here; NULL: none. */
const char *models_find(const struct models *m, const char *code);
/* False when there is no way. */
bool models_route(const struct models *m, const char *source, const char *target,
                  struct models_route *r);
/* The language that is translated from when a text is detected to be in this one: itself,
 * or the other of pt and pt-BR, of zh-Hans and zh-Hant; NULL: texts of neither are. */
const char *models_source(const struct models *m, const char *code);

/* Profiles of the languages of models that came with them, until they are returned; newer
 * models wait for that. */
const struct profiles *models_borrow_profiles(struct models *m);
void models_return_profiles(struct models *m);

/* The translators of a leg, until they are given back. */
struct models_lent;
struct models_lent *models_lend(struct models *m, size_t leg);
struct translators *models_lent_translators(struct models_lent *l);
void models_give_back(struct models *m, struct models_lent *l);

/* Look at the files; `say` gets a sentence about each that was taken or refused. */
void models_look(struct models *m, void (*say)(void *ctx, const char *text), void *ctx);

/* For a start: leg i's path, source and target; false behind the last. */
struct models_facts {
    const char *path, *source, *target, *terms; /* terms: its glossary, or "" */
    char note[TRANSLATORS_NOTE];                /* what is wrong with it; "": nothing */
    unsigned long long n_loads;                 /* how often it was loaded */
    struct hub_counts counts; /* of its batches; sums are of all files */
};
bool models_facts(struct models *m, size_t i, struct models_facts *f);
