#include "dist/exchange/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

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

/* The bucket of a rank of this node. */
static float *slot(const struct exchange *x, int local_rank)
{
    return (float *)(x->slots + (size_t)local_rank * x->slot_bytes);
}

/* The node's running sum: a rank alone adds into its own gradient. */
static float *node_sum(const struct exchange *x, float *g)
{
    return x->comm->local_size > 1 ? slot(x, 0) : g;
}

/* ------------------------------------------------------------ opening */

static size_t memory_bytes(const struct exchange *x)
{
    return x->slot_bytes * (size_t)x->comm->local_size + x->out_bytes + x->in_bytes;
}

static status share_memory(struct comm *c, void *ctx, struct err *err)
{
    struct exchange *x = ctx;
    void *memory;

    TRY(comm_window(c, memory_bytes(x), &memory, err));
    x->slots = memory;
    return OK;
}

static void measure(struct exchange *x, enum wire widest)
{
    const struct comm *c = x->comm;
    const size_t n_nodes = (size_t)c->n_nodes;

    if (c->local_size > 1)
        x->slot_bytes = padded(x->n_max * sizeof(float));
    if (n_nodes == 1 && c->local_size == 1)
        return;
    /* Cuts fall on multiples of WIRE_ALIGN, so a shard has less than that too many. */
    const size_t n_shard = x->n_max / n_nodes + WIRE_ALIGN;
    const size_t segment = padded(wire_segment_bytes(widest, n_shard));
    x->out_bytes = n_nodes * segment;
    x->in_bytes = n_nodes > 1 ? n_nodes * segment : 0;
}

static status take_memory(struct exchange *x, struct err *err)
{
    struct comm *c = x->comm;

    if (c->local_size > 1) {
        TRY(comm_run(c, share_memory, x, err));
    } else {
        TRY(mem_alloc(&x->private_memory, memory_bytes(x) + CACHE_LINE, 1, err));
        const size_t past = (uintptr_t)x->private_memory % CACHE_LINE;
        x->slots = (char *)x->private_memory + (past ? CACHE_LINE - past : 0);
    }
    x->out = x->slots + x->slot_bytes * (size_t)c->local_size;
    x->in = x->out + x->out_bytes;
    return OK;
}

status exchange_open(struct exchange *x, struct comm *c, size_t n_max, enum wire widest,
                     bool is_checked, struct err *err)
{
    *x = (struct exchange){
        .comm = c, .loops = codec_loops(), .is_checked = is_checked, .n_max = n_max};
    measure(x, widest);
    if (mem_alloc(&x->block, WIRE_ALIGN, sizeof *x->block, err) != OK ||
        take_memory(x, err) != OK) {
        exchange_close(x);
        return err->code;
    }
    return OK;
}

void exchange_close(struct exchange *x)
{
    free(x->private_memory);
    free(x->block);
    *x = (struct exchange){0};
}

/* ------------------------------------------------------------ between nodes */

