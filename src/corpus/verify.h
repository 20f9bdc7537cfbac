/*
 * verify - the whole of a data directory checked by a thread while others use it.
 *
 * Opening a corpus looks at its ends alone; this reads the rest, once, beside the first
 * steps of training.
 *
 * Owns:    a thread. Borrows: the dataset, which must outlive it.
 * Threads: the calls from one.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/err.h"
#include "corpus/dataset.h"

struct verify {
    const struct dataset *data;
    pthread_t thread;
    bool is_running;
    atomic_bool is_done;
    struct err err; /* of the thread; read once it is done */
};

status verify_start(struct verify *v, const struct dataset *data,
                    struct err *err) MUST_CHECK;
/* Whether damage was found by now. Safe on a zeroed one, as the next. */
bool verify_has_failed(const struct verify *v);
/* Wait for the thread: ERR_FORMAT when there is damage. */
status verify_finish(struct verify *v, struct err *err) MUST_CHECK;
