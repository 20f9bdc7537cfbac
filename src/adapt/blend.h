/*
 * blend - one data directory made of two: new text, and general text beside it.
 *
 * Its training pairs are all passes together. Each pass has every new pair once and the
 * next `n_drawn` pairs of the general text; since `ferry prepare` writes pairs in a
 * random order, the next ones are a random draw, and no pair comes again before all
 * others have. Training shuffles the whole, as a function of its seed alone
 * (corpus/order.h): so the mix is exact for any number of ranks and after every stop, and
 * nothing has to be drawn while training runs.
 *
 * Validation and test pairs of the two alternate. A training pair of one text that shares
 * a side with a held-out pair of the other is left out; within a text `ferry prepare` has
 * seen to that.
 *
 * Borrows: the data directories, whose tokenizer is the same. Threads: any, one at a
 * directory.
 */
#pragma once

#include <stdint.h>

#include "adapt/tuning.h"
#include "base/err.h"
#include "corpus/dataset.h"

enum { BLEND_TEXTS = 2 };

struct blend {
    const struct dataset *text[BLEND_TEXTS]; /* new; general, or NULL */
    const char *first;                       /* the directory of the new text */
    struct tuning how;
};

/* Make the directory `to`, whole when its mark is there. */
status blend_write(const struct blend *b, const char *to, struct err *err);

/* What its training pairs come to. */
struct tuning_size blend_measure(const struct corpus *train);
