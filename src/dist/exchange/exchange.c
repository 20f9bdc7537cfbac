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

/* One bucket on its way. */
struct pass {
    float *g, *residual; /* residual: may be NULL */
    size_t n;
    enum wire w;
};

/* Shards [begin, end) of a bucket of n elements lie side by side. */
static struct wire_part part_of(const struct exchange *x, size_t n, struct grid_range r)
{
    const size_t n_parts = x->grid.n_nodes;
    const struct wire_part last = wire_part(n, r.end - 1, n_parts);
    const size_t first = wire_part(n, r.begin, n_parts).first;

    return (struct wire_part){first, last.first + last.n - first};
}

static struct wire_part shard(const struct exchange *x, size_t n, size_t which)
{
    return wire_part(n, which, x->grid.n_nodes);
}

static size_t my_shard(const struct exchange *x)
{
    return x->grid.shard[x->comm->node];
}

/* This node's place in its row. */
static size_t my_place(const struct exchange *x)
{
    return (size_t)x->comm->node - x->row.begin;
}

/* What this node collects for its row. */
static struct grid_range my_range(const struct exchange *x)
{
    return x->collected[my_place(x)];
}

/* This rank's share of the work on a part of n elements, counted from its start. */
static struct wire_part share(const struct comm *c, size_t n)
{
    return wire_part(n, (size_t)c->local_rank, (size_t)c->local_size);
}

struct wire_part exchange_owned(const struct exchange *x, int rank, size_t n)
{
    const struct comm *c = x->comm;
    const struct comm_peer *p = &c->peer[rank];
    const struct wire_part s = shard(x, n, x->grid.shard[p->node]);
    size_t n_local = 0;

    for (int r = 0; r < c->size; r++)
        n_local += c->peer[r].node == p->node;
    const struct wire_part theirs = wire_part(s.n, (size_t)p->local_rank, n_local);
    return (struct wire_part){s.first + theirs.first, theirs.n};
}

static size_t message_bytes(const struct exchange *x, enum wire w, size_t n)
{
    return n ? wire_segment_bytes(w, n) + (x->is_checked ? CRC_BYTES : 0) : 0;
}

/* The segments of these shards, one behind the other: as one message. */
static size_t packed_bytes(const struct exchange *x, size_t n, enum wire w,
                           struct grid_range r)
{
    size_t bytes = 0;

    for (size_t i = r.begin; i < r.end; i++)
        bytes += message_bytes(x, w, shard(x, n, i).n);
    return bytes;
}

/* Where in `out` things lie for a bucket. First what goes to each node of this row, a
 * segment of all that it collects; later, in the same memory, the segments of the shards
 * that it collects: sums on their way to the owners, then their results. */
static void lay_out(struct exchange *x, size_t n, enum wire w)
{
    size_t to_row = 0, packed = 0;

    for (size_t i = 0; i < x->row.end - x->row.begin; i++) {
        x->at[i] = (struct exchange_at){to_row, packed};
        to_row += padded(wire_segment_bytes(w, part_of(x, n, x->collected[i]).n));
        packed += padded(packed_bytes(x, n, w, x->collected[i]));
    }
}

static char *row_segment(const struct exchange *x, size_t place)
{
    return x->out + x->at[place].to_row;
}

static char *packed_segments(const struct exchange *x, size_t place)
{
    return x->out + x->at[place].packed;
}

/* The segment of a shard that this node collects. */
static char *shard_segment(const struct exchange *x, size_t n, enum wire w, size_t which)
{
    return packed_segments(x, my_place(x)) +
           packed_bytes(x, n, w, (struct grid_range){my_range(x).begin, which});
}

