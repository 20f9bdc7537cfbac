/*
 * spm_parts - what stands in a SentencePiece model file: pieces and settings.
 *
 * Owns: all that it points to, apart from the bytes that it was read from. Threads:
 * immutable once read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"

/* The kinds of a piece, by the numbers of the format. */
enum spm_parts_kind {
    SPM_PARTS_NORMAL = 1,
    SPM_PARTS_UNKNOWN,
    SPM_PARTS_CONTROL,
    SPM_PARTS_USER,
    SPM_PARTS_UNUSED,
    SPM_PARTS_BYTE
};

/* How the pieces were found, by the numbers of the format. */
enum spm_parts_model {
    SPM_PARTS_UNIGRAM = 1,
    SPM_PARTS_BPE,
    SPM_PARTS_WORDS,
    SPM_PARTS_CHARACTERS
};

struct spm_parts_piece {
    struct line text;
    float score;
    enum spm_parts_kind kind;
};

struct spm_parts {
    struct spm_parts_piece *piece;
    size_t n_pieces;
    struct line charsmap;       /* normalisation rules */
    enum spm_parts_model model; /* this and the next line: trainer settings */
    bool has_byte_fallback, is_space_last;
    bool has_dummy_prefix, squeezes_spaces, escapes_spaces;
    void *message; /* of protobuf-c; texts and rules are its own */
};

/* Twice the largest models known (250,000 pieces: 4.8 MB). Parsed, a hostile file of this
 * size takes some 0.5 GB. */
enum { SPM_PARTS_MAX_BYTES = 8 << 20 };

/* Refuse bytes that are no model, or that SentencePiece would read past the end of. */
status spm_parts_guard(const void *bytes, size_t n_bytes, struct err *err);

/* ERR_FORMAT when the bytes are no such message. On failure *p is released. */
status spm_parts_read(struct spm_parts *p, const void *bytes, size_t n_bytes,
                      struct err *err);
void spm_parts_release(struct spm_parts *p);

/* Append a piece to a model that is being written; CONTROL and UNKNOWN name their kind.
 */
void spm_parts_put_piece(struct str *out, const struct spm_parts_piece *piece);

/*
 * Append everything but the pieces of the model in bytes[0..n_bytes), with the settings
 * `vocab_size` and `is_hard_limit` of the trainer replaced.
 */
status spm_parts_put_rest(struct str *out, const void *bytes, size_t n_bytes,
                          size_t vocab_size, bool is_hard_limit, struct err *err);
