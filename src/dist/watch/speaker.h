/*
 * speaker - lines for a console that may stand still: Ctrl-S, a pipe that nobody reads.
 *
 * A thread writes them, so that whoever has something to say never waits. Lines that do
 * not fit into its buffer are left out, and their number is said when there is room.
 *
 * Owns: its thread and buffer. Borrows the descriptor. Threads: any may speak.
 */
#pragma once

#include "base/err.h"

struct speaker;

status speaker_open(struct speaker **s, int fd, struct err *err) MUST_CHECK;
/* One line; its newline is added, what is longer than 1,000 bytes cut. */
void speaker_say(struct speaker *s, const char *fmt, ...) PRINTF(2, 3);
/* Wait until all was written, at most t seconds. */
void speaker_flush(struct speaker *s, double t);
/* The same, and the end. A thread that is stuck in a write then stays until the process
 * ends. NULL is fine. */
void speaker_close(struct speaker *s, double t);
