/*
 * Control traffic: small collectives as a gather to one rank and a copy to all. Their
 * cost is one round trip and the first rank's messages, which at the sizes at hand is
 * less than a step notices; what matters is that every rank sums in the same order.
 *
 * The broadcast of something large (all weights) first deals shares to the leaders of
 * the nodes, who then pass them to each other: the root's card sends it about twice
 * instead of once for each node.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "dist/comm/comm_backend.h"

/* What a helper's job works on. */
struct control {
    void *all;
    const void *mine;
    void *data;
    size_t n_bytes;
    int root;
    struct comm_msg *msg; /* [2 * size] */
};

static status run_control(struct comm *c, comm_job_fn *run, struct control *x,
                          struct err *err)
{
    struct comm_job job = {.run = run, .ctx = x, .phase = COMM_CONTROL};

    TRY(mem_alloc(&x->msg, 2 * (size_t)c->size, sizeof *x->msg, err));
    comm_submit(c, &job);
    const status result = comm_wait(c, &job, err);
    free(x->msg);
    return result;
}

/* ------------------------------------------------------------ gather and copy */

static status gather_to(struct comm *c, const struct control *x, struct err *err)
{
    char *all = x->all;
    size_t n = 0;

    if (c->rank != x->root) {
        struct comm_msg up = {x->root, (void *)x->mine, x->n_bytes};
        return comm_swap(c, &up, 1, NULL, 0, err);
    }
    if (x->n_bytes)
        memcpy(all + (size_t)c->rank * x->n_bytes, x->mine, x->n_bytes);
    for (int r = 0; r < c->size; r++)
        if (r != c->rank)
            x->msg[n++] = (struct comm_msg){r, all + (size_t)r * x->n_bytes, x->n_bytes};
    return comm_swap(c, NULL, 0, x->msg, n, err);
}

static status copy_from(struct comm *c, const struct control *x, void *data,
                        size_t n_bytes, struct err *err)
{
    size_t n = 0;

    if (c->rank != x->root) {
        const struct comm_msg down = {x->root, data, n_bytes};
        return comm_swap(c, NULL, 0, &down, 1, err);
    }
    for (int r = 0; r < c->size; r++)
        if (r != c->rank)
            x->msg[n++] = (struct comm_msg){r, data, n_bytes};
    return comm_swap(c, x->msg, n, NULL, 0, err);
}

static status gather_job(struct comm *c, void *ctx, struct err *err)
{
    return gather_to(c, ctx, err);
}

static status allgather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct control *x = ctx;

    TRY(gather_to(c, x, err));
    return copy_from(c, x, x->all, (size_t)c->size * x->n_bytes, err);
}

status comm_gather(struct comm *c, void *all, const void *mine, size_t n_bytes, int root,
                   struct err *err)
{
    struct control x = {.all = all, .mine = mine, .n_bytes = n_bytes, .root = root};

    return run_control(c, gather_job, &x, err);
}

status comm_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                      struct err *err)
{
    struct control x = {.all = all, .mine = mine, .n_bytes = n_bytes};

    return run_control(c, allgather_job, &x, err);
}

status comm_barrier(struct comm *c, struct err *err)
{
    char token = 0, *tokens;

    TRY(mem_alloc(&tokens, (size_t)c->size, 1, err));
    const status result = comm_allgather(c, tokens, &token, 1, err);
    free(tokens);
    return result;
}

/* ------------------------------------------------------------ sums */

typedef void fold_fn(double *sum, const double *x, size_t n);

static void fold_sum(double *sum, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += x[i];
}

/* Something that is no number is neither large nor small, and must not be lost. */
static void fold_max(double *most, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] > most[i] || x[i] != x[i])
            most[i] = x[i];
}

static void fold_min(double *least, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < least[i] || x[i] != x[i])
            least[i] = x[i];
}

static status fold(struct comm *c, fold_fn *fn, double *x, size_t n, struct err *err)
{
    double *all;

    if (c->size == 1)
        return OK;
    TRY(mem_alloc(&all, (size_t)c->size * n, sizeof *all, err));
    const status result = comm_allgather(c, all, x, n * sizeof *x, err);
    if (result == OK) {
        memcpy(x, all, n * sizeof *x);
        for (int r = 1; r < c->size; r++)
            fn(x, all + (size_t)r * n, n);
    }
    free(all);
    return result;
}

status comm_sum(struct comm *c, double *x, size_t n, struct err *err)
{
    return fold(c, fold_sum, x, n, err);
}

