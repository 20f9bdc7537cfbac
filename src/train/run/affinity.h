/*
 * affinity - which cores of a host belong to this rank.
 *
 * A launcher may have bound each rank to cores of its own, or left all ranks of a host
 * free on all of them. Ranks that may run on the same cores divide them; then threads
 * stay inside their rank's part, so that two ranks never pin threads to one core.
 *
 * Threads: the calling one, whose affinity changes and is inherited by those that it
 * starts later.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct comm;

struct affinity {
    size_t threads;  /* of this rank */
    size_t cores;    /* that are its own */
    bool is_crowded; /* the ranks of this host want more threads than it has cores */
};

/* threads 0: one for each core of this rank. Collective. */
status affinity_choose(struct affinity *p, struct comm *comm, size_t threads, bool pin,
                       struct err *err) MUST_CHECK;

/* The rank's part of `cores` cores that n ranks share, it being the i-th of them: a
 * range of their numbers. Pure; at least one core. */
struct affinity_part {
    size_t first, n;
};
struct affinity_part affinity_part(size_t cores, size_t i, size_t n, size_t threads);
