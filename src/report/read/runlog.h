/*
 * runlog - run.jsonl, read back: what a training run wrote down while it ran.
 *
 * docs/formats/runlog.md describes the file, recipe/runlog_schema.h its entries. Every
 * number that a line does not give, or gives as null, is NAN here: a reader tests it with
 * isfinite() and names it as missing. A log may hold several sessions (a start each).
 * What a session did after the checkpoint that the next one resumed from is kept and
 * marked `is_lost`: it took time, but the model does not know of it.
 *
 * Owns: every string and array. Threads: immutable once opened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "recipe/runlog_schema.h"

#define RUNLOG_FILE "run.jsonl"

/* A rare entry. */
struct runlog_event {
    enum runlog_kind kind;
    size_t start; /* of a start: its number in log->start */
    union {
        struct {
            RUNLOG_COMMON(RUNLOG_MEMBER)
        };
        struct runlog_save save;
        struct runlog_best best;
        struct runlog_skip skip;
        struct runlog_test test;
        struct runlog_stop stop;
    };
};

struct runlog {
    struct runlog_start *start;
    struct runlog_step *step;
    struct runlog_eval *eval;
    struct runlog_event *event; /* save, best, skip, test, stop and start, as they came */
    struct runlog_sample *sample;
    struct runlog_ranks *lap; /* its ranks: rank[first .. first + n) */
    struct runlog_rank *rank;
    const char **host; /* names of hosts, each once */
    size_t n_start, n_step, n_eval, n_event, n_sample, n_lap, n_rank, n_host;
    size_t cap_start, cap_step, cap_eval, cap_event, cap_sample, cap_lap, cap_rank,
        cap_host;

    double t_first, t_last; /* of training: test events do not count; NAN when empty */
    double t_idle;          /* seconds between a session's end and the next start */
    double t_gap;           /* the longest silence within a session */
    size_t n_lines, n_cut, n_unknown; /* cut: half-written; unknown: other events */

    /* Logs that Ferry did not write (foreign.h). */
    const char *origin;          /* what wrote it; NULL: Ferry */
    bool has_no_clock;           /* times count from the beginning of the log */
    double tokens_per_s, t_step; /* averages that the log itself states, or NAN */
};

/*
 * Read a whole log. A half-written line is accepted at the end, and before a start or
 * test event (a run died there and another process went on); elsewhere a malformed line
 * is ERR_FORMAT with path:line. On failure *log is closed.
 */
status runlog_open(struct runlog *log, const char *path, struct err *err) MUST_CHECK;
void runlog_close(struct runlog *log);

/* The same from bytes at hand; `name` is used in messages. */
status runlog_parse(struct runlog *log, const char *name, const void *data, size_t n,
                    struct err *err) MUST_CHECK;

/* Mean training loss, weighted by target tokens, over steps (after, upto]. */
double runlog_train_loss(const struct runlog *log, double after, double upto);

/* The newest start event, or NULL. */
const struct runlog_start *runlog_latest(const struct runlog *log);
/* The newest configuration's value of `key`, or NULL. */
const char *runlog_config(const struct runlog *log, const char *key);
/* The event that ended the newest session, or NULL: it is running, or it died. */
const struct runlog_stop *runlog_end(const struct runlog *log);
