/*
 * command - the commands that `ferry launch` runs: one on each host before a start, one
 * that starts the ranks. Words in, words out; nothing is run here.
 *
 * Owns nothing. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "launch/argv.h"
#include "launch/hosts.h"
#include "launch/launch_config.h"

enum command_mpi { COMMAND_OPENMPI, COMMAND_MPICH };

/* Everything a start consists of. */
struct command_plan {
    const struct launch_config *config;
    const struct hosts *hosts;
    enum command_mpi mpi;
    const char *program, *directory; /* absolute paths on every host */
    const char *job;                 /* names the token's file */
    const char *old_job;             /* whose token is of no use any more; may be NULL */
    bool is_root;
    char *const *args; /* what the program is told, NULL behind the last */
};

/* The program that starts ranks. */
const char *command_mpirun(const struct launch_config *c, enum command_mpi mpi);

void command_start(struct argv *out, const struct command_plan *p);

/*
 * To run on `host` before a start, with the token on its standard input: stores that
 * (mode 0600), prints "ferry-host HASH SECONDS CORES" or "ferry-bad REASON", and for our
 * own program "ferry-mpi LIBRARY", what its ranks would load there. Tokens older
 * than a day, which a killed launcher left behind, are removed: only a start reads one.
 */
void command_check(struct argv *out, const struct command_plan *p, const char *host);

/* To run on `host` after the end: removes the token. */
void command_forget(struct argv *out, const struct command_plan *p, const char *host);
