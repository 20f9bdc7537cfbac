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
#include "model/model.h"
#include "train/optim.h"
#include "train/state.h"

struct checkpoint {
    struct model *model;
    struct optim *optim;
    struct mat average; /* moving average of the weights, [1, n_flat]; may be none */
};

/* Write PREFIX.* . *n_bytes: of all files. */
status checkpoint_write(const struct checkpoint *c, const struct state *s,
                        const char *prefix, uint64_t *n_bytes,
                        struct err *err) MUST_CHECK;

enum checkpoint_kind { CHECKPOINT_OURS, CHECKPOINT_FOREIGN };

/*
 * Read PREFIX.* into model, optimizer, average and *s. A checkpoint without .state is
 * another tool's: weights and moments are taken, *s has its step and nothing else. On
 * failure the tensors may be half overwritten: read another one or stop.
 */
status checkpoint_read(const struct checkpoint *c, struct state *s, const char *prefix,
                       enum checkpoint_kind *kind, struct err *err) MUST_CHECK;

/*
 * Make NAME (of a checkpoint just written in `dir`) the newest of the pointer file, keep
 * the last `keep` and remove the files of older ones.
 */
status checkpoint_publish(const char *dir, const char *name, size_t keep,
                          struct err *err) MUST_CHECK;

/* Remove what a killed process left half-written or half-removed in `dir`. */
void checkpoint_sweep(const char *dir);
