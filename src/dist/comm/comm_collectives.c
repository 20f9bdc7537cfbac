/*
 * Small collectives over a tree of ranks, so that no rank has more than log2 R messages
 * to send and to receive, and that many times the bytes of one rank.
 *
 * The tree is binomial: counted from the root, the parent of rank v is v without its
 * lowest bit, and below v lie the ranks [v, v + that bit). A rank adds what its children
 * bring to its own, the nearest child first, so that the order of a sum follows from the
 * number of ranks alone and every rank holds the same bits, whatever the timing and the
 * library.
 *
 * A large broadcast (all weights) goes down the same tree of nodes, but each node gets
 * only the parts of those below it; then the nodes pass their parts on, twice as many in
 * each round. So the root's card sends it about twice instead of once per level, and no
 * node sends more than two messages for each doubling of their number.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/str.h"
#include "dist/comm/comm_backend.h"

/* ------------------------------------------------------------ the tree */

/* A place in the tree of n ranks (or nodes) below `root`, and how many lie below it at
 * the most, itself included. */
struct place {
    int v, reach, n, root;
};

static struct place place_below(int me, int n, int root)
{
    const int v = (me - root + n) % n;
    int reach = 1;

    while (reach < n && !(v & reach))
        reach *= 2;
    return (struct place){v, reach, n, root};
}

static struct place rank_below(const struct comm *c, int root)
{
    return place_below(c->rank, c->size, root);
}

/* Who is at v, counted from the root. */
static int who_at(struct place p, int v)
{
    return (p.root + v) % p.n;
}

static int parent_of(struct place p)
{
    return who_at(p, p.v - p.reach);
}

/* A child is `step` behind its parent, a power of two below the parent's reach. */
static bool has_child(struct place p, int step)
{
    return step < p.reach && p.v + step < p.n;
}

/* Where what lies below ends that begins at v and is at most `reach`. */
static int end_below(struct place p, int v, int reach)
{
    return reach < p.n - v ? v + reach : p.n;
}

/* The bytes of the root on all ranks. */
static status pass_down(struct comm *c, void *data, size_t n_bytes, int root,
                        struct err *err)
{
    const struct place p = rank_below(c, root);
    size_t n = 0;

    if (n_bytes == 0)
        return OK;
    if (p.v) {
        const struct comm_msg down = {parent_of(p), data, n_bytes};
        TRY(comm_swap(c, NULL, 0, &down, 1, err));
    }
    for (int step = p.reach / 2; step > 0; step /= 2) /* the largest subtree first */
        if (has_child(p, step))
            c->msg[n++] = (struct comm_msg){who_at(p, p.v + step), data, n_bytes};
    return comm_swap(c, c->msg, n, NULL, 0, err);
}

/* ------------------------------------------------------------ inside jobs */

status comm_job_allreduce(struct comm *c, struct comm_folding f, void *x, void *scratch,
                          struct err *err)
{
    const struct place p = rank_below(c, 0);

    for (int step = 1; has_child(p, step); step *= 2) {
        const struct comm_msg up = {p.v + step, scratch, f.n_bytes};
        TRY(comm_swap(c, NULL, 0, &up, f.n_bytes > 0, err));
        f.fold(x, scratch, f.ctx);
    }
    if (p.v) {
        const struct comm_msg up = {parent_of(p), x, f.n_bytes};
        TRY(comm_swap(c, &up, f.n_bytes > 0, NULL, 0, err));
    }
    return pass_down(c, x, f.n_bytes, 0, err);
}

/* Below a rank lie its neighbours in order, so what they bring lies in one piece. */
status comm_job_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                          struct err *err)
{
    const struct place p = rank_below(c, 0);
    char *at = (char *)all + (size_t)c->rank * n_bytes;
    int n_below = 1;

    if (n_bytes == 0)
        return OK;
    memcpy(at, mine, n_bytes);
    for (int step = 1; has_child(p, step); step *= 2) {
        const int n = end_below(p, p.v + step, step) - p.v - step;
        const struct comm_msg up = {p.v + step, at + (size_t)step * n_bytes,
                                    (size_t)n * n_bytes};
        TRY(comm_swap(c, NULL, 0, &up, 1, err));
        n_below += n;
    }
    if (p.v) {
        const struct comm_msg up = {parent_of(p), at, (size_t)n_below * n_bytes};
        TRY(comm_swap(c, &up, 1, NULL, 0, err));
    }
    return pass_down(c, all, (size_t)c->size * n_bytes, 0, err);
}

/* ------------------------------------------------------------ gather */

