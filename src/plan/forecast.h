/*
 * forecast - options in, predicted step out.
 *
 * A forecast holds the resolved description of a cluster; forecast_step simulates it, or
 * a variant of it (other nodes, other wire, a faster link), which is how tables, plots
 * and the question "what limits it?" are answered by one and the same code.
 *
 * Owns: the list of nodes. Threads: one at a time.
 */
#pragma once

#include "base/opt.h"
#include "plan/failures.h"
#include "plan/hardware.h"
#include "plan/simulate.h"
#include "recipe/model_config.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define FORECAST_OPTIONS(X)                                                            \
    X(INT, nodes, "1", "number of machines", RANGE(1, 1e5))                                      \
    X(STR, per_node, "1", "devices per machine, or a list with one for each: 1,2", ANY)  \
    X(STR, device, "cpu", "cpu, P100, V100, T4, A100, H100, or a file *.yaml", ANY) \
    X(STR, bench, "", "output of `ferry bench step --json`, for a measured device", ANY) \
    X(STR, network, "1Gb", "nominal rate of the link (1Gb) or a measured one (205MB/s)", ANY)     \
    X(CHOICE, rate, "auto", "what a rate in bytes means; see docs/plan.md", ONE_OF("auto|link|seen")) \
    X(STR, link, "ethernet", "ethernet, lab, infiniband, or a file *.yaml", ANY)  \
    X(STR, latency, "", "between two machines, such as 50us; empty: of the link", ANY)          \
    X(REAL, batch, "0", "sentence pairs per device; 0: the config's update, divided", RANGE(0, 1e9)) \
    X(REAL, mean_length, "0", "mean tokens per sentence, with specials; 0: 30.5", RANGE(0, 65536)) \
    X(INT, vocab_size, "0", "rows of the embedding; 0: as in the config", RANGE(0, 65536)) \
    X(REAL, tokens, "0", "tokens of the run, both sides; 0: those of max_steps updates", RANGE(0, 1e18)) \
    X(REAL, pairs, "0", "sentence pairs of the corpus; needed with max_epochs", RANGE(0, 1e15)) \
    X(CHOICE, precision, "auto", "number format; mixed: either 16-bit one; auto: the config's", ONE_OF("auto|fp32|fp16|bf16|mixed")) \
    X(CHOICE, method, "ferry", "how gradients are summed; reference: Horovod", ONE_OF("ferry|reference"))  \
    X(CHOICE, wire, "auto", "format of gradients between nodes; auto: the config's, reference fp32", ONE_OF("auto|fp32|bf16|fp16|int8")) \
    X(CHOICE, topology, "auto", "of the all-reduce; auto: node, reference flat", ONE_OF("auto|flat|node|tree")) \
    X(BOOL, overlap, "true", "exchange gradients while backward runs", ANY)                      \
    X(REAL, bucket_mib, "0", "size of a gradient bucket, as fp32; 0: as in the config", RANGE(0, 1e5))      \
    X(REAL, compute_seconds, "0", "measured step time of one device; 0: predict it", RANGE(0, 1e7)) \
    X(REAL, exchange_cpu, "0", "CPU seconds per step that the exchange takes; see docs/plan.md", RANGE(0, 1e7)) \
    X(REAL, jitter, "0", "relative standard deviation of compute times; more: ranks wait longer", RANGE(0, 1)) \
    X(REAL, slow_factor, "1", "compute time of the slowest device relative to the others", RANGE(1, 1e3)) \
    X(STR, mtbf, "260d", "mean time between failures of one machine; less: save more often", ANY)                  \
    X(STR, save_time, "", "time to write a checkpoint; empty: at 0.5 GB/s", ANY) \
    X(STR, restart_time, "1min", "time from a failure to the next step", ANY)               \
    X(REAL, price, "0", "price of a machine per hour, in any currency", RANGE(0, 1e6))    \
    X(REAL, price_kwh, "0", "price per kWh, in the same currency", RANGE(0, 1e6))           \
    X(INT, seed, "1", "seed of the simulated jitter and failures", RANGE(0, 1e15))
/* clang-format on */

struct forecast_options {
    FORECAST_OPTIONS(OPT_FIELD)
};

