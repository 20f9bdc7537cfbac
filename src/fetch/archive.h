/*
 * archive - the wanted members of a downloaded archive, checked before they get names.
 *
 * The archive is read once, to its last byte, so that its own checksums count. Members go
 * to temporary files beside their places; when all are there with as many lines or
 * segments as the catalogue says, archive_commit renames them.
 *
 * Owns: the temporary files until commit or abort. Borrows: the catalogue's file.
 * Threads: one.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/file.h"
#include "base/progress.h"
#include "fetch/catalog.h"
#include "fetch/tally.h"

struct archive_member {
    struct file_writer to;
    struct tally tally;
    char sha256[SHA256_HEX];
    bool is_found, is_same; /* same: it stands in its place already */
};

struct archive {
    const struct catalog_file *file;
    const char *dir;
    struct archive_member member[CATALOG_MEMBERS];
};

/* Unpack `path` for `dir`. On failure nothing is left. ERR_FORMAT: the archive is not
 * what the catalogue says, or is damaged. */
status archive_open(struct archive *a, const char *path, const struct catalog_file *file,
                    const char *dir, struct progress *progress,
                    struct err *err) MUST_CHECK;
/* Every member takes its name; a file that is there and differs is left alone and named.
 */
status archive_commit(struct archive *a, struct err *err) MUST_CHECK;
void archive_abort(struct archive *a); /* safe after commit */
