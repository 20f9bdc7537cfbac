/*
 * manifest - DIR/fetch.json: every file that was fetched, its length, SHA-256 and origin.
 *
 * The first download of a file is recorded; from then on every file of that name must
 * have the same hash. The manifest is replaced as a whole at each entry.
 *
 * Owns: the parsed file. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"
#include "fetch/digest.h"

struct manifest {
    char path[FILE_PATH_MAX];
    void *root; /* json_t */
};

/* Read DIR/fetch.json of this corpus, or begin one. One of another corpus is refused. */
status manifest_open(struct manifest *m, const char *dir, const char *corpus,
                     struct err *err);
void manifest_close(struct manifest *m); /* safe on a zeroed one */

/* The SHA-256 recorded under `name`, or NULL; *from, when it is asked for, becomes where
 * the file came from. Both borrow from *m. */
const char *manifest_find(const struct manifest *m, const char *name, const char **from);
/* Record a file with its address or archive, and write fetch.json. `n` counts its units:
 * "lines", "segments", "descriptions"; NULL: none. */
status manifest_put(struct manifest *m, const char *name, const char *from,
                    const struct digest *d, const char *unit, uint64_t n,
                    struct err *err);
