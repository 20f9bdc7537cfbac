/*
 * spm - SentencePiece behind a border of C: text to piece ids and back.
 *
 * The files are SentencePiece's own (.model, .vocab) and interchange with every other
 * tool. Models that we train (text/subword/spm_train.h) are BPE with the reference's ids:
 * pad 0, eos 1, bos 2, unk 3; a loaded model may be of any kind and numbering.
 *
 * No exception crosses the border, nothing is printed.
 *
 * Owns: the model and a copy of its bytes. Threads: a loaded model is immutable; encode
 * and decode from any number of threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "base/str.h"
#include "recipe/special_ids.h"

/* Token ids of the corpus and of the model's input are 16 bits wide. */
enum { SPM_VOCAB_MAX = 65536 };

struct spm;

/* Load from a file or from its bytes. On failure *spm is NULL. */
status spm_load(struct spm **spm, const char *path, struct err *err);
status spm_parse(struct spm **spm, const void *bytes, size_t n_bytes, struct err *err);
void spm_free(struct spm *spm); /* NULL is fine */

/*
 * A BPE model of a few pieces with the settings and normalisation rules that
 * SentencePiece gives a model that it trains. Call from one thread at a time.
 */
status spm_blank(struct spm **spm, struct err *err);

/*
 * Models of others may cut targets otherwise than sources. One that reads sources can be
 * given the one of its targets, which is its own from then on and whose ids are those of
 * the target's vocabulary. Whoever has text or ids of targets asks for it; a tokenizer
 * without one reads both sides itself.
 */
void spm_join(struct spm *spm, struct spm *target);
const struct spm *spm_target(const struct spm *spm);

/* The bytes of its targets' tokenizer; empty where that is itself. */
struct line spm_target_bytes(const struct spm *spm);

/* The tokenizers of a model that knows so many ids of each side; target "": the same. */
status spm_load_both(struct spm **spm, const char *source, const char *target,
                     size_t n_source, size_t n_target, struct err *err);

/* Its model knows the first n ids; encoding gives unk for pieces from there on, which a
 * text may be cut into all the same. Before anybody else has it. */
void spm_limit(struct spm *spm, size_t n);

/* The bytes of the .model file, as they were loaded or trained. */
struct line spm_bytes(const struct spm *spm);

/* Write PREFIX.model and PREFIX.vocab, each whole or not at all. */
status spm_save(const struct spm *spm, const char *prefix, struct err *err);

size_t spm_size(const struct spm *spm);  /* pieces, specials included */
size_t spm_known(const struct spm *spm); /* those below the limit, if it has one */

/* The ids this model gives its specials; -1 for one that it lacks. */
struct spm_special {
    int32_t pad, eos, bos, unk;
};
struct spm_special spm_specials(const struct spm *spm);

/* ERR_FORMAT unless the specials are pad 0, eos 1, bos 2, unk 3. */
status spm_check_special(const struct spm *spm, struct err *err);

/* What stands at 0 <= id < spm_size(). */
const char *spm_piece(const struct spm *spm, int32_t id);
double spm_score(const struct spm *spm, int32_t id);

/*
 * Models of many languages want to be told which one is meant, by a token that no text
 * becomes: ">>deu<<". The id of one that the text begins with; -1: none. *n: its bytes
 * and those of the blanks behind it.
 */
int32_t spm_mark(const struct spm *spm, struct line text, size_t *n);

/* A growing row of ids. Zeroed = empty. */
struct spm_ids {
    int32_t *id;
    size_t n, cap;
};
status spm_ids_add(struct spm_ids *ids, int32_t id, struct err *err);
void spm_ids_release(struct spm_ids *ids);

/* Append the ids of a line, without bos and eos. Empty text gives none. */
status spm_encode(const struct spm *spm, struct line text, struct spm_ids *ids,
                  struct err *err);

/* Bytes [begin, end) of a text that became a piece, or that a piece became. */
struct spm_span {
    int32_t id;
    size_t begin, end;
};

/* Zeroed = empty. */
struct spm_spans {
    struct spm_span *span;
    size_t n, cap;
};
void spm_spans_release(struct spm_spans *spans);

/* Where in the line the pieces stand that spm_encode() gives; in place of what was there.
 * White space belongs to the piece behind it. */
status spm_encode_spans(const struct spm *spm, struct line text, struct spm_spans *out,
                        struct err *err);

/* The same of n ids, one each, in the text that spm_decode() makes of them. */
status spm_decode_spans(const struct spm *spm, const int32_t *id, size_t n,
                        struct spm_spans *out, struct err *err);

/* Append the pieces of a line, joined by blanks; what no piece covers stands as it is. */
status spm_pieces(const struct spm *spm, struct line text, struct str *out,
                  struct err *err);

/* Append the text of n ids. Specials give no text, except unk, which gives " ⁇ ". */
status spm_decode(const struct spm *spm, const int32_t *id, size_t n, struct str *out,
                  struct err *err);
