/*
 * inputs - what training shows the model of a batch: whole tokens left out, and a second
 * view of every pair.
 *
 * A token that is left out has the id -1, for which the model sees a zero vector and its
 * position. Which ones is a function of seed, step, view, pair and position, so that it
 * depends neither on packing nor on ranks, and a resumed run leaves out the same. The
 * second view stands behind the first, sentence by sentence; its pair number is the first
 * one's complement, so that its dropout masks are others.
 *
 * Owns: one block, which grows and is then reused. Threads: one at a time.
 */
#pragma once

#include "corpus/batch.h"
#include "model/model.h"

struct inputs_rule {
    double word_dropout; /* share of the tokens of every view */
    double cut;          /* share of those of the second view, besides */
    bool has_views;      /* two of them */
    uint64_t seed, step;
};

struct inputs {
    int32_t *block;
    size_t cap;
};

/* The batch as the rule shows it. It lasts until the next call, and as long as b; where
 * nothing is left out and there is one view, it is b itself. */
status inputs_show(struct inputs *in, struct model_batch *out,
                   const struct inputs_rule *rule, const struct batch *b,
                   struct err *err);
void inputs_release(struct inputs *in);
