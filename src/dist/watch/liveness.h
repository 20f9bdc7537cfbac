/*
 * liveness - which ranks are alive, and which are stragglers; without sockets.
 *
 * Events go in with their time (a rank joined, sent a heartbeat, hung up); verdicts come
 * out one at a time. Time is an argument, so that tests have a clock of their own. A rank
 * silent for too long is dead. A straggler, which works while the others wait for it, is
 * reported, and once more when it has caught up; nothing else happens to it.
 *
 * Owns: the table of ranks. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/watch/channel.h"

struct liveness_limits {
    double t_silence; /* without a beat: dead */
    double t_closed;  /* without a new connection after the old one closed: dead */
    double t_start;   /* until every rank must have joined */
    double t_late;    /* a rank that keeps others waiting for so long is reported */
    double t_stall;   /* so long without any progress is reported */
    double t_join;    /* unauthenticated connections are closed after this */
};

extern const struct liveness_limits liveness_limits_default;

/* The limits of n_ranks ranks, of which at most per_core share a core of their host:
 * starting and being scheduled take them longer. */
struct liveness_limits liveness_limits_for(struct liveness_limits l, size_t n_ranks,
                                           double per_core);

enum liveness_verdict {
    LIVENESS_NOTHING,
    LIVENESS_DEAD,      /* of rank, or it failed alone: the job is lost */
    LIVENESS_WAITING,   /* not all ranks have joined yet; now and then */
    LIVENESS_MISSING,   /* rank, and maybe others, never joined: the job is lost */
    LIVENESS_LATE,      /* the others wait for rank */
    LIVENESS_CAUGHT_UP, /* a late rank is with the others again */
    LIVENESS_STALLED,   /* no rank moves and all wait */
    LIVENESS_MOVING,    /* after LIVENESS_STALLED */
};

struct liveness_rank {
    bool has_joined, is_done, is_open, is_late, is_dead;
    char host[CHANNEL_HOST];
    struct channel_beat last;
    double t_joined, t_beat, t_closed;
    double t_moved; /* when step or phase last changed, on this clock */
    double waits;   /* share of its time spent waiting: an average over t_late seconds */
    double t_named; /* when it was last reported as late */
};

struct liveness {
    struct liveness_limits limits;
    struct liveness_rank *rank;
    size_t n_ranks, n_joined, n_done;   /* n_done: said goodbye */
    bool has_worked;                    /* a rank has, on an update */
    double t_open, t_judged, t_waiting; /* t_waiting: when LIVENESS_WAITING was given */
    bool is_stalled;
    bool is_settled;            /* the last judgement found nothing more to say */
    uint64_t step;              /* of the rank that is furthest */
    double t_stepped, t_update; /* when it got there; seconds of an update, smoothed */
};

struct liveness_event {
    enum liveness_verdict verdict;
    uint32_t rank;
    double seconds; /* silent, late or stalled for so long */
};

status liveness_open(struct liveness *w, size_t n_ranks, struct liveness_limits limits,
                     double now, struct err *err);
void liveness_close(struct liveness *w);

void liveness_joined(struct liveness *w, const struct channel_join *j, double now);
void liveness_heard(struct liveness *w, uint32_t rank, const struct channel_beat *b,
                    double now);
void liveness_hung_up(struct liveness *w, uint32_t rank, double now);

/* The next verdict, LIVENESS_NOTHING when there is none or the last judgement, which
 * found none, is less than a tenth of a second old. Call it some times a second: after a
 * long pause the ranks are given the time that the caller was asleep. */
struct liveness_event liveness_judge(struct liveness *w, double now);

/* "rank 2 on n2 is dead: silent for 8.1 s, last heard of at step 17 in exchange"; of any
 * verdict but LIVENESS_NOTHING. */
void liveness_say(const struct liveness *w, struct liveness_event e, char *out, size_t n);

/* Whether all ranks said goodbye with the same status. */
bool liveness_agreed(const struct liveness *w, status *result);
/* The first rank that said goodbye with a failure of its own, not one of a peer or of the
 * network; NULL: none. */
const struct liveness_rank *liveness_failed(const struct liveness *w);
/* Finished updates of the rank that is furthest; 0 before the first beat. */
uint64_t liveness_step(const struct liveness *w);
/* When the last rank that said no goodbye will have ended itself at the latest, because
 * it gets no answer for t_silence. */
double liveness_gone_at(const struct liveness *w);
