/*
 * comparison - what the test of several systems against one found, printed.
 *
 * The numbers are those of sacreBLEU's table, one system a line instead of a column of
 * boxes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "score/result.h"
#include "score/significance.h"

struct comparison_system {
    const char *name;
    bool is_baseline; /* what the others are tested against */
    struct significance_result result;
};

/* Put "bs:1000|ar:10000|seed:12345", as far as it was done, into the signature. */
void comparison_note(struct result *head, const struct significance_how *how);

/* "BLEU|SIGNATURE", then "NAME = 38.50 (38.41 ± 2.10) (p = 0.0420)*" for each system; the
 * star stands where p is at most 0.05. Without a line feed at the end, as all of these.
 */
void comparison_lines(struct str *out, const struct result *head,
                      const struct comparison_system *system, size_t n, int width);

/* The same as sacreBLEU's JSON, with the signature. */
void comparison_json(struct str *out, const struct result *head,
                     const struct comparison_system *system, size_t n, int width);

/* Only the scores, one a line. */
void comparison_scores(struct str *out, const struct comparison_system *system, size_t n,
                       int width);
