/*
 * yaml_pairs - the keys and values of a YAML mapping, as vocabularies and configurations
 * of others are.
 *
 * A value that is a list of scalars comes once for each of them; mappings inside of the
 * mapping, and lists of lists, are passed over.
 *
 * Threads: any; nothing is kept.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"

typedef status yaml_pairs_take(void *ctx, struct line key, struct line value,
                               struct err *err);

/* ERR_FORMAT names the line where the bytes are no YAML, or no mapping. */
status yaml_pairs_read(const void *bytes, size_t n, yaml_pairs_take *take, void *ctx,
                       struct err *err);
