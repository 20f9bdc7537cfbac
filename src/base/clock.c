#include "base/clock.h"

#include <time.h>

static double seconds(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_now(void)
{
    return seconds(CLOCK_MONOTONIC);
}

double clock_wall(void)
{
    return seconds(CLOCK_REALTIME);
}

double clock_thread(void)
{
    return seconds(CLOCK_THREAD_CPUTIME_ID);
}

struct clock_lap clock_start(void)
{
    return (struct clock_lap){clock_now()};
}

double clock_next(struct clock_lap *c)
{
    const double now = clock_now(), lap = now - c->t_last;

    c->t_last = now;
    return lap;
}
