/*
 * loops - whether a translation repeats itself, as those of models do that were trained
 * too little: "the house of the house of the house of the".
 *
 * A text loops when a stretch of up to 64 characters stands in it three times in a row or
 * more, and these cover at least 16 characters. Characters, not words, so that it holds
 * for scripts without blanks too. Three, because the search ends longer loops by itself.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/lines.h"

enum { LOOPS_STRETCH = 64, LOOPS_TIMES = 3, LOOPS_COVERED = 16 };

/* Whether the text, UTF-8, loops. */
status loops_find(bool *loops, struct line text, struct err *err);