/* The arguments of a job. */
struct collective {
    char *all;
    const void *mine;
    size_t n_bytes;
    int root; /* of a broadcast */
    struct str *text;
};

static status allgather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collective *x = ctx;

    return comm_job_allgather(c, x->all, x->mine, x->n_bytes, err);
}

status comm_allgather(struct comm *c, void *all, const void *mine, size_t n_bytes,
                      struct err *err)
{
    struct collective x = {.all = all, .mine = mine, .n_bytes = n_bytes};

    return comm_run(c, allgather_job, &x, err);
}

/* Append what the ranks below a child sent: its length, then the bytes. */
static status append_from(struct comm *c, int child, struct str *text, struct err *err)
{
    size_t n_bytes = 0;
    char *bytes RELEASED_BY(mem_release) = NULL;
    const struct comm_msg length = {child, &n_bytes, sizeof n_bytes};

    TRY(comm_swap(c, NULL, 0, &length, 1, err));
    if (n_bytes == 0)
        return OK;
    TRY(mem_alloc(&bytes, n_bytes, 1, err));
    TRY(comm_swap(c, NULL, 0, &(struct comm_msg){child, bytes, n_bytes}, 1, err));
    str_add(text, bytes, n_bytes);
    return str_check(text, "what the ranks sent", err);
}

static status gather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collective *x = ctx;
    const struct place p = rank_below(c, 0);

    str_add(x->text, x->mine, x->n_bytes);
    for (int step = 1; has_child(p, step); step *= 2)
        TRY(append_from(c, p.v + step, x->text, err));
    TRY(str_check(x->text, "what the ranks sent", err));
    if (!p.v)
        return OK;
    size_t n_bytes = x->text->len;
    const struct comm_msg up[] = {{parent_of(p), &n_bytes, sizeof n_bytes},
                                  {parent_of(p), x->text->data, n_bytes}};
    return comm_swap(c, up, n_bytes ? 2 : 1, NULL, 0, err);
}

status comm_gather(struct comm *c, struct str *all, const void *mine, size_t n_bytes,
                   struct err *err)
{
    struct str below = str_new(0); /* of a rank that only passes it on */
    struct collective x = {
        .mine = mine, .n_bytes = n_bytes, .text = c->rank == 0 ? all : &below};
    const status result = comm_run(c, gather_job, &x, err);

    str_release(&below);
    return result;
}

/* ------------------------------------------------------------ all-reduce */

struct reduction {
    enum comm_fold how;
    double *x, *scratch;
    size_t n;
};

/* Something that is not a number wins over every number, so that it is not lost. */
static void fold_doubles(void *into, const void *from, const void *ctx)
{
    const struct reduction *r = ctx;
    double *a = into;
    const double *b = from;

    for (size_t i = 0; i < r->n; i++)
        if (r->how == COMM_SUM)
            a[i] += b[i];
        else if ((r->how == COMM_MAX ? b[i] > a[i] : b[i] < a[i]) || isnan(b[i]))
            a[i] = b[i];
}

static status allreduce_job(struct comm *c, void *ctx, struct err *err)
{
    const struct reduction *r = ctx;

    return comm_job_allreduce(c,
                              (struct comm_folding){fold_doubles, r, r->n * sizeof *r->x},
                              r->x, r->scratch, err);
}

status comm_allreduce(struct comm *c, enum comm_fold how, double *x, size_t n,
                      struct err *err)
{
    struct reduction r = {.how = how, .x = x, .n = n};

    TRY(mem_alloc(&r.scratch, n, sizeof *r.scratch, err));
    const status result = comm_run(c, allreduce_job, &r, err);
    free(r.scratch);
    return result;
}

status comm_barrier(struct comm *c, struct err *err)
{
    double token = 0;

    return comm_allreduce(c, COMM_SUM, &token, 1, err);
}

/* ------------------------------------------------------------ broadcast */

enum { SCATTER_BYTES = 1 << 20 }; /* from which a broadcast is scattered first */

/* The rank of a node that talks to other nodes here: its leader, or the root. */
static int delegate_of(const struct comm *c, const struct collective *x, int node)
{
    return c->peer[x->root].node == node ? x->root : c->leader[node];
}

/* The parts [first, end) of the nodes, counted from the root's, to or from that at v. */
static struct comm_msg parts_of(const struct comm *c, const struct collective *x,
                                struct place p, int first, int end, int v)
{
    const size_t n = (size_t)p.n;
    const size_t begin = pool_split(x->n_bytes, (size_t)first, n).begin;
    const size_t n_bytes = pool_split(x->n_bytes, (size_t)end - 1, n).end - begin;

