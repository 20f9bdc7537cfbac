/*
 * foreign - runs of other programs, converted to run.jsonl.
 *
 * Two sources are understood: TensorBoard's event files with the tags of OpenSeq2Seq
 * (docs/formats/events.md), and the lines that OpenSeq2Seq prints. Each becomes the
 * entries of docs/formats/runlog.md that it supports; what it does not say stays missing.
 *
 * A step is numbered as the foreign log numbers it. The console has no clock: times
 * count from its first line and only durations are true (log->has_no_clock).
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "report/read/runlog.h"

/* True when the directory holds event files. */
bool foreign_has_events(const char *dir);
/* Every event file of the directory, in the order of their names, as one log. */
status foreign_events(struct runlog *log, const char *dir, struct err *err) MUST_CHECK;
/* The same of one file's bytes at hand; `name` is used in messages. */
status foreign_events_bytes(struct runlog *log, const char *name, const void *data,
                            size_t n, struct err *err) MUST_CHECK;

/* ERR_FORMAT when no line is one of OpenSeq2Seq's; `name` is used in messages. */
status foreign_console(struct runlog *log, const char *name, const void *data, size_t n,
                       struct err *err) MUST_CHECK;

/* For the files of foreign: an entry, a number in it unless it is NAN, and its line. */
json_t *foreign_entry(const char *event, double t, double step);
void foreign_set(json_t *o, const char *key, double v);
void foreign_put(struct str *out, json_t *o);
