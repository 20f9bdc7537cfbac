/*
 * archive - the wanted members of a downloaded archive, checked before they get names.
 *
 * The archive is read once, to its last byte, so that its own checksums count. Members go
 * to temporary files beside their places; when all are there with as many lines or
 * segments as the catalogue says, they are renamed. Threads: any.
 */
#pragma once

#include "base/err.h"
#include "base/progress.h"
#include "fetch/catalog.h"
#include "fetch/digest.h"

/*
 * Unpack `path` into `dir`; member[i] describes the i-th member of the catalogue's file.
 * On failure nothing is left. ERR_FORMAT: the archive is not what the catalogue says, or
 * is damaged. ERR_USAGE: a file of that name is there and differs; it is left alone.
 */
status archive_unpack(struct digest member[CATALOG_MEMBERS], const char *path,
                      const struct catalog_file *file, const char *dir,
                      struct progress *progress, struct err *err) MUST_CHECK;
