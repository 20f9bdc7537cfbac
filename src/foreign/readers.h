/*
 * readers - what the readers of the formats share. Each fills *f of a place that
 * foreign_open() found to be of its kind.
 */
#pragma once

#include <jansson.h>

#include "foreign/fill.h"
#include "foreign/foreign.h"
#include "foreign/place.h"

/* foreign_open_mapped() of what is at a place. file: that the user named; NULL: none. */
status foreign_open_place(struct foreign *f, const struct place *p, const char *file,
                          const char *map, struct err *err);

/* Whether a place is of a kind; which is asked in this order. */
bool foreign_is_ctranslate2(const struct place *p);
bool foreign_is_own(const struct place *p);
bool foreign_is_huggingface(const struct place *p);
bool foreign_is_marian(const struct place *p);

status foreign_open_ctranslate2(struct foreign *f, const struct place *p,
                                struct err *err);
/* name: of the .safetensors; NULL: as usual. map: path of a list of names; "": the
 * tensors have ours. */
status foreign_open_own(struct foreign *f, const struct place *p, const char *name,
                        const char *map, struct err *err);
status foreign_open_huggingface(struct foreign *f, const struct place *p,
                                struct err *err);
/* name: of the .npz; NULL: the one that is there. */
status foreign_open_marian(struct foreign *f, const struct place *p, const char *name,
                           struct err *err);

/* ---- what their files say, for those who write them ---- */

#define READERS_OWN_KIND      "FerryTransformer"
#define READERS_OWN_WEIGHTS   "model.safetensors"
#define READERS_OWN_TOKENIZER "vocab.model"
#define READERS_OWN_TARGET    "target.model" /* where targets are cut otherwise */
extern const struct fill foreign_own_rows;   /* every parameter as it is */

/* CTranslate2's tables of positions */
#define READERS_ENCODER_TABLE "encoder/position_encodings/encodings"
#define READERS_DECODER_TABLE "decoder/position_encodings/encodings"
extern const struct fill foreign_ctranslate2_rows;
int foreign_ctranslate2_activation(enum activation kind);

enum { READERS_ROWS = N_PARAM_IDS + 4 }; /* one a parameter, and some that stand twice */
/* has_columns: the output layer is [D,tokens] */
struct fill foreign_marian_rows(struct fill_row all[READERS_ROWS],
                                const struct architecture *a, bool has_columns);
/* NULL: it has none of that kind. */
const char *foreign_marian_activation(enum activation kind);

/* is_apart: the sides have tables of their own */
struct fill foreign_huggingface_rows(struct fill_row all[READERS_ROWS], bool is_apart);
const char *foreign_huggingface_activation(enum activation kind);
extern const char *const foreign_huggingface_positions[2]; /* of encoder and decoder */

/* ---- what readers share ---- */

/* The logit of a token that is never said: exp() of it is nothing beside any other, and
 * label smoothing, which asks for a little of every token, can still be paid. */
#define READERS_NEVER (-100.0F)

/* Vocabularies of both sides, which may be one. */
struct readers_words {
    struct vocabulary source, target;
    bool is_one; /* the source's is both */
};
void readers_release(struct readers_words *w);

/* A file of tensors. Zeroed = closed. */
struct readers_tensors {
    struct tensors t;
    struct place_file file;
};
status readers_tensors(struct readers_tensors *t, enum tensors_format format,
                       const struct place *p, const char *name, struct err *err);
void readers_close(struct readers_tensors *t);

/*
 * Once configuration and vocabularies are known: take memory for the weights, fill it,
 * see to it that tokens which the model does not have are never said, and make the
 * tokenizers of the SentencePiece models. `fill` lacks what is known here.
 */
struct readers_model {
    const struct place *place;
    const struct tensors *tensors;
    const struct readers_words *words;
    const char *source_spm, *target_spm; /* names */
    struct fill fill;
    bool has_output_bias; /* among the tensors */
};
status readers_finish(struct foreign *f, const struct readers_model *m, struct err *err);

/* Which of our signals the tables of positions of encoder and decoder are; learned
 * positions where neither is one. ERR_FORMAT where only one is, or they are two, or the
 * model's width is odd. */
status readers_positions(struct model_config *c, const struct tensors *t,
                         const char *const tables[2], struct err *err);

/* What our options say against a value of a file is said of the file: ERR_FORMAT. */
status readers_refuse(const struct err *why, struct err *err);

/* An object, to json_decref(). */
status readers_json(json_t **root, const struct place *p, const char *name,
                    struct err *err);

/*
 * A vocabulary of a file by the ending of its name: .json {"token": number} or [token],
 * .spm and .model pieces in their order, .txt a token a line, else YAML, token: number.
 * It is closed, and has as many numbers as the tensor `table` has rows.
 */
struct readers_list {
    const char *file;
    struct vocabulary_names names;
    const struct tensors *tensors;
    const char *table;
};
status readers_words(struct vocabulary *v, const struct place *p,
                     const struct readers_list *list, struct err *err);
