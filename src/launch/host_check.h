/*
 * host_check - asks every host before a start: is it reachable by the agent, has it the
 * same program (by hash) and the directory, what does its clock say? Leaves the job's
 * token there, over the agent's own encrypted channel.
 *
 * Owns nothing. Threads: one at a time.
 */
#pragma once

#include "launch/command.h"

enum { HOST_CHECK_REASON = 384 };

struct host_check {
    bool is_good;
    size_t n_cores;
    double skew;   /* its clock minus ours, seconds */
    char mpi[128]; /* the library that ranks load there; empty: unknown */
    char reason[HOST_CHECK_REASON]; /* why it is not good */
};

/* What a host said, as read by host_check_run. `hash` is ours. */
void host_check_read(struct host_check *p, const char *text, int code, const char *hash,
                     double t_sent, double t_heard);

/* The hosts that load another MPI library than most are not good; of equally many, than
 * the launcher's own or the first. */
void host_check_compare(struct host_check *p, const struct hosts *hosts);

/* One verdict for each host of p->hosts, 64 of them asked at the same time, t seconds
 * for each. */
status host_check_run(struct host_check *out, const struct command_plan *p,
                      const char *hash, const char *token, double t, struct err *err);

/* Remove the token wherever p->hosts answers within t seconds. */
void host_check_forget(const struct command_plan *p, double t);
