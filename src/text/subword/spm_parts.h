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

struct ProtobufCMessage;
struct ProtobufCMessageUnknownField;

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

/* ERR_FORMAT when the bytes are no such message. On failure *p is released. */
status spm_parts_read(struct spm_parts *p, const void *bytes, size_t n_bytes,
                      struct err *err) MUST_CHECK;
void spm_parts_release(struct spm_parts *p);

/* Append a piece to a model that is being written; CONTROL and UNKNOWN name their kind.
 */
void spm_parts_put_piece(struct str *out, const struct spm_parts_piece *piece);

/*
 * Append everything but the pieces of the model in bytes[0..n_bytes), with the settings
 * `vocab_size` and `is_hard_limit` of the trainer replaced.
 */
status spm_parts_put_rest(struct str *out, const void *bytes, size_t n_bytes,
                          size_t vocab_size, bool is_hard_limit,
                          struct err *err) MUST_CHECK;

/* The fields of any message in their order, as unknown fields of the result, which the
 * caller frees with protobuf_c_message_free_unpacked; NULL when it is damaged. */
struct ProtobufCMessage *spm_parts_fields(struct line bytes);
/* The text of a field, or the bytes of the message in it; none if it is a number. */
struct line spm_parts_body(const struct ProtobufCMessageUnknownField *f);