/* What came from one of several nodes, of a part of n elements. */
static char *in_segment(const struct exchange *x, enum wire w, size_t n, size_t from)
{
    return x->in + from * padded(wire_segment_bytes(w, n));
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
    const size_t n_nodes = (size_t)c->n_nodes, n_row = x->row.end - x->row.begin;
    const size_t n_mine = my_range(x).end - my_range(x).begin;

    if (c->local_size > 1)
        x->slot_bytes = padded(x->n_max * sizeof(float));
    if (n_nodes == 1 && c->local_size == 1)
        return;
    /* Cuts fall on multiples of WIRE_ALIGN, so a shard has less than that too many. */
    const size_t n_shard = x->n_max / n_nodes + WIRE_ALIGN;
    const size_t segment = padded(wire_segment_bytes(widest, n_shard));
    x->out_bytes = n_nodes * segment;
    x->in_bytes = n_nodes > 1 ? MAX(n_row * n_mine, x->grid.n_rows) * segment : 0;
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

/* Where this node stands. */
static status take_place(struct exchange *x, size_t n_rows, struct err *err)
{
    const struct comm *c = x->comm;

    TRY(grid_open(&x->grid, (size_t)c->n_nodes, n_rows, err));
    x->row = grid_row(&x->grid, grid_row_of(&x->grid, (size_t)c->node));
    TRY(mem_alloc(&x->collected, x->row.end - x->row.begin, sizeof *x->collected, err));
    for (size_t node = x->row.begin; node < x->row.end; node++)
        x->collected[node - x->row.begin] = grid_collected(&x->grid, node);
    TRY(mem_alloc(&x->at, x->row.end - x->row.begin, sizeof *x->at, err));
    return mem_alloc(&x->block, WIRE_ALIGN, sizeof *x->block, err);
}

status exchange_open(struct exchange *x, struct comm *c, struct exchange_options o,
                     struct err *err)
{
    *x = (struct exchange){
        .comm = c, .loops = codec_loops(), .is_checked = o.is_checked, .n_max = o.n_max};
    status result = take_place(x, o.n_rows ? o.n_rows : 1, err);
    if (result == OK) {
        measure(x, o.widest);
        result = take_memory(x, err);
    }
    if (result != OK)
        exchange_close(x);
    return result;
}

void exchange_close(struct exchange *x)
{
    grid_close(&x->grid);
    free(x->collected);
    free(x->at);
    free(x->private_memory);
    free(x->block);
    *x = (struct exchange){0};
}

/* ------------------------------------------------------------ between nodes */

/* Append the checksum of a segment that goes out, if messages carry one. */
static void seal(const struct exchange *x, char *segment, enum wire w, size_t n)
{
    const size_t n_bytes = wire_segment_bytes(w, n);

    if (!x->is_checked || n == 0)
        return;
    const uint32_t crc = crc32c(0, segment, n_bytes);
    memcpy(segment + n_bytes, &crc, CRC_BYTES);
}

/* A segment of n elements that `node` sent. */
static status verify(const struct exchange *x, const char *segment, enum wire w, size_t n,
                     size_t node, struct err *err)
{
    const size_t n_bytes = wire_segment_bytes(w, n);
    char name[COMM_NAME_MAX];
    uint32_t crc;

    if (!x->is_checked || n == 0)
        return OK;
    memcpy(&crc, segment + n_bytes, CRC_BYTES);
    if (crc == crc32c(0, segment, n_bytes))
        return OK;
    return err_set(
        err, ERR_COMM,
        "bucket %d from %s arrived damaged: its checksum differs; look at that "
        "host's memory and network card",
        x->bucket, comm_name(x->comm, x->comm->leader[node], name));
}

/* Messages that are collected and then swapped all at once. */
struct batch {
    struct comm *c;
    size_t n_send, n_recv;
};

static void send_to(struct batch *b, size_t node, char *data, size_t n_bytes)
{
    if (n_bytes)
        b->c->msg[b->n_send++] = (struct comm_msg){b->c->leader[node], data, n_bytes};
}

static void receive_from(struct batch *b, size_t node, char *data, size_t n_bytes)
{
    if (n_bytes)
        b->c->msg[(size_t)b->c->size + b->n_recv++] =
            (struct comm_msg){b->c->leader[node], data, n_bytes};
}

static status swap_all(struct batch *b, struct err *err)
{
    return comm_swap(b->c, b->c->msg, b->n_send, b->c->msg + b->c->size, b->n_recv, err);
}

/* Everybody begins with another partner, so that not all send to the first one first. */
static size_t ahead(size_t me, size_t step, size_t n)
{
    return (me + step) % n;
}

/* First leg: each node of the row gets what it collects from all others of the row. */
static status to_collectors(struct exchange *x, const struct pass *p, struct err *err)
{
    struct batch b = {.c = x->comm};
    const size_t n_row = x->row.end - x->row.begin, me = my_place(x);
    const size_t n_mine = part_of(x, p->n, my_range(x)).n;

    for (size_t step = 1; step < n_row; step++) {
        const size_t to = ahead(me, step, n_row), from = ahead(me, n_row - step, n_row);
        const size_t n = part_of(x, p->n, x->collected[to]).n;
        char *out = row_segment(x, to);
        seal(x, out, p->w, n);
        send_to(&b, x->row.begin + to, out, message_bytes(x, p->w, n));
        receive_from(&b, x->row.begin + from, in_segment(x, p->w, n_mine, from),
                     message_bytes(x, p->w, n_mine));
    }
    TRY(swap_all(&b, err));
    for (size_t from = 0; from < n_row; from++)
        if (from != me)
            TRY(verify(x, in_segment(x, p->w, n_mine, from), p->w, n_mine,
                       x->row.begin + from, err));
    return OK;
}

/* Between a collector and the owners of what it collects, all in other rows, both
 * ways: sums to the owners, or results from them. */
static void meet_owners(struct exchange *x, const struct pass *p, struct batch *b,
                        bool is_sending)
{
    const struct grid_range r = my_range(x);

    for (size_t step = 1; step < r.end - r.begin; step++) {
        const size_t i = r.begin + ahead(my_shard(x) - r.begin, step, r.end - r.begin);
        const size_t n = shard(x, p->n, i).n;
        char *segment = shard_segment(x, p->n, p->w, i);
        if (is_sending)
            seal(x, segment, p->w, n);
        (is_sending ? send_to : receive_from)(b, x->grid.owner[i], segment,
                                              message_bytes(x, p->w, n));
    }
}

/* The collector of this node's shard in the row `step` behind its own. */
static size_t collector(const struct exchange *x, size_t step, size_t *row)
{
    *row = ahead(grid_row_of(&x->grid, (size_t)x->comm->node), step, x->grid.n_rows);
    return grid_collector(&x->grid, *row, my_shard(x));
}

/* Second leg: each owner gets its shard from the collectors of the other rows. */
static status to_owners(struct exchange *x, const struct pass *p, struct err *err)
{
    struct batch b = {.c = x->comm};
    const size_t n = shard(x, p->n, my_shard(x)).n;
    size_t row;

    meet_owners(x, p, &b, true);
    for (size_t step = 1; step < x->grid.n_rows; step++) {
        const size_t from = collector(x, step, &row);
        receive_from(&b, from, in_segment(x, p->w, n, row), message_bytes(x, p->w, n));
    }
    TRY(swap_all(&b, err));
    for (size_t step = 1; step < x->grid.n_rows; step++) {
        const size_t from = collector(x, step, &row);
        TRY(verify(x, in_segment(x, p->w, n, row), p->w, n, from, err));
    }
    return OK;
}

static status verify_packed(const struct exchange *x, const struct pass *p,
                            struct grid_range r, size_t from, struct err *err)
{
    const char *at = packed_segments(x, from - x->row.begin);

    for (size_t i = r.begin; i < r.end; i++) {
        const size_t n = shard(x, p->n, i).n;
        TRY(verify(x, at, p->w, n, from, err));
        at += message_bytes(x, p->w, n);
    }
    return OK;
}

/* Back: the owners' results to the collectors of the other rows. */
static status from_owners(struct exchange *x, const struct pass *p, struct err *err)
{
    struct batch b = {.c = x->comm};
    const size_t n = shard(x, p->n, my_shard(x)).n;
    char *mine = shard_segment(x, p->n, p->w, my_shard(x));
    size_t row;

    seal(x, mine, p->w, n);
    meet_owners(x, p, &b, false);
    for (size_t step = 1; step < x->grid.n_rows; step++)
        send_to(&b, collector(x, step, &row), mine, message_bytes(x, p->w, n));
    TRY(swap_all(&b, err));
    for (size_t i = my_range(x).begin; i < my_range(x).end; i++)
        if (i != my_shard(x))
            TRY(verify(x, shard_segment(x, p->n, p->w, i), p->w, shard(x, p->n, i).n,
                       x->grid.owner[i], err));
    return OK;
}

/* And from each collector to its row, as they are. */
static status from_collectors(struct exchange *x, const struct pass *p, struct err *err)
{
    struct batch b = {.c = x->comm};
    const size_t n_row = x->row.end - x->row.begin, me = my_place(x);
    char *mine = packed_segments(x, me);
    const size_t n_mine = packed_bytes(x, p->n, p->w, my_range(x));

    for (size_t step = 1; step < n_row; step++) {
        const size_t from = ahead(me, n_row - step, n_row);
        send_to(&b, x->row.begin + ahead(me, step, n_row), mine, n_mine);
        receive_from(&b, x->row.begin + from, packed_segments(x, from),
                     packed_bytes(x, p->n, p->w, x->collected[from]));
    }
    TRY(swap_all(&b, err));
    for (size_t from = 0; from < n_row; from++)
        if (from != me)
            TRY(verify_packed(x, p, x->collected[from], x->row.begin + from, err));
    return OK;
}

static status all_the_way_back(struct exchange *x, const struct pass *p, struct err *err)
{
    TRY(from_owners(x, p, err));
    return from_collectors(x, p, err);
}

typedef status leg_fn(struct exchange *x, const struct pass *p, struct err *err);

/* The leader's part of a leg, between two barriers of its node. */
static status between_nodes(struct exchange *x, const struct pass *p, leg_fn *leg,
                            struct err *err)
{
    TRY(comm_node_barrier(x->comm, err));
    if (x->comm->local_rank == 0)
        TRY(leg(x, p, err));
    return comm_node_barrier(x->comm, err);
}

/* ------------------------------------------------------------ inside a node */

/* Encode the range of the node's sum that begins at `at`; the rounding error goes to the
 * residual. */
static void round_off(struct exchange *x, const struct pass *p, char *segment,
                      struct codec_range r, size_t at)
{
    const float *v = node_sum(x, p->g) + at;

    x->loops->encode[p->w](segment, r, v);
    if (!p->residual)
        return;
    x->loops->decode[p->w](x->block, segment, r);
    x->loops->lost(p->residual + at, v, x->block, r.n);
}

/* Sum this rank's share of a shard over the ranks of the node; what another node of the
 * row collects is rounded at once, while it is in the cache. */
static void sum_shard(struct exchange *x, const struct pass *p, size_t which,
                      size_t place)
{
    const struct comm *c = x->comm;
    const struct wire_part whole = part_of(x, p->n, x->collected[place]);
    const struct wire_part s = shard(x, p->n, which), mine = share(c, s.n);
    float *total = node_sum(x, p->g);

    for (size_t done = 0, m; done < mine.n; done += m) {
        m = MIN(WIRE_ALIGN, mine.n - done);
        const size_t at = s.first + mine.first + done;
        for (int l = 1; l < c->local_size; l++)
            x->loops->sum(total + at, slot(x, l) + at, m);
        if (p->residual)
            x->loops->sum(total + at, p->residual + at, m);
        if (place != my_place(x))
            round_off(x, p, row_segment(x, place),
                      (struct codec_range){whole.n, at - whole.first, m}, at);
    }
}

/* Copy this rank's bucket to shared memory and sum its share of every shard. It works on
 * the same elements in every leg, so that a residual stays with its rank. */
static status sum_inside(struct exchange *x, const struct pass *p, struct err *err)
{
    const struct comm *c = x->comm;

    if (c->local_size > 1)
        memcpy(slot(x, c->local_rank), p->g, p->n * sizeof *p->g);
    TRY(comm_node_barrier(x->comm, err));
    for (size_t place = 0; place < x->row.end - x->row.begin; place++)
        for (size_t i = x->collected[place].begin; i < x->collected[place].end; i++)
            sum_shard(x, p, i, place);
    return OK;
}

/* Add to the node's sum what `n_from` nodes sent of a part, this one being the me-th. */
static void add_arrived(struct exchange *x, const struct pass *p, struct codec_range r,
                        size_t at, size_t n_from, size_t me)
{
    for (size_t from = 0; from < n_from; from++)
        if (from != me) {
            x->loops->decode[p->w](x->block, in_segment(x, p->w, r.n_segment, from), r);
            x->loops->sum(node_sum(x, p->g) + at, x->block, r.n);
        }
}

/* The sums of this row; what others own is rounded again for them. */
static void sum_collected(struct exchange *x, const struct pass *p)
{
    const struct grid_range range = my_range(x);
    const struct wire_part whole = part_of(x, p->n, range);

    for (size_t i = range.begin; i < range.end; i++) {
        const struct wire_part s = shard(x, p->n, i), mine = share(x->comm, s.n);
        char *segment = shard_segment(x, p->n, p->w, i);
        for (size_t done = 0, m; done < mine.n; done += m) {
            m = MIN(WIRE_ALIGN, mine.n - done);
            const size_t at = s.first + mine.first + done;
            add_arrived(x, p, (struct codec_range){whole.n, at - whole.first, m}, at,
                        x->row.end - x->row.begin, my_place(x));
            if (i != my_shard(x))
                round_off(x, p, segment, (struct codec_range){s.n, at - s.first, m}, at);
        }
    }
}

/* Add what came to the shard that this node owns: from its row, or from other rows, whose
 * sums follow those of its own. With is_rounded the result goes into its segment,
 * otherwise into g. */
static void sum_owned(struct exchange *x, const struct pass *p, bool is_rounded)
{
    const struct comm *c = x->comm;
    const bool has_rows = x->grid.n_rows > 1;
    const size_t n_from = has_rows ? x->grid.n_rows : x->row.end - x->row.begin;
    const size_t me = has_rows ? grid_row_of(&x->grid, (size_t)c->node) : my_place(x);
    const struct wire_part s = shard(x, p->n, my_shard(x)), mine = share(c, s.n);
    char *segment = shard_segment(x, p->n, p->w, my_shard(x));

    for (size_t done = 0, m; done < mine.n; done += m) {
        m = MIN(WIRE_ALIGN, mine.n - done);
        const size_t at = s.first + mine.first + done;
        const struct codec_range r = {s.n, mine.first + done, m};
        add_arrived(x, p, r, at, n_from, me);
        if (is_rounded)
            round_off(x, p, segment, r, at);
        else if (p->residual)
            memset(p->residual + at, 0, m * sizeof *p->residual);
        if (!is_rounded && node_sum(x, p->g) != p->g)
            memcpy(p->g + at, node_sum(x, p->g) + at, m * sizeof *p->g);
    }
}

/* The sum over all nodes of what this node owns; residual and rounding as asked. */
static status sum_for_owners(struct exchange *x, const struct pass *p, bool is_rounded,
                             struct err *err)
{
    lay_out(x, p->n, p->w);
    TRY(sum_inside(x, p, err));
    if (x->comm->n_nodes > 1)
        TRY(between_nodes(x, p, to_collectors, err));
    if (x->grid.n_rows > 1) {
        sum_collected(x, p);
        TRY(between_nodes(x, p, to_owners, err));
    }
    sum_owned(x, p, is_rounded);
    return OK;
}

static void take_results(struct exchange *x, const struct pass *p)
{
    for (size_t place = 0; place < x->row.end - x->row.begin; place++) {
        const char *segment = packed_segments(x, place);
        for (size_t i = x->collected[place].begin; i < x->collected[place].end; i++) {
            const struct wire_part s = shard(x, p->n, i);
            x->loops->decode[p->w](p->g + s.first, segment,
                                   (struct codec_range){s.n, 0, s.n});
            segment += message_bytes(x, p->w, s.n);
        }
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
    const struct pass p = {.g = g, .residual = residual, .n = n, .w = w};

    BUG_ON(n > x->n_max);
    if (x->comm->n_nodes == 1)
        return exchange_allreduce_node(x, g, n, err);
    TRY(sum_for_owners(x, &p, true, err));
    TRY(between_nodes(x, &p, all_the_way_back, err));
    take_results(x, &p);
    return OK;
}

status exchange_reduce_scatter(struct exchange *x, float *g, size_t n, enum wire w,
                               float *residual, struct err *err)
{
    const struct pass p = {.g = g, .residual = residual, .n = n, .w = w};

    BUG_ON(n > x->n_max);
    if (x->comm->size == 1)
        return OK;
    TRY(sum_for_owners(x, &p, false, err));
    return comm_node_barrier(x->comm, err); /* before the next bucket overwrites it */
}

status exchange_allgather(struct exchange *x, float *v, size_t n, struct err *err)
{
    const struct comm *c = x->comm;
    const struct pass p = {.g = v, .n = n, .w = WIRE_FP32};
    const struct wire_part s = shard(x, n, my_shard(x)), mine = share(c, s.n);

    BUG_ON(n > x->n_max);
    if (c->size == 1)
        return OK;
    lay_out(x, n, WIRE_FP32);
    x->loops->encode[WIRE_FP32](shard_segment(x, n, WIRE_FP32, my_shard(x)),
                                (struct codec_range){s.n, mine.first, mine.n},
                                v + s.first + mine.first);
    TRY(between_nodes(x, &p, all_the_way_back, err));
    take_results(x, &p);
    return comm_node_barrier(x->comm, err); /* before the next bucket overwrites it */
}