/* Append the checksum of a segment that goes out, if messages carry one. */
static void seal(const struct exchange *x, char *segment, size_t n_bytes)
{
    if (!x->is_checked)
        return;
    const uint32_t crc = crc32c(0, segment, n_bytes);
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

enum stage { TO_OWNERS, FROM_OWNERS };

/* TO_OWNERS: each node gets its shard from everybody. FROM_OWNERS: everybody gets each
 * node's result, which lies where the part to send lay before. Every node begins with
 * another partner, so that not all send to the first one first. */
static status swap_segments(struct exchange *x, size_t n, enum wire w, enum stage stage,
                            struct err *err)
{
    struct comm *c = x->comm;
    struct comm_msg *send = c->msg, *recv = c->msg + c->size;
    const size_t crc_bytes = x->is_checked ? CRC_BYTES : 0;
    size_t n_send = 0, n_recv = 0;

    for (int step = 1; step < c->n_nodes; step++) {
        const int to = (c->node + step) % c->n_nodes;
        const int from = (c->node + c->n_nodes - step) % c->n_nodes;
        const int sent = stage == TO_OWNERS ? to : c->node; /* whose shard */
        const int received = stage == TO_OWNERS ? c->node : from;
        const size_t n_out = wire_segment_bytes(w, shard(x, n, sent).n);
        const size_t n_in = wire_segment_bytes(w, shard(x, n, received).n);
        char *out = out_segment(x, w, n, sent);
        char *in =
            stage == TO_OWNERS ? in_segment(x, w, n, from) : out_segment(x, w, n, from);
        if (n_out && (stage == TO_OWNERS || step == 1))
            seal(x, out, n_out);
        if (n_out)
            send[n_send++] = (struct comm_msg){c->leader[to], out, n_out + crc_bytes};
        if (n_in)
            recv[n_recv++] = (struct comm_msg){c->leader[from], in, n_in + crc_bytes};
    }
    TRY(comm_swap(c, send, n_send, recv, n_recv, err));
    for (size_t i = 0; x->is_checked && i < n_recv; i++)
        TRY(verify(x, &recv[i], err));
    return OK;
}

/* The leader's part of a stage, between two barriers of its node. */
static status between_nodes(struct exchange *x, size_t n, enum wire w, enum stage stage,
                            struct err *err)
{
    TRY(comm_node_barrier(x->comm, err));
    if (x->comm->local_rank == 0)
        TRY(swap_segments(x, n, w, stage, err));
    return comm_node_barrier(x->comm, err);
}

/* ------------------------------------------------------------ inside a node */

/* Encode v[0..n); the rounding error goes to the residual. */
static void round_off(struct exchange *x, char *segment, struct codec_range r,
                      enum wire w, const float *v, float *residual)
{
    x->loops->encode[w](segment, r, v);
    if (!residual)
        return;
    x->loops->decode[w](x->block, segment, r);
    x->loops->lost(residual, v, x->block, r.n);
}

/* Copy this rank's bucket to shared memory and sum its share of every shard. What belongs
 * to other nodes is rounded at once, while it is in the cache. */
static status sum_inside(struct exchange *x, float *g, size_t n, enum wire w,
                         float *residual, struct err *err)
{
    const struct comm *c = x->comm;
    float *total = node_sum(x, g);

    if (c->local_size > 1)
        memcpy(slot(x, c->local_rank), g, n * sizeof *g);
    TRY(comm_node_barrier(x->comm, err));
    for (int node = 0; node < c->n_nodes; node++) {
        const struct wire_part s = shard(x, n, node), mine = share(c, s.n);
        char *segment = out_segment(x, w, n, node);
        for (size_t done = 0, m; done < mine.n; done += m) {
            m = MIN(WIRE_ALIGN, mine.n - done);
            const size_t at = s.first + mine.first + done;
            for (int l = 1; l < c->local_size; l++)
                x->loops->sum(total + at, slot(x, l) + at, m);
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
        m = MIN(WIRE_ALIGN, mine.n - done);
        const size_t at = s.first + mine.first + done;
        const struct codec_range r = {s.n, mine.first + done, m};
        for (int node = 0; node < c->n_nodes; node++)
            if (node != c->node) {
                x->loops->decode[w](x->block, in_segment(x, w, n, node), r);
                x->loops->sum(total + at, x->block, m);
            }
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

/* The sum is made in the first slot, and every rank copies it. */
status exchange_allreduce_node(struct exchange *x, float *g, size_t n, struct err *err)
{
    const struct comm *c = x->comm;
    const struct wire_part mine = share(c, n);

    BUG_ON(n > x->n_max);
    if (c->local_size == 1)
        return OK;
    memcpy(slot(x, c->local_rank), g, n * sizeof *g);
    TRY(comm_node_barrier(x->comm, err));
    for (int l = 1; l < c->local_size; l++)
        x->loops->sum(slot(x, 0) + mine.first, slot(x, l) + mine.first, mine.n);
    TRY(comm_node_barrier(x->comm, err));
    memcpy(g, slot(x, 0), n * sizeof *g);
    return comm_node_barrier(x->comm, err); /* before the next bucket overwrites it */
}

status exchange_allreduce(struct exchange *x, float *g, size_t n, enum wire w,
                          float *residual, struct err *err)
{
    BUG_ON(n > x->n_max);
    if (x->comm->n_nodes == 1)
        return exchange_allreduce_node(x, g, n, err);
    TRY(sum_inside(x, g, n, w, residual, err));
    TRY(between_nodes(x, n, w, TO_OWNERS, err));
    sum_owned(x, g, n, w, residual, true);
    TRY(between_nodes(x, n, w, FROM_OWNERS, err));
    take_results(x, g, n, w);
    return OK;
}

status exchange_reduce_scatter(struct exchange *x, float *g, size_t n, enum wire w,
                               float *residual, struct err *err)
{
    BUG_ON(n > x->n_max);
    if (x->comm->size == 1)
        return OK;
    TRY(sum_inside(x, g, n, w, residual, err));
    if (x->comm->n_nodes > 1)
        TRY(between_nodes(x, n, w, TO_OWNERS, err));
    sum_owned(x, g, n, w, residual, false);
    return comm_node_barrier(x->comm, err); /* before the next bucket overwrites it */
}

status exchange_allgather(struct exchange *x, float *v, size_t n, struct err *err)
{
    const struct comm *c = x->comm;
    const struct wire_part s = shard(x, n, c->node), mine = share(c, s.n);

    BUG_ON(n > x->n_max);
    if (c->size == 1)
        return OK;
    x->loops->encode[WIRE_FP32](out_segment(x, WIRE_FP32, n, c->node),
                                (struct codec_range){s.n, mine.first, mine.n},
                                v + s.first + mine.first);
    TRY(between_nodes(x, n, WIRE_FP32, FROM_OWNERS, err));
    take_results(x, v, n, WIRE_FP32);
    return comm_node_barrier(x->comm, err); /* before the next bucket overwrites it */
}
