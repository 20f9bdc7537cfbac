/*
 * watch - who is alive, who is late, and since when: the judgement without the sockets.
 *
 * Facts go in with the time they were learnt (a rank joined, beat, hung up); verdicts
 * come out one at a time. Time is an argument, so that tests have a clock of their own. A
 * rank silent for too long is dead. A rank that works while the others wait for it is
 * late: it is named, and named again when it caught up, and nothing else happens to it.
 *
 * Owns: the table of ranks. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "dist/watch/beat.h"

struct watch_limits {
    double t_silence;  /* without a beat: dead */
    double t_closed;   /* without a new connection after the old one closed: dead */
    double t_start;    /* until every rank must have joined */
    double t_late;     /* a rank that keeps others waiting for so long is named */
    double t_stall;    /* so long without any rank moving is said */
    double t_stranger; /* until a connection must have proved itself */
};

extern const struct watch_limits watch_limits_default;

enum watch_verdict {
    WATCH_NOTHING,
    WATCH_DEAD,      /* of rank: the job is lost */
    WATCH_MISSING,   /* rank never joined: the job is lost */
    WATCH_LATE,      /* the others wait for rank */
    WATCH_CAUGHT_UP, /* a late rank is with the others again */
    WATCH_STALLED,   /* no rank moves and all wait */
    WATCH_MOVING,    /* after WATCH_STALLED */
};

struct watch_rank {
    bool has_joined, is_done, is_open, is_late, is_dead;
    bool has_worked; /* on an update */
    char host[BEAT_HOST];
    uint32_t pid;
    struct beat last;
    double t_joined, t_beat, t_closed;
    double t_moved; /* when step or phase last changed, on the watch's clock */
    double waits;   /* share of its time spent waiting: an average over t_late seconds */
    double t_named;
};

struct watch {
    struct watch_limits limits;
    struct watch_rank *rank;
    size_t n_ranks;
    double t_open, t_judged;
    bool is_stalled;
};

struct watch_event {
    enum watch_verdict verdict;
    uint32_t rank;
    double seconds; /* silent, late or stalled for so long */
};

status watch_open(struct watch *w, size_t n_ranks, struct watch_limits limits, double now,
                  struct err *err) MUST_CHECK;
void watch_close(struct watch *w);

void watch_joined(struct watch *w, const struct beat_join *j, double now);
void watch_heard(struct watch *w, uint32_t rank, const struct beat *b, double now);
void watch_hung_up(struct watch *w, uint32_t rank, double now);

/* The next verdict, WATCH_NOTHING when there is none. Call it some times a second: a long
 * pause means that the watcher slept, and the ranks are not to blame for that. */
struct watch_event watch_judge(struct watch *w, double now);

/* "rank 2 on n2 is dead: silent for 8.1 s, last heard of at step 17 in exchange". */
void watch_say(const struct watch *w, struct watch_event e, char *out, size_t n);

bool watch_all_joined(const struct watch *w);
bool watch_all_done(const struct watch *w);
bool watch_any_worked(const struct watch *w);
/* All said goodbye, with this one status. */
bool watch_agreed(const struct watch *w, status *result);
/* Finished updates of the rank that is furthest; 0 before the first beat. */
uint64_t watch_step(const struct watch *w);
/* When the last of the ranks that never said goodbye must have ended itself at the
 * latest, because it has heard nothing from us for t_silence. */
double watch_gone_at(const struct watch *w);
