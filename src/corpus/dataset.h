/*
 * dataset - a data directory made by `ferry prepare`, opened for training.
 *
 * Opening checks that the directory is whole, that the vocabulary is the one the corpora
 * were encoded with, and that the raw text of the held-out sets has a line for each pair.
 * It does not read the training pairs, so that it takes no longer for more of them.
 * The files are listed in docs/formats/corpus.md.
 *
 * Owns:     the mappings of all files.
 * Outlives: every sentence and line that points into them.
 * Threads:  immutable after dataset_open().
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/lines.h"
#include "corpus/corpus.h"

/* Of the directory, in DATASET_MARK. Raised when a reader of the version before would go
 * wrong; a new field or file alone does not raise it. */
enum { DATASET_VERSION = 3 };

#define DATASET_MARK     "prepare.json"  /* the last file written */
#define DATASET_VOCAB    "vocab"         /* .model and .vocab */
#define DATASET_TARGET   "vocab.target"  /* the same of targets, if they have their own */
#define DATASET_PROPOSAL "proposal.yaml" /* configuration that fits; may be missing */

/* The lines of one raw text. */
struct dataset_text {
    struct lines file;
    struct line *line; /* [n] */
    size_t n;
};

/* Validation or test pairs, in the order of their text. */
struct dataset_set {
    bool is_there;
    struct corpus corpus;
    struct dataset_text source, target; /* [corpus.n_pairs] lines each */
};

struct dataset {
    char tokenizer[FILE_PATH_MAX];        /* path of the SentencePiece model */
    char target_tokenizer[FILE_PATH_MAX]; /* of targets; "": the same */
    uint64_t tokenizer_hash;
    uint32_t n_source, n_target;           /* ids of each side */
    char source_lang[16], target_lang[16]; /* as in "de"; "": unknown */
    struct corpus train;
    struct dataset_set valid, test;
};

/* ERR_FORMAT for a directory that was not finished or does not fit together. On failure
 * *d is closed. */
status dataset_open(struct dataset *d, const char *dir, struct err *err);
void dataset_close(struct dataset *d);

/* Of one tokenizer, or of both where targets have their own; its bytes are empty else. */
uint64_t dataset_tokenizer_hash(struct line source, struct line target);

/* corpus_read_as() of every corpus. */
void dataset_read_as(struct dataset *d, const struct architecture *a);

/* A hash of the set's raw text, both sides: equal however it was cut into pieces. */
uint64_t dataset_text_hash(const struct dataset_set *set);

/* Read every corpus whole: ERR_FORMAT names the one that was damaged since it was made.
 */
status dataset_verify(const struct dataset *d, struct err *err);
/* The same of one held-out set, "valid" or "test". */
status dataset_verify_set(const struct dataset_set *set, const char *name,
                          struct err *err);

/*
 * The same by a thread of its own, beside the first steps of training. Owns the thread,
 * borrows the dataset, which must outlive it; the calls come from one thread. Asking and
 * finishing are safe on a zeroed one.
 */
struct dataset_check {
    const struct dataset *data;
    pthread_t thread;
    bool is_running;
    atomic_bool is_done;
    struct err err; /* of the thread; read once it is done */
};

status dataset_check_start(struct dataset_check *v, const struct dataset *data,
                           struct err *err);
/* Whether damage was found by now. */
bool dataset_check_has_failed(const struct dataset_check *v);
/* Wait for the thread: ERR_FORMAT when there is damage. */
status dataset_check_finish(struct dataset_check *v, struct err *err);
