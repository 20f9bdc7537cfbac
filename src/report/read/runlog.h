/*
 * runlog - run.jsonl, read back: what a training run wrote down while it ran.
 *
 * docs/formats/runlog.md describes the file. Every number that a line does not give, or
 * gives as null, is NAN here: a reader tests it with isfinite() and names it as missing.
 * A log may hold several sessions (a start event each). What a session did after the
 * checkpoint that the next one resumed from is kept and marked `is_lost`: it took time,
 * but the model does not know of it.
 *
 * Owns: every string and array. Threads: immutable once opened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define RUNLOG_FILE "run.jsonl"

/* clang-format off */
/* Numbers of a start event; those of DATA stand in its "data" object. */
#define RUNLOG_START_FIELDS(X)                                        \
    X(t) X(step) X(threads) X(ranks) X(nodes) X(processors)           \
    X(parameters) X(roof_gflops)
#define RUNLOG_DATA_FIELDS(X)                                         \
    X(train_pairs) X(train_source_tokens) X(train_target_tokens)      \
    X(valid_pairs) X(tokenizer_pieces)
/* Of the "network" object of a start with several ranks: what preflight found. */
#define RUNLOG_NETWORK_FIELDS(X)                                      \
    X(latency_s) X(mb_per_s) X(clock_spread_s)

/* Sums are over the `steps` steps since the previous logged one; t_* are seconds. */
#define RUNLOG_STEP_FIELDS(X)                                         \
    X(t) X(step) X(epoch) X(loss) X(rate) X(grad_norm)                \
    X(source_tokens) X(target_tokens) X(sentences) X(steps)           \
    X(t_step) X(t_data) X(t_compute) X(t_comm) X(t_hidden) X(t_update) \
    X(tokens_per_s) X(gflops) X(memory_mib) X(skipped)

#define RUNLOG_EVAL_FIELDS(X)                                         \
    X(t) X(step) X(valid_loss) X(eval_loss) X(forced_bleu) X(bleu) X(seconds)

#define RUNLOG_EVENT_FIELDS(X)                                        \
    X(t) X(step) X(bytes) X(seconds) X(total_seconds) X(valid_loss) X(bleu) \
    X(loss) X(sentences)

/* What a rank measured of itself since the ranks event before; sums, as in steps. */
#define RUNLOG_RANK_FIELDS(X)                                         \
    X(rank) X(t_step) X(t_data) X(t_compute) X(t_comm) X(t_hidden)    \
    X(t_update) X(cores) X(memory_mib) X(sent_bytes) X(received_bytes) \
    X(gpu_busy) X(gpu_power_w) X(gpu_power_limit_w) X(gpu_clock_mhz)  \
    X(gpu_clock_max_mhz) X(gpu_memory_mib) X(gpu_memory_all_mib)
/* clang-format on */

#define RUNLOG_NUMBER(field) double field;

struct runlog_pair {
    char *key, *value; /* the value as it would be typed */
};

struct runlog_start {
    RUNLOG_START_FIELDS(RUNLOG_NUMBER)
    RUNLOG_DATA_FIELDS(RUNLOG_NUMBER)
    RUNLOG_NETWORK_FIELDS(RUNLOG_NUMBER)
    bool is_resumed;
    char *version, *host, *device,
        *library; /* NULL when not given, as every string below */
    struct runlog_pair *config;
    size_t n_config;
};

struct runlog_step {
    RUNLOG_STEP_FIELDS(RUNLOG_NUMBER)
    bool is_lost;
    bool is_first;  /* of its session */
    size_t session; /* start events before it */
};

struct runlog_eval {
    RUNLOG_EVAL_FIELDS(RUNLOG_NUMBER)
    bool is_lost;
    char *signature; /* of `bleu` */
};

/* The rare events: save, best, skip, test, stop, and one for each start. */
enum runlog_kind {
    RUNLOG_START,
    RUNLOG_SAVE,
    RUNLOG_BEST,
    RUNLOG_SKIP,
    RUNLOG_TEST,
    RUNLOG_STOP
};

struct runlog_event {
    enum runlog_kind kind;
    RUNLOG_EVENT_FIELDS(RUNLOG_NUMBER)
    char *text; /* path of a save or best, reason of a skip or stop, name of a test */
    char *more; /* message of a stop, signature of a test */
};

struct runlog_sample {
    double t, step;
    char *source, *reference, *translation;
};

/* One rank in one ranks event. Bytes are those of its busiest card, errors of all; NAN
 * when this rank named none. */
struct runlog_rank {
    RUNLOG_RANK_FIELDS(RUNLOG_NUMBER)
    double card_sent, card_received, card_errors;
    const char *host; /* one of log->host, or NULL */
};

/* A ranks event: log->rank[first .. first + n). */
struct runlog_lap {
    double t, step;
    double steps; /* that its sums cover: those of the step entry beside it */
    size_t first, n;
    bool is_lost;
    bool is_first; /* of its session */
};

struct runlog {
    struct runlog_start *start;
    struct runlog_step *step;
    struct runlog_eval *eval;
    struct runlog_event *event; /* in the order of the log */
    struct runlog_sample *sample;
    struct runlog_lap *lap;
    struct runlog_rank *rank;
    char **host; /* names of hosts, each once */
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

/* Mark what sessions did after `step`, which the next one starts from. */
void runlog_mark_lost(struct runlog *log, double step);

/* Mean training loss, weighted by target tokens, over steps (after, upto]. */
double runlog_train_loss(const struct runlog *log, double after, double upto);

/* The newest start event, or NULL. */
const struct runlog_start *runlog_latest(const struct runlog *log);
/* The newest configuration's value of `key`, or NULL. */
const char *runlog_config(const struct runlog *log, const char *key);
/* The event that ended the newest session, or NULL: it is running, or it died. */
const struct runlog_event *runlog_stop(const struct runlog *log);
