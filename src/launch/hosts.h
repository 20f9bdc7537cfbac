/*
 * hosts - which machines, and how many ranks on each.
 *
 * Read from a list ("a:2,b:2") or a file with a host a line, as Open MPI ("a slots=2") or
 * MPICH ("a:2") write it. A name is what a resolver or ~/.ssh/config knows; it may not
 * begin with '-', nor hold anything a shell would read.
 *
 * Owns nothing: a plain struct. Threads: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum { HOSTS_MAX = 2048, HOSTS_NAME = 128, HOSTS_RANKS_MAX = 1024 };

struct host {
    char name[HOSTS_NAME];
    size_t n_ranks;
    size_t n_cores; /* 0 until it was asked */
};

struct hosts {
    struct host host[HOSTS_MAX];
    size_t n;
};

/* "a:2,b:2"; a host without a number has one rank. */
status hosts_parse(struct hosts *h, const char *list, struct err *err);
/* One host a line; '#' begins a comment. */
status hosts_read(struct hosts *h, const char *path, struct err *err);

size_t hosts_ranks(const struct hosts *h);
/* Ranks for each core of the host that has the most of them. */
double hosts_per_core(const struct hosts *h);
/* Where a rank runs: they fill the hosts in order. Below hosts_ranks(). */
const struct host *hosts_of_rank(const struct hosts *h, size_t rank);
/* Drop ranks from the end of the list until at most n_ranks are left. */
void hosts_limit(struct hosts *h, size_t n_ranks);
/* Appends "a:2,b:2". */
void hosts_put(const struct hosts *h, struct str *out);

/* This machine, by whatever name. */
bool hosts_is_local(const char *name);

/* Numeric address of this machine's interface from which `host` is reached; nothing is
 * sent. */
status hosts_route(char *out, size_t n, const char *host, struct err *err);
