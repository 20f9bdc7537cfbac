/*
 * checksum - a 64-bit hash of bytes, several gigabytes per second.
 *
 * It guards against damage and mix-ups (another vocabulary, a file cut or altered), not
 * against an adversary. The value depends on the bytes alone, not on how they were cut
 * into calls; it is part of the corpus format (docs/formats/corpus.md).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct checksum {
    uint64_t lane[4];
    unsigned char tail[32]; /* bytes that do not fill a block yet */
    size_t n_tail;
    uint64_t n_bytes;
};

struct checksum checksum_start(void);
void checksum_add(struct checksum *c, const void *bytes, size_t n);
/* Of all that was added; more may be added afterwards. */
uint64_t checksum_value(const struct checksum *c);

uint64_t checksum_of(const void *bytes, size_t n);
/* Read in blocks, so that it costs no memory however large the file is. */
status checksum_of_file(uint64_t *value, const char *path, struct err *err);
/* Of its first n bytes, or all of it when it has fewer. */
status checksum_of_part(uint64_t *value, const char *path, uint64_t n, struct err *err);
