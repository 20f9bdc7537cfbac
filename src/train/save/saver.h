/*
 * saver - checkpoints written by a thread of its own while training goes on.
 *
 * saver_save() copies the run's state to host memory and returns; the thread writes the
 * files of every target, and once all ranks have theirs, moves the pointer files. At most
 * one save is under way. Without memory for the copy the caller's thread writes, which
 * blocks training for as long as it takes.
 *
 *     idle -> writing -> written -> publishing -> done -> idle
 *
 * Where other ranks write copies too, `written` lasts until saver_decide() says whether
 * all of them are whole; a single rank decides by itself.
 *
 * Owns: its thread and the copy. Borrows: what the checkpoint's parts point to, which
 * outlives it. Threads: all calls from one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "train/run/peers.h"
#include "train/save/checkpoint.h"

struct saver;

enum { SAVER_TARGETS = 4, SAVER_NAME_MAX = 96 };

/* One checkpoint to make of a copy. */
struct saver_target {
    struct shelf shelf;
    char name[SAVER_NAME_MAX];
    double value; /* of the measure that made it a best model; the caller's */
};

struct saver_options {
    bool in_background;        /* memory for a copy has been planned */
    bool waits;                /* for saver_decide() */
    const struct run_dir *dir; /* nothing is written once it is lost; NULL: any */
};

/* What came of one target of a save. */
struct saver_report {
    struct saver_target target;
    int64_t step;
    uint64_t n_bytes;
    double t_blocked, t_total; /* seconds that training stood still; until it was safe */
    struct err failure;        /* code OK when it is on disk */
};

/* Bytes that a copy of the run takes. */
size_t saver_copy_bytes(const struct checkpoint *parts);

status saver_open(struct saver **s, const struct checkpoint *parts,
                  struct saver_options options, struct err *err);
/* Waits for a write under way, whose report is lost. NULL is fine. */
void saver_close(struct saver *s);

/* In SAVER_IDLE: where a part of the next copy goes that is gathered from ranks. */
float *saver_part(struct saver *s, enum checkpoint_part part);

/* Begin to save, in SAVER_IDLE. t_asked: when the save was due, on base/clock.h. */
void saver_save(struct saver *s, const struct state *state,
                const struct saver_target *targets, size_t n, double t_asked);

enum saver_phase {
    SAVER_IDLE,
    SAVER_WRITING,
    SAVER_WRITTEN,
    SAVER_PUBLISHING,
    SAVER_DONE,
    SAVER_CLOSING /* in saver_close() */
};
/* Where the save is now. */
enum saver_phase saver_phase(struct saver *s);
/* Whether all files were written; valid in SAVER_WRITTEN. */
bool saver_is_whole(struct saver *s);
/* In SAVER_WRITTEN: publish what was written, or remove it because `why` failed. */
void saver_decide(struct saver *s, bool all_whole, const char *why);
/* Wait until the phase is not WRITING and not PUBLISHING. */
void saver_wait(struct saver *s);

/* In SAVER_DONE: the next report; false when there is none left, and the saver is idle.
 */
bool saver_take(struct saver *s, struct saver_report *r);
