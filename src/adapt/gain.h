/*
 * gain - what an adaptation has changed, in BLEU and chrF on pairs that no training saw:
 * measured, said as a table, kept as JSON.
 *
 * Owns: nothing. Threads: one.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/progress.h"
#include "base/str.h"
#include "corpus/dataset.h"

struct gain_score {
    bool is_there;
    double bleu, chrf; /* 0 to 100 */
};

/* Of one text's test pairs. */
struct gain {
    const char *text; /* "new" or "general" */
    size_t n_pairs;
    struct gain_score before, after;
};

struct gain_how {
    const char *checkpoint; /* as model_dir_open() takes it */
    size_t n_threads;
    struct progress *progress;
};

/* Translate the test set with a model as it would be used, and score it. */
status gain_measure(struct gain_score *score, const char *model,
                    const struct dataset_set *set, struct gain_how how, struct err *err);

/* How the numbers were made, as sacreBLEU says it; both in one line. */
void gain_signatures(struct str *out);

/* A row for each text, as columns of plain text or of Markdown. */
void gain_table(struct str *out, const struct gain *gains, size_t n, bool is_markdown);

/* A score as JSON, and back; NULL: there is none. */
json_t *gain_json(const struct gain_score *score);
struct gain_score gain_of_json(const json_t *json);
