/*
 * pulse_writer - the thread that writes a run's pulse (recipe/pulse.h) once a second,
 * whatever training does: a long step, an evaluation, a save.
 *
 * A process that is suspended, or whose host hangs, writes none. A main thread that hangs
 * alone shows in the age of its phase.
 *
 * Owns: its thread, and RUN/.pulse while it is open. Borrows the phase. Threads: opened
 * and closed by one.
 */
#pragma once

#include "base/err.h"
#include "dist/watch/phase.h"

struct pulse_writer;

/* In run directory `dir`, whose lock `lock` is open; phase NULL: nobody publishes it. */
status pulse_writer_open(struct pulse_writer **w, const char *dir, int lock,
                         struct phase *phase, struct err *err);
/* Removes the pulse: the run ends by itself. NULL is fine. */
void pulse_writer_close(struct pulse_writer *w);
