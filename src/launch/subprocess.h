/*
 * subprocess - programs that we start, each in a process group of its own, so that its
 * descendants can be ended with it; some with their output captured.
 *
 * Owns: the process until it was reaped, its pipe. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/argv.h"

enum { SUBPROCESS_TEXT = 4096 };

struct subprocess {
    pid_t pid;                  /* 0: none, or reaped */
    int out;                    /* -1: its output is not caught, or has ended */
    int status;                 /* as waitpid says; valid when pid is 0 again */
    char text[SUBPROCESS_TEXT]; /* output and errors, the first of them; NUL-terminated */
    size_t n_text;
    double t_start, t_end;
};

/* Its output and errors go to these descriptors, its input is empty. */
status subprocess_start(struct subprocess *c, const struct argv *w, int out, int errors,
                        struct err *err);
/* Its input is `input`, its output is caught. */
status subprocess_ask(struct subprocess *c, const struct argv *w, const char *input,
                      struct err *err);

/* Has it ended? Then it was reaped. */
bool subprocess_has_ended(struct subprocess *c);
/* Catch the answers of n children until all have ended, or for t seconds: then the rest
 * is killed, and says so by a status that is not 0. */
void subprocess_gather(struct subprocess *c, size_t n, double t);
/* Ask it to end, insist after t seconds, and reap it. */
void subprocess_end(struct subprocess *c, double t);

/* The exit status, or 128 + the signal, as a shell would say. */
int subprocess_code(const struct subprocess *c);
