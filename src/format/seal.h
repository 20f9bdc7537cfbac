/*
 * seal - the first line of a run's config.yaml: checksums (CRC-32C) of the lines below it
 * and of vocab.model, so that a changed digit is found before it decides a number. It is
 * first so that a file that was cut, or added to, is found too. A file without the line
 * (another tool's, an older run's, one that somebody edited on purpose) is taken as it
 * is.
 *
 * Among the comments below stands the version of the file. A file without one is as old
 * as the first.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Put the line that fits `lines` and the n bytes of vocab.model into *out. */
void seal_put(struct str *out, const struct str *lines, const void *vocab, size_t n);

/* Raised when a reader of the version before would go wrong: an option that it would take
 * for another one, or skip though it decides what the weights mean. A new option whose
 * default is what was done before does not raise it. */
enum { SEAL_VERSION = 1 };

/* The line of the version, to stand first among `lines`. */
void seal_put_version(struct str *lines);

/* ERR_USAGE when a newer program wrote it. ERR_FORMAT, naming the file and the way out,
 * when the file `config`, or `vocab` unless it is NULL, is not what the line in `config`
 * was made of. */
status seal_check(const char *config, const char *vocab, struct err *err);
