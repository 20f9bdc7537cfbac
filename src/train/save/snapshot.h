/*
 * snapshot - a copy in host memory of everything a checkpoint holds.
 *
 * Taken between two updates by the training thread, written to disk by another one while
 * training goes on.
 *
 * Owns: the copy. Threads: one at a time.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "train/save/checkpoint.h"
#include "train/save/state.h"

struct snapshot {
    float *part[CHECKPOINT_N_PARTS]; /* [n_flat]; NULL where the run has none */
    double *norms;                   /* [n_list]; NovoGrad's, or NULL */
    struct state state;
};

/* Bytes that a copy takes. */
size_t snapshot_bytes(const struct checkpoint *c);

status snapshot_open(struct snapshot *s, const struct checkpoint *c,
                     struct err *err) MUST_CHECK;
void snapshot_close(struct snapshot *s);

/* Copy what *c and *state are now; nothing is allocated. Sharded moments stay as the
 * caller has put them there. */
void snapshot_take(struct snapshot *s, const struct checkpoint *c,
                   const struct state *state);
