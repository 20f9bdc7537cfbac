/*
 * async_console - lines for a console that may block: Ctrl-S, a pipe that nobody reads.
 *
 * A thread writes them, so that the caller never waits. Lines that do not fit into its
 * buffer are left out, and their number is written when there is room again.
 *
 * Owns: its thread and buffer. Borrows the descriptor. Threads: any.
 */
#pragma once

#include "base/err.h"

struct async_console;

status async_console_open(struct async_console **s, int fd, struct err *err);
/* One line; its newline is added, what is longer than 1,000 bytes cut. */
void async_console_say(struct async_console *s, const char *fmt, ...) PRINTF(2, 3);
/* Wait until all was written, at most t seconds. */
void async_console_flush(struct async_console *s, double t);
/* The same, and the end. A thread that is stuck in a write then stays until the process
 * ends. NULL is fine. */
void async_console_close(struct async_console *s, double t);
