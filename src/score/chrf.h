/*
 * chrf - corpus chrF and chrF++, digit for digit as sacreBLEU computes and prints them.
 *
 * Precision P_n and recall R_n are taken of the n-grams of characters, n = 1 to nc, and
 * of words, n = 1 to nw; chrF has nc = 6 and nw = 0, chrF++ nw = 2. With P and R their
 * means over the orders that both sides are long enough for,
 *
 *     chrF = 100 (1 + b^2) P R / (b^2 P + R),   b = 2.
 *
 * Of several references the one that gives the segment the highest score counts. The
 * statistics are sums over segments, as those of BLEU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "score/numbers.h"
#include "score/result.h"

enum { CHRF_CHARS_MAX = 16, CHRF_WORDS_MAX = 8, CHRF_ORDERS_MAX = 24 };

/* How a score is made; CHRF_OPTIONS is what sacreBLEU does unless told otherwise. */
struct chrf_options {
    size_t char_order, word_order; /* at most the limits above */
    unsigned beta;
    bool keeps_space;  /* white space is part of the character n-grams */
    bool is_smoothed;  /* mean of F over all orders, each at least 1e-16 */
    bool is_lowercase; /* small and capital letters are equal */
    enum numbers numbers;
};

#define CHRF_OPTIONS ((struct chrf_options){.char_order = 6, .beta = 2})

/* Characters first, then words. Zeroed = no segment yet. */
struct chrf_stats {
    uint64_t hyp[CHRF_ORDERS_MAX], ref[CHRF_ORDERS_MAX], match[CHRF_ORDERS_MAX];
};

/* Count one segment against the best of its n_refs >= 1 references, all UTF-8. */
status chrf_add(struct chrf_stats *s, const struct chrf_options *o, struct line hyp,
                const struct line *ref, size_t n_refs, struct err *err);

/* into += from */
void chrf_merge(struct chrf_stats *into, const struct chrf_stats *from);

/* 0 to 100 */
double chrf_score(const struct chrf_stats *s, const struct chrf_options *o);

/* All of it, to be printed: "chrF2", "chrF2++" by beta and the orders of words, and
 * "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0". */
struct result chrf_result(const struct chrf_stats *s, const struct chrf_options *o,
                          size_t n_refs);
