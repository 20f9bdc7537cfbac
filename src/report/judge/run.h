/*
 * run - one training run as the report sees it: log, files, and what follows from them.
 *
 * Every number below is derived from run.jsonl and the directory listing alone, or from
 * what another program left (foreign.h). What was not logged is NAN.
 *
 * Owns: the log, unless it is followed, and the listing. Threads: immutable once opened.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "base/str.h"
#include "page/fmt.h"
#include "recipe/schedule.h"
#include "report/judge/estimate.h"
#include "report/judge/learning.h"
#include "report/judge/rank_means.h"
#include "report/log/runlog.h"
#include "report/read/capture.h"
#include "report/read/holder.h"
#include "report/read/rundir.h"
#include "report/read/sources.h"

enum run_state {
    RUN_EMPTY,    /* nothing was logged */
    RUN_RUNNING,  /* a process trains */
    RUN_STOPPED,  /* it was asked to stop, saved, and can go on */
    RUN_FINISHED, /* it made the steps or passes that it was to make, or lost patience */
    RUN_DIED,     /* an error ended it, or its process is gone without a last word */
    RUN_FROZEN,   /* its process is there and does nothing */
    RUN_OPEN,     /* a log of another program ends, and does not say why */
};
extern const char *const run_state_codes[]; /* of each state, for programs */
extern const char *const run_state_words[]; /* and for people */

/* Seconds over all sessions; wall = idle + in_steps + in_evals + in_saves + startup +
 * in_other. Logs of others do not time evaluations: there a log entry that holds one is
 * compared with those that do not, and `n_evals_timed` counts them. */
struct run_times {
    double wall, idle, in_steps, in_evals, in_saves, startup, in_other;
    size_t n_evals_timed;
    double a_step; /* taken, with what comes with steps: evaluations, saves; NAN before
                    * there are enough of them to foretell by */
    double to_go;  /* at that pace to max_steps; NAN when not known */
};

/*
 * The average step. The first logged entry of a session covers warming up (memory,
 * threads, caches) and is left out when enough others remain; so is an entry of another
 * program's log that holds an evaluation. Quantiles weigh an entry by the steps it
 * covers.
 */
struct run_pace {
    double n_steps, n_left_out;
    double n_with_evals;               /* left out for an evaluation among them */
    double steps_an_entry;             /* the most steps that one entry averages over */
    double mean, median, p95, slowest; /* seconds a step */
    double t_data, t_compute, t_comm, t_update, other; /* seconds a step, mean */
    double t_hidden; /* of the network while computing: no part of the sum */
    double tokens_per_s, target_per_s; /* source + target; target */
    double gflops, memory_mib;         /* mean; peak */
};

struct run {
    char name[256];
    struct sources sources;
    struct runlog log;
    bool borrows_log; /* from whom follows it */
    struct rundir files;
    struct holder holder;    /* the process that trains it */
    struct capture *capture; /* taken beside it */
    size_t n_captures;
    double now;     /* seconds since 1970 when the report is made */
    double written; /* and when its log was written; NAN: not known */

    enum run_state state;
    double step;        /* the last one the model has taken */
    double max_steps;   /* of the configuration */
    double to_steps;    /* asked for by the reader: how long would that take; or 0 */
    double steps_taken; /* by all sessions, lost ones included */
    double steps_lost;  /* taken, and taken again after a resume from before them */
    double ranks;
    struct run_times times;
    struct run_pace pace;
    struct rank_means by_rank;
    struct estimate estimate; /* of what it did not measure */
    struct learning learning;
};

/*
 * ERR_FORMAT for a malformed log, or for sources that are not of one run. With `follow`
 * only what is new of a run.jsonl is read; *run is closed before the next look at it.
 * NULL: all of it.
 */
status run_open(struct run *run, const struct sources *sources, double now,
                struct runlog_follow *follow, struct err *err);
void run_close(struct run *run);

/* The state of a run whose log, times and holder are there. */
enum run_state run_state_find(const struct run *run);
/* The state in one or two sentences. */
void run_state_say(struct str *out, const struct run *run);
/* The command that continues the run; nothing for one that is running, frozen, finished
 * or not Ferry's. */
void run_state_command(struct str *out, const struct run *run);

/* Options that make the loss of training higher than that of validation, which goes
 * without; the last is NULL. */
extern const char *const run_hardships[];
/* Those by which training reads other pieces or other text than validation; likewise. */
extern const char *const run_variations[];

/* A configuration value as a number, or NAN. */
double run_config(const struct run *run, const char *key);
/* Weights of the model: as logged, or as the newest checkpoint holds them; or NAN. */
double run_parameters(const struct run *run);
/* Sentence pairs of a step over all ranks, as another program configures them; or NAN. */
double run_pairs(const struct run *run);
/* A moment of the log, by the clock that the log has. */
struct fmt run_date(const struct run *run, double t);

/* The learning rate of the newest configuration; false when it does not give one. */
bool run_schedule(struct schedule *s, const struct run *run);
/*
 * The largest |logged / computed - 1| over the logged steps, and their number in *n. The
 * update that made step k was the one of t = k - 1, or k where another program counts
 * so. NAN when nothing was logged.
 */
double run_rate_difference(const struct schedule *s, const struct run *run, size_t *n);
