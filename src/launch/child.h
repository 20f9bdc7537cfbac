/*
 * child - programs that we start: in a process group of their own, so that all of what
 * one of them became can be ended; some with their answer caught.
 *
 * Owns: the process until it was reaped, its pipe. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/words.h"

enum { CHILD_TEXT = 4096 };

struct child {
    pid_t pid;             /* 0: none, or reaped */
    int out;               /* -1: its output is not caught, or has ended */
    int status;            /* as waitpid says; valid when pid is 0 again */
    char text[CHILD_TEXT]; /* output and errors, the first of them; NUL-terminated */
    size_t n_text;
    double t_start, t_end;
};

/* Its output goes where ours goes, its input is empty. */
status child_start(struct child *c, const struct words *w, struct err *err) MUST_CHECK;
/* Its input is `input`, its output is caught. */
status child_ask(struct child *c, const struct words *w, const char *input,
                 struct err *err) MUST_CHECK;

/* Has it ended? Then it was reaped. */
bool child_has_ended(struct child *c);
/* Catch the answers of n children until all have ended, or for t seconds: then the rest
 * is killed, and says so by a status that is not 0. */
void child_gather(struct child *c, size_t n, double t);
/* A signal to the whole group. */
void child_signal(const struct child *c, int number);
/* Ask it to end, insist after t seconds, and reap it. */
void child_end(struct child *c, double t);

/* The exit status, or 128 + the signal, as a shell would say. */
int child_code(const struct child *c);
