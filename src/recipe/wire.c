#include "recipe/wire.h"

#include <string.h>

#include "recipe/buckets.h"
#include "recipe/grid.h"

struct form {
    const char *name;
    size_t width, reach; /* bytes per element; elements per scale */
};

#define FORM(id, name, width, reach) {name, width, reach},
static const struct form forms[N_WIRES] = {WIRE_LIST(FORM)};

enum { SCALE_BYTES = 4 };

const char *wire_name(enum wire w)
{
    return forms[w].name;
}

enum wire wire_find(const char *name)
{
    for (int w = 0; w < N_WIRES; w++)
        if (strcmp(forms[w].name, name) == 0)
            return (enum wire)w;
    return N_WIRES;
}

size_t wire_scales_at(enum wire w, size_t n)
{
    return (n * forms[w].width + SCALE_BYTES - 1) / SCALE_BYTES * SCALE_BYTES;
}

size_t wire_segment_bytes(enum wire w, size_t n)
{
    const size_t reach = forms[w].reach;

    return wire_scales_at(w, n) + (reach ? (n + reach - 1) / reach * SCALE_BYTES : 0);
}

struct wire_part wire_part(size_t n_bucket, size_t part, size_t n_parts)
{
    const size_t n_units = (n_bucket + WIRE_ALIGN - 1) / WIRE_ALIGN;
    const size_t begin = n_units * part / n_parts * WIRE_ALIGN;
    const size_t end = n_units * (part + 1) / n_parts * WIRE_ALIGN;
    const size_t last = end < n_bucket ? end : n_bucket;

    return (struct wire_part){begin, begin < last ? last - begin : 0};
}

/* A bucket of n elements; is_one: the shards of a message are one segment. */
struct wire_cuts {
    size_t n, n_shards;
    enum wire w;
    bool is_one;
};

/* `times` messages with the shards of a range, as one segment or one for each. */
static void add_message(double *n_bytes, double *n_messages, size_t times,
                        struct grid_range r, const struct wire_cuts *c)
{
    size_t n = 0, bytes = 0;

    for (size_t i = r.begin; i < r.end; i++) {
        const size_t n_shard = wire_part(c->n, i, c->n_shards).n;
        n += n_shard;
        bytes += wire_segment_bytes(c->w, n_shard);
    }
    if (n && c->is_one)
        bytes = wire_segment_bytes(c->w, n);
    *n_bytes += (double)(n ? bytes * times : 0);
    *n_messages += (double)(n ? times : 0);
}

/* Towards the owners: to the collectors of the row and from its other nodes, to the
 * owners of what is collected and from the collectors of other rows. Away from them: the
 * other way round. */
static void add_bucket(struct wire_traffic *t, size_t n, enum wire w,
                       const struct grid *g, size_t node, bool is_away)
{
    const struct wire_cuts c = {n, g->n_nodes, w, !is_away};
    const struct grid_range row = grid_row(g, grid_row_of(g, node));
    const struct grid_range mine = grid_collected(g, node);
    const size_t own = g->shard[node];
    struct wire_traffic up = {0};

    for (size_t other = row.begin; other < row.end; other++)
        if (other != node)
            add_message(&up.sent_bytes, &up.n_sent, 1, grid_collected(g, other), &c);
    add_message(&up.received_bytes, &up.n_received, row.end - row.begin - 1, mine, &c);
    for (size_t i = mine.begin; i < mine.end; i++)
        if (i != own)
            add_message(&up.sent_bytes, &up.n_sent, 1, (struct grid_range){i, i + 1}, &c);
    add_message(&up.received_bytes, &up.n_received, g->n_rows - 1,
                (struct grid_range){own, own + 1}, &c);
    t->sent_bytes += is_away ? up.received_bytes : up.sent_bytes;
    t->received_bytes += is_away ? up.sent_bytes : up.received_bytes;
    t->n_sent += is_away ? up.n_received : up.n_sent;
    t->n_received += is_away ? up.n_sent : up.n_received;
}

struct wire_traffic wire_step(const struct buckets *b, enum wire w, const struct grid *g,
                              size_t node, bool is_sharded)
{
    struct wire_traffic t = {0};

    for (size_t i = 0; i < b->n_list; i++) {
        add_bucket(&t, b->list[i].n, w, g, node, false);
        add_bucket(&t, b->list[i].n, is_sharded ? WIRE_FP32 : w, g, node, true);
    }
    return t;
}

double wire_step_bytes(size_t n_elements, enum wire w, size_t n_nodes, bool is_sharded)
{
    const double share = (double)(n_nodes - 1) / (double)n_nodes;
    const double there = (double)wire_segment_bytes(w, n_elements);
    const double back =
        (double)wire_segment_bytes(is_sharded ? WIRE_FP32 : w, n_elements);

    return share * (there + back);
}
