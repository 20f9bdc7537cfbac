#include "dist/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/comm/comm_backend.h"
#include "format/crc32c.h"

enum { CACHE_LINE = 64, CRC_BYTES = 4 };

static size_t padded(size_t bytes)
{
    return (bytes + CRC_BYTES + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* ------------------------------------------------------------ where things are */

static struct wire_part shard(const struct exchange *x, size_t n, int node)
{
    return wire_part(n, (size_t)node, (size_t)x->comm->n_nodes);
}

/* This rank's share of the work on a shard of n elements, counted from its start. */
static struct wire_part share(const struct comm *c, size_t n)
{
    return wire_part(n, (size_t)c->local_rank, (size_t)c->local_size);
}

struct wire_part exchange_owned(const struct comm *c, int rank, size_t n)
{
    const struct comm_peer *p = &c->peer[rank];
    const struct wire_part s = wire_part(n, (size_t)p->node, (size_t)c->n_nodes);
    size_t n_local = 0;

    for (int r = 0; r < c->size; r++)
        n_local += c->peer[r].node == p->node;
    const struct wire_part theirs = wire_part(s.n, (size_t)p->local_rank, n_local);
    return (struct wire_part){s.first + theirs.first, theirs.n};
}

static char *out_segment(const struct exchange *x, enum wire w, size_t n, int node)
{
    size_t at = 0;

    for (int i = 0; i < node; i++)
        at += padded(wire_segment_bytes(w, shard(x, n, i).n));
    return x->out + at;
}

static char *in_segment(const struct exchange *x, enum wire w, size_t n, int node)
{
    return x->in +
           (size_t)node * padded(wire_segment_bytes(w, shard(x, n, x->comm->node).n));
}

/* The node's running sum: a rank alone adds into its own gradient. */
static float *node_sum(const struct exchange *x, float *g)
{
    return x->comm->local_size > 1 ? (float *)x->slots : g;
}

/* ------------------------------------------------------------ opening */

struct opening {
    struct exchange *x;
    void *memory;
    size_t n_bytes;
};

static status share_memory(struct comm *c, void *ctx, struct err *err)
{
    struct opening *o = ctx;

    return comm_window(c, o->n_bytes, &o->memory, err);
}

static void measure(struct exchange *x, enum wire widest)
{
    const struct comm *c = x->comm;
    const size_t n_nodes = (size_t)c->n_nodes;
    size_t n_shard = 0;

    if (c->local_size > 1)
        x->slot_bytes = padded(x->n_max * sizeof(float));
    if (n_nodes == 1 && c->local_size == 1)
        return;
    for (size_t i = 0; i < n_nodes; i++) {
        const size_t n = wire_part(x->n_max, i, n_nodes).n;
        n_shard = n > n_shard ? n : n_shard;
    }
    /* Smaller buckets may be cut less evenly: one unit more a shard. */
    const size_t segment = padded(wire_segment_bytes(widest, n_shard + WIRE_ALIGN));
    x->out_bytes = n_nodes * segment;
    x->in_bytes = n_nodes > 1 ? n_nodes * segment : 0;
}

static status take_memory(struct exchange *x, struct err *err)
{
    struct comm *c = x->comm;
    const size_t slots = x->slot_bytes * (size_t)c->local_size;
    struct opening o = {.x = x, .n_bytes = slots + x->out_bytes + x->in_bytes};

    if (c->local_size > 1) {
        TRY(comm_run(c, share_memory, &o, err));
    } else {
        TRY(mem_alloc(&x->private_memory, o.n_bytes + CACHE_LINE, 1, err));
        const size_t past = (uintptr_t)x->private_memory % CACHE_LINE;
        o.memory = (char *)x->private_memory + (past ? CACHE_LINE - past : 0);
    }
    x->slots = o.memory;
    x->out = x->slots + slots;
    x->in = x->out + x->out_bytes;
    return OK;
}

status exchange_open(struct exchange *x, struct comm *c, size_t n_max, enum wire widest,
                     bool is_checked, struct err *err)
{
    *x = (struct exchange){
        .comm = c, .loops = codec_loops(), .is_checked = is_checked, .n_max = n_max};
    measure(x, widest);
    if (mem_alloc(&x->rounded, WIRE_ALIGN, sizeof *x->rounded, err) != OK ||
        mem_alloc(&x->send, (size_t)c->n_nodes, sizeof *x->send, err) != OK ||
        mem_alloc(&x->recv, (size_t)c->n_nodes, sizeof *x->recv, err) != OK ||
        take_memory(x, err) != OK) {
        exchange_close(x);
        return err->code;
    }
    return OK;
}

void exchange_close(struct exchange *x)
{
    free(x->private_memory);
    free(x->rounded);
    free(x->send);
    free(x->recv);
    *x = (struct exchange){0};
}

/* ------------------------------------------------------------ between nodes */

/* Segments carry their checksum behind them. */
static struct comm_msg message(const struct exchange *x, int node, char *segment,
                               size_t n_bytes)
{
    return (struct comm_msg){x->comm->leader[node], segment,
                             n_bytes + (x->is_checked ? CRC_BYTES : 0)};
}

static void seal(const struct exchange *x, char *segment, size_t n_bytes)
{
    const uint32_t crc = crc32c(0, segment, n_bytes);

    if (x->is_checked)
        memcpy(segment + n_bytes, &crc, CRC_BYTES);
}

static status verify(const struct exchange *x, const struct comm_msg *m, struct err *err)
{
    const size_t n_bytes = m->n_bytes - CRC_BYTES;
    const char *segment = m->data;
    char name[COMM_NAME_MAX];
    uint32_t crc;

    memcpy(&crc, segment + n_bytes, CRC_BYTES);
    if (crc == crc32c(0, segment, n_bytes))
        return OK;
    return err_set(
        err, ERR_COMM,
        "bucket %d from %s arrived damaged: its checksum differs; look at that "
        "host's memory and network card",
        x->bucket, comm_name(x->comm, m->peer, name));
}

static status swap(struct exchange *x, size_t n_send, size_t n_recv, struct err *err)
{
    TRY(comm_swap(x->comm, x->send, n_send, x->recv, n_recv, err));
    for (size_t i = 0; x->is_checked && i < n_recv; i++)
        TRY(verify(x, &x->recv[i], err));
    return OK;
}

/* Each owner gets its shard from everybody. The partners are met in a turned order, so
 * that not all nodes send to the first one first. */
static status send_to_owners(struct exchange *x, size_t n, enum wire w, struct err *err)
{
    const struct comm *c = x->comm;
    const size_t mine = wire_segment_bytes(w, shard(x, n, c->node).n);
    size_t n_send = 0, n_recv = 0;

    for (int step = 1; step < c->n_nodes; step++) {
        const int to = (c->node + step) % c->n_nodes;
        const int from = (c->node + c->n_nodes - step) % c->n_nodes;
        const size_t theirs = wire_segment_bytes(w, shard(x, n, to).n);
        if (theirs) {
            x->send[n_send++] = message(x, to, out_segment(x, w, n, to), theirs);
            seal(x, out_segment(x, w, n, to), theirs);
        }
        if (mine)
            x->recv[n_recv++] = message(x, from, in_segment(x, w, n, from), mine);
    }
    return swap(x, n_send, n_recv, err);
}

/* Everybody gets the owners' results, which lie where the parts to send lay before. */
static status send_from_owners(struct exchange *x, size_t n, enum wire w, struct err *err)
{
    const struct comm *c = x->comm;
    const size_t mine = wire_segment_bytes(w, shard(x, n, c->node).n);
    size_t n_send = 0, n_recv = 0;

    if (mine)
        seal(x, out_segment(x, w, n, c->node), mine);
    for (int step = 1; step < c->n_nodes; step++) {
        const int to = (c->node + step) % c->n_nodes;
        const int from = (c->node + c->n_nodes - step) % c->n_nodes;
        const size_t theirs = wire_segment_bytes(w, shard(x, n, from).n);
        if (mine)
            x->send[n_send++] = message(x, to, out_segment(x, w, n, c->node), mine);
        if (theirs)
            x->recv[n_recv++] = message(x, from, out_segment(x, w, n, from), theirs);
    }
    return swap(x, n_send, n_recv, err);
}

/* The leader's part of a stage, with everybody of the node there before and after. */
static status between_nodes(struct exchange *x, size_t n, enum wire w,
                            status (*stage)(struct exchange *, size_t, enum wire,
                                            struct err *),
                            struct err *err)
{
    TRY(comm_meet(x->comm, err));
    if (x->comm->local_rank == 0)
        TRY(stage(x, n, w, err));
    return comm_meet(x->comm, err);
}

/* ------------------------------------------------------------ inside a node */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Round v[0..n) into its place; keep what that loses. v is left as it was sent. */
static void round_off(struct exchange *x, char *segment, struct codec_range r,
                      enum wire w, const float *v, float *residual)
{
    x->loops->encode[w](segment, r, v);
    if (!residual)
        return;
    x->loops->decode[w](x->rounded, segment, r);
    x->loops->lost(residual, v, x->rounded, r.n);
}

/* Bring in this rank's bucket, and add up its share of every shard; what belongs to
 * other nodes is rounded at once, while it is in the cache. */
static status sum_inside(struct exchange *x, float *g, size_t n, enum wire w,
                         float *residual, struct err *err)
{
    const struct comm *c = x->comm;
    float *total = node_sum(x, g);

    if (c->local_size > 1)
        memcpy(x->slots + (size_t)c->local_rank * x->slot_bytes, g, n * sizeof *g);
    TRY(comm_meet(x->comm, err));
    for (int node = 0; node < c->n_nodes; node++) {
        const struct wire_part s = shard(x, n, node), mine = share(c, s.n);
        char *segment = out_segment(x, w, n, node);
        for (size_t done = 0, m; done < mine.n; done += m) {
            m = least(WIRE_ALIGN, mine.n - done);
            const size_t at = s.first + mine.first + done;
            for (int l = 1; l < c->local_size; l++)
                x->loops->sum(total + at,
                              (const float *)(x->slots + (size_t)l * x->slot_bytes) + at,
                              m);
            if (residual)
                x->loops->sum(total + at, residual + at, m);
            if (node != c->node)
                round_off(x, segment, (struct codec_range){s.n, mine.first + done, m}, w,
                          total + at, residual ? residual + at : NULL);
        }
    }
    return OK;
}

/* Add what came from the other nodes to this rank's share of the node's own shard; with
 * is_rounded the result goes into its segment, otherwise into g. */
static void sum_owned(struct exchange *x, float *g, size_t n, enum wire w,
                      float *residual, bool is_rounded)
{
    const struct comm *c = x->comm;
    const struct wire_part s = shard(x, n, c->node), mine = share(c, s.n);
    float *total = node_sum(x, g);

    for (size_t done = 0, m; done < mine.n; done += m) {
        m = least(WIRE_ALIGN, mine.n - done);
        const size_t at = s.first + mine.first + done;
        const struct codec_range r = {s.n, mine.first + done, m};
        for (int node = 0; node < c->n_nodes; node++)
            if (node != c->node)
                x->loops->add[w](total + at, in_segment(x, w, n, node), r);
        if (is_rounded)
            round_off(x, out_segment(x, w, n, c->node), r, w, total + at,
                      residual ? residual + at : NULL);
        else if (residual)
            memset(residual + at, 0, m * sizeof *residual);
        if (!is_rounded && total != g)
            memcpy(g + at, total + at, m * sizeof *g);
    }
}

static void take_results(struct exchange *x, float *v, size_t n, enum wire w)
{
    for (int node = 0; node < x->comm->n_nodes; node++) {
        const struct wire_part s = shard(x, n, node);
        x->loops->decode[w](v + s.first, out_segment(x, w, n, node),
                            (struct codec_range){s.n, 0, s.n});
    }
}

/* ------------------------------------------------------------ the whole */

/* The sum lies in shared memory in fp32, and everybody copies it. */
status exchange_sum_node(struct exchange *x, float *g, size_t n, struct err *err)
{
    const struct comm *c = x->comm;
    const struct wire_part mine = share(c, n);
    float *total = (float *)x->slots;

    BUG_ON(n > x->n_max);
    if (c->local_size == 1)
        return OK;
    memcpy(x->slots + (size_t)c->local_rank * x->slot_bytes, g, n * sizeof *g);
    TRY(comm_meet(x->comm, err));
    for (int l = 1; l < c->local_size; l++)
        x->loops->sum(total + mine.first,
                      (const float *)(x->slots + (size_t)l * x->slot_bytes) + mine.first,
                      mine.n);
    TRY(comm_meet(x->comm, err));
    memcpy(g, x->slots, n * sizeof *g);
    return comm_meet(x->comm, err); /* before the next bucket comes in */
}

status exchange_sum(struct exchange *x, float *g, size_t n, enum wire w, float *residual,
                    struct err *err)
{
    BUG_ON(n > x->n_max);
    if (x->comm->n_nodes == 1)
        return exchange_sum_node(x, g, n, err);
    TRY(sum_inside(x, g, n, w, residual, err));
    TRY(between_nodes(x, n, w, send_to_owners, err));
    sum_owned(x, g, n, w, residual, true);
    TRY(between_nodes(x, n, w, send_from_owners, err));
    take_results(x, g, n, w);
    return OK;
}

status exchange_reduce(struct exchange *x, float *g, size_t n, enum wire w,
                       float *residual, struct err *err)
{
    BUG_ON(n > x->n_max);
    if (x->comm->size == 1)
        return OK;
    TRY(sum_inside(x, g, n, w, residual, err));
    if (x->comm->n_nodes > 1)
        TRY(between_nodes(x, n, w, send_to_owners, err));
    sum_owned(x, g, n, w, residual, false);
    return comm_meet(x->comm, err); /* before the next bucket comes in */
}

status exchange_spread(struct exchange *x, float *v, size_t n, struct err *err)
{
    const struct comm *c = x->comm;
    const struct wire_part s = shard(x, n, c->node), mine = share(c, s.n);

    BUG_ON(n > x->n_max);
    if (c->size == 1)
        return OK;
    x->loops->encode[WIRE_FP32](out_segment(x, WIRE_FP32, n, c->node),
                                (struct codec_range){s.n, mine.first, mine.n},
                                v + s.first + mine.first);
    TRY(between_nodes(x, n, WIRE_FP32, send_from_owners, err));
    take_results(x, v, n, WIRE_FP32);
    return comm_meet(x->comm, err); /* before the next one overwrites it */
}
