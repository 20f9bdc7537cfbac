/*
 * corpus - a packed parallel corpus, mapped read-only.
 *
 * The file is written once by `ferry prepare` (corpus_file.h, docs/formats/corpus.md)
 * and never changed. Token ids are little-endian uint16 on disk and in memory, without
 * specials. Opening looks at both ends of the file, whatever its size;
 * corpus_file_verify() reads all of it. A file that was damaged between the ends is safe
 * to use: no view leaves the mapping, and batch_gather() names the pair.
 *
 * Owns:     the mapping.  Borrows: nothing.
 * Outlives: every `struct sentence` handed out, which points into the mapping.
 * Threads:  immutable after corpus_open(); read from any thread without a lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

struct corpus {
    struct file_map map;
    const unsigned char *data; /* [n_bytes] the file */
    size_t n_bytes;
    const uint64_t *start; /* [2 * n_pairs + 1] token offsets: src0, tgt0, src1, ... */
    const uint16_t *token; /* [n_tokens], each below vocab unless damaged */
    uint64_t n_tokens;     /* of both sides */
    uint32_t n_pairs;      /* at most INT32_MAX */
    uint32_t vocab;
    uint64_t tokenizer_hash; /* checksum of the .model file that made the ids */
    uint64_t checksum;       /* of the file; equal on two machines = the same corpus */
};

struct sentence {
    const uint16_t *token;
    size_t len;
};

/* Map `path` and check its ends. On failure *c is closed and needs no corpus_close(). */
status corpus_open(struct corpus *c, const char *path, struct err *err) MUST_CHECK;

/* Unmap. Safe on a zeroed or already closed corpus. */
void corpus_close(struct corpus *c);

/* Pair `i` < n_pairs; both views stay valid until corpus_close(). Offsets that cannot be
 * give an empty one. */
struct sentence corpus_source(const struct corpus *c, uint32_t i);
struct sentence corpus_target(const struct corpus *c, uint32_t i);

/* Whether the offsets of pair `i` are possible. */
bool corpus_has_pair(const struct corpus *c, uint32_t i);

enum { CORPUS_MIN_LENGTH = 3 }; /* the least max_length: specials and one token */

/*
 * Tokens that the model sees of a side of `len` tokens: S, the first max_length - 2 of
 * them, EOS. An empty side reads as one UNK, as the reference reads an empty line.
 */
size_t corpus_clip(size_t len, size_t max_length);
