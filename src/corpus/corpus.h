/*
 * corpus - a packed parallel corpus, mapped read-only; or several, as one.
 *
 * The file is written once by `ferry prepare` and never changed: a head with what is
 * known at the start, the tokens, the offsets, and a foot with what is known at the end,
 * so that writing is one stream and a file that was cut anywhere lacks its foot
 * (docs/formats/corpus.md). Token ids are little-endian uint16 on disk and in memory,
 * without specials. Opening looks at both ends of the file, whatever its size;
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
#include <stdio.h>

#include "base/err.h"
#include "base/file.h"
#include "corpus/checksum.h"
#include "recipe/architecture.h"

#define CORPUS_FILE_MAGIC "FERRYCRP" /* the first eight bytes of every corpus */

/* A file without weights is of version 2, which every ferry reads; with them it is of
 * version 3, which one that knows none refuses. */
enum {
    CORPUS_FILE_PLAIN = 2,
    CORPUS_FILE_VERSION = 3,
    CORPUS_FILE_HEAD = 32,
    CORPUS_FILE_FOOT = 40
};

/* What a pair can weigh; 0 is for the text alone, whose pair is left out. */
#define CORPUS_WEIGHT_LEAST 1e-6F
#define CORPUS_WEIGHT_MOST  1e6F

static inline bool corpus_is_weight(float weight)
{
    return weight >= CORPUS_WEIGHT_LEAST && weight <= CORPUS_WEIGHT_MOST;
}

struct corpus {
    struct file_map map;
    const unsigned char *data; /* [n_bytes] the file */
    size_t n_bytes;
    const uint64_t *start; /* [2 * n_pairs + 1] token offsets: src0, tgt0, src1, ... */
    const uint16_t *token; /* [n_tokens], each below vocab unless damaged */
    const float *weight;   /* [n_pairs] how much each counts; NULL: all 1 */
    uint64_t n_tokens;     /* of both sides */
    uint32_t n_pairs;      /* at most INT32_MAX */
    uint32_t vocab;
    uint64_t tokenizer_hash;  /* checksum of the .model file that made the ids */
    uint64_t checksum;        /* of the file; equal on two machines = the same corpus */
    struct architecture arch; /* of the model that reads it: how sentences begin */
    const uint32_t *name;     /* [n_pairs] what its pairs are called; NULL: 0, 1, ... */
    struct corpus *part;      /* [n_parts] whose pairs these are, one after the other */
    size_t n_parts;           /* 0: those of one file, of which is all of the above */
};

struct sentence {
    const uint16_t *token;
    size_t len;
};

/* Map `path` and check its ends. On failure *c is closed and needs no corpus_close(). */
status corpus_open(struct corpus *c, const char *path, struct err *err);

/* Unmap. Safe on a zeroed or already closed corpus. */
void corpus_close(struct corpus *c);

/*
 * *c goes on with the pairs of *more, which it takes over; both have the same tokenizer.
 * Its counts are sums then, its checksum is one of those of the files, and it has no
 * tokens, offsets or bytes of its own. ERR_USAGE for more pairs than a corpus may have.
 */
status corpus_append(struct corpus *c, struct corpus *more, struct err *err);

/* Pair `i` < n_pairs; both views stay valid until corpus_close(). Offsets that cannot be
 * give an empty one. */
struct sentence corpus_source(const struct corpus *c, uint32_t i);
struct sentence corpus_target(const struct corpus *c, uint32_t i);

/* How much pair `i` counts, as stored: a damaged file may say anything. */
float corpus_weight(const struct corpus *c, uint32_t i);
/* Whether any of its files has weights. */
bool corpus_has_weights(const struct corpus *c);

/* Whether offsets and weight of pair `i` are possible. */
bool corpus_has_pair(const struct corpus *c, uint32_t i);

/* The sentence about a pair that cannot be. */
status corpus_damaged(uint32_t pair, struct err *err);

enum { CORPUS_MIN_LENGTH = 3 }; /* the least max_length: specials and one token */

/*
 * Tokens that the reference sees of a side of `len` tokens: S, the first max_length - 2
 * of them, EOS. An empty side reads as one UNK, as the reference reads an empty line.
 */
size_t corpus_clip(size_t len, size_t max_length);

/* Read on for a model of this architecture; without it, for the reference's. */
void corpus_read_as(struct corpus *c, const struct architecture *a);

/* Tokens of a side that the model sees: as corpus_clip() says, but without S where its
 * sentences begin with their first piece. */
size_t corpus_rows(const struct corpus *c, size_t len, size_t max_length);

/*
 * Check head and foot of n bytes at `data` (8-byte aligned) in constant time and point *c
 * into them; the map stays zeroed. ERR_FORMAT says what is wrong, without the path.
 */
status corpus_file_parse(struct corpus *c, const unsigned char *data, size_t n,
                         struct err *err);

/* Read everything: ERR_FORMAT when checksum, offsets or tokens are not as written. */
status corpus_file_verify(const struct corpus *c, struct err *err);

/* Read the file at `path` in blocks and compare its checksum, in constant memory. */
status corpus_file_read_back(const char *path, struct err *err);

/* One sentence to write: n ids, each below the vocabulary. */
struct corpus_file_side {
    const int32_t *id;
    size_t n;
};

/* A corpus being written; its memory does not depend on the number of pairs. */
struct corpus_file_writer {
    struct file_writer file;
    struct checksum checksum;
    FILE *offsets; /* nameless, beside the file */
    FILE *weights; /* the same; NULL: a file without */
    uint64_t n_sides, n_tokens;
    uint16_t *token; /* the side being written */
    size_t token_cap;
    uint32_t vocab;
    uint64_t hash;
};

status corpus_file_create(struct corpus_file_writer *w, const char *path, size_t vocab,
                          uint64_t tokenizer_hash, struct err *err);
/* The same of one whose pairs have weights. */
status corpus_file_create_weighted(struct corpus_file_writer *w, const char *path,
                                   size_t vocab, uint64_t tokenizer_hash,
                                   struct err *err);
status corpus_file_add(struct corpus_file_writer *w, struct corpus_file_side source,
                       struct corpus_file_side target, struct err *err);
/* A pair that counts so much; 1 unless the file has weights. */
status corpus_file_add_weighted(struct corpus_file_writer *w,
                                struct corpus_file_side source,
                                struct corpus_file_side target, float weight,
                                struct err *err);
/* Offsets, foot, rename into place. Releases *w either way. */
status corpus_file_commit(struct corpus_file_writer *w, struct err *err);
/* Nothing is left behind. Safe on a zeroed, committed or aborted writer. */
void corpus_file_abort(struct corpus_file_writer *w);
