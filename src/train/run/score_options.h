/*
 * score_options - how validation and `ferry eval` compare text: options of `ferry score`,
 * with "score_" in front. measures.h makes metrics of them.
 *
 * Threads: values only.
 */
#pragma once

#include "base/opt.h"
#include "score/tokenize.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define SCORE_TEXT_OPTIONS(X)                                                          \
    X(CHOICE, score_tokenize, "13a", "tokenizer of BLEU", ONE_OF(TOKENIZE_NAMES))      \
    X(BOOL, score_lowercase, "false", "BLEU and chrF do not tell capital letters apart", ANY)
/* clang-format on */

struct score_options {
    SCORE_TEXT_OPTIONS(OPT_FIELD)
};
