/*
 * supervisor_parts - what the files of the supervisor share: its state, the state of one
 * start, and the calls between them. For supervisor*.c alone.
 */
#pragma once

#include <limits.h>
#include <signal.h>

#include "dist/watch/async_console.h"
#include "dist/watch/control.h"
#include "dist/watch/control_server.h"
#include "format/sha256.h"
#include "launch/command.h"
#include "launch/subprocess.h"
#include "launch/supervisor.h"

enum { JOB_BYTES = CONTROL_JOB / 2, JOB_TEXT = CONTROL_JOB + 1 };

/* One start of the job. */
struct start {
    struct hosts hosts; /* those that answered */
    char job[JOB_TEXT], token[SHA256_HEX + 1];
    uint8_t key[CHANNEL_TOKEN];
    struct control_server server;
    struct subprocess mpirun;
    double t_begin;
    double t_done;    /* when the last rank said goodbye; 0: not yet */
    bool is_complete; /* every rank has reported */
};

struct supervisor {
    const struct supervisor_job *job;
    struct async_console *lines; /* so that a blocked console does not stop us */
    enum command_mpi mpi;
    char program[PATH_MAX], directory[PATH_MAX], hash[SHA256_HEX];
    int64_t n_starts;
    int64_t n_vain;     /* losses since a start got further than all before it */
    uint64_t step_best; /* how far that was */
    double t_lost;      /* when the loss of the start before was seen; 0: there is none */
    uint64_t step_lost;
    char reason[512];             /* why the last start ended */
    status code;                  /* of a hopeless end */
    bool was_stopped, has_worked; /* has_worked: on an update, in any start */
    char old_job[JOB_TEXT];       /* of the start before */
    uint8_t name[SHA256_BYTES];   /* of the start: JOB_BYTES of it */
};

extern volatile sig_atomic_t supervisor_n_signals; /* since the job began */

PRINTF(2, 3) void supervisor_note(const struct supervisor *s, const char *fmt, ...);

/* supervisor_start.c: program, hash and MPI library; hosts that answer; mpirun. */
status supervisor_prepare(struct supervisor *s, struct err *err) MUST_CHECK;
status supervisor_gather(struct supervisor *s, struct start *st,
                         struct err *err) MUST_CHECK;
status supervisor_start(struct supervisor *s, struct start *st,
                        struct err *err) MUST_CHECK;
/* Remove the token of the last start; those before were removed by the next check. */
void supervisor_forget(const struct supervisor *s, const struct start *st);
