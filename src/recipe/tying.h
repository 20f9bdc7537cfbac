/*
 * tying - which layers of a stack have one set of weights.
 *
 * Takase and Kiyono 2021, "Lessons on Parameter Sharing across Layers in Transformers":
 * of N layers M sets are learned, and every layer has one of them. With M = 3 of N = 6,
 * sets counted from 0:
 *
 *   cycle      0 1 2 0 1 2
 *   sequence   0 0 1 1 2 2   where M does not divide N: layer l has set l M / N
 *   cycle_rev  0 1 2 2 1 0   the last M layers backwards
 *
 * In each of them a set that is first met higher in the stack has a higher number. So
 * backward, which comes from above, finishes sets from the last to the first, as it does
 * layers that have weights of their own.
 *
 * Threads: values only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define TYING_OPTIONS(X)                                                               \
    X(INT, unique_encoder_layers, "0", "sets of weights that encoder layers share; 0: each its own", \
      RANGE(0, 64))                                                                    \
    X(INT, unique_decoder_layers, "0", "sets of weights that decoder layers share; 0: each its own", \
      RANGE(0, 64))                                                                    \
    X(CHOICE, layer_order, "cycle", "which layers share: 012012, 001122 or 012210",    \
      ONE_OF("cycle|sequence|cycle_rev"))
/* clang-format on */

/* Zeroed: every layer has its own. */
struct tying {
    TYING_OPTIONS(OPT_FIELD)
};

extern const struct opt_table tying_table;

static inline bool tying_is_on(const struct tying *t)
{
    return t->unique_encoder_layers || t->unique_decoder_layers;
}

/* Do both tie the same layers? */
bool tying_same(const struct tying *a, const struct tying *b);

/* ERR_USAGE for more sets than layers, and for an order of nothing. */
status tying_check(const struct tying *t, int64_t encoder_layers, int64_t decoder_layers,
                   struct err *err);

/* The sets of a stack of `layers`, and which of them a layer has; unique: of this stack,
 * 0: as many as layers. */
int tying_sets(int64_t unique, int layers);
int tying_set(const struct tying *t, int64_t unique, int layers, int layer);
