/*
 * preflight - is everything the same everywhere, and is there enough of it?
 *
 * First of all the ranks compare their programs: those of another build may lay out every
 * message differently. Before the model takes its memory they compare what else must be
 * equal (configuration, tokenizer, corpora), look at what must suffice (memory, disk) or
 * should agree (clocks), and time the exchange that training will make. The first
 * difference is refused with one sentence that names the rank and its host.
 *
 * Threads: one at a time; preflight_run() is collective.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "recipe/grid.h"

struct comm;
struct dataset;
struct device;
struct train_config;

struct preflight_options {
    const struct train_config *config;
    const struct dataset *data;
    uint64_t valid;        /* checksum of all validation sets; 0: there are none */
    double checkpoint_mib; /* of one */
    double memory_mib;     /* that a rank takes at the least, on its host */
    bool is_writer;
    const struct device *device; /* of this rank */
};

/* What a rank says of itself. The hashes must be equal everywhere; 0: not known. */
struct preflight_facts {
    uint64_t config, tokenizer, corpus, valid;
    uint64_t card;             /* this rank's own; 0: the host's memory */
    char kind[8];              /* of its device; equal everywhere too */
    double clock;              /* seconds since 1970, of all ranks at the same moment */
    double free_mib, disk_mib; /* NAN: not known; a rank that writes nothing */
};

struct preflight {
    double t_latency; /* seconds of an all-reduce of a few bytes */
    double mb_per_s;  /* payload a card carries each way in a large one; NAN: one rank */
    struct grid_link link;     /* between nodes, if they are GRID_NODES or more */
    double clock_spread;       /* seconds between the fastest and the slowest clock */
    int clock_rank;            /* whose clock is furthest from the others' */
    double free_mib, disk_mib; /* the least memory and disk of any rank or writer */
    int fault; /* of a failure: 1 + the first rank whose host is to blame, where others
                * are not; 0 or less: none */
    int n_sharing; /* ranks that compute in the same memory as this one; 0: not asked */
};

/* What a rank runs. Hashes of 0 are not known. */
struct preflight_program {
    uint64_t program, module; /* module: what calls the MPI library */
    char library[64];         /* the MPI library that it loaded */
};

/* Compare what the ranks run, before anything else is exchanged. */
status preflight_programs(struct comm *c, struct err *err);
/* The judgement alone: all[size] as the ranks gave them. */
status preflight_judge_programs(const struct comm *c, const struct preflight_program *all,
                                struct err *err);

/* The judgement without the asking: all[size] as the ranks gave them. */
status preflight_judge(struct preflight *p, const struct comm *c,
                       const struct preflight_facts *all, struct preflight_options o,
                       struct err *err);

status preflight_run(struct preflight *p, struct comm *comm, struct preflight_options o,
                     struct err *err);