status comm_max(struct comm *c, double *x, size_t n, struct err *err)
{
    return fold(c, fold_max, x, n, err);
}

status comm_min(struct comm *c, double *x, size_t n, struct err *err)
{
    return fold(c, fold_min, x, n, err);
}

/* ------------------------------------------------------------ broadcast */

enum { BCAST_SHARES = 1 << 20 }; /* bytes from which a broadcast goes out in shares */

static struct comm_msg share_of(const struct comm *c, const struct control *x, int node,
                                int peer)
{
    const struct pool_range r = pool_split(x->n_bytes, (size_t)node, (size_t)c->n_nodes);

    return (struct comm_msg){peer, (char *)x->data + r.begin, r.end - r.begin};
}

/* The rank of a node that deals with other nodes here: the root where it lives. */
static int dealer(const struct comm *c, const struct control *x, int node)
{
    return c->peer[x->root].node == node ? x->root : c->leader[node];
}

/* The root deals a share to each node; then every node sends its share to the others,
 * except to the root's, which has it all. */
static status deal_shares(struct comm *c, const struct control *x, struct err *err)
{
    const int home = c->peer[x->root].node;
    struct comm_msg *send = x->msg, *recv = x->msg + c->size;
    size_t n_send = 0, n_recv = 0;

    for (int node = 0; node < c->n_nodes; node++) {
        if (node == home)
            continue;
        if (c->rank == x->root)
            send[n_send++] = share_of(c, x, node, dealer(c, x, node));
        else if (node == c->node)
            recv[n_recv++] = share_of(c, x, node, x->root);
    }
    TRY(comm_swap(c, send, n_send, recv, n_recv, err));
    n_send = n_recv = 0;
    for (int node = 0; node < c->n_nodes; node++) {
        if (node == c->node)
            continue;
        if (node != home)
            send[n_send++] = share_of(c, x, c->node, dealer(c, x, node));
        if (c->node != home)
            recv[n_recv++] = share_of(c, x, node, dealer(c, x, node));
    }
    return comm_swap(c, send, n_send, recv, n_recv, err);
}

static status pass_inside_node(struct comm *c, const struct control *x, struct err *err)
{
    const int from = dealer(c, x, c->node);
    struct comm_msg down = {from, x->data, x->n_bytes};
    size_t n = 0;

    if (c->rank != from)
        return comm_swap(c, NULL, 0, &down, 1, err);
    for (int r = 0; r < c->size; r++)
        if (r != from && c->peer[r].node == c->node)
            x->msg[n++] = (struct comm_msg){r, x->data, x->n_bytes};
    return comm_swap(c, x->msg, n, NULL, 0, err);
}

static status bcast_job(struct comm *c, void *ctx, struct err *err)
{
    const struct control *x = ctx;

    if (x->n_bytes < BCAST_SHARES || c->n_nodes == 1)
        return copy_from(c, x, x->data, x->n_bytes, err);
    if (c->rank == dealer(c, x, c->node))
        TRY(deal_shares(c, x, err));
    return pass_inside_node(c, x, err);
}

status comm_bcast(struct comm *c, void *data, size_t n_bytes, int root, struct err *err)
{
    struct control x = {.data = data, .n_bytes = n_bytes, .root = root};

    return run_control(c, bcast_job, &x, err);
}

/* ------------------------------------------------------------ different lengths */

struct collect {
    struct control control;
    const size_t *n_each; /* [size] on the root */
};

static status collect_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collect *x = ctx;
    struct comm_msg up = {x->control.root, (void *)x->control.mine, x->control.n_bytes};
    char *to = x->control.all;
    size_t n = 0;

    if (c->rank != x->control.root)
        return comm_swap(c, &up, x->control.n_bytes ? 1 : 0, NULL, 0, err);
    for (int r = 0; r < c->size; r++) {
        if (r == c->rank && x->n_each[r])
            memcpy(to, x->control.mine, x->n_each[r]);
        else if (x->n_each[r])
            x->control.msg[n++] = (struct comm_msg){r, to, x->n_each[r]};
        to += x->n_each[r];
    }
    return comm_swap(c, NULL, 0, x->control.msg, n, err);
}

static status collect_bytes(struct comm *c, struct collect *x, struct str *all,
                            struct err *err)
{
    struct comm_job job = {.run = collect_job, .ctx = x, .phase = COMM_CONTROL};
    size_t total = 0;
    status result;