    return (struct comm_msg){delegate_of(c, x, who_at(p, v)), x->all + begin, n_bytes};
}

/* Down the tree of nodes, to each the parts of those below it; the largest first, one
 * after the other, so that it can be passed on meanwhile. */
static status scatter(struct comm *c, const struct collective *x, struct place p,
                      struct err *err)
{
    if (p.v) {
        const int end = end_below(p, p.v, p.reach);
        const struct comm_msg in = parts_of(c, x, p, p.v, end, p.v - p.reach);
        TRY(comm_swap(c, NULL, 0, &in, 1, err));
    }
    for (int step = p.reach / 2; step > 0; step /= 2) {
        const int child = p.v + step, end = end_below(p, child, step);
        if (!has_child(p, step))
            continue;
        const struct comm_msg out = parts_of(c, x, p, child, end, child);
        TRY(comm_swap(c, &out, 1, NULL, 0, err));
    }
    return OK;
}

/* n parts from the first on, around the ring of nodes: one message, or two where they
 * pass its end. */
static size_t ring_parts(struct comm_msg out[2], const struct comm *c,
                         const struct collective *x, struct place p, int first, int n,
                         int v)
{
    const int end = end_below(p, first, n), rest = first + n - end;

    out[0] = parts_of(c, x, p, first, end, v);
    if (rest)
        out[1] = parts_of(c, x, p, 0, rest, v);
    return rest ? 2 : 1;
}

/* Every node has its own part; each round it gets as many as it has, of the nodes behind
 * them in the ring. The root has them all. */
static status spread(struct comm *c, const struct collective *x, struct place p,
                     struct err *err)
{
    struct comm_msg send[2], recv[2];

    for (int have = 1; have < p.n; have *= 2) {
        const int n = have < p.n - have ? have : p.n - have;
        const int from = (p.v + have) % p.n, to = (p.v + p.n - have) % p.n;
        const size_t n_send = to ? ring_parts(send, c, x, p, p.v, n, to) : 0;
        const size_t n_recv = p.v ? ring_parts(recv, c, x, p, from, n, from) : 0;
        TRY(comm_swap(c, send, n_send, recv, n_recv, err));
    }
    return OK;
}

/* From the delegate to the other ranks of its node. */
static status pass_inside(struct comm *c, const struct collective *x, int delegate,
                          struct err *err)
{
    const struct comm_msg in = {delegate, x->all, x->n_bytes};
    size_t n = 0;

    if (c->rank != delegate)
        return comm_swap(c, NULL, 0, &in, 1, err);
    for (int r = 0; r < c->size; r++)
        if (r != delegate && c->peer[r].node == c->node)
            c->msg[n++] = (struct comm_msg){r, x->all, x->n_bytes};
    return comm_swap(c, c->msg, n, NULL, 0, err);
}

static status bcast_job(struct comm *c, void *ctx, struct err *err)
{
    const struct collective *x = ctx;
    const int delegate = delegate_of(c, x, c->node);

    if (x->n_bytes < SCATTER_BYTES || c->n_nodes == 1)
        return pass_down(c, x->all, x->n_bytes, x->root, err);
    if (c->rank == delegate) {
        const struct place p = place_below(c->node, c->n_nodes, c->peer[x->root].node);
        TRY(scatter(c, x, p, err));
        TRY(spread(c, x, p, err));
    }
    return pass_inside(c, x, delegate, err);
}

status comm_bcast(struct comm *c, void *data, size_t n_bytes, int root, struct err *err)
{
    struct collective x = {.all = data, .n_bytes = n_bytes, .root = root};

    return comm_run(c, bcast_job, &x, err);
}

/* ------------------------------------------------------------ agreement */

status comm_agree(struct comm *c, status mine, struct err *err)
{
    /* the first that failed, and minus the last */
    double ends[2] = {mine == OK ? c->size : c->rank, mine == OK ? 1 : -c->rank};
    char name[COMM_NAME_MAX];
    struct err told = {0};

    if (c->size == 1)
        return mine;
    TRY(comm_allreduce(c, COMM_MIN, ends, 2, err));
    const int who = (int)ends[0];
    c->fault = 0;
    if (who == c->size)
        return OK;
    c->fault = strcmp(c->peer[who].host, c->peer[(int)-ends[1]].host) ? 0 : 1 + who;
    if (who == c->rank)
        told = *err;
    TRY(comm_bcast(c, &told, sizeof told, who, err));
    told.msg[sizeof told.msg - 1] = '\0';
    *err = told;
    return err_wrap(err, "%s", comm_name(c, who, name));
}
