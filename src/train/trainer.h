/*
 * trainer - a training run from its configuration to its end.
 *
 * setup.c opens data, device, model and files, and resumes or begins; trainer.c loops:
 * update, record, evaluate, save. step.c is one update; everything periodic is in
 * trainer.c. What must survive a crash is in `state` and in the tensors, and nowhere
 * else.
 *
 * Owns: all it opens. Threads: the main one; prefetching, saving and the device have
 * their own.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "device/device.h"
#include "model/model.h"
#include "recipe/schedule.h"
#include "train/eval/evaluation.h"
#include "train/log/rank_stats.h"
#include "train/log/record.h"
#include "train/run/config.h"
#include "train/run/micro_batch.h"
#include "train/run/peers.h"
#include "train/run/training_data.h"
#include "train/save/saving.h"
#include "train/update/gradients.h"
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
    struct gradients gradients; /* on their way to the sum over all ranks */
    struct optim optim;
    struct schedule schedule;
    struct local_sgd local;
    struct moving_average average;
    struct state state;
    struct evaluation evaluation;
    struct saving saving;
    struct record record;
    struct rank_stats stats;
    bool is_signalled; /* to stop; the same on all ranks */
};

/* Where a run is: among these ranks, watched by these others. Borrowed. */
struct train_host {
    struct comm *comm;
    struct control *control; /* NULL: nobody watches */
    FILE *console;           /* where the first rank shows progress; NULL: nowhere */
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
                 struct err *err) MUST_CHECK;
