#include "launch/revival.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os.h"

void revival_open(struct revival *v, const char *run)
{
    *v = (struct revival){.pulse = {.pid = (long)getpid(), .began = clock_wall()}};
    if (!run[0])
        return;
    snprintf(v->pulse_path, sizeof v->pulse_path, "%s/" PULSE_FILE, run);
    snprintf(v->lock_path, sizeof v->lock_path, "%s/" PULSE_LOCK, run);
    os_host_name(v->pulse.host, sizeof v->pulse.host);
    snprintf(v->pulse.phase, sizeof v->pulse.phase, "%s", PULSE_RESTART);
}

/* There is a run here, which no rank holds; its lock tells it from a copy. */
static bool is_free(struct revival *v)
{
    return v->lock_path[0] &&
           pulse_look_at_lock(v->lock_path, &v->pulse.lock) == PULSE_LOCK_FREE;
}

void revival_beat(struct revival *v, uint64_t step)
{
    const double now = clock_now();

    if ((v->t_written > 0 && now - v->t_written < 1) || !is_free(v))
        return;
    v->t_written = now;
    v->pulse.step = step;
    v->pulse.now = clock_wall();
    pulse_write(v->pulse_path, &v->pulse);
}

void revival_end(struct revival *v)
{
    struct pulse found;

    if (v->t_written > 0 && pulse_read(&found, v->pulse_path) &&
        found.pid == v->pulse.pid && strcmp(found.phase, PULSE_RESTART) == 0)
        unlink(v->pulse_path);
    v->t_written = 0;
}
