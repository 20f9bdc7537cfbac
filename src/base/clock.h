/* clock - seconds that only go forward, for measuring; and laps between hops. */
#pragma once

struct clock_lap {
    double t_last;
};

double clock_now(void);    /* monotonic seconds */
double clock_wall(void);   /* seconds since 1970, for log entries only */
double clock_thread(void); /* seconds that this thread had a processor */

struct clock_lap clock_start(void);
/* Seconds since the start or the last lap; begins the next one. */
double clock_next(struct clock_lap *c);
