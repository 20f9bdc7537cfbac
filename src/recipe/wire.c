#include "recipe/wire.h"

#include <string.h>

#include "recipe/buckets.h"

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

/* Towards the owners: mine of everybody's shards go out, everybody's of mine come in.
 * Away from them: the other way round. */
static void add_bucket(struct wire_traffic *t, size_t n, enum wire w, size_t node,
                       size_t n_nodes, bool is_away)
{
    double own = 0, others = 0;

    for (size_t s = 0; s < n_nodes; s++) {
        const size_t n_shard = wire_part(n, s, n_nodes).n;
        const double bytes = (double)wire_segment_bytes(w, n_shard);
        if (s == node)
            own = bytes * (double)(n_nodes - 1);
        else
            others += bytes;
    }
    t->sent_bytes += is_away ? own : others;
    t->received_bytes += is_away ? others : own;
}

struct wire_traffic wire_step(const struct buckets *b, enum wire w, size_t node,
                              size_t n_nodes, bool is_sharded)
{
    struct wire_traffic t = {0, 0};

    for (size_t i = 0; i < b->n_list; i++) {
        add_bucket(&t, b->list[i].n, w, node, n_nodes, false);
        add_bucket(&t, b->list[i].n, is_sharded ? WIRE_FP32 : w, node, n_nodes, true);
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
