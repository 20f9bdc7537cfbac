/*
 * bleu - corpus BLEU, digit for digit as sacreBLEU computes and prints it.
 *
 * With c and r the words of the hypotheses and of their references (of several, that
 * closest in length; of two equally close, the shorter),
 *
 *     BLEU = 100 BP (p1 p2 p3 p4)^(1/4),   BP = exp(1 - r/c) if c < r, else 1,
 *
 * where p_n is the share of the hypotheses' n-grams found in the references, each
 * n-gram counted at most as often as a reference has it. The statistics are sums over
 * segments: gather them in any order and on any number of threads or ranks, and merge.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "score/numbers.h"
#include "score/result.h"
#include "score/tokenize.h"

/* What BLEU is unless told otherwise, and the most that it can be told. */
enum { BLEU_ORDER = 4, BLEU_ORDER_MAX = 9 };

/* method, its name, its default value; what an order without a match counts as */
#define BLEU_SMOOTH_LIST(S)                                                    \
    S(EXP, "exp", 0)       /* the k-th such order: 1 / 2^k matches */          \
    S(FLOOR, "floor", 0.1) /* `value` matches */                               \
    S(ADD_K, "add-k", 1)   /* `value` is added to matches and totals, n > 1 */ \
    S(NONE, "none", 0)     /* nothing: the score is 0 */

enum bleu_smooth {
#define S(code, name, value) BLEU_SMOOTH_##code,
    BLEU_SMOOTH_LIST(S) N_BLEU_SMOOTH
#undef S
};

/* The method called `name`, N_BLEU_SMOOTH when there is none. */
enum bleu_smooth bleu_smooth_find(const char *name);

/* How a score is made. Zeroed: tokenizer 13a, smoothing exp, orders 1 to 4. */
struct bleu_options {
    enum tokenize tokenize;
    enum bleu_smooth smooth;
    double smooth_value;     /* floor and add-k; 0: the method's default */
    size_t order;            /* longest n-grams; 0: BLEU_ORDER */
    bool is_effective_order; /* without orders that no hypothesis is long enough for */
    bool is_lowercase;       /* small and capital letters are equal */
    enum numbers numbers;
};

/* Zeroed = no segment yet. */
struct bleu_stats {
    uint64_t match[BLEU_ORDER_MAX], total[BLEU_ORDER_MAX];
    uint64_t n_without[BLEU_ORDER]; /* segments too short for an n-gram of the order */
    uint64_t hyp_len, ref_len;      /* words */
};

struct bleu {
    double score;                     /* 0 to 100 */
    double precision[BLEU_ORDER_MAX]; /* in percent, smoothed */
    double bp, ratio; /* brevity penalty; hyp_len / ref_len, 0 when r = 0 */
    uint64_t hyp_len, ref_len;
};

/* Count one segment against its n_refs >= 1 references, all of them UTF-8. */
status bleu_add(struct bleu_stats *s, const struct bleu_options *o, struct line hyp,
                const struct line *ref, size_t n_refs, struct err *err);

/* Count one segment whose words are token ids. */
status bleu_add_ids(struct bleu_stats *s, const int32_t *hyp, size_t n_hyp,
                    const int32_t *ref, size_t n_ref, struct err *err);

/* into += from */
void bleu_merge(struct bleu_stats *into, const struct bleu_stats *from);

struct bleu bleu_score(const struct bleu_stats *s, const struct bleu_options *o);

/*
 * The number in [0, 1], to four decimals, that the reference logs as Eval_BLEU_Score:
 * NLTK's corpus_bleu emulating multi-bleu. No smoothing, 0 if an order has no match;
 * a segment too short for an order still adds one to the order's total.
 */
double bleu_nltk(const struct bleu_stats *s);

/* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0" */
void bleu_signature(struct str *out, const struct bleu_options *o, size_t n_refs);

/* All of it, to be printed. */
struct result bleu_result(const struct bleu *b, const struct bleu_options *o,
                          size_t n_refs);
