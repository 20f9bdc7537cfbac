/*
 * packer - ids in, a packed corpus and its statistics out.
 *
 * Owns:    the file being written.
 * Borrows: the statistics, which must outlive it.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/corpus_file.h"
#include "prepare/prepare_stats.h"
#include "prepare/source/pairs.h"
#include "text/subword/spm.h"

struct packer {
    struct corpus_file_writer corpus;
    struct prepare_set_stats *stats;
    char path[FILE_PATH_MAX];
};

status packer_open(struct packer *k, const char *path, const struct spm *spm,
                   uint64_t tokenizer_hash, struct prepare_set_stats *stats,
                   struct err *err) MUST_CHECK;

status packer_add(struct packer *k, const struct spm_ids ids[PAIRS_SIDES],
                  struct err *err) MUST_CHECK;

/* Put the file in place, read it back and complete the statistics. Leaves *k to be
 * released. */
status packer_commit(struct packer *k, struct err *err) MUST_CHECK;
/* Safe on a zeroed packer; without a commit nothing is left behind. */
void packer_release(struct packer *k);
