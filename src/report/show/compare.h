/*
 * compare - several runs side by side: their numbers in columns, what differs and why,
 * the options that differ, and their curves in one plot.
 *
 * The first run is the one that the others are measured against.
 *
 * Owns: its strings. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct judgement;

/* Plain text; row 0 is the heading, column 0 the labels. */
struct compare_table {
    char **cell;
    size_t n_cells, n_rows, n_columns, cap;
};

struct compare {
    struct compare_table facts, options;
    struct compare_table sentences; /* differences explained: one column, no heading */
};

status compare_open(struct compare *c, const struct judgement *runs, size_t n,
                    struct err *err);
void compare_close(struct compare *c);

/* The whole page. */
status compare_write(struct str *out, const struct judgement *runs, size_t n,
                     struct err *err);