/* Pairs or target tokens of an update, over all ranks; one of them is 0. */
struct forecast_batch {
    double pairs, tokens;
};

/* What the training options say. */
struct forecast_training {
    struct model_config model;
    struct forecast_batch batch;
    /* What max_steps was chosen for: a larger batch needs fewer updates for as many
     * tokens. Nothing: make max_steps updates whatever the batch. */
    struct forecast_batch planned;
    double max_length, max_steps, max_epochs;
    double bucket_mib;            /* 0: 25 */
    const char *wire, *precision; /* NULL: bf16, fp32 */
    const char *exchange;         /* "auto", "direct" or "grid"; NULL: auto */
    double local_steps;           /* updates of a node between averagings; 0: 1 */
    double views;                 /* times that each pair is computed; 0: once */
    bool shard_optimizer;
};

enum forecast_method { FORECAST_FERRY, FORECAST_REFERENCE };

/* A way to run on some cluster; starts as forecast_variant of the forecast. */
struct forecast_variant {
    enum forecast_method method;
    enum wire wire;
    enum rounds_kind topology;
    bool overlaps, is_mixed, is_sharded;
    bool is_direct;     /* nodes never stand in a grid; facts go through the first rank */
    double local_steps; /* 1: the nodes exchange gradients in every step */
    size_t n_nodes;
    double batch; /* pairs per device */
    double jitter, slow_factor;
    double rate, latency; /* bytes of data per second, seconds */
    double faster;        /* compute, times */
    double inside_faster; /* bus inside a node, times */
};

struct forecast {
    struct forecast_options options;
    struct forecast_training training;
    struct hardware_device device;
    struct hardware_link link;
    int *per_node; /* [n_given]; repeated for larger clusters */
    size_t n_given, n_ranks;
    double tokens, steps; /* of the whole run */
    double mean_length;
    bool is_seen;     /* the rate given is the mean that a card showed */
    double rate_seen; /* then this one; variant.rate is the link's */
    struct forecast_variant variant;
};

/* Resolve everything that names or numbers stand for; simulates when the rate is a
 * seen one, to learn the link's. ERR_USAGE explains what does not fit. */
status forecast_open(struct forecast *f, const struct forecast_training *training,
                     const struct forecast_options *options, struct err *err);
void forecast_close(struct forecast *f);

/* One predicted way of running. */
struct forecast_step {
    struct simulate_result sim;
    size_t n_nodes, n_ranks;
    double t_alone;    /* step of a device that waits for nobody */
    double tokens;     /* real source and target tokens of an update, over all ranks */
    double useful;     /* share of computed tokens that are real */
    double operations; /* of one rank */
    double n_parameters;
    size_t n_rows;    /* of nodes in the exchange; 1: direct */
    double t_tree;    /* of what is summed behind the last bucket */
    double card_load; /* share of the link's capacity over the step */
};

status forecast_step(struct forecast_step *out, const struct forecast *f,
                     const struct forecast_variant *v, struct err *err);

/* The same update on the largest machine alone. */
status forecast_alone(struct forecast_step *out, const struct forecast *f,
                      struct err *err);

/* What would help most, found by making each resource twice as fast. */
enum forecast_limit {
    FORECAST_COMPUTE,
    FORECAST_NETWORK,
    FORECAST_LATENCY,
    FORECAST_INSIDE,
    FORECAST_STRAGGLERS,
    FORECAST_N_LIMITS
};
struct forecast_limits {
    enum forecast_limit limit;
    double seconds[FORECAST_N_LIMITS]; /* step with that resource doubled */
};
status forecast_limits(struct forecast_limits *out, const struct forecast *f,
                       const struct forecast_step *now, struct err *err);
extern const char *const forecast_limit_words[FORECAST_N_LIMITS];

/* Energy of the devices and money, for the whole run without failures. */
struct forecast_bill {
    double hours, kwh, machines, energy, total; /* the last three in the currency */
};
struct forecast_bill forecast_bill(const struct forecast *f,
                                   const struct forecast_step *s);

/* Failures of a cluster of n nodes, from the options. */
struct failures forecast_failures(const struct forecast *f, size_t n_nodes,
                                  double n_parameters);
