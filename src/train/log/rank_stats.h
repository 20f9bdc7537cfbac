/*
 * rank_stats - what every rank measured of itself, gathered at the cadence of the log:
 * where its time went, which processors and memory it used, what went through its host's
 * cards. The rank that kept the others waiting is the one that waited least itself.
 *
 * Borrows: comm. Threads: one at a time.
 */
#pragma once

#include "dist/comm/comm.h"
#include "train/log/meter.h"
#include "train/log/record.h"

struct rank_stats {
    struct meter meter;
    struct record_step since;    /* this rank's own times since they were last gathered */
    struct comm_traffic traffic; /* at that time */
    bool is_due;                 /* a line of the log was written since then */
};

/* Every rank's numbers to run.jsonl: a meeting of all ranks. */
status rank_stats_gather(struct rank_stats *s, struct comm *comm, struct record *record,
                         int64_t step, struct err *err);
