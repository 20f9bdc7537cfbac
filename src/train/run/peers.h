/*
 * peers - the ranks of a run, as one of them sees them: where they run and write, what
 * they said with the last update, and whether they all agree.
 *
 * Owns: its lists, the lock of the run directory and its pulse. Borrows: comm and
 * control, which outlive it. Threads: one at a time; what returns a status, but
 * peers_open(), is collective.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/pool.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/watch/control.h"
#include "recipe/runlog_schema.h"
#include "train/run/preflight.h"

struct progress;
struct pulse_writer;

/*
 * Which cores of a host belong to this rank. A launcher may have bound each rank to cores
 * of its own, or left all ranks of a host free on all of them. Ranks that may run on the
 * same cores divide them; then threads stay inside their rank's part, so that two ranks
 * never pin threads to one core.
 */
struct affinity {
    size_t threads;  /* of this rank */
    size_t cores;    /* that are its own */
    bool is_crowded; /* the ranks of this host want more threads than it has cores */
};

/* threads 0: one for each core of this rank. Collective; the affinity of the calling
 * thread changes and is inherited by those that it starts later. */
status affinity_choose(struct affinity *p, struct comm *comm, size_t threads, bool pin,
                       struct err *err);

/* The rank's part of `cores` cores that n ranks share, it being the i-th of them. Pure;
 * at least one core. */
struct pool_range affinity_part(size_t cores, size_t i, size_t n, size_t threads);

/*
 * What the ranks tell each other with every update. Small numbers travel with the
 * gradient: sums that make the update's record the same as that of one rank, wishes (to
 * stop) and progress (of a save) on which all must act at the same step, and what each
 * rank measured of itself. A rank whose loss or gradient is not finite, or far from the
 * others', is named.
 */
struct ranks_sums {                        /* over the ranks of an update */
    double of_step[RUNLOG_STEP_ADDED + 2]; /* record_add_sums() */
    double n_stop;                         /* ranks that were told to stop */
    double n_lost;    /* ranks with damaged data, or without their run directory */
    double n_written; /* ranks whose part of the save under way is done */
    double pairs[2];  /* batch_hash(), its low and high 32 bits: exact as doubles */
};

struct ranks_own {    /* of each rank */
    double mean_loss; /* of its target tokens; 0 without any */
    double grad_norm; /* of its gradient's mean over its tokens, before the sum */
    double n_tokens;
    double save_failed; /* its part of the save under way */
    double n_skipped;   /* updates in a row that its node, training alone, left out */
};

/* The largest over the ranks; what no rank has is -INFINITY. */
struct ranks_most {
    double loss, norm;             /* of ranks with tokens */
    double minus_loss, minus_norm; /* so that the least travel too */
    double minus_failed;           /* the first rank whose write failed */
    double skipped;                /* n_skipped, and who: ranks_most_of() */
};

enum {
    RANKS_N_SUMS = sizeof(struct ranks_sums) / sizeof(double),
    RANKS_N_MOST = sizeof(struct ranks_most) / sizeof(double)
};

/* What one rank brings to the largest. */
struct ranks_most ranks_most_of(const struct comm *c, const struct ranks_own *own);
/* Whether ranks_find_odd() could find one. When it says no, there is none. */
bool ranks_may_be_odd(const struct ranks_most *most);
/*
 * Finds a rank whose loss or gradient norm is not finite, or is ten times the median of
 * three or more ranks: a sentence about the first one in `text`, false when there is
 * none.
 */
bool ranks_find_odd(const struct comm *c, const struct ranks_own *all, char *text,
                    size_t n_text);
/* The first rank whose write failed, or -1. */
int ranks_failed_save(const struct ranks_most *most);
/* The first of those that have left out the most updates in a row, and how many. */
int ranks_most_skipped(const struct comm *c, const struct ranks_most *most,
                       int64_t *n_skipped);

/*
 * The run directory, as all ranks see it. Disks may be shared between nodes or not: ranks
 * find out by files with names that nobody can guess. The first rank writes the files of
 * the run, and one rank for each other disk a copy of the checkpoints, so that the run
 * can go on from any node. A directory belongs to one training at a time: each writer
 * holds a lock, on the file .lock, which names the `ferry launch` that started it. A
 * later start of the same takes it over from a rank that was given up and cannot let go.
 */
struct run_dir {
    int lock;                 /* file descriptor, or -1 */
    char path[FILE_PATH_MAX]; /* of the lock */
    bool is_writer;           /* of checkpoints */
    int n_writers;
    double t_looked; /* when run_dir_is_lost() last looked */
    bool is_lost;
};

/* Create the directory where it is missing, and lock it. Collective. */
status run_dir_open(struct run_dir *h, struct comm *comm, const char *dir,
                    struct progress *console, struct err *err);
void run_dir_close(struct run_dir *h);

/* ERR_IO when the directory is no longer the one that was locked: removed, renamed, or
 * another in its place, where somebody else may train. Any thread may ask. */
status run_dir_check(const struct run_dir *h, struct err *err);
/* The same as an answer that is at most a second old; for one thread. */
bool run_dir_is_lost(struct run_dir *h);

struct peers {
    struct comm *comm;       /* borrowed */
    struct control *control; /* sends its heartbeat; NULL: nobody watches */
    struct affinity affinity;
    struct run_dir dir;
    struct pulse_writer *pulse; /* of the first rank; NULL: none */
    struct preflight preflight;
    int *node;              /* [size] of each rank */
    struct ranks_sums mine; /* of this rank, since the ranks last exchanged them */
    struct ranks_sums sum;  /* of all ranks, of the last exchange */
    struct ranks_most most; /* the same */
    struct ranks_own own;   /* of this rank, as it went into the last exchange */
    int64_t compared_at;    /* step at which weights were last compared; -1: never */
    int64_t named_at;       /* step at which an odd rank was last named; -1: never */
    bool is_agreed;         /* all ranks know the failure that ends the run */
};

/* Close it in any case. */
status peers_open(struct peers *p, struct comm *comm, struct control *control,
                  struct err *err);
void peers_close(struct peers *p); /* zeroed is fine */

/* OK when all ranks bring OK; otherwise all return the first failure. */
status peers_agree(struct peers *p, status mine, struct err *err);
/* Pass on the result of a collective call, and note whether all ranks know a failure. */
status peers_note_result(struct peers *p, status result);

/* Publish what this rank does now, for its heartbeat. */
void peers_phase(struct peers *p, int64_t step, enum phase_id phase);

/* An array [1, n] of rank `from` to all, in pieces through the host. */
status peers_broadcast(struct peers *p, struct device *d, struct mat flat, int from,
                       struct err *err);

/* All ranks hold the same weights; otherwise ERR_DEVICE names the one that does not.
 * Compares once a step. */
status peers_compare(struct peers *p, struct device *d, struct mat flat, int64_t step,
                     struct err *err);

/*
 * A sentence about a rank that was far from the others in the last exchange, or "". The
 * first rank asks all ranks for their numbers and judges, if those that travelled with
 * the gradient leave it possible that there is one.
 */
enum { PEERS_TEXT_MAX = 256 };
status peers_find_odd(struct peers *p, char who[PEERS_TEXT_MAX], struct err *err);
/* The same in the update of this step, at most once in 100 updates. */
status peers_watch_odd(struct peers *p, int64_t step, char who[PEERS_TEXT_MAX],
                       struct err *err);
