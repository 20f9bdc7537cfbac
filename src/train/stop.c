#include "train/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t requested;

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
