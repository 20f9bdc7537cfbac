/*
 * compare - several runs side by side: their numbers in columns, what differs and why,
 * the options that differ, and their curves in one plot.
 *
 * The first run is the one that the others are measured against.
 *
 * Owns: its strings. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct judgement;
struct run;
struct runlog;

/* Plain text; row 0 is the heading, column 0 the labels. */
struct compare_table {
    char **cell;
    size_t n_cells, n_rows, n_columns, cap;
};

struct compare {
    struct compare_table facts, options;
    struct compare_table samples;   /* sentences that several runs translated */
    struct compare_table sentences; /* differences explained: one column, no heading */
    struct compare_table warnings;  /* what does not compare, and why: the same */
};

status compare_open(struct compare *c, const struct judgement *runs, size_t n,
                    struct err *err);
void compare_close(struct compare *c);

/* ---- its parts, for compare_data.c ---- */

/* Cells come row by row. */
status compare_add(struct compare_table *t, const char *text, struct err *err);
status compare_say(struct compare_table *t, struct err *err, const char *fmt, ...)
    PRINTF(3, 4);

/* Whether a validation loss means the same in both. */
bool compare_data_losses_compare(const struct run *a, const struct run *b);
/* Sentences into c->warnings: where data, vocabulary or direction differ. */
status compare_data_warn(struct compare *c, const struct run *a, const struct run *b,
                         struct err *err);
status compare_data_samples(struct compare_table *t, const struct judgement *runs,
                            size_t n, struct err *err);

/* The whole page. */
status compare_write(struct str *out, const struct judgement *runs, size_t n,
                     struct err *err);
