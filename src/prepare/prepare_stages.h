/* prepare_stages - what the stages of prepare share; internal to prepare. */
#pragma once

#include "base/pool.h"
#include "corpus/corpus.h"
#include "prepare/marks.h"
#include "prepare/prepare.h"
#include "prepare/workdir.h"
#include "text/subword/spm.h"

struct prepare {
    const struct prepare_config *config;
    struct progress *progress;
    struct prepare_stats *stats;
    struct pairs input[N_PREPARE_SETS];
    struct workdir work;
    struct pool *pool;
    struct spm *spm; /* given, or of the learn stage */
    struct marks marks;
};

/* Whether a held-out set is there: given, or drawn from the training text. */
bool prepare_has_set(const struct prepare *p, enum prepare_set set);
/* Whether the clean stage left a list of pairs that are no training text after all:
 * duplicates, and pairs drawn for the held-out sets. */
bool prepare_leaves_out(const struct prepare_config *c);

/* Bytes that one stage may use for what grows with the corpus. */
uint64_t prepare_budget(const struct prepare *p);

/* The stages after counting, in order. Each reads what those before it left, adds to the
 * statistics and lists the files it made. */
status prepare_stage_clean(struct prepare *p, struct err *err);
status prepare_stage_learn(struct prepare *p, struct err *err);
status prepare_stage_encode(struct prepare *p, struct err *err);
status prepare_stage_pack(struct prepare *p, struct err *err);

/* A run of pairs, copied from where they were read. */
enum { PREPARE_BATCH_PAIRS = 8192 };
struct prepare_batch;
/* Pair `i`, valid until the next batch. */
struct pairs_row prepare_batch_row(const struct prepare_batch *b, size_t i);

/* What to do with every pair of a corpus, in batches. */
struct prepare_job {
    const char *label;   /* of the progress line; NULL: none */
    struct pairs *pairs; /* to read; NULL: the text that the clean stage left */
    const char *text; /* which of it: a drawn set by its name; NULL: the training text, */
    uint64_t n_whole; /* whole, of so many pairs; 0: as it is used */
    /* The pairs of a range, on thread `part`; NULL: nothing. */
    status (*work)(void *ctx, const struct prepare_batch *b, size_t part,
                   struct pool_range range, struct err *err);
    /* Then each pair in order, on the calling thread, with the part that it was in;
     * NULL: nothing. */
    status (*put)(void *ctx, const struct prepare_batch *b, size_t part, size_t i,
                  struct err *err);
    void *ctx;
};
status prepare_batch_run(struct prepare *p, const struct prepare_job *job,
                         struct err *err);

/* A row of cleaned text has its number there, from 1, as its line: replace it by the
 * file and the lines where the pair stood in the input. */
status prepare_batch_where(const struct prepare *p, struct pairs_row *row,
                           struct err *err);

/* What clean.weights holds of each pair, where there are weights: a float. What
 * clean.places holds: */
struct prepare_place {
    uint64_t file, line[PAIRS_SIDES];
};

/* What the encode stage leaves to the pack stage: records sorted by random keys. After
 * this head come the ids of both sides in 16 bits, then the bytes of both. */
#define PREPARE_BINS "bin" /* of prepare/bin_sort.h */
struct prepare_record {
    uint32_t n_ids[PAIRS_SIDES], n_bytes[PAIRS_SIDES];
    float weight;
};

/* Ids in, the packed corpus of a set and its statistics out. Without a commit the caller
 * aborts the corpus. */
struct prepare_pack {
    struct corpus_file_writer corpus;
    struct prepare_set_stats *stats;
    char path[FILE_PATH_MAX];
};
status prepare_pack_open(struct prepare_pack *k, struct prepare *p, enum prepare_set set,
                         struct err *err);
status prepare_pack_add(struct prepare_pack *k, const struct spm_ids ids[PAIRS_SIDES],
                        float weight, struct err *err);
/* Put the file in place, read it back and complete the statistics. */
status prepare_pack_commit(struct prepare_pack *k, struct err *err);

/* The languages of the reference's file names, and the size of the vocabulary. */
struct prepare_reference_names {
    char lang[PAIRS_SIDES][16], size[16];
};
status prepare_reference_find(struct prepare_reference_names *n,
                              const struct prepare_config *c, struct err *err);

/* The reference's files of the training text, while it is packed (reference_names). */
struct prepare_reference {
    struct prepare_reference_names names;
    struct file_writer text[PAIRS_SIDES], tok[PAIRS_SIDES];
    struct str line;
};
status prepare_reference_open(struct prepare_reference *r, struct prepare *p,
                              struct err *err);
/* One pair: its ids and its text. */
status prepare_reference_add(struct prepare_reference *r, const struct spm *spm,
                             const struct spm_ids ids[PAIRS_SIDES],
                             const struct line text[PAIRS_SIDES], struct err *err);
/* Put these files, and all others of the reference, in place. */
status prepare_reference_commit(struct prepare_reference *r, struct prepare *p,
                                struct err *err);
void prepare_reference_abort(struct prepare_reference *r);
