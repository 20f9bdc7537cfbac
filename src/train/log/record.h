/*
 * record - the facts of a run as they happen: run.jsonl, TensorBoard, the console.
 *
 * run.jsonl (docs/formats/runlog.md) is the ground truth of the report: one JSON object a
 * line, appended and flushed. TensorBoard gets the reference's tags. The console shows a
 * line that is redrawn on a terminal, plain lines elsewhere, or the reference's lines.
 *
 * Of several ranks the first writes all this; each other one keeps a log of its own.
 *
 * Owns: the open files. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/progress.h"
#include "format/tf/tb_event.h"
#include "train/log/journal.h"
#include "train/run/config.h"

struct json_t;
struct layer_gradients;
struct peers;

/* One update, or the sum of several: the fields of a step entry, of which `loss` and
 * `disagreement` are sums over target tokens here, and what is not logged. */
struct record_step {
    RUNLOG_COMMON(RUNLOG_MEMBER)
    RUNLOG_STEP(RUNLOG_MEMBER)
    double t_forward, t_backward; /* of t_compute */
    double flops, linear_flops;   /* all; of projections and output layer alone */
    uint64_t pairs;               /* batch_hash() of what this rank, or all, trained on */
};

/* The reference leaves the first updates out of its averages. */
enum { RECORD_WARM_UP = 10 };

struct record {
    const struct train_config *config;
    struct journal journal; /* run.jsonl; only of the first rank */
    FILE *rank_log; /* rank-N.log: for a rank without a console, or whose reader left */
    struct tb_event_writer events;
    bool has_events;
    bool is_journal_stuck, are_events_stuck; /* it was said */
    struct str samples; /* of the evaluation at hand, for TensorBoard */
    struct progress console;
    bool is_reference; /* the console speaks as the reference does */
    struct record_step since_log, since_summary;
    bool has_weights; /* pairs of the data do not all count 1 */
    double roof_gflops;
    double t_begin;   /* of this process's training */
    double t_printed; /* when the reference's line of step_printed was shown */
    int64_t step_printed;
    int64_t first_step;
    double objects; /* tokens trained on by this process, after its first ten updates */
    double t_objects;
};

/* Append to the files of a run directory; console NULL is silent. A rank other than the
 * first has no console and no run.jsonl: what it would show goes to rank-N.log. */
status record_open(struct record *r, const struct train_config *c, FILE *console,
                   int64_t step, int rank, struct err *err);
status record_close(struct record *r, struct err *err);

/* 64 bits as text, exact in any reader of JSON. */
enum { RECORD_HASH = 17 };
const char *record_hash(char text[RECORD_HASH], uint64_t hash);

/* Before the first update. The caller fills what depends on model, data and device;
 * `gradients` is what sums them on the cards, NULL for hosts. */
status record_begin(struct record *r, struct runlog_start e, const struct peers *p,
                    struct err *err);
/* After each update; writes when a cadence is due. */
status record_update(struct record *r, const struct record_step *s, struct err *err);
/* Whether updates wait for their line of the log: the same on all ranks. At a stop they
 * get one before its cadence. */
bool record_has_rest(const struct record *r);
status record_rest(struct record *r, struct err *err);
/* Whether the log has a line after this step: the same on all ranks. */
bool record_is_due(const struct record *r, int64_t step);
/* Sums of one more update. */
void record_add(struct record_step *sum, const struct record_step *s);
/* What ranks add up of an update: sum[RECORD_SUMS] += it, and *s = it of all ranks. */
enum { RECORD_SUMS = RUNLOG_STEP_ADDED + 2 };
void record_add_sums(double *sum, const struct record_step *s);
void record_take_sums(struct record_step *s, const double *sum);
/* What every rank measured of itself: an array of objects, which is borrowed. */
status record_ranks(struct record *r, int64_t step, struct json_t *ranks,
                    struct err *err);
status record_skip(struct record *r, int64_t step, const char *reason, struct err *err);
/* An evaluation begins; samples may follow, record_evaluated() ends it. */
void record_evaluating(struct record *r);
/* Of these entries the caller fills all but the time. */
status record_evaluated(struct record *r, struct runlog_eval e, struct err *err);
/* One of the other sets. */
status record_also_evaluated(struct record *r, struct runlog_valid e, struct err *err);
status record_sample(struct record *r, struct runlog_sample s, struct err *err);
/* What was taken of an update's gradient, if it was not written yet. */
status record_layers(struct record *r, struct layer_gradients *g, int64_t step,
                     struct err *err);
/* A checkpoint has reached the disk. */
status record_saved(struct record *r, struct runlog_save s, struct err *err);
status record_best(struct record *r, int64_t step, const char *name, double value,
                   struct err *err);
status record_stop(struct record *r, int64_t step, const char *reason,
                   const char *message, struct err *err);

/* A sentence for the person who watches. */
void record_note(struct record *r, const char *fmt, ...) PRINTF(2, 3);

/* Append one event line of another command (`ferry eval`) to a run's log. */
status record_append(const char *run_dir, struct json_t *event, struct err *err);

/* ---- what a person sees, for record.c ---- */

/* Mean over target tokens, NAN without any; source and target tokens a second. */
double record_console_loss(const struct record_step *sum);
double record_console_speed(const struct record_step *sum);

void record_console_start(struct record *r, const struct runlog_start *s,
                          const struct peers *p);
/* `due`: the log gets a line of r->since_log, which holds this update too. */
void record_console_update(struct record *r, const struct record_step *s, bool due);
void record_console_evaluated(struct record *r, const struct runlog_eval *e);
void record_console_also(struct record *r, const struct runlog_valid *e);
void record_console_sample(struct record *r, const struct runlog_sample *s);
void record_console_stop(struct record *r, int64_t step, const char *message);

/* ---- what TensorBoard shows, for record.c ---- */

/* A person should know when the disk refuses a file, and when it is over; once each. */
void record_say_stuck(struct record *r, const char *name, bool *was_stuck, bool is_stuck,
                      const char *why);

/* All of these do nothing where there is no event file; what the disk refuses waits. */
status record_board_start(struct record *r, struct err *err);
status record_board_values(struct record *r, int64_t step,
                           const struct tb_event_value *values, size_t n,
                           struct err *err);
/* s: the sum since the last one; now: the last update. */
status record_board_summary(struct record *r, const struct record_step *s,
                            const struct record_step *now, struct err *err);
status record_board_evaluated(struct record *r, const struct runlog_eval *e,
                              struct err *err);
status record_board_also(struct record *r, const struct runlog_valid *e, struct err *err);
/* Samples of an evaluation are one table, which is written at its end. */
void record_board_sample(struct record *r, const struct runlog_sample *s);
status record_board_samples(struct record *r, int64_t step, struct err *err);
status record_board_stop(struct record *r, int64_t step, const char *reason,
                         struct err *err);
status record_board_flush(struct record *r, struct err *err);
