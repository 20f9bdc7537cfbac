/*
 * network - what the network cost a step, and what a faster one would save.
 *
 * Bytes are those of the busiest card of any host; where no card was read, the payload
 * that its ranks exchanged with other hosts. The exposed time is the wait of the rank
 * that waits least: what others wait more is for ranks, which a faster link does not
 * cure.
 *
 * A log without phase times (another program's) says none of that: then the bytes and the
 * time of a step without waiting are computed (estimate.h), or the bytes are those that a
 * capture of the cards shows, and what a step takes beyond that time counts as exposed.
 *
 * The elasticity is -d ln(step) / d ln(bandwidth), from the step that this run would
 * have on half the link. It is computed from the bytes and the link's capacity, not
 * measured by slowing the link down, and the page says so.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct run;

/* code, in words */
#define NETWORK_VERDICT_LIST(T) \
    T(NONE, "no network")       \
    T(UNKNOWN, "not known")     \
    T(COMPUTE_BOUND, "no")      \
    T(MIXED, "in part")         \
    T(BOUND, "yes")             \
    T(LATENCY, "the exchange, but not its bandwidth")

enum network_verdict {
#define T(code, text) NETWORK_##code,
    NETWORK_VERDICT_LIST(T)
#undef T
};

/* Seconds and bytes are a step's; NAN where the log does not say. */
struct network {
    enum network_verdict verdict;
    bool is_computed; /* not measured, as above */
    const char *card; /* whose bytes a capture counted; NULL: none did */
    double t_alone;   /* of a step that waits for nobody, as computed; NAN */
    double t_step, exposed, hidden, straggling;
    double share;           /* exposed / t_step */
    double sent, received;  /* bytes of the busiest card */
    double rate;            /* the larger of both / t_step: bytes a second */
    double capacity;        /* bytes a second one way, as preflight measured */
    double duty;            /* rate / capacity */
    double wire;            /* seconds that the bytes need at that capacity */
    double t_twice, t_half; /* the step on a link twice as fast, and on half of it */
    double elasticity;
};

void network_judge(struct network *w, const struct run *run);
/* Of each verdict: the code for programs, and in words. */
struct network_name {
    const char *code, *text;
};
extern const struct network_name network_verdicts[];
