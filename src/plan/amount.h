/*
 * amount - rates and times as people write them, and node shapes.
 *
 * Bits and bytes are told apart as their users do: "1Gb", "100Mb/s" is what a link is
 * called, "205MB/s" or "200000KiB/s" what somebody measured. Prefixes are powers of
 * 1000; KiB, MiB and GiB are powers of 1024.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct amount_rate {
    double bytes_per_s; /* bits are divided by 8 */
    bool is_bits;
};

/* ERR_USAGE quotes the text and shows the forms that are understood. */
status amount_rate(struct amount_rate *out, const char *text, struct err *err);

/* "50us", "0.1ms", "2s", "3min", "2h", "7d" in seconds. `name` is the option's. */
status amount_seconds(double *out, const char *name, const char *text, struct err *err);

/*
 * Devices of each node: one number for all `n_nodes`, or one per node ("1,2").
 * per_node has room for n_nodes.
 */
status amount_per_node(int *per_node, size_t n_nodes, const char *text, struct err *err);
