/*
 * trainer - a training run from its configuration to its end.
 *
 * setup.c opens everything and resumes or begins, step.c is one update, and trainer.c
 * loops: update, record, evaluate, save. What must survive a crash is in `state` and in
 * the tensors, and nowhere else.
 *
 * Owns: all it opens. Threads: the main one; prefetching, saving and the device have
 * their own.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "decode/translate.h"
#include "device/device.h"
#include "model/model.h"
#include "recipe/schedule.h"
#include "train/log/layer_gradients.h"
#include "train/log/rank_stats.h"
#include "train/log/record.h"
#include "train/run/config.h"
#include "train/run/micro_batch.h"
#include "train/run/peers.h"
#include "train/run/training_data.h"
#include "train/save/saving.h"
#include "train/update/gradients.h"
#include "train/update/inputs.h"
#include "train/update/local_sgd.h"
#include "train/update/moving_average.h"
#include "train/update/optim.h"

struct trainer {
    struct train_config config;
    struct peers peers;
    struct training_data data;
    struct device device;
    struct model model;
    struct micro_batch micro;
    struct inputs inputs;
    struct gradients gradients; /* on their way to the sum over all ranks */
    struct optim optim;
    struct schedule schedule;
    struct local_sgd local;
    struct moving_average average;
    struct state state;
    struct translator translator; /* open with eval_bleu and a validation set */
    struct saving saving;
    struct record record;
    struct rank_stats stats;
    struct layer_gradients layers; /* to be shown */
    int64_t evaluated_at;          /* step of the last evaluation; -1: none */
    bool is_patience_used;         /* too many evaluations went by without a best one */
    bool is_signalled;             /* to stop; the same on all ranks */
    const char *note;              /* of the host, for a new run */
};

/* Where a run is: among these ranks, watched by these others. Borrowed. */
struct train_host {
    struct comm *comm;
    struct control *control; /* NULL: nobody watches */
    FILE *console;           /* where the first rank shows progress; NULL: nowhere */
    const char *note;        /* said on it when a new run begins; NULL: nothing */
    /* Out, after a failure: all ranks have failed alike and may part in peace. Otherwise
     * the others still wait for this one, and it should end by comm_abort(). */
    bool is_agreed;
};

/*
 * Run the training that `config` describes in config->run, resuming a run that is
 * there, together with the ranks of host->comm, which all call this. Stops early, saved
 * and with OK, on SIGINT and SIGTERM of any rank.
 */
status train_run(const struct train_config *config, struct train_host *host,
                 struct err *err);

/* ---- its parts ---- */

/* setup.c takes what may be missing or contradictory first (data, run directory, old
 * configuration), then what is expensive (weights, memory). All but setup_release() are
 * collective. */

/* Data, run directory, device, model, optimizer. On failure call setup_close() too. */
status setup_open(struct trainer *t, const struct train_config *config,
                  const struct train_host *host, struct err *err);
/* Weights and state (from a checkpoint or fresh), files of the run, memory, data. */
status setup_run(struct trainer *t, struct err *err);
status setup_close(struct trainer *t, struct err *err);
/* Release everything but the record. A zeroed trainer is fine. */
void setup_release(struct trainer *t);

/* SIGINT and SIGTERM are a wish: finish the step, save, leave with status 0. */
bool trainer_is_to_stop(void);

/* Whether this rank knows by now that its data is damaged or its run directory gone. */
bool trainer_has_lost(struct trainer *t);

/* One update, the same on all ranks. *rec is filled; ERR_NUMERIC when the update had to
 * be skipped. */
status train_step(struct trainer *t, struct record_step *rec, struct err *err);

/* validation.c: the validation sets with the weights or their average, recorded and
 * judged. Nothing without a set, or when this step was evaluated before. Collective. */
status validation_run(struct trainer *t, struct err *err);
/* Whether the evaluations so far use up patience. */
void validation_patience(struct trainer *t);
