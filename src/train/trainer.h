/*
 * trainer - a training run from its configuration to its end.
 *
 * Opens data, device, model and files, resumes or begins, and loops: update, record,
 * evaluate, save. step.c is one update; everything periodic is in trainer.c. What must
 * survive a crash is in `state` and in the tensors, and nowhere else.
 *
 * Owns: all it opens. Threads: the main one; the prefetcher and the device have their
 * own.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "corpus/dataset.h"
#include "corpus/prefetch.h"
#include "decode/translate.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/watch/control.h"
#include "model/model.h"
#include "recipe/schedule.h"
#include "text/subword/spm.h"
#include "train/log/meter.h"
#include "train/log/record.h"
#include "train/run/affinity.h"
#include "train/run/config.h"
#include "train/run/preflight.h"
#include "train/run/ranks.h"
#include "train/run/run_dir.h"
#include "train/save/checkpoint.h"
#include "train/save/saver.h"
#include "train/save/state.h"
#include "train/update/local_sgd.h"
#include "train/update/optim.h"

struct reducer;

struct trainer {
    struct train_config config;
    struct comm *comm;       /* the ranks of this run; borrowed */
    struct reducer *reducer; /* NULL: one rank */
    struct control *control; /* who watches this rank; NULL: nobody */
    struct local_sgd local;  /* open with local steps */
    struct ranks_sums apart; /* of this rank since the nodes last met */
    bool is_synced;          /* after the last update all ranks held the same weights */
    int64_t met_at;          /* step at which nodes that train alone last met */
    bool wants_stats;
    struct optim_shard *shards; /* what this rank updates; NULL: everything */
    struct affinity affinity;
    struct run_dir run_dir;
    int *node; /* [size] of each rank, for the share of the data */
    struct preflight preflight;
    struct meter meter;
    struct record_step since_stats; /* this rank's own times */
    struct comm_traffic traffic;    /* at the last gather */
    struct ranks_sums sum;          /* of the last update */
    struct ranks_own *own;          /* [size] */
    struct dataset data;
    struct dataset_check check; /* of the data, by the first rank of a node */
    struct spm *spm;
    struct device device;
    struct model model;
    struct optim optim;
    struct schedule schedule;
    struct translator translator; /* open with eval_bleu and a validation set */
    void *average_mem;
    struct mat average; /* moving average of the weights; may be none */
    struct state state;
    float *mirror;    /* [n_flat] on the host, what the network sees of a GPU's memory */
    double *slice_sq; /* [most_slices] of this rank's gradient, with several ranks */
    size_t n_slices, most_slices;
    double early_sq; /* of the embedding's rows that backward does not write */
    struct prefetch *prefetch;
    struct batch_limit limit; /* of a micro-batch */
    size_t budget;            /* bytes for a step and a copy of the run */
    float *losses;            /* [limit.n_tgt] of the micro-batch at hand */
    struct record record;
    struct saver *saver;
    struct saver_target to_save[SAVER_TARGETS]; /* at the end of this step */
    size_t n_to_save;
    bool is_saving;      /* a save is under way that ranks must agree on */
    int64_t saving_step; /* of that save */
    bool saving_own;     /* it holds the run's checkpoint, not only best models */
    /* steps; -1: not in this process */
    int64_t evaluated_at, compared_at, saved_at;
    double roof_gflops; /* what this machine could do; NAN when not measured */
    int64_t odd_again;  /* no rank is named as odd before this step */
    bool is_resumed;
    bool wants_stop; /* patience is used up, or the last epoch is over */
    bool is_told;    /* to stop by a signal; the same on all ranks */
    bool is_agreed;  /* the failure at hand is known to all ranks */
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

/* Publish what this rank does now, for its heartbeat. */
static inline void train_phase(struct trainer *t, enum phase_id phase)
{
    if (t->control)
        phase_set(&t->control->phase, (uint64_t)t->state.step, phase);
}

/* Whether nodes train alone between meetings. */
static inline bool train_is_local(const struct trainer *t)
{
    return t->config.local_steps > 1 && t->comm->n_nodes > 1;
}

/* What a checkpoint of this run holds. */
struct checkpoint train_save_parts(struct trainer *t);

/* All ranks did this and it worked on each; otherwise all return the first failure. */
status train_together(struct trainer *t, status mine, struct err *err) MUST_CHECK;

/* All ranks hold the same weights; otherwise ERR_DEVICE names the one that does not. */
status trainer_compare(struct trainer *t, struct err *err) MUST_CHECK;

/* One update, in step.c. *rec is filled; ERR_NUMERIC when it had to be skipped. */
status train_step(struct trainer *t, struct record_step *rec, struct err *err) MUST_CHECK;

/* One array of the first rank to all, in resume.c. */
status train_resume_send(struct trainer *t, struct mat flat, int from,
                         struct err *err) MUST_CHECK;
/* Weights, moments and state, from a checkpoint or fresh, the same on all ranks; in
 * resume.c. */
status train_resume(struct trainer *t, struct err *err) MUST_CHECK;
/* Whether any rank's directory holds a checkpoint of this run, and the run's options. */
status train_resume_find(struct trainer *t, struct err *err) MUST_CHECK;

/* Start the prefetcher at the state's place in the data, in setup.c. */
status train_feed(struct trainer *t, struct err *err) MUST_CHECK;

/* Release everything but the record, in setup.c. */
void train_close(struct trainer *t);

/* Memory for micro-batches as large as the limit allows, in memory.c. */
status train_reserve(struct trainer *t, struct err *err) MUST_CHECK;
/* A GPU without memory for a step: its sentence says what to set instead. */
status train_memory_advise(struct trainer *t, status result, struct err *err) MUST_CHECK;
/* Whether so much more fits beside the memory of micro-batches of the wanted size. */
bool train_memory_fits(struct trainer *t, size_t n_bytes);

/* Every rank's times, processors, memory and cards to run.jsonl, in rank_stats.c. */
status train_rank_stats(struct trainer *t, struct err *err) MUST_CHECK;

/* The validation set measured, recorded and judged, in assess.c. */
status train_assess(struct trainer *t, struct err *err) MUST_CHECK;

/*
 * Saving, in save.c. A step may want the checkpoint of the run and the models that are
 * best by a measure; _begin starts to save what was wanted, _poll records what has
 * reached the disk, _last saves what is not yet saved and waits for it. Only in _last
 * does a write that failed end the run.
 */
status train_save_open(struct trainer *t, struct err *err) MUST_CHECK;
void train_save_want(struct trainer *t);
void train_save_want_best(struct trainer *t, bool by_bleu, double value);
status train_save_begin(struct trainer *t, struct err *err) MUST_CHECK;
status train_save_poll(struct trainer *t, struct err *err) MUST_CHECK;
status train_save_last(struct trainer *t, struct err *err) MUST_CHECK;
