/*
 * measures - what an evaluation finds of a set that patience and the choice of the best
 * model can follow.
 *
 * A measure is a row here, with a member of its name in struct evaluate_result and in the
 * run log's entries (recipe/runlog_schema.h).
 */
#pragma once

#include <stdbool.h>

/* code, best_metric's name, member, whether more is better, name for people */
#define MEASURE_LIST(M)                        \
    M(LOSS, "loss", valid_loss, false, "loss") \
    M(BLEU, "bleu", bleu, true, "BLEU")        \
    M(CHRF, "chrf", chrf, true, "chrF2")       \
    M(CHRF_WORDS, "chrf++", chrf_words, true, "chrF2++")

#define MEASURE_NAMES "loss|bleu|chrf|chrf++"

enum measure {
#define M(code, ...) MEASURE_##code,
    MEASURE_LIST(M) MEASURE_N
#undef M
};

/* By its name, which is one of MEASURE_NAMES. */
enum measure measure_find(const char *name);
/* For people. */
const char *measure_title(enum measure m);
bool measure_is_better(enum measure m, double now, double before);
