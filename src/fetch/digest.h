/*
 * digest - the SHA-256 of bytes, and how many bytes, lines and segments there were.
 *
 * A line ends at LF; text behind the last LF is a line too. A segment is a <seg> tag of
 * WMT's test sets. Bytes come in pieces of any size. Owns nothing. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/sha256.h"

struct digest {
    uint64_t n_bytes, n_ends, n_segments;
    struct sha256 hash;
    unsigned char last;      /* byte, 0 before the first */
    unsigned n_match;        /* bytes of "<seg" that have just gone by */
    char sha256[SHA256_HEX]; /* once it is ended */
};

void digest_start(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
void digest_end(struct digest *d);
uint64_t digest_lines(const struct digest *d);

/* Of a whole file, from start to end. */
status digest_file(struct digest *d, const char *path, struct err *err);
