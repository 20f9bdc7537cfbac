/*
 * writers - what the writers of the formats share. Each writes the files of its format
 * into the directory that export_write() has begun.
 */
#pragma once

#include <jansson.h>

#include "foreign/export.h"
#include "foreign/readers.h"

struct writers_job {
    struct foreign *model;
    const struct export_options *options;
    const struct pour_type *type;
    const char *dir;   /* unfinished */
    struct str *notes; /* sentences, a line each */
};

struct writers_format {
    const char *name;
    bool has_biases;   /* of attention and output, always */
    const char *types; /* of POUR_TYPE_NAMES, as the message says them; NULL: all */
    /* ERR_USAGE with the reason why such a model cannot be said. */
    status (*check)(const struct model_config *c, struct err *err);
    status (*write)(struct writers_job *j, struct err *err);
};

extern const struct writers_format export_ctranslate2, export_marian, export_huggingface,
    export_safetensors, export_tensorflow;

/* A refusal: "Marian has no ...". */
status writers_refuse(const char *program, const char *what, struct err *err);

/* Bytes, text, or an object (which is released) as a file of the directory. */
status writers_bytes(const struct writers_job *j, const char *name, struct line bytes,
                     struct err *err);
status writers_text(const struct writers_job *j, const char *name, const struct str *text,
                    struct err *err);
status writers_json(const struct writers_job *j, const char *name, json_t *root,
                    struct err *err);

/* The tensors of p as a file of the directory. */
status writers_tensors(const struct writers_job *j, struct pour *p,
                       enum tensors_format format, const char *name, struct err *err);

/* source.spm and target.spm. */
status writers_tokenizers(const struct writers_job *j, struct err *err);

/* The same weights in the layout of a model that has more of them; those are zeros. */
status writers_widen(struct foreign *f, const struct model_config *config,
                     struct err *err);

/* Have both sides one vocabulary? */
bool writers_is_one(const struct writers_job *j);

enum writers_side { WRITERS_SOURCE, WRITERS_TARGET };
/* Tokens of a side, and the text of one; of a row that no piece has, in `name`. */
enum { WRITERS_NAME = 32 };
size_t writers_n_words(const struct writers_job *j, enum writers_side side);
const char *writers_word(const struct writers_job *j, enum writers_side side, size_t id,
                         char name[WRITERS_NAME]);

/* The first vector that the decoder sees: zeros, be it that of a token. */
bool writers_starts_at_zero(const struct writers_job *j);

/* A note that the program's norms have another epsilon than the model, if so. */
void writers_note_epsilon(struct writers_job *j, const char *program, double epsilon);

/* A note how many positions the model has learned, if so: other programs do not cut. */
void writers_note_positions(struct writers_job *j);

/* README.md: what this is, `body`, which begins with how to load it, and the notes. */
status writers_readme(const struct writers_job *j, const char *program, const char *body,
                      struct err *err);
