/*
 * toy_ranks - a small training (toy_run.h) by several simulated ranks, and whether two
 * runs ended with the same weights.
 */
#pragma once

#include <string.h>

#include "sim/comm_sim.h"
#include "toy_run.h"

enum { TOY_RANKS = 4 };

struct toy_job {
    struct train_config *config[TOY_RANKS];
    status result[TOY_RANKS];
    struct err err[TOY_RANKS];
};

static inline void toy_rank(struct comm *c, void *ctx)
{
    struct toy_job *j = ctx;
    struct train_host host = {.comm = c};

    j->result[c->rank] = train_run(j->config[c->rank], &host, &j->err[c->rank]);
}

static inline void toy_train_on(const int *ranks, int n_nodes, const char *run,
                                const char *const *options)
{
    const struct comm_sim_options o = {
        .ranks = ranks, .n_nodes = n_nodes, .seed = 5, .is_parallel = true};
    struct toy_job j = {0};
    struct err err = {0};
    int n = 0;

    for (int node = 0; node < n_nodes; node++)
        n += ranks[node];
    for (int r = 0; r < n; r++)
        j.config[r] = toy_config(run, options);
    CHECK_OK(comm_sim_run(&o, toy_rank, &j, &err), &err);
    for (int r = 0; r < n; r++) {
        CHECK_OK(j.result[r], &j.err[r]);
        free(j.config[r]);
    }
}

static inline const char *toy_in_run(const char *run, const char *name)
{
    char part[300];

    snprintf(part, sizeof part, "%s/%s", run, name);
    return test_path(part);
}

static inline bool toy_same_weights(const char *a, const char *b, int step)
{
    struct file_map x, y;
    struct err err = {0};
    char name[64];

    snprintf(name, sizeof name, "model.ckpt-%d.data-00000-of-00001", step);
    CHECK_OK(file_map_open(&x, toy_in_run(a, name), &err), &err);
    CHECK_OK(file_map_open(&y, toy_in_run(b, name), &err), &err);
    const bool is_same = x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0;
    file_map_close(&x);
    file_map_close(&y);
    return is_same;
}
