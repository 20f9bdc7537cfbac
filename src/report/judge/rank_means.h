/*
 * rank_means - what each rank did on average: means of the ranks events of a log.
 *
 * Work that a resume threw away and the first entry of a session (it warms up) are left
 * out where others remain. Times are seconds a step, bytes are bytes a step.
 *
 * A rank that finishes early waits for the others inside the exchange, so its t_comm is
 * network and waiting in one. The rank that waits least shows what the network alone
 * costs; that is how `straggling` is told from `exposed`.
 *
 * Owns: its array; borrows host names from the log. Threads: immutable once filled.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "report/read/runlog.h"

struct rank_mean {
    double rank;
    const char *host; /* or NULL */
    double steps;     /* that the means are over */
    double t_step, t_data, t_compute, t_comm, t_hidden, t_update;
    double busy;                                   /* t_step - t_comm */
    double cores;                                  /* processor seconds a second */
    double memory_first, memory_last, memory_most; /* MiB */
    double sent_bytes, received_bytes, card_sent, card_received;
    double card_errors;                          /* over the whole run */
    double gpu_busy, gpu_power, gpu_power_limit; /* share, watts; NAN: it did not say */
    double gpu_clock, gpu_clock_max;             /* MHz */
    double gpu_memory, gpu_memory_all;           /* MiB: the most, and there is */
    double slowest_share; /* of the entries, those in which it was the busiest */
};

struct rank_means {
    struct rank_mean *of; /* in order of the rank number */
    size_t n;
    size_t n_laps;  /* entries used */
    size_t slowest; /* index of the rank with the longest busy time; 0 when n is 0 */
    double exposed; /* least t_comm of any rank: the network's own part; NAN if n is 0 */
    double straggling; /* mean t_comm minus that: ranks waiting for ranks */
};

status rank_means_open(struct rank_means *r, const struct runlog *log,
                       struct err *err) MUST_CHECK;
void rank_means_close(struct rank_means *r);
