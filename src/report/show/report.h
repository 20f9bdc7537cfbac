/*
 * report - one run, or several side by side, as an HTML page, and the same as Markdown
 * and JSON beside it.
 *
 * Reads what a run left behind (run.jsonl, its checkpoints, the statistics of its data;
 * or what another program left, foreign.h) and nothing else, so that it works on a
 * finished, crashed, running or resumed run. What is missing is named, never guessed.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

#define REPORT_FILE "report.html"

enum { REPORT_RUNS_MAX = 12 };

struct report_request {
    const char *const *run; /* run directories, directories of events, or logs */
    size_t n_runs;          /* several are compared on one page */
    const char *out;        /* PATH.html; PATH.md and PATH.json are written beside it */
    double to_steps;        /* also answer how long so many steps would take; or 0 */
};

/* Each of the three files is replaced as a whole or not at all. */
status report_write(const struct report_request *q, struct err *err) MUST_CHECK;
