/*
 * checkpoint - a run's whole state on disk, and back.
 *
 * PREFIX.state, PREFIX.data-00000-of-00001, PREFIX.index, PREFIX.meta, each written to a
 * temporary name and renamed; the pointer file `checkpoint` is written last and names
 * only whole checkpoints. So a kill at any moment leaves the previous one in force. The
 * tensors have the reference's names: TensorFlow reads our files and we read its.
 *
 * Borrows everything. Threads: one at a time.
 */
#pragma once

#include "base/err.h"
#include "base/file.h"
#include "model/model.h"
#include "train/save/state.h"
#include "train/update/optim.h"

/* The flat arrays that a checkpoint holds, each [1, n_flat]; one that a run does not
 * have is none. */
enum checkpoint_part {
    CHECKPOINT_WEIGHTS,
    CHECKPOINT_M,
    CHECKPOINT_V,
    CHECKPOINT_AVERAGE, /* moving average of the weights */
    CHECKPOINT_OUTER,   /* momentum of averagings over nodes */
    CHECKPOINT_N_PARTS
};

/* Their values in host memory, taken between two updates. */
struct checkpoint_copy {
    float *part[CHECKPOINT_N_PARTS]; /* [n_flat]; NULL where the run has none */
    double *norms;                   /* [n_list]; NovoGrad's, or NULL */
};

struct checkpoint {
    struct model *model;
    struct optim *optim;
    struct mat part[CHECKPOINT_N_PARTS];
    bool is_sharded;         /* moments come into a copy from all ranks, by the caller */
    struct loss_scale scale; /* as it begins; read ones replace it in the state */
    const struct checkpoint_copy *copy; /* write these; NULL: those on the device */
};

/* Write PREFIX.* . *n_bytes: of all files. */
status checkpoint_write(const struct checkpoint *c, const struct state *s,
                        const char *prefix, uint64_t *n_bytes, struct err *err);

enum checkpoint_kind { CHECKPOINT_OURS, CHECKPOINT_FOREIGN };

/*
 * Read PREFIX.* into model, optimizer, average and *s. A checkpoint without .state is
 * another tool's: weights and moments are taken, *s has its step and nothing else. On
 * failure the tensors may be half overwritten: read another one or stop.
 */
status checkpoint_read(const struct checkpoint *c, struct state *s, const char *prefix,
                       enum checkpoint_kind *kind, struct err *err);

/* ---- the checkpoints of a directory as files; one thread at a time for each ---- */

/* The directory of the best models in that of a run. */
#define SHELF_BEST "best_models"

/*
 * Checkpoints of one directory whose names begin alike. Without is_pointed the pointer
 * file still names another kind as the one to use, if it has any.
 */
struct shelf {
    char dir[FILE_PATH_MAX];
    const char *kind; /* what their names begin with */
    size_t keep;      /* how many of the newest */
    bool is_pointed;
};

/*
 * Put NAME (of a checkpoint just written in the shelf's directory) into the pointer file,
 * as the newest of its kind, and remove the files of those that are too many.
 */
status shelf_publish(const struct shelf *shelf, const char *name, struct err *err);

/* Remove the files of a checkpoint that no pointer file names. */
void shelf_remove(const char *dir, const char *name);

/*
 * Remove what a killed training left half-written or half-removed in a run directory:
 * what carries the mark of our temporary files, and checkpoints of ours without an index.
 * Nothing else is touched. ERR_USAGE when best_models or rest would lead out of the
 * directory.
 */
status shelf_sweep(const char *run, struct err *err);

/*
 * Training goes on from `step`: checkpoints beyond it that the pointer file lists (all,
 * if it has no list) are moved out of the way of the new ones, with the best models of
 * those steps, into a directory of the run; `to` is its path, "" if there was nothing to
 * move. An unlisted one is what a kill left of a save, and training makes it anew.
 */
status set_aside_newer(char to[FILE_PATH_MAX], const char *run, int64_t step,
                       struct err *err);

/* Of all files of a checkpoint. */
uint64_t shelf_bytes(const char *prefix);
