/*
 * preflight - is everything the same everywhere, and is there enough of it?
 *
 * Before the first update all ranks compare what must be equal (configuration, tokenizer,
 * corpora, program) and look at what must suffice (disk) or should agree (clocks), and
 * time the exchange that training will make. The first difference is refused with one
 * sentence that names the rank and its host.
 *
 * Threads: one at a time; a meeting of all ranks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct comm;
struct dataset;
struct train_config;

struct preflight_options {
    const struct train_config *config;
    const struct dataset *data;
    uint64_t checkpoint_bytes; /* of one */
    bool is_writer;
};

struct preflight {
    double t_latency; /* seconds of an all-reduce of a few bytes */
    double mb_per_s;  /* payload a card carries each way in a large one; NAN: one rank */
    double clock_spread;       /* seconds between the fastest and the slowest clock */
    double free_mib, disk_mib; /* the least memory and disk of any rank or writer */
};

status preflight_run(struct preflight *p, struct comm *comm, struct preflight_options o,
                     struct err *err) MUST_CHECK;
