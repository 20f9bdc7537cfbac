#include "train/run/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* Written by a handler, and read by every rank of a process that holds several. */
static atomic_int requested;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may only touch what has no lock");

static void on_signal(int number)
{
    (void)number;
    requested = 1;
}

void stop_listen(void)
{
    const struct sigaction action = {.sa_handler = on_signal,
                                     .sa_flags = SA_RESTART | (int)SA_RESETHAND};

    requested = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void stop_forget(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

bool stop_requested(void)
{
    return requested;
}
