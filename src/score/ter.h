/*
 * ter - corpus TER, digit for digit as sacreBLEU computes and prints it.
 *
 * With e the edits (score/edits.h) that make a hypothesis the nearest of its references,
 * and r the mean number of their words,
 *
 *     TER = 100 sum(e) / sum(r),
 *
 * less being better; it may pass 100. Without a word in the references it is 100, or 0 if
 * the hypotheses have none either. Words are what Tercom's tokenizer leaves: by default
 * it only makes letters small.
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

/* How a score is made. Zeroed: what sacreBLEU does unless told otherwise. */
struct ter_options {
    bool is_normalized; /* entities, punctuation and possessives become words */
    bool without_punctuation;
    bool is_asian; /* these two do the same to Chinese and Japanese */
    bool is_case_sensitive;
    enum numbers numbers;
};

/* Zeroed = no segment yet. */
struct ter_stats {
    double n_edits, ref_len;
};

/* Count one segment against its n_refs >= 1 references, all UTF-8. */
status ter_add(struct ter_stats *s, const struct ter_options *o, struct line hyp,
               const struct line *ref, size_t n_refs, struct err *err);

double ter_score(const struct ter_stats *s, const struct ter_options *o);

/* Append the words of a line, separated by single blanks. */
status ter_cut(struct str *out, const struct ter_options *o, struct line line,
               struct err *err);

/* All of it, to be printed: "TER" and
 * "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:2.6.0". */
struct result ter_result(const struct ter_stats *s, const struct ter_options *o,
                         size_t n_refs);
