/*
 * runlog - run.jsonl, read back: what a training run wrote down while it ran.
 *
 * docs/formats/runlog.md describes the file, recipe/runlog_schema.h its entries. Every
 * number that a line does not give, or gives as null, is NAN here: a reader tests it with
 * isfinite() and names it as missing. A log may hold several sessions (a start each).
 * What a session did after the checkpoint that the next one resumed from is kept and
 * marked `is_lost`: it took time, but the model does not know of it.
 *
 * Memory is bounded, however long the log is. Beyond RUNLOG_ENTRIES_MAX entries of steps
 * and ranks neighbours are taken together, all but the newest RUNLOG_NEWEST; sums, means
 * weighted as the schema says, extremes and quantiles stay those of all entries. Beyond
 * RUNLOG_EVALS_MAX evaluations the better one of neighbours stays, beyond
 * RUNLOG_EVENTS_MAX rare events the first and the newest; `all` counts what was read.
 *
 * Owns: every string and array. Threads: immutable once opened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "recipe/runlog_schema.h"

#define RUNLOG_FILE "run.jsonl"

enum {
    RUNLOG_ENTRIES_MAX = 1 << 18,
    RUNLOG_NEWEST = 1 << 15,
    RUNLOG_EVALS_MAX = 1 << 17,
    RUNLOG_EVENTS_MAX = 1 << 13
};

/* A rare entry. */
struct runlog_event {
    enum runlog_kind kind;
    bool is_resumed;    /* of a start */
    const char *device; /* of a start, one of log->name; NULL: not told */
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

/*
 * What a log of another program says went wrong (foreign.h), one of a kind: the line that
 * says it best, and how often such lines came. Ferry's own runs tell it in a stop event.
 */
#define RUNLOG_PROBLEM_LIST(P)                                   \
    P(START, "It could not be started")                          \
    P(GPU_MEMORY, "A card ran out of memory")                    \
    P(HOST_MEMORY, "A host ran out of memory")                   \
    P(DISK, "A disk is full")                                    \
    P(NAN_LOSS, "The loss is no number any more")                \
    P(CARD, "A card failed")                                     \
    P(KILLED, "A process was killed")                            \
    P(CRASHED, "A process crashed")                              \
    P(STALLED, "Some ranks waited for others that did not come") \
    P(NCCL, "NCCL, which sums the gradients, failed")            \
    P(TRACEBACK, "The program ended with a Python error")        \
    P(MPI, "MPI ended the job")                                  \
    P(INTERRUPT, "It was stopped from the keyboard")

enum runlog_problem_kind {
#define P(kind, text) RUNLOG_PROBLEM_##kind,
    RUNLOG_PROBLEM_LIST(P)
#undef P
        RUNLOG_PROBLEMS_N
};

struct runlog_problem {
    size_t n, line;   /* how many, 0: none; the number of the line that is quoted */
    double step;      /* that had been logged by then; NAN: none */
    bool is_survived; /* training went on after it */
    char text[240];
};

/* An attempt that stands in the same file: `nohup` appends. */
struct runlog_attempt {
    size_t line;        /* on which it begins */
    double first, last; /* steps logged; NAN: none */
    double loss;        /* of training, the last one */
    bool is_finished, is_reported;
    char end[240]; /* the line that tells why it ended; empty: none does */
};

/* A log that Ferry did not write. */
struct runlog_foreign {
    const char *origin;          /* what wrote it; NULL: Ferry */
    bool has_no_clock;           /* times count from the beginning of the log */
    bool has_no_zone;            /* its clock does not say of which time zone it is */
    bool has_no_end;             /* such a log never says that a run ended */
    double tokens_per_s, t_step; /* averages that the log itself states, or NAN */
    double begins_at;            /* step before its first entry, if it begins later */
    double t_startup;            /* before the first step of all sessions, seconds */
    double steps_missing;        /* in holes between its entries */
    size_t n_holes;
    struct runlog_problem problem[RUNLOG_PROBLEMS_N];
    struct runlog_attempt *attempt; /* all of the file, if there are several */
    size_t n_attempts, cap_attempts;
};

/* Sums over every line that was read, whatever is kept of them. */
struct runlog_all {
    size_t n_starts, n_evals, n_events;
    double eval_seconds, save_seconds; /* an unknown time counts nothing */
    double n_saves, longest_save;      /* of those that took any time */
};

/* Seconds a step of the entries that were taken together, by their logarithm. */
struct runlog_bin {
    double steps, seconds;
};

struct runlog {
    struct runlog_start *start; /* the newest alone has its options */
    struct runlog_step *step;
    struct runlog_eval *eval;
    struct runlog_event *event; /* save, best, skip, test, stop and start, as they came */
    struct runlog_valid *valid; /* the newest of each other validation set */
    struct runlog_sample *sample;
    struct runlog_ranks *lap; /* its ranks: rank[first .. first + n) */
    struct runlog_rank *rank;
    const char **name; /* of hosts, devices, signatures of BLEU: each once */
    size_t n_start, n_step, n_eval, n_event, n_valid, n_sample, n_lap, n_rank, n_name;
    size_t cap_start, cap_step, cap_eval, cap_event, cap_valid, cap_sample, cap_lap,
        cap_rank, cap_name;
    size_t name_at; /* that was asked for last */
    struct runlog_all all;
    struct runlog_bin *bin; /* [RUNLOG_BINS]; NULL while nothing was taken together */

