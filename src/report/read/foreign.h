/*
 * foreign - runs of other programs, as run.jsonl would tell them.
 *
 * Two sources are understood: TensorBoard's event files with the tags of OpenSeq2Seq
 * (docs/formats/events.md), and what OpenSeq2Seq prints (docs/formats/console.md). Each
 * becomes the entries of docs/formats/runlog.md that it supports; what it does not say
 * stays missing. Both may belong to one run: foreign_join.
 *
 * A step is numbered as the foreign log numbers it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "report/log/runlog.h"

/* True when the directory holds event files. */
bool foreign_has_events(const char *dir);
/* Every event file of the directory, in the order of their names, as one log. */
status foreign_events(struct runlog *log, const char *dir, struct err *err);
/* The same of one file's bytes at hand; `name` is used in messages. */
status foreign_events_bytes(struct runlog *log, const char *name, const void *data,
                            size_t n, struct err *err);

/*
 * A console log, which may be compressed. Of several attempts in one file the last that
 * trained is the run; log->foreign.attempt lists all. ERR_FORMAT when no line is one of
 * OpenSeq2Seq's.
 */
status foreign_console(struct runlog *log, const char *path, struct err *err);
status foreign_console_bytes(struct runlog *log, const char *name, const void *data,
                             size_t n, struct err *err);
/* True when one of the first lines of the file is OpenSeq2Seq's. */
bool foreign_is_console(const char *path);

/*
 * Add to a console log what the events of the same run know besides: learning rates,
 * gradient norms, steps that the console lacks, and a clock. Logs without a common step
 * are left alone, *is_joined is false then. ERR_FORMAT when the losses at common steps
 * differ: they are of two runs.
 */
status foreign_join(struct runlog *console, const struct runlog *events, bool *is_joined,
                    struct err *err);
