/*
 * tally - how many bytes, lines and segments went by, and their SHA-256.
 *
 * A line ends at LF; text behind the last LF is a line too. A segment is a <seg> tag of
 * WMT's test sets. Bytes come in pieces of any size. Owns nothing. Threads: one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/sha256.h"

struct tally {
    uint64_t n_bytes, n_ends, n_segments;
    struct sha256 hash;
    unsigned char last; /* byte, 0 before the first */
    unsigned n_match;   /* bytes of "<seg" that have just gone by */
};

void tally_init(struct tally *t);
void tally_add(struct tally *t, const void *bytes, size_t n);
uint64_t tally_lines(const struct tally *t);
/* Ends the tally. */
void tally_hex(struct tally *t, char out[SHA256_HEX]);

status tally_file(struct tally *t, const char *path, struct err *err) MUST_CHECK;
