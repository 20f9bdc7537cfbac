/*
 * record_console - what a person sees of a run while it is recorded: a line that is
 * redrawn on a terminal, plain lines elsewhere, or the reference's lines. For record.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct record;
struct record_start;
struct record_step;
struct runlog_eval;
struct runlog_sample;

/* Mean over target tokens, NAN without any; source and target tokens a second. */
double record_console_loss(const struct record_step *sum);
double record_console_speed(const struct record_step *sum);

void record_console_start(struct record *r, const struct record_start *s);
/* `due`: the log gets a line of r->since_log, which holds this update too. */
void record_console_update(struct record *r, const struct record_step *s, bool due);
void record_console_evaluated(struct record *r, const struct runlog_eval *e);
void record_console_sample(struct record *r, const struct runlog_sample *s);
void record_console_stop(struct record *r, int64_t step, const char *message);
