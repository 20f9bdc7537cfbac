/*
 * supervisor - keeps a job of many ranks going until it has finished.
 *
 * A start: ask the hosts, listen, run mpirun, watch the heartbeats. When a rank is dead
 * or mpirun has ended for a reason that another start may cure, everything is ended
 * everywhere and started again on the hosts that answer; training resumes from its newest
 * whole checkpoint. A stop by a signal is passed on as "save and end".
 *
 * Owns: what it started. Borrows its arguments. Threads: one; installs signal handlers.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "launch/hosts.h"
#include "launch/launch_config.h"

struct supervisor_job {
    const struct launch_config *config;
    const struct hosts *hosts; /* as the user listed them */
    char *const *args;         /* for the program; NULL behind the last */
    FILE *console;
};

/*
 * OK when the job has finished. ERR_COMM when it was lost once more than `restarts`
 * without getting further, or no host answers; the ranks' own status when another start
 * would end in the same way.
 */
status supervisor_run(const struct supervisor_job *job, struct err *err);

/* Print the commands of a first start to `out`. */
status supervisor_show(const struct supervisor_job *job, FILE *out, struct err *err);
