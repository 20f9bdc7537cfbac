/*
 * retry - whether a lost job is started again, after how long, and without which host.
 *
 * A killed rank, a frozen host, a cut link: another start may cure that. A full disk, bad
 * options, damaged data, too little memory: it would end in the same way. A host that
 * alone fails before the first update is left out of the next start if enough ranks
 * remain. What is lost again and again without getting further ends in any case.
 *
 * Pure: no clock, no processes. Owns nothing. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "launch/hosts.h"

/* How a start was lost. */
struct retry_loss {
    status code;        /* that ranks said they failed with; ERR_COMM: none did */
    const char *host;   /* that is at fault; "": none alone, or not known */
    bool is_agreed;     /* all ranks failed alike */
    bool has_begun;     /* every rank had reported */
    bool has_worked;    /* on an update */
    bool may_leave_out; /* enough ranks remain without that host */
    uint64_t step;      /* how far it got */
    double t_lasted;    /* seconds from its start to its end */
};

enum retry_answer {
    RETRY_AGAIN,
    RETRY_WITHOUT, /* the host at fault */
    RETRY_NEVER,   /* it would not help */
    RETRY_ENOUGH,  /* too many losses without getting further */
};

struct retry {
    int64_t n_most;   /* losses in a row without getting further that are allowed */
    int64_t n_starts; /* that were judged */
    int64_t n_vain;   /* losses since a start got further than all before it */
    int64_t n_same;   /* losses in a row with the same code at the same host */
    uint64_t step_best;
    bool has_worked; /* on an update, in any start */
    bool is_lasting; /* the newest loss had a cause that may not pass by itself */
    status code;     /* of the newest loss */
    char host[HOSTS_NAME];
};

enum retry_answer retry_judge(struct retry *r, const struct retry_loss *l);

/* Seconds to wait before the next start, longer each time in a row. */
double retry_pause(const struct retry *r, enum retry_answer answer, double t_lasted);

/*
 * The hosts that are left out of starts, each for a quarter of an hour: what failed there
 * shows in a start only. One that fails again is left out again.
 */
struct left_out_host {
    char name[HOSTS_NAME];
    status code; /* that it failed with */
    double t_end;
};
struct left_out {
    struct left_out_host host[HOSTS_MAX];
    size_t n;
};

void retry_leave_out(struct left_out *l, const char *host, status code, double now);
/* Whether a start is without it, and why. */
bool retry_is_left_out(struct left_out *l, const char *host, double now, status *code);
