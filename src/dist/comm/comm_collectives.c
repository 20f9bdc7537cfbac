/*
 * Small collectives, as a gather to one rank and a broadcast from it. They cost one round
 * trip and the first rank's messages, which at these sizes no step notices; what matters
 * is that every rank sums in the same order.
 *
 * A large broadcast (all weights) is scattered over the leaders of the nodes, who then
 * exchange their parts: the root's card sends it about twice instead of once per node.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "dist/comm/comm_backend.h"

/* ------------------------------------------------------------ inside jobs */

status comm_job_gather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                       const size_t *n_each, struct err *err)
{
    const struct comm_msg up = {0, (void *)mine, n_bytes};
    char *to = all;
    size_t n = 0;

    if (c->rank != 0)
        return comm_swap(c, &up, n_bytes > 0, NULL, 0, err);
    for (int r = 0; r < c->size; r++) {
        const size_t m = n_each ? n_each[r] : n_bytes;
        if (m && r == 0)
            memcpy(to, mine, m);
        else if (m)
            c->msg[n++] = (struct comm_msg){r, to, m};
        to += m;
    }
    return comm_swap(c, NULL, 0, c->msg, n, err);
}

/* The bytes of rank `from` on all ranks, or on those of its node alone. */
static status pass_down(struct comm *c, void *data, size_t n_bytes, int from,
                        bool is_inside, struct err *err)
{
    const struct comm_msg down = {from, data, n_bytes};
    size_t n = 0;

    if (c->rank != from)
        return comm_swap(c, NULL, 0, &down, n_bytes > 0, err);
    for (int r = 0; n_bytes > 0 && r < c->size; r++)
        if (r != from && (!is_inside || c->peer[r].node == c->node))
            c->msg[n++] = (struct comm_msg){r, data, n_bytes};
    return comm_swap(c, c->msg, n, NULL, 0, err);
}

status comm_job_bcast(struct comm *c, void *data, size_t n_bytes, struct err *err)
{
    return pass_down(c, data, n_bytes, 0, false, err);
}

status comm_job_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                          struct err *err)
{
    TRY(comm_job_gather(c, all, mine, n_bytes, NULL, err));
    return comm_job_bcast(c, all, (size_t)c->size * n_bytes, err);
}

/* ------------------------------------------------------------ gather */

/* The arguments of a job. */
struct collective {
    char *all;
    const void *mine;
    size_t n_bytes;
    size_t *n_each;
    int root; /* of a broadcast */
};

static status allgather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collective *x = ctx;

    return comm_job_allgather(c, x->all, x->mine, x->n_bytes, err);
}

static status gather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collective *x = ctx;

    return comm_job_gather(c, x->all, x->mine, x->n_bytes, x->n_each, err);
}

status comm_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                      struct err *err)
{
    struct collective x = {.all = all, .mine = mine, .n_bytes = n_bytes};

    return comm_run(c, allgather_job, &x, err);
}

static status gather_bytes(struct comm *c, struct collective *x, struct str *all,
                           struct err *err)
{
    size_t total = 0;

    for (int r = 0; c->rank == 0 && r < c->size; r++)
        total += x->n_each[r];
    TRY(mem_alloc(&x->all, total, 1, err));
    status result = comm_run(c, gather_job, x, err);
    if (result == OK && c->rank == 0) {
        str_add(all, x->all, total);
        result = str_check(all, "what the ranks sent", err);
    }
    free(x->all);
    return result;
}

status comm_gather(struct comm *c, struct str *all, const void *mine, size_t n_bytes,
                   struct err *err)
{
    struct collective x = {.mine = mine, .n_bytes = n_bytes};

    TRY(mem_alloc(&x.n_each, (size_t)c->size, sizeof *x.n_each, err));
    status result = comm_allgather(c, x.n_each, &n_bytes, sizeof n_bytes, err);
    THEN(result, gather_bytes(c, &x, all, err));
    free(x.n_each);
    return result;
}

/* ------------------------------------------------------------ all-reduce */

