/*
 * inspect - what `ferry inspect` can look into: recognises a file and shows its contents.
 * Adding a kind: an inspect_KIND.c, a line here, its row in inspect.c.
 *
 * An inspector adds what it found to a JSON object, the page: facts, and tables as arrays
 * of objects that share their keys. inspect_page.h prints the same page for people and
 * for programs, so that the two cannot disagree. Nothing is changed on disk.
 */
#pragma once

#include <jansson.h>

#include "base/err.h"
#include "base/opt.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define INSPECT_OPTIONS(X)                                                           \
    X(BOOL, tensors, "true", "checkpoint: one row per tensor", ANY)                  \
    X(BOOL, values, "false", "checkpoint: mean, deviation, least and most of each", ANY) \
    X(BOOL, verify, "false", "checkpoint, data: check every checksum", ANY)          \
    X(STR, tag, "", "event file: every point of this tag", ANY)                      \
    X(INT, pieces, "20", "tokenizer: number of pieces to list", RANGE(0, 65536))     \
    X(BOOL, json, "false", "one line of JSON per file", ANY)
/* clang-format on */

struct inspect_config {
    INSPECT_OPTIONS(OPT_FIELD)
};

extern const struct opt_table inspect_options;

struct inspect {
    struct inspect_config config;
    FILE *out;
    size_t n_pages; /* shown so far; an empty line separates them */
};

/* The page of a file, a run or data directory, or a checkpoint by its prefix. */
status inspect_show(struct inspect *v, const char *word, struct err *err) MUST_CHECK;

/* ---- one for each kind ---- */

/* prefix: of the checkpoint, without .index */
status inspect_checkpoint(json_t *page, const char *prefix,
                          const struct inspect_config *c, struct err *err) MUST_CHECK;
status inspect_events(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err) MUST_CHECK;
status inspect_corpus(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err) MUST_CHECK;
/* A directory made by `ferry prepare`. */
status inspect_data(json_t *page, const char *dir, const struct inspect_config *c,
                    struct err *err) MUST_CHECK;
status inspect_tokenizer(json_t *page, const char *path, const struct inspect_config *c,
                         struct err *err) MUST_CHECK;
/* A run.jsonl. */
status inspect_runlog(json_t *page, const char *path, const struct inspect_config *c,
                      struct err *err) MUST_CHECK;
