/*
 * wire - how gradients look between nodes, and how many bytes that takes.
 *
 * A bucket of n elements is cut into one shard per node. Each node sends every other node
 * its part of that node's shard, the owner adds them up in fp32, and sends the result,
 * rounded once more, to every other node: the bytes of a ring all-reduce, but two
 * roundings instead of one per hop. Among many nodes both ways have two legs
 * (recipe/grid.h), and there are three roundings. A shard travels as one segment: n
 * payload values, then their scales. Every rank derives the same cuts from the same
 * numbers, so nothing on the wire describes itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buckets;
struct grid;

/* name, bytes per element, elements per scale (0: none) */
#define WIRE_LIST(W)         \
    W(FP32, "fp32", 4, 0)    \
    W(BF16, "bf16", 2, 0)    \
    W(FP16, "fp16", 2, 1024) \
    W(INT8, "int8", 1, 128)

#define WIRE_ID(id, ...) WIRE_##id,
enum wire { WIRE_LIST(WIRE_ID) N_WIRES };

/* Cuts fall on multiples of this, which is a multiple of every scale's reach. */
enum { WIRE_ALIGN = 1024 };

const char *wire_name(enum wire w);
/* N_WIRES when no wire is called so. */
enum wire wire_find(const char *name);

/* Bytes of a segment of n elements, and where in it the scales begin. */
size_t wire_segment_bytes(enum wire w, size_t n);
size_t wire_scales_at(enum wire w, size_t n);

/* The part [first, first + n) of a bucket that belongs to `part` of n_parts. */
struct wire_part {
    size_t first, n;
};
struct wire_part wire_part(size_t n_bucket, size_t part, size_t n_parts);

/* Payload bytes of one exchange through the card of a node, each way. */
struct wire_traffic {
    double sent_bytes, received_bytes;
    double n_sent, n_received; /* messages */
};

/*
 * Exactly, for these buckets. With is_sharded gradients stop at their owner and updated
 * weights travel in fp32. Ranks inside a node cost nothing here: they share memory.
 */
struct wire_traffic wire_step(const struct buckets *b, enum wire w, const struct grid *g,
                              size_t node, bool is_sharded);

/* The same for n elements of any model, without the rounding of cuts: mean of nodes,
 * each way. */
double wire_step_bytes(size_t n_elements, enum wire w, size_t n_nodes, bool is_sharded);
