/*
 * joint - whether two translations that follow each other need a blank between them.
 *
 * Sentences of Chinese and Japanese touch. Their translations into a language that puts
 * blanks between words must not; those into Chinese, Japanese or Thai still do.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stdbool.h>

#include "base/lines.h"

/* Not when one of them is empty, white space is there already, or the last character of
 * the first or the first of the second, quotes and brackets aside, is of a script
 * without blanks. */
bool joint_needs_blank(struct line before, struct line after);
