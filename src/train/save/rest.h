/*
 * rest - what a rank holds of a run that is in no checkpoint: what int8 has rounded off
 * so far, and with local SGD the moments and the loss scale of its node.
 *
 * A save that is due leaves nothing of it: residuals travel before, and all nodes go on
 * with the moments that are saved. A save that is not due, because a signal ends the run,
 * must not change what follows. So each rank writes its rest to RUN/rest, in the format
 * of checkpoints, and takes it up when the run goes on. A number in the state of the
 * checkpoint tells which rests belong to it.
 *
 * Borrows everything. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/comm/comm.h"
#include "train/save/state.h"
#include "train/update/optim.h"

/* In the run directory. */
#define REST_DIR "rest"

struct rest {
    const char *run;
    const struct comm *comm;
    struct state *state;
    float *residual; /* [n_residual], or NULL */
    size_t n_residual;
    struct optim *optim; /* with local SGD; NULL: all ranks have the same */
};

static inline bool rest_has_any(const struct rest *r)
{
    return r->residual || r->optim;
}

/* Of this rank, at state->step; `number` is not 0 and the same on all ranks. */
status rest_write(const struct rest *r, uint64_t number, struct err *err);
/* Back into residual, moments and state. Fails unless it was written by this rank of as
 * many, on as many nodes; then some of it may have been read. */
status rest_read(const struct rest *r, uint64_t number, struct err *err);

/* Remove those of other steps than this one, of all ranks that wrote here, and what a
 * killed one had half-written. Behind a symbolic link nothing is touched. */
void rest_sweep(const char *run, int64_t step);
