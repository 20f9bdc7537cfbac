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
#include "report/log/runlog.h"

/* The fields of a rank's entries taken together as the schema says, and what follows. */
struct rank_mean {
    RUNLOG_RANK(RUNLOG_MEMBER)
    double card_sent, card_received;
    double card_errors;   /* over the whole run */
    double steps;         /* that the means are over */
    double busy;          /* t_step - t_comm */
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

status rank_means_open(struct rank_means *r, const struct runlog *log, struct err *err);
void rank_means_close(struct rank_means *r);
