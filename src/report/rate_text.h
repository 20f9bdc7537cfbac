/* rate_text - a learning-rate policy in words, with the run's own numbers. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct run;

/* Append the formula; false, and nothing appended, when the config names no policy. */
bool rate_text_formula(struct str *out, const struct run *run);
/* The step at which warm-up ends, NAN when there is none. */
double rate_text_warmup(const struct run *run);
