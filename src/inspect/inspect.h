/*
 * inspect - what `ferry inspect` can look into. Adding a kind: an inspect_KIND.c, a line
 * here, a row in cmd_inspect.c.
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
    X(BOOL, tensors, "true", "checkpoint: a row for each tensor", ANY)               \
    X(BOOL, values, "false", "checkpoint: mean, deviation, extremes of each", ANY)   \
    X(BOOL, verify, "false", "checkpoint, data: check every checksum", ANY)          \
    X(STR, tag, "", "event file: every point of this tag", ANY)                      \
    X(INT, pieces, "20", "tokenizer: so many first pieces", RANGE(0, 65536))         \
    X(BOOL, json, "false", "one JSON object a page, each on a line", ANY)
/* clang-format on */

struct inspect_config {
    INSPECT_OPTIONS(OPT_FIELD)
};

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
