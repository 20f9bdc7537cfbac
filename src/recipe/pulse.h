/*
 * pulse - a training's sign of life: RUN/.pulse, one line that its first rank overwrites
 * every second and removes when it ends by itself (docs/formats/runlog.md).
 *
 * Together with the lock on RUN/.lock it tells a reader whether a run is alive, frozen or
 * dead, however rarely the run logs.
 *
 * Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PULSE_FILE ".pulse"
#define PULSE_LOCK ".lock"
/* The phase of a pulse that `ferry launch` writes between two starts. */
#define PULSE_RESTART "restart"

enum { PULSE_HOST = 128, PULSE_PHASE = 16 };

struct pulse {
    char host[PULSE_HOST]; /* that trains, and the process there */
    long pid;
    uint64_t lock;           /* number of RUN/.lock on its disk: a copy has another */
    double began;            /* this process; seconds since 1970, as `now` */
    double now;              /* when this line was written */
    uint64_t step;           /* updates made */
    double since;            /* seconds for which training has published nothing new */
    char phase[PULSE_PHASE]; /* what training does: "compute" */
};

enum pulse_lock { PULSE_LOCK_UNKNOWN, PULSE_LOCK_FREE, PULSE_LOCK_HELD };

/*
 * Whether a training holds the lock file `path`; unknown where there is none, or it is
 * somebody else's. A lock cannot be looked at but by taking it, shared with other readers
 * and for some microseconds; a training that starts just then tries again
 * (train/run/run_dir.c). *number is the file's on its disk; 0: there is none.
 */
enum pulse_lock pulse_look_at_lock(const char *path, uint64_t *number);

/* Best effort: a disk that refuses it is no reason not to train. */
void pulse_write(const char *path, const struct pulse *p);
/* False when there is none, or it is damaged. */
bool pulse_read(struct pulse *p, const char *path);