    for (int r = 0; c->rank == x->control.root && r < c->size; r++)
        total += x->n_each[r];
    TRY(mem_alloc(&x->control.msg, (size_t)c->size, sizeof *x->control.msg, err));
    result = mem_alloc(&x->control.all, total + 1, 1, err);
    if (result == OK) {
        comm_submit(c, &job);
        result = comm_wait(c, &job, err);
    }
    if (result == OK && all) {
        str_add(all, x->control.all, total);
        result = str_check(all, "what the ranks sent", err);
    }
    free(x->control.all);
    free(x->control.msg);
    return result;
}

status comm_collect(struct comm *c, struct str *all, size_t *n_each, const void *mine,
                    size_t n_bytes, int root, struct err *err)
{
    const uint64_t length = n_bytes;
    uint64_t *lengths;

    TRY(mem_alloc(&lengths, (size_t)c->size, sizeof *lengths, err));
    status result = comm_allgather(c, lengths, &length, sizeof length, err);
    if (result == OK) {
        struct collect x = {.control = {.mine = mine, .n_bytes = n_bytes, .root = root},
                            .n_each = lengths};
        result = collect_bytes(c, &x, c->rank == root ? all : NULL, err);
    }
    for (int r = 0; n_each && r < c->size; r++)
        n_each[r] = lengths[r];
    free(lengths);
    return result;
}

/* ------------------------------------------------------------ agreement */

status comm_agree(struct comm *c, status mine, struct err *err)
{
    double first[1] = {mine == OK ? c->size : c->rank};
    char name[COMM_NAME_MAX];
    struct err told = {0};

    if (c->size == 1)
        return mine;
    TRY(comm_min(c, first, 1, err));
    const int who = (int)first[0];
    if (who == c->size)
        return OK;
    if (who == c->rank)
        told = *err;
    TRY(comm_bcast(c, &told, sizeof told, who, err));
    told.msg[sizeof told.msg - 1] = '\0';
    *err = told;
    return err_wrap(err, "%s", comm_name(c, who, name));
}

status comm_any(struct comm *c, bool mine, bool *any, struct err *err)
{
    double said[1] = {mine};

    TRY(comm_max(c, said, 1, err));
    *any = said[0] != 0;
    return OK;
}

/* ------------------------------------------------------------ who is where */

struct identity {
    char key[COMM_KEY_MAX], host[COMM_HOST_MAX];
};

static bool is_same_node(const struct identity *a, const struct identity *b)
{
    return strncmp(a->key, b->key, sizeof a->key) == 0 &&
           strncmp(a->host, b->host, sizeof a->host) == 0;
}

/* Nodes are numbered in the order of their first ranks. */
static void number_nodes(struct comm *c, const struct identity *all,
                         struct comm_peer *peer, int *leader)
{
    c->n_nodes = 0;
    for (int r = 0; r < c->size; r++) {
        int node = 0;
        while (node < c->n_nodes && !is_same_node(&all[leader[node]], &all[r]))
            node++;
        if (node == c->n_nodes)
            leader[c->n_nodes++] = r;
        int n_before = 0;
        for (int q = 0; q < r; q++)
            n_before += peer[q].node == node;
        peer[r] = (struct comm_peer){.node = node, .local_rank = n_before};
        memcpy(peer[r].host, all[r].host, sizeof peer[r].host - 1);
    }
    c->node = peer[c->rank].node;
    c->local_rank = peer[c->rank].local_rank;
    c->local_size = 0;
    for (int r = 0; r < c->size; r++)
        c->local_size += peer[r].node == c->node;
}

status comm_tabulate(struct comm *c, const char *key, const char *host,
                     struct comm_peer *peer, int *leader, struct err *err)
{
    struct identity mine = {{0}, {0}}, *all;
    struct control x = {.mine = &mine, .n_bytes = sizeof mine};
    status result;

    memcpy(mine.key, key, strnlen(key, sizeof mine.key - 1));
    memcpy(mine.host, host, strnlen(host, sizeof mine.host - 1));
    TRY(mem_alloc(&all, (size_t)c->size, sizeof *all, err));
    x.all = all;
    result = mem_alloc(&x.msg, 2 * (size_t)c->size, sizeof *x.msg, err);
    if (result == OK)
        result = allgather_job(c, &x, err);
    if (result == OK) {
        number_nodes(c, all, peer, leader);
        c->peer = peer;
        c->leader = leader;
    }
    free(x.msg);
    free(all);
    return result;
}
