/*
 * foreign_attempt - one attempt of OpenSeq2Seq to train, put together from its lines.
 *
 * Its loss lines come every `print_loss_steps` steps. The time a step beside them is the
 * wall time since the line before, or since the session began, divided by that number:
 *
 *     time per step = (now - last) / print_loss_steps
 *
 * So the first of a session, printed after a single step, tells the start-up (building
 * NCCL's rings, the evaluation at step 0), and every other one covers at most so many
 * steps: what is missing between two lines beyond that is a hole.
 *
 * Owns: its configuration and sample. The log outlives it. For the files of foreign only.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/read/foreign_parts.h"

enum { FOREIGN_EVALS_MAX = 64 };

/* What began with a start or a resumption. */
struct foreign_session {
    bool is_started; /* its start entry is put */
    bool has_start;  /* a line told its first step */
    bool is_resumed;
    double start_step;
    double every;                  /* steps between loss lines; NAN: not known yet */
    size_t first_step, first_eval; /* of its entries in the log */
    double printed;                /* step of its last loss line; NAN: none */
};

struct foreign_attempt {
    struct runlog *log;
    struct foreign_place place;
    struct foreign_clock clock;
    json_t *config; /* keys of the printed dict, without their nesting */
    double parameters;
    bool is_finished; /* it says so */
    double t;         /* seconds since it began, as far as they are told */
    double every;     /* steps between loss lines of an earlier session; NAN */
    struct foreign_session session;

    /* a loss line whose time has not come yet */
    bool has_loss;
    double step, loss;
    /* evaluations since the last loss line */
    double valid[FOREIGN_EVALS_MAX], bleu[FOREIGN_EVALS_MAX];
    size_t n_evals;
    json_t *sample;

    status failed; /* told in *err */
    struct err *err;
};

/* `log` becomes an empty one. */
void foreign_attempt_begin(struct foreign_attempt *a, struct runlog *log,
                           struct err *err);
/* Everything was told. The log is whole then; *a owns nothing any more. */
status foreign_attempt_end(struct foreign_attempt *a);

/* A session from this step on; NAN: a line of it came without its start. */
void foreign_attempt_session(struct foreign_attempt *a, double step, bool is_resumed);
/* A new configuration is printed. */
void foreign_attempt_configure(struct foreign_attempt *a);
void foreign_attempt_loss(struct foreign_attempt *a, double step, double loss);
void foreign_attempt_time(struct foreign_attempt *a, double t_a_step);
void foreign_attempt_eval(struct foreign_attempt *a, double loss);
void foreign_attempt_bleu(struct foreign_attempt *a, double bleu);
/* A part of a sample: "source" begins a new one. */
void foreign_attempt_sample(struct foreign_attempt *a, const char *kind, const char *key,
                            const char *pieces);

/* A number of the printed configuration, NAN when it is not there. */
double foreign_attempt_config(const struct foreign_attempt *a, const char *key);
