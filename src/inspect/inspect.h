/*
 * inspect - what `ferry inspect` can look into: recognises a file and shows its contents.
 * Adding a kind: an inspect_KIND.c, a line here, its row in inspect.c.
 *
 * An inspector adds what it found to a JSON object, the page. The same page is printed
 * for people and for programs, so that the two cannot disagree: for people a scalar is a
 * line "key  value", an object inside it a few such lines, and an array of objects a
 * table whose columns are the keys of its first row. '_' in a key is a space, whole
 * numbers get commas. Nothing is changed on disk.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/opt.h"
#include "train/run/variation.h"

/* kind, field, default, help, limits */
/* clang-format off */
#define INSPECT_OPTIONS(X)                                                           \
    X(BOOL, tensors, "true", "checkpoint: one row per tensor", ANY)                  \
    X(BOOL, values, "false", "checkpoint: mean, deviation, minimum and maximum of each", ANY) \
    X(BOOL, verify, "false", "checkpoint, data: check every checksum", ANY)          \
    X(STR, tag, "", "event file: every point of this tag", ANY)                      \
    X(INT, pieces, "20", "tokenizer: number of pieces to list", RANGE(0, 65536))     \
    X(INT, pairs, "0", "data: training pairs to show, as training reads them", RANGE(0, 1e9)) \
    X(INT, epochs, "1", "data: epochs of each of these pairs, see also bpe_dropout", RANGE(1, 1e9)) \
    X(INT, seed, "1", "data: seed of the training that would vary them", RANGE(0, 1e15)) \
    X(BOOL, json, "false", "one line of JSON per file", ANY)
/* clang-format on */

struct inspect_config {
    INSPECT_OPTIONS(OPT_FIELD)
    struct variation_config variation; /* of the pairs */
};

extern const struct opt_table inspect_options;

struct inspect {
    struct inspect_config config;
    FILE *out;
    size_t n_pages; /* shown so far; an empty line separates them */
};

/* The page of a file, a run or data directory, or a checkpoint by its prefix. */
status inspect_show(struct inspect *v, const char *word, struct err *err);

/* ---- one for each kind ---- */

/* path: of the file; of a checkpoint its prefix, without .index; of data its directory */
typedef status inspect_fn(json_t *page, const char *path, const struct inspect_config *c,
                          struct err *err);
inspect_fn inspect_checkpoint;
inspect_fn inspect_events;
inspect_fn inspect_corpus;
inspect_fn inspect_data;
inspect_fn inspect_varied; /* pairs of a data directory */
inspect_fn inspect_tokenizer;
inspect_fn inspect_runlog;
inspect_fn inspect_packed;
inspect_fn inspect_foreign;

/* A checkpoint that is open; `missing` is the path of a data file that is not there. */
struct tensor_bundle;
status inspect_bundle(json_t *page, const char *prefix, const struct tensor_bundle *b,
                      const char *missing, const struct inspect_config *c,
                      struct err *err);

/* ---- what they add to a page ---- */

void inspect_page_int(json_t *o, const char *key, uint64_t x);
/* JSON has no NaN and no infinity: they become text. */
void inspect_page_real(json_t *o, const char *key, double x);
/* Bytes of a foreign file: what is not UTF-8 becomes question marks. */
void inspect_page_text(json_t *o, const char *key, const char *text);
/* Sixteen hexadecimal digits, as hashes are written everywhere. */
void inspect_page_hash(json_t *o, const char *key, uint64_t x);

/* A new table of the page, and a new row of a table; both belong to the page. */
json_t *inspect_page_table(json_t *page, const char *key);
json_t *inspect_page_row(json_t *table);

status inspect_page_print(const json_t *page, bool as_json, FILE *out, struct err *err);
