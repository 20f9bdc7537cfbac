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
#include "base/str.h"

struct answers;
struct judgement;
struct health;
struct run;
struct sources;

#define REPORT_FILE "report.html"

enum { REPORT_RUNS_MAX = 12 };

struct report_request {
    const struct sources *run;
    size_t n_runs;   /* several are compared on one page */
    const char *out; /* PATH.html; PATH.md and PATH.json are written beside it, unless it
                      * is a device or a pipe */
    bool is_named;   /* the user named `out`: its links are followed */
    double to_steps; /* also answer how long so many steps would take; or 0 */
};

/* Each of the three files is replaced as a whole or not at all. */
status report_write(const struct report_request *q, struct err *err);

/* One run as an HTML page. */
status report_page_write(struct str *out, const struct judgement *j, struct err *err);
/* Markdown for people and JSON for programs (docs/report.md lists its keys) hold what the
 * page holds, without the pictures. */
status report_text_markdown(struct str *out, const struct judgement *runs, size_t n,
                            struct err *err);
status report_text_json(struct str *out, const struct judgement *runs, size_t n,
                        struct err *err);

/* Parts that other pages share: a sentence on how the run stands and its numbers in
 * boxes; the findings, or that there are none; every question with its answer in a few
 * words, linked to the whole answer on `page` ("" for the same one); what it was made
 * of. */
void report_page_state(struct str *out, const struct run *run);
void report_page_health(struct str *out, const struct health *h);
void report_page_short(struct str *out, const struct answers *all, const char *page);
void report_page_footer(struct str *out, const struct run *run);

/* The end of a report: configuration and events. */
void report_details_write(struct str *out, const struct run *run);
