/*
 * mix - which share of an epoch each of several corpora has, in stages.
 *
 *     bt:1 until 2; original:0.6,bt:0.4
 *
 * Epochs 1 and 2 (the first two) are of `bt` alone, later ones have 6 pairs of `original`
 * to 4 of `bt`. An epoch is one pass over the corpus that its stage names first; of the
 * others it has so many pairs as their shares say. Shares are of pairs, and need not add
 * up to 1.
 *
 * Owns: nothing. Threads: immutable once read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { MIX_CORPORA = 17, MIX_STAGES = 16 };

struct mix_stage {
    uint64_t end; /* the first epoch after it, counted from 0; UINT64_MAX: none */
    size_t n;
    struct mix_part {
        size_t corpus;
        double share; /* above 0 */
    } part[MIX_CORPORA];
};

/* Zeroed: every corpus whole in every epoch. */
struct mix {
    struct mix_stage stage[MIX_STAGES];
    size_t n;
};

/* From its text, by the names of n corpora; "": zeroed. */
status mix_read(struct mix *m, const char *text, const char *const *name, size_t n,
                struct err *err);

/* The stage of an epoch. */
const struct mix_stage *mix_stage_of(const struct mix *m, uint64_t epoch);

/* Pairs of part i in an epoch of the stage, n_pairs[] being those of each corpus. */
size_t mix_count(const struct mix_stage *s, size_t i, const size_t *n_pairs);

/* Pairs of a corpus in all epochs before this one. */
uint64_t mix_used(const struct mix *m, size_t corpus, uint64_t epoch,
                  const size_t *n_pairs);
