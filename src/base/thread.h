/* thread - a thread of ours beside the one that the user's signals are for. */
#pragma once

#include <pthread.h>

#include "base/err.h"

/* No signal is delivered to it. */
status thread_start(pthread_t *thread, void *(*fn)(void *), void *arg,
                    struct err *err) MUST_CHECK;
