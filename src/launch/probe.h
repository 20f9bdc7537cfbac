/*
 * probe - asks every host, before a start, whether it is there and the same: reachable by
 * the agent, the same program (by hash), the directory, the clock. Leaves the job's token
 * there, over the agent's own encrypted channel.
 *
 * Owns nothing. Threads: one at a time.
 */
#pragma once

#include "launch/command.h"

enum { PROBE_REASON = 256 };

struct probe {
    bool is_good;
    size_t n_cores;
    double skew;               /* its clock minus ours, seconds */
    char reason[PROBE_REASON]; /* why it is not good */
};

/* What a host said, as read by probe_hosts. `hash` is ours. */
void probe_read(struct probe *p, const char *text, int code, const char *hash,
                double t_sent, double t_heard);

/* One verdict a host of p->hosts, all asked at the same time, t seconds for each. */
status probe_hosts(struct probe *out, const struct command_plan *p, const char *hash,
                   const char *token, double t, struct err *err) MUST_CHECK;

/* Remove the token wherever p->hosts answers within t seconds. */
void probe_forget(const struct command_plan *p, double t);