/* Something that is not a number wins over every number, so that it is not lost. */
static double fold(enum comm_fold how, double a, double b)
{
    if (how == COMM_SUM)
        return a + b;
    return (how == COMM_MAX ? b > a : b < a) || isnan(b) ? b : a;
}

status comm_allreduce(struct comm *c, enum comm_fold how, double *x, size_t n,
                      struct err *err)
{
    double *all;

    TRY(mem_alloc(&all, (size_t)c->size * n, sizeof *all, err));
    const status result = comm_allgather(c, all, x, n * sizeof *x, err);
    for (size_t i = 0; result == OK && i < n; i++) {
        x[i] = all[i];
        for (size_t r = 1; r < (size_t)c->size; r++)
            x[i] = fold(how, x[i], all[r * n + i]);
    }
    free(all);
    return result;
}

status comm_barrier(struct comm *c, struct err *err)
{
    double token = 0;

    return comm_allreduce(c, COMM_SUM, &token, 1, err);
}

/* ------------------------------------------------------------ broadcast */

enum { SCATTER_BYTES = 1 << 20 }; /* from which a broadcast is scattered first */

/* The part of one node, to or from a peer. */
static struct comm_msg part_of(const struct comm *c, const struct collective *x, int node,
                               int peer)
{
    const struct pool_range r = pool_split(x->n_bytes, (size_t)node, (size_t)c->n_nodes);

    return (struct comm_msg){peer, x->all + r.begin, r.end - r.begin};
}

/* The rank of a node that talks to other nodes here: its leader, or the root. */
static int delegate_of(const struct comm *c, const struct collective *x, int node)
{
    return c->peer[x->root].node == node ? x->root : c->leader[node];
}

/* The root sends a part to each node; then every node sends its part to the others,
 * except to the root's, which has it all. */
static status scatter(struct comm *c, const struct collective *x, struct err *err)
{
    const int home = c->peer[x->root].node;
    struct comm_msg *send = c->msg, *recv = c->msg + c->size;
    size_t n_send = 0, n_recv = 0;

    for (int node = 0; node < c->n_nodes; node++) {
        if (node == home)
            continue;
        if (c->rank == x->root)
            send[n_send++] = part_of(c, x, node, delegate_of(c, x, node));
        else if (node == c->node)
            recv[n_recv++] = part_of(c, x, node, x->root);
    }
    TRY(comm_swap(c, send, n_send, recv, n_recv, err));
    n_send = n_recv = 0;
    for (int node = 0; node < c->n_nodes; node++) {
        if (node == c->node)
            continue;
        if (node != home)
            send[n_send++] = part_of(c, x, c->node, delegate_of(c, x, node));
        if (c->node != home)
            recv[n_recv++] = part_of(c, x, node, delegate_of(c, x, node));
    }
    return comm_swap(c, send, n_send, recv, n_recv, err);
}

static status bcast_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collective *x = ctx;
    const int delegate = delegate_of(c, x, c->node);

    if (x->n_bytes < SCATTER_BYTES || c->n_nodes == 1)
        return pass_down(c, x->all, x->n_bytes, x->root, false, err);
    if (c->rank == delegate)
        TRY(scatter(c, x, err));
    return pass_down(c, x->all, x->n_bytes, delegate, true, err);
}

status comm_bcast(struct comm *c, void *data, size_t n_bytes, int root, struct err *err)
{
    struct collective x = {.all = data, .n_bytes = n_bytes, .root = root};

    return comm_run(c, bcast_job, &x, err);
}

/* ------------------------------------------------------------ agreement */

status comm_agree(struct comm *c, status mine, struct err *err)
{
    double first = mine == OK ? c->size : c->rank;
    char name[COMM_NAME_MAX];
    struct err told = {0};

    if (c->size == 1)
        return mine;
    TRY(comm_allreduce(c, COMM_MIN, &first, 1, err));
    const int who = (int)first;
    if (who == c->size)
        return OK;
    if (who == c->rank)
        told = *err;
    TRY(comm_bcast(c, &told, sizeof told, who, err));
    told.msg[sizeof told.msg - 1] = '\0';
    *err = told;
    return err_wrap(err, "%s", comm_name(c, who, name));
}
