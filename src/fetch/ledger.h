/*
 * ledger - DIR/fetch.json: every file that was fetched, its length, SHA-256 and origin.
 *
 * What a first download was is written down once; from then on every file of that name
 * must have the same hash. The file is replaced as a whole at each entry.
 *
 * Owns: the parsed file. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "base/sha256.h"

struct ledger {
    char path[FILE_PATH_MAX];
    void *root; /* json_t */
};

struct ledger_entry {
    const char *from; /* address or archive */
    uint64_t n_bytes;
    char sha256[SHA256_HEX];
    const char *unit; /* of n: "lines", "segments", "pairs"; NULL: none */
    uint64_t n;
};

/* Read DIR/fetch.json of this corpus, or begin one. One of another corpus is refused. */
status ledger_open(struct ledger *l, const char *dir, const char *corpus,
                   struct err *err) MUST_CHECK;
void ledger_close(struct ledger *l); /* safe on a zeroed one */

/* What was recorded under `name`; *e borrows from *l. False: nothing. */
bool ledger_find(const struct ledger *l, const char *name, struct ledger_entry *e);
/* Record, and write the file. */
status ledger_put(struct ledger *l, const char *name, const struct ledger_entry *e,
                  struct err *err) MUST_CHECK;
