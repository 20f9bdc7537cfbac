/*
 * saving - what a run saves, when, and what came of it.
 *
 * A step may want the checkpoint of the run and the models that are best by a measure:
 * saving_begin() starts to save what was wanted, saving_poll() records what has reached
 * the disk, saving_finish() saves what is not yet saved and waits for it. A full disk
 * stops a write, not the run, because the last whole checkpoint is still there; only in
 * saving_finish() does a write that failed end the run.
 *
 * Owns: the saver. Borrows: everything else, set by the caller before the first call.
 * Threads: one at a time; what returns a status, but saving_open(), is
 * collective.
 */
#pragma once

#include <stdbool.h>

#include "train/log/record.h"
#include "train/run/config.h"
#include "train/run/peers.h"
#include "train/save/rest.h"
#include "train/save/saver.h"
#include "train/update/gradients.h"
#include "train/update/local_sgd.h"

struct saving {
    const struct train_config *config;
    struct peers *peers;
    struct record *record;
    struct state *state;
    const struct local_sgd *local;
    struct gradients *gradients;
    struct checkpoint parts; /* what a checkpoint of this run holds */

    struct saver *saver;                       /* NULL: this rank does not write */
    struct saver_target wanted[SAVER_TARGETS]; /* at the end of this step */
    size_t n_wanted;
    bool is_under_way;         /* a save that ranks must agree on */
    int failed_rank;           /* that could not write its copy of the last; -1: none */
    bool is_unsettled;         /* a save whose outcome the ranks have not compared */
    int64_t published_at;      /* step of the last checkpoint on this rank's disk */
    int64_t saved_at;          /* and on those of all writers; -1: none */
    bool is_resumed;           /* the run began from a checkpoint */
    bool was_direct, was_grid; /* how its nodes exchanged gradients; neither: not known */
    int64_t began_at;          /* its step */
    bool has_rests;            /* on disk, of the checkpoint that the run began from */
};

/* has_room: there is memory for a copy of the run. */
status saving_open(struct saving *s, bool has_room, struct err *err);

/* How the names of best models begin: by loss and by BLEU of the validation set, and by
 * best_metric where that is neither. */
#define SAVING_BEST_LOSS "val_loss="
#define SAVING_BEST_BLEU "bleu="
#define SAVING_BEST      "best="
/* The kind that best_metric and best_set choose. */
const char *saving_kind(const struct train_config *c);

/* The next saving_begin() makes these. */
void saving_want(struct saving *s);
void saving_want_best(struct saving *s, const char *kind, double value);

status saving_begin(struct saving *s, struct err *err);
status saving_poll(struct saving *s, struct err *err);
/* is_due: an uninterrupted run saves after this step too. Otherwise the ranks write their
 * rests, so that the run goes on as if it had not stopped. */
status saving_finish(struct saving *s, bool is_due, struct err *err);
/* What this rank would write. */
struct rest saving_rest(const struct saving *s);
/* With local SGD: all nodes go on with the first one's moments and state. */
status saving_share(struct saving *s, struct err *err);

/* Whether this rank's part of the save under way is written; *failed: it could not be. */
bool saving_has_written(const struct saving *s, bool *failed);

/* ---- where a run begins ---- */

struct dataset;
struct moving_average;

/* s->is_resumed: any rank's directory holds a checkpoint of this run, whose options are
 * those of s->config. Needs config and peers alone. */
status resume_find(struct saving *s, struct err *err);

/*
 * Weights, moments and state, from a checkpoint or fresh, the same on all ranks.
 * Beginning with the newest that any writer's directory holds, the rank that has a
 * checkpoint reads it and tells whether it is whole; then it is broadcast. So nothing
 * depends on which disk a rank sees, nor on how many ranks there were before.
 */
status resume_begin(struct saving *s, const struct dataset *data,
                    struct moving_average *average, struct err *err);
