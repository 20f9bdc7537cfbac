/*
 * revival - the sign of life of a run whose ranks are gone and will be started again.
 *
 * Between two starts nobody trains, and a reader would take the run for dead. So the
 * launcher writes the pulse (recipe/pulse.h) itself, with the phase PULSE_RESTART, as
 * long as no rank holds the run directory; nothing where that is on another machine.
 *
 * Owns: the pulse that it wrote. Threads: one at a time.
 */
#pragma once

#include <limits.h>

#include "recipe/pulse.h"

struct revival {
    char pulse_path[PATH_MAX], lock_path[PATH_MAX];
    struct pulse pulse;
    double t_written; /* 0: nothing was */
};

/* run: the run directory, or "". */
void revival_open(struct revival *v, const char *run);
/* Call it often; it writes once a second. step: how far the lost start got. */
void revival_beat(struct revival *v, uint64_t step);
/* There is no further start: what was written is removed. */
void revival_end(struct revival *v);
