/*
 * terminal - a full-screen view that leaves no trace: another screen, no cursor, keys as
 * they are pressed; and all of it undone when the program ends, stops or is told to.
 *
 * There is one terminal, so this is one for the process. Threads: the main one.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Set when SIGINT, SIGTERM or SIGHUP arrived, once terminal_catch() was called. */
extern volatile sig_atomic_t terminal_is_over;

void terminal_catch(void);

/* ERR_IO when stdin or stdout is no terminal. Leaves through terminal_leave(). */
status terminal_enter(struct err *err);
void terminal_leave(void);

/* Columns and rows now; 80 x 24 where the terminal does not say. */
void terminal_size(size_t *columns, size_t *rows);

/* Draw a frame of lines over the last one, without flicker. */
void terminal_draw(const char *frame);

/* The next key within this many seconds; 0 when there was none, the window changed or a
 * signal came. Ctrl-Z stops the program with the terminal in order, and comes back. */
int terminal_key(double seconds);
