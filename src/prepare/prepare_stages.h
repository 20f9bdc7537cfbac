/* prepare_stages - what the stages of prepare share; internal to prepare. */
#pragma once

#include "base/pool.h"
#include "prepare/prepare.h"
#include "prepare/work.h"
#include "text/line_reader.h"
#include "text/subword/spm.h"

struct prepare {
    const struct prepare_config *config;
    struct progress *progress;
    struct prepare_stats *stats;
    struct pairs input[N_PREPARE_SETS];
    struct work work;
    struct work_files made; /* by the present stage */
    struct pool *pool;
    struct spm *spm; /* given, or of the learn stage */
};

/* Bytes that one stage may use for what grows with the corpus. */
uint64_t prepare_budget(const struct prepare *p);

/* Make the directory and its place of work, when it is not yet there: the first stage
 * does so once it has nothing against the input. */
status prepare_open_work(struct prepare *p, struct err *err) MUST_CHECK;

/* The stages, in order. Each reads what those before it left, adds to the statistics and
 * lists the files it made. */
status prepare_stage_count(struct prepare *p, struct err *err) MUST_CHECK;
status prepare_stage_clean(struct prepare *p, struct err *err) MUST_CHECK;
status prepare_stage_learn(struct prepare *p, struct err *err) MUST_CHECK;
status prepare_stage_encode(struct prepare *p, struct err *err) MUST_CHECK;
status prepare_stage_pack(struct prepare *p, struct err *err) MUST_CHECK;

/* The counts of a stage that is taken over from an earlier run. */
status prepare_recall_count(struct prepare *p, struct err *err) MUST_CHECK;

/* The text that the clean stage left, pair by pair, duplicates passed over. */
struct prepare_text {
    struct line_reader side[PAIRS_SIDES];
    struct file_map duplicate; /* bits */
    uint64_t n_read;           /* pairs passed, duplicates included */
};
status prepare_text_open(struct prepare_text *t, const struct prepare *p,
                         struct err *err) MUST_CHECK;
void prepare_text_close(struct prepare_text *t);
status prepare_text_next(struct prepare_text *t, struct line side[PAIRS_SIDES], bool *has,
                         struct err *err) MUST_CHECK;

/* Where the i-th pair that cleaning wrote stood in the input: file and lines of *row. */
status prepare_text_where(const struct prepare *p, uint64_t i, struct pairs_row *row,
                          struct err *err) MUST_CHECK;

/* The file of these places: one prepare_place a pair. */
struct prepare_place {
    uint64_t file, line[PAIRS_SIDES];
};

/* A run of pairs with room for what threads find out about them. */
enum { PREPARE_BATCH_PAIRS = 8192, PREPARE_BATCH_BYTES = 8 << 20 };
struct prepare_batch {
    struct str text;
    struct prepare_batch_pair {
        size_t at[PAIRS_SIDES], n_bytes[PAIRS_SIDES]; /* in text */
        uint64_t line[PAIRS_SIDES];
        size_t file;
        bool is_cut;
    } * pair; /* [PREPARE_BATCH_PAIRS] */
    size_t n;
};
status prepare_batch_open(struct prepare_batch *b, struct err *err) MUST_CHECK;
void prepare_batch_close(struct prepare_batch *b);
void prepare_batch_reset(struct prepare_batch *b);
bool prepare_batch_is_full(const struct prepare_batch *b);
status prepare_batch_add(struct prepare_batch *b, const struct pairs_row *row,
                         struct err *err) MUST_CHECK;
struct pairs_row prepare_batch_row(const struct prepare_batch *b, size_t i);

/* The reference's names for what was made (reference_names). */
struct prepare_names {
    char lang[PAIRS_SIDES][16], size[16];
};
status prepare_names_of(struct prepare_names *n, const struct prepare_config *c,
                        struct err *err) MUST_CHECK;

/* The reference's files of the training text, while it is packed. */
struct prepare_tok {
    const struct spm *spm;
    struct file_writer text[PAIRS_SIDES], tok[PAIRS_SIDES];
    struct str line;
};
status prepare_tok_open(struct prepare_tok *t, struct prepare *p,
                        struct err *err) MUST_CHECK;
/* One pair: its ids and its text. */
status prepare_tok_add(struct prepare_tok *t, const struct spm_ids ids[PAIRS_SIDES],
                       const struct line text[PAIRS_SIDES], struct err *err) MUST_CHECK;
/* Put these files, and all others of the reference, in place. */
status prepare_tok_commit(struct prepare_tok *t, struct prepare *p,
                          struct err *err) MUST_CHECK;
void prepare_tok_abort(struct prepare_tok *t);
