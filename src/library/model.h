/*
 * model - what stands behind the handles of include/ferry.h.
 *
 * Owns: see each struct. Threads: a model by any; a result by whoever has it.
 */
#pragma once

#include <pthread.h>

#include "decode/loaded.h"
#include "decode/pairs/scorer.h"
#include "ferry.h"

/* A model that many share. */
struct ferry {
    struct loaded loaded;
    pthread_mutex_t lock;  /* of the scorer, which one caller at a time uses */
    struct scorer *scorer; /* opened when the first pairs come */
};

/* Tell the caller, if it wants to know. */
int model_tell(const struct err *err, struct ferry_error *error);
