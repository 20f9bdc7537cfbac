/*
 * work - jobs that wait in a bounded queue, and the threads that do them.
 *
 * A job whose client has gone or whose time is over leaves the queue; one that is under
 * way is told so by its seat's flag (work_tick()), and ends soon.
 *
 * Owns: threads; jobs while they wait. Threads: one opens, puts, ticks and closes; jobs
 * are done in threads of its own, those that are over without being begun in the
 * caller's of work_tick().
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct job;

/* Where a job is done. */
struct work_seat {
    size_t number;
    atomic_bool is_cancelled;
};

struct work_options {
    size_t n_seats, n_queue;
    void (*run)(struct job *j, const struct work_seat *seat);
    bool (*is_over)(const struct job *j); /* gone or late: any thread, until it has run */
    void (*end)(struct job *j, const struct work_seat *seat); /* answer it and free it */
};

/* The first member of a job. */
struct work_link {
    struct job *next;
};

struct work;

status work_open(struct work **w, const struct work_options *o, struct err *err);
/* All that was put is done first. */
void work_close(struct work *w);

/* False when the queue is full: the job is still the caller's. */
bool work_put(struct work *w, struct job *j);
/* End the jobs that are over: those that wait at once, those under way soon. */
void work_tick(struct work *w);
/* Tell all. */
void work_cancel(struct work *w);

struct work_load {
    size_t n_waiting, n_running;
};
struct work_load work_load(struct work *w);
