/*
 * serve - translation over HTTP: what `ferry serve` does.
 *
 * The HTTP thread (http/http.h) reads requests, checks them and puts them into a bounded
 * queue (serve/work.h); request threads take them from there, translate (serve/job.h) and
 * answer. All of them share the models (serve/models.h). A thread of its own looks for
 * newer model files.
 *
 * Owns: all of that. Threads: one runs it.
 */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define SERVE_OPTIONS(X)                                                                            \
    X(STR, host, "127.0.0.1", "address to serve on; 0.0.0.0: every network this machine is in", ANY) \
    X(INT, port, "5000", "port; 0: any free one", RANGE(0, 65535))                                  \
    X(INT, requests, "64", "requests that are translated at a time", RANGE(1, 1024))                \
    X(INT, queue, "256", "requests that may wait; one more is told to come back later", RANGE(1, 1e6)) \
    X(INT, connections, "4096", "clients at a time; in a full house the most silent one makes room", RANGE(8, 60000)) \
    X(INT, body_limit, "2097152", "bytes of a request's body", RANGE(1024, 1e9))                    \
    X(INT, char_limit, "50000", "characters of a request, all its texts together; 0: any", RANGE(0, 1e9)) \
    X(INT, batch_limit, "1000", "texts of a request", RANGE(1, 1e6))                                \
    X(INT, alternatives_limit, "3", "further translations that a request may ask for; at most beam - 1", RANGE(0, 63)) \
    X(REAL, deadline, "60", "seconds for a request, waiting included; 0: any", RANGE(0, 86400))     \
    X(REAL, grace, "30", "seconds for finishing requests after SIGTERM", RANGE(0, 86400))           \
    X(STR, keys, "", "file of API keys, one a line, each with its limits (docs/serve.md)", ANY) \
    X(BOOL, anonymous, "false", "with keys: serve callers without one too", ANY)                    \
    X(INT, per_minute, "0", "requests a minute of a caller without a key, by address; 0: any", RANGE(0, 1e9)) \
    X(BOOL, metrics, "true", "answer GET /metrics", ANY)                                            \
    X(STR, metrics_token, "", "only to callers with this token: Authorization: Bearer TOKEN", ANY)  \
    X(STR, access_log, "", "file that gets a line for each request; -: standard output", ANY)       \
    X(BOOL, page, "true", "answer GET / with a page for people", ANY)                               \
    X(REAL, reload, "1", "seconds between two looks at the model files; 0: never", RANGE(0, 86400)) \
    X(STR, glossary, "", "file of term TAB phrase, or FILE:SOURCE-TARGET,... for several models", ANY) \
    X(INT, beam, "4", "hypotheses kept at each step: more is better and slower", RANGE(1, 64))      \
    X(INT, max_length, "256", "source tokens; a longer sentence is divided", RANGE(3, 1000))        \
    X(INT, threads, "0", "threads that compute, for each model; 0: one per core", RANGE(0, 1024))   \
    X(BOOL, shortlist, "true", "of a packed model that has one: compute only likely pieces", ANY)
/* clang-format on */

struct serve_config {
    SERVE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table serve_options;

/* Serve the models (paths, or PATH:SOURCE-TARGET) until *stop, and finish what was
 * accepted. Where it can be reached, and what an operator should know, goes to `console`,
 * a line each. */
status serve_run(const struct serve_config *c, const char *const *models, size_t n,
                 FILE *console, const volatile sig_atomic_t *stop, struct err *err);
