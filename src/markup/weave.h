/*
 * weave - where the tags of a segment stand among the items of its translation.
 *
 * If the tags stand in pairs, elements keep their parents but may change their order:
 * each goes around the run of items that came from its words. If they do not, all tags
 * keep their order. Either way each is there once.
 *
 * Owns: the events. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "markup/item.h"

/* A tag before item `at`, or behind the last. */
struct weave_event {
    size_t at, mark;
};

/* A run of items; `score` of them are an element's own, less those that are not. */
struct weave_run {
    size_t at, end, score;
};

/* Zeroed = empty. */
struct weave {
    struct weave_event event[MARKUP_MARKS]; /* in the order of the result */
    size_t n_events;
    struct weave_run run[MARKUP_MARKS]; /* of elements, at the mark of their open tag */
};

void weave_tags(struct weave *w, const struct items *items, const struct item_input *in);
