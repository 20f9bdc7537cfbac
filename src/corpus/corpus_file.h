/*
 * corpus_file - the bytes of a packed corpus (docs/formats/corpus.md).
 *
 * A head with what is known at the start, the tokens, the offsets, and a foot with what
 * is known at the end, so that writing is one stream and a file that was cut anywhere
 * lacks its foot. Everything little-endian; the tokens and the offsets are aligned for
 * use in place.
 *
 * The writer keeps the offsets in a nameless file beside the one it writes, so that its
 * memory does not depend on the number of pairs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/file.h"
#include "corpus/checksum.h"
#include "corpus/corpus.h"

#define CORPUS_FILE_MAGIC "FERRYCRP" /* the first eight bytes of every corpus */

enum { CORPUS_FILE_VERSION = 2, CORPUS_FILE_HEAD = 32, CORPUS_FILE_FOOT = 40 };

/*
 * Check head and foot of n bytes at `data` (8-byte aligned) in constant time and point *c
 * into them; the map stays zeroed. ERR_FORMAT says what is wrong, without the path.
 */
status corpus_file_parse(struct corpus *c, const unsigned char *data, size_t n,
                         struct err *err) MUST_CHECK;

/* Read everything: ERR_FORMAT when checksum, offsets or tokens are not as written. */
status corpus_file_verify(const struct corpus *c, struct err *err) MUST_CHECK;

/* Read the file at `path` in blocks and compare its checksum, in constant memory. */
status corpus_file_read_back(const char *path, struct err *err) MUST_CHECK;

/* One sentence to write: n ids, each below the vocabulary. */
struct corpus_file_side {
    const int32_t *id;
    size_t n;
};

struct corpus_file_writer {
    struct file_writer file;
    struct checksum checksum;
    FILE *offsets;
    uint64_t n_sides, n_tokens;
    uint16_t *token; /* the side being written */
    size_t token_cap;
    uint32_t vocab;
    uint64_t hash;
};

status corpus_file_create(struct corpus_file_writer *w, const char *path, size_t vocab,
                          uint64_t tokenizer_hash, struct err *err) MUST_CHECK;
status corpus_file_add(struct corpus_file_writer *w, struct corpus_file_side source,
                       struct corpus_file_side target, struct err *err) MUST_CHECK;
/* Offsets, foot, rename into place. Releases *w either way. */
status corpus_file_commit(struct corpus_file_writer *w, struct err *err) MUST_CHECK;
/* Nothing is left behind. Safe on a zeroed, committed or aborted writer. */
void corpus_file_abort(struct corpus_file_writer *w);
