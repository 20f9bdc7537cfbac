/*
 * journal - run.jsonl as a file: whole lines of JSON at its end, never a torn one inside.
 *
 * A disk that is full, or fails for a while, must not end a run: lines that could not be
 * written wait in memory and go out with a later one. What still waits at the end is an
 * error.
 *
 * Owns: the file and the lines that wait. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "recipe/runlog_schema.h"

struct json_t;

struct journal {
    int fd; /* -1: there is none, lines are dropped */
    struct str waiting;
    size_t n_dropped; /* lines beyond what may wait */
    bool is_stuck;    /* something waits */
    char why[80];     /* the system's reason */
};

extern const struct journal journal_none;

/* run.jsonl of a run directory; a line that a killed process left unfinished is ended. */
status journal_open(struct journal *j, const char *run_dir, struct err *err);
/* ERR_IO when lines are lost. */
status journal_close(struct journal *j, struct err *err);

/* JSON has no NaN and no infinity: they become null. */
struct json_t *journal_number(double x);
/* An entry, or an object of one, from the struct of its kind in runlog_schema.h. */
struct json_t *journal_object(enum runlog_kind kind, const void *fields);

/* One line; takes *o over. ERR_MEMORY when there is none for it. */
status journal_put(struct journal *j, struct json_t *o, struct err *err);
