/*
 * metrics - what a server has done, counted, and how it is shown to Prometheus.
 *
 * Threads: any; numbers are atomic.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/str.h"

enum { METRICS_ROUTES = 24, METRICS_STATUSES = 13, METRICS_BUCKETS = 14 };

struct metrics {
    _Atomic uint64_t requests[METRICS_ROUTES][METRICS_STATUSES];
    _Atomic uint64_t bucket[METRICS_BUCKETS + 1]; /* of seconds; the last: more */
    _Atomic uint64_t microseconds, n_timed;
    _Atomic uint64_t n_texts, n_lines, n_chars_in, n_chars_out;
    _Atomic uint64_t n_cancelled, n_log_lost;
};

/* A request of the route (an index of the caller's) was answered, or not (0). */
void metrics_request(struct metrics *m, size_t route, unsigned code);
/* A translation took so long. */
void metrics_took(struct metrics *m, double seconds);

/* What others count. */
struct metrics_gauge {
    const char *name, *help;
    bool is_counter;
    double value;
};

void metrics_show(struct metrics *m, const char *(*route_name)(size_t route),
                  const struct metrics_gauge *gauge, size_t n_gauges, struct str *out);

/* Bytes of memory that the process has in use. */
double metrics_memory(void);
