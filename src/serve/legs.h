/*
 * legs - segments of text through the models of a route, one after the other.
 *
 * The last model gives alternatives, if they are asked for; the links between words of
 * source and target go through the words between two models.
 *
 * Owns: translations. Borrows: lines and models, which outlive it. Threads: one at a
 * time.
 */
#pragma once

#include "markup/markup.h"
#include "serve/models.h"
#include "serve/work.h"

struct legs_call {
    struct models *models;
    struct models_route route; /* of at least one leg */
    const struct work_seat *seat;
    const struct line *lines;
    size_t n;
    bool has_alternatives, has_links;
    const char *beginning; /* of the last model's translations (serve/translators.h) */
    size_t n_best;
};

/* Zeroed = empty. */
struct legs {
    struct translations first, last; /* of the first of two; of the last */
    struct line *middle;             /* what the last of two has translated */
    struct markup_link *link;        /* of the translation that was asked for last */
    size_t cap;
    struct str phrases; /* of all lines, that the last model must say */
    size_t *phrases_at; /* [lines + 1] */
};

status legs_run(struct legs *l, const struct legs_call *c, struct err *err);
void legs_release(struct legs *l);

/* A line's translation of this rank, its last where it has fewer; its links are there
 * until the next is asked for. */
status legs_get(struct legs *l, size_t line, size_t rank, struct markup_translation *t,
                struct err *err);
