/*
 * vocabulary - the tokens of a foreign model by its numbers, and by ours.
 *
 * Ours begin with pad, eos, bos, unk, as every model of ours has them; its other tokens
 * follow in its own order. What it lacks of the four becomes a row that it never uses. So
 * its tables are permuted once, and nothing above knows of its numbering.
 *
 * Owns: the texts. Threads: one at a time to build, then immutable.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/table.h"
#include "text/subword/spm.h"

struct vocabulary_token {
    char *text; /* NULL: no token has this number */
    size_t n_bytes;
    int32_t id; /* ours */
};

struct vocabulary {
    struct vocabulary_token *token; /* [n] by the foreign number */
    size_t n, cap;
    size_t n_ids; /* of ours */
    bool has[4];  /* which of the special tokens it has */
};

/* What it calls its special tokens; NULL: it has none. */
struct vocabulary_names {
    const char *pad, *eos, *bos, *unk;
};

/* ERR_FORMAT: the number is taken, or beyond what is read. */
status vocabulary_add(struct vocabulary *v, struct line text, int64_t number,
                      struct err *err);

/*
 * Cut it to the n rows that a model has, or add numbers without tokens: tables are
 * rounded up for some processors, and vocabularies limited when training begins.
 */
status vocabulary_fit(struct vocabulary *v, size_t n, struct err *err);

/* Number them. ERR_FORMAT: no eos, no unk, too many. */
status vocabulary_close(struct vocabulary *v, struct vocabulary_names names,
                        struct err *err);
void vocabulary_release(struct vocabulary *v);

/*
 * A tokenizer whose ids are ours: the pieces of the SentencePiece model in
 * bytes[0..n_bytes) under the ids of the tokens that they are, tokens that are no pieces
 * as pieces that a text never becomes, and behind all of them pieces that are no tokens,
 * for which the model has unk. A token of one character that is no piece is found in text
 * that the pieces do not cover: there other programs look up what stands there as it is.
 */
status vocabulary_tokenizer(const struct vocabulary *v, const void *bytes, size_t n_bytes,
                            struct spm **spm, struct err *err);
