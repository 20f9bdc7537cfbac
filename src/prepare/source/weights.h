/*
 * weights - how much each pair of a text counts in training: a number a line.
 *
 * Pure; the file itself is read as text (source.h). Threads: any.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"

/* ERR_FORMAT names the line when it is neither 0 nor what corpus_is_weight() takes. */
status weights_read(float *weight, struct line in, const char *name, uint64_t line,
                    struct err *err);

/* The sentence about a file of n weights for a text of another number of pairs. */
status weights_count_differs(const char *name, uint64_t n, const char *text,
                             uint64_t n_text, struct err *err);
