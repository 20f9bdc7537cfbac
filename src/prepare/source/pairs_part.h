/* pairs_part - where two files that should be parallel part; internal to pairs. */
#pragma once

#include "prepare/source/pairs.h"

/* Open side `s` of a file from its start. */
status pairs_part_open(const struct pairs *p, const struct pairs_file *f, int s,
                       struct source *out, struct err *err) MUST_CHECK;

/*
 * The error that file `at` has n_source and n_target lines, with the first line from
 * which on the lengths of the two sides fit each other better when one is moved.
 */
status pairs_part_unequal(const struct pairs *p, size_t at, uint64_t n_source,
                          uint64_t n_target, struct err *err) MUST_CHECK;
