/*
 * hardware - what a device and a link can do, from descriptions that people can read.
 *
 * A description is a YAML file of a few lines (configs/devices, configs/links). Those
 * files are built into the program and found by their name; any other file is found by
 * its path. The efficiency constants are the defaults of the rows below, one set for
 * all devices; docs/plan.md says where each comes from.
 */
#pragma once

#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define HARDWARE_DEVICE_OPTIONS(X)                                                     \
    X(STR, title, "", "name to show", ANY)                                        \
    X(REAL, fp32_tflops, "0", "published peak in fp32, 10^12 operations/s", RANGE(0, 1e6)) \
    X(REAL, mixed_tflops, "0", "published dense peak in 16 bits; 0: no mixed precision", RANGE(0, 1e6)) \
    X(REAL, memory_gb_per_s, "0", "published memory bandwidth, 10^9 bytes/s", RANGE(0, 1e6)) \
    X(REAL, inside_gb_per_s, "0", "between two devices of a node, one way", RANGE(0, 1e6)) \
    X(REAL, busy_watts, "0", "watts while computing", RANGE(0, 1e5))                   \
    X(REAL, wait_watts, "0", "watts while waiting for the network", RANGE(0, 1e5))     \
    X(BOOL, is_measured, "false", "Ferry was measured on a device of this kind", ANY) \
    X(BOOL, is_host, "false", "gradients are in host memory, not on a card", ANY) \
    X(REAL, step_gflops, "0", "measured: operations/s of a whole step, 10^9; 0: from the peaks", RANGE(0, 1e9)) \
    X(REAL, share_fp32, "0.8", "share of the fp32 peak that matrix products reach", RANGE(0.01, 1)) \
    X(REAL, share_mixed, "0.3", "share of the 16-bit peak that they reach", RANGE(0.01, 1)) \
    X(REAL, traffic_fp32, "0.0905", "bytes moved outside matrix products, per operation, in fp32", RANGE(0, 10)) \
    X(REAL, traffic_mixed, "0.0825", "the same in mixed precision", RANGE(0, 10))

#define HARDWARE_LINK_OPTIONS(X)                                                       \
    X(STR, title, "", "name to show", ANY)                                        \
    X(REAL, payload_share, "1", "share of the nominal rate that is payload", RANGE(0.1, 1)) \
    X(REAL, latency_us, "50", "latency between the memories of two nodes, microseconds", RANGE(0, 1e7)) \
    X(REAL, message_us, "10", "CPU time of the sender per message, microseconds", RANGE(0, 1e7)) \
    X(REAL, inside_latency_us, "5", "latency inside a node, microseconds", RANGE(0, 1e7))
/* clang-format on */

struct hardware_device {
    HARDWARE_DEVICE_OPTIONS(OPT_FIELD)
};

struct hardware_link {
    HARDWARE_LINK_OPTIONS(OPT_FIELD)
};

/* By the name of a description that is built in, or by the path of a YAML file. */
status hardware_device(struct hardware_device *d, const char *name, struct err *err);
status hardware_link(struct hardware_link *l, const char *name, struct err *err);

/*
 * Replace step_gflops, and memory_gb_per_s when it is there, by what `ferry bench step
 * --json` and `ferry bench memory --json` wrote (one JSON object per line).
 */
status hardware_bench(struct hardware_device *d, const char *path, struct err *err);

/* One built-in description; the list ends with an empty name. Generated from configs/. */
struct hardware_text {
    const char *kind, *name, *text;
};
extern const struct hardware_text hardware_texts[];
