/*
 * report - a run directory in, one HTML page out.
 *
 * Reads what the run left behind (run.jsonl, its checkpoints, the statistics of its
 * data) and nothing else, so that it works on a finished, crashed, running or resumed
 * run. What is missing is named on the page.
 */
#pragma once

#include "base/err.h"

#define REPORT_FILE "report.html"

/* The page at out_path, replaced as a whole or not at all. */
status report_write(const char *run_dir, const char *out_path,
                    struct err *err) MUST_CHECK;