    double t_first, t_last;  /* of training: test events do not count; NAN when empty */
    double t_idle;           /* seconds between a session's end and the next start */
    double t_gap;            /* the longest silence within a session */
    size_t thin_at;          /* entries at which neighbours are taken together next */
    size_t most, most_evals; /* entries that one may stand for so far; 0: one */
    size_t n_lines, n_cut, n_unknown; /* cut: half-written; unknown: other events */

    struct runlog_foreign foreign;
};

enum { RUNLOG_BINS = 1 << 14 };

/*
 * Read a whole log, which may be compressed. A half-written line is accepted at the end,
 * and before a start or test event (a run died there and another process went on);
 * elsewhere a malformed line is ERR_FORMAT with path:line. On failure *log is closed.
 */
status runlog_open(struct runlog *log, const char *path, struct err *err);
void runlog_close(struct runlog *log);

/* A malformed line waits for its successor: it was cut off by a crash when it is the last
 * one or another process began after it; otherwise the log is damaged. */
struct runlog_suspect {
    size_t number; /* of the line; 0: none */
    char why[192];
};

/*
 * A log that is looked at again and again while it grows. Each look reads what was
 * appended since; a line without its end waits for the rest of it. The log is read anew
 * when the file is another one or shorter, when the bytes before the place where the last
 * look ended are others, and when it is compressed. Begins zeroed.
 */
struct runlog_follow {
    struct runlog log;
    uint64_t n_read; /* bytes of the file that all looks together read */
    uint64_t at;     /* where the next look begins */
    uint64_t device, inode;
    unsigned char mark[64]; /* the bytes just before `at` */
    size_t n_mark, n_open;  /* lines half-written at the end of the last look: 0 or 1 */
    struct runlog_suspect suspect;
    bool is_open;
};

/* On failure *f is closed, and the next look begins anew. */
status runlog_follow(struct runlog_follow *f, const char *path, struct err *err);
void runlog_follow_close(struct runlog_follow *f);

/* The same from bytes at hand; `name` is used in messages. */
status runlog_parse(struct runlog *log, const char *name, const void *data, size_t n,
                    struct err *err);

/* For readers of other logs: an empty log, and an entry (as a line of run.jsonl) for it,
 * which is released. */
void runlog_init(struct runlog *log);
status runlog_put(struct runlog *log, struct json_t *entry, struct err *err);

/* The first of the entries [from, to) of steps at this step or after it, `to` when there
 * is none; their steps ascend. */
size_t runlog_find(const struct runlog *log, size_t from, size_t to, double step);
/* What an entry of a step counts in a mean of losses: its target tokens, or its steps. */
double runlog_weight(const struct runlog_step *s);
/* Seconds a step of the slowest entry that it stands for. */
double runlog_slowest(const struct runlog_step *s);
/* Every time in it, by so many seconds. */
void runlog_shift(struct runlog *log, double seconds);
/* Of the samples only the newest `most` stay. */
void runlog_drop_samples(struct runlog *log, size_t most);

/*
 * Training loss at a step, from the entries around it: a line over log(step), weighted
 * by target tokens, through those within an eighth of the step, and at least eight. Owns
 * its array; opened once for many steps.
 */
struct runlog_losses {
    struct runlog_loss *of; /* by step, with a last one of sums */
    size_t n;
    double last; /* step */
};
status runlog_losses_open(struct runlog_losses *l, const struct runlog *log,
                          struct err *err);
double runlog_losses_at(const struct runlog_losses *l,
                        double step); /* NAN: without any */
void runlog_losses_close(struct runlog_losses *l);

/* Mean training loss, weighted by target tokens, over steps (after, upto]. */
double runlog_train_loss(const struct runlog *log, double after, double upto);

/* The newest start event, or NULL. */
const struct runlog_start *runlog_latest(const struct runlog *log);
/* The newest configuration's value of `key`, or NULL. */
const char *runlog_config(const struct runlog *log, const char *key);
/* The event that ended the newest session, or NULL: it is running, or it died. */
const struct runlog_stop *runlog_end(const struct runlog *log);
/* The newest score on the test set that `ferry eval` noted, or NULL. */
const struct runlog_test *runlog_tested(const struct runlog *log);
/* The problem that ended a run of another program, or NULL. */
const struct runlog_problem *runlog_fatal(const struct runlog *log);
extern const char *const runlog_problems[]; /* of each kind, in words */
