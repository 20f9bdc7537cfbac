/*
 * packer - lines of text in, a packed corpus and its statistics out.
 *
 * Owns:    the file being written, the ids of one pair.
 * Borrows: the tokenizer and the statistics, which must outlive it.
 * Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "corpus/corpus_file.h"
#include "corpus/pairs.h"
#include "corpus/prepare_stats.h"
#include "text/spm.h"

struct packer {
    struct corpus_file_writer corpus;
    const struct spm *spm;
    struct spm_ids ids[PAIRS_SIDES]; /* the pair encoded last */
    struct prepare_set_stats *stats;
    char path[FILE_PATH_MAX];
};

status packer_open(struct packer *k, const char *path, const struct spm *spm,
                   uint64_t tokenizer_hash, struct prepare_set_stats *stats,
                   struct err *err) MUST_CHECK;

status packer_encode(struct packer *k, const struct line side[PAIRS_SIDES],
                     struct err *err) MUST_CHECK;
/* Whether both sides of the pair encoded last have tokens. */
bool packer_has_text(const struct packer *k);
/* Write the pair encoded last. */
status packer_add(struct packer *k, struct err *err) MUST_CHECK;

/* Put the file in place and complete the statistics. Leaves *k to be released. */
status packer_commit(struct packer *k, struct err *err) MUST_CHECK;
/* Safe on a zeroed packer; without a commit nothing is left behind. */
void packer_release(struct packer *k);
