/*
 * translators - a model in memory, and a translator of it for each request thread.
 *
 * Translators of all threads share the weights and join the same batches. A packed file
 * is copied into memory, so that whatever happens to it on disk does not concern requests
 * that are under way.
 *
 * Owns: the model and its translators. Threads: any, each with its own seat; one opens
 * and closes.
 */
#pragma once

#include <stdatomic.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "decode/hub.h"
#include "decode/translate.h"
#include "text/profile.h"

struct translators_options {
    struct translate_config search;
    size_t n_threads, n_seats;
    bool has_shortlist;
};

struct translators;

status translators_open(struct translators **t, const char *path,
                        const struct translators_options *o, struct err *err);
void translators_close(struct translators *t);

/* Let translations keep to a glossary (decode/steer/glossary.h); before the first call.
 * ERR_FORMAT names file and line, also for a phrase with code or an address in it, which
 * would be taken for a placeholder that the source has not. */
status translators_read_terms(struct translators *t, const char *path, struct err *err);

/* Append the phrases that translations of the text must say, each with a NUL behind it.
 */
status translators_phrases(const struct translators *t, struct line text, struct str *out,
                           struct err *err);

/* The languages it knows of itself; "": not recorded. */
const char *translators_source(const struct translators *t);
const char *translators_target(const struct translators *t);

/* Profiles of its languages; none: neither a packed model nor the data that a run
 * directory was trained on has them. Both live as long as *t. */
const struct profiles *translators_profiles(const struct translators *t);
enum { TRANSLATORS_NOTE = sizeof((struct err *)NULL)->msg };
/* Why profiles that are there are not taken; "": they are. */
const char *translators_note(const struct translators *t);

/* A call of a seat's thread: n lines to up to n_best translations of each. */
struct translators_call {
    size_t seat;
    const atomic_bool *is_cancelled; /* the same for all calls of a seat */
    const struct line *lines;
    size_t n;
    bool has_alternatives; /* as many as the search finds; else the best alone */
    bool has_links;        /* which words belong together */
    const char *beginning; /* of the translation of each line, which is one sentence then;
                              NULL: any */
    size_t n_best;         /* with both: so many, each with another next word */
};

/* How busy its batches are (decode/hub.h). */
struct hub_counts translators_counts(const struct translators *t);

status translators_run(struct translators *t, const struct translators_call *call,
                       struct translations *out, struct err *err);
