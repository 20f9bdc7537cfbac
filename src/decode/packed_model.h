/*
 * packed_model - a model in one file (.ferry), mapped and ready to translate.
 *
 * The sections of the container (format/pack.h) are described in docs/formats/model.md:
 * configuration, architecture, tokenizers, the table of tensors and their bytes as
 * infer/network.h lays them out, what the model was made of, its licence, a shortlist,
 * profiles of its languages. Weights in int8 and float are read where they are mapped;
 * weights in half precision are widened once.
 *
 * Owns: the mapping, the tokenizer, widened weights. Outlives: every network and
 * translator over it. Threads: immutable once open.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "align/shortlist.h"
#include "base/err.h"
#include "base/lines.h"
#include "base/opt.h"
#include "decode/model_dir.h"
#include "format/model_sections.h"
#include "format/pack.h"
#include "infer/network.h"
#include "text/subword/spm.h"

/* Beside the shape of the model; kind, field, default, help, limits */
/* clang-format off */
#define PACKED_MODEL_OPTIONS(X)                                                         \
    X(STR, source_lang, "", "language of sources, as in de", ANY)                       \
    X(STR, target_lang, "", "language of targets", ANY)                                 \
    X(INT, step, "-1", "updates behind the weights; -1: unknown", RANGE(-1, 1e15))      \
    X(INT, alignment_layer, "-1", "decoder layer whose attention aligns words; -1: unknown", RANGE(-1, 63))
/* clang-format on */

struct packed_model_options {
    PACKED_MODEL_OPTIONS(OPT_FIELD)
};

extern const struct opt_table packed_model_table;

/* How numbers of a tensor are stored. */
enum packed_model_type { PACKED_FLOAT, PACKED_INT8, PACKED_HALF, N_PACKED_TYPES };

/* A row of the table of tensors. */
struct packed_model_tensor {
    char name[48];
    enum packed_model_type type;
    size_t n_in, n_out;
    uint64_t at, n_bytes; /* in the section of weights */
};

struct packed_model {
    struct pack pack;
    struct model_config config;
    struct packed_model_options options;
    struct spm *spm;
    struct network network;
    bool has_shortlist;
    struct shortlist shortlist; /* points into the file */
};

/* Is it a file that begins as one of these does? */
bool packed_model_is(const char *path);

/* ERR_FORMAT names what does not fit together. On failure *m is closed. */
status packed_model_open(struct packed_model *m, const char *path, struct err *err);
void packed_model_close(struct packed_model *m);

/* The same of n bytes at hand, which must be aligned as pack_parse() says and outlive it;
 * the sections' checksums are not looked at. */
status packed_model_parse(struct packed_model *m, const unsigned char *bytes, size_t n,
                          struct err *err);

/* A section's text; empty when it has none. */
struct line packed_model_text(const struct packed_model *m, const char *section);

/* Row i of the table; false behind the last. */
bool packed_model_tensor(const struct packed_model *m, size_t i,
                         struct packed_model_tensor *t);

/* What a file is written from; texts may be NULL. */
struct packed_model_parts {
    struct network *network;
    struct packed_model_options options;
    bool is_half;                  /* store floats of matrices in half precision */
    struct line tokenizer, target; /* target: none where it is the same */
    struct line about, licence, shortlist, profiles;
};

status packed_model_write(const struct packed_model_parts *parts, const char *path,
                          struct err *err);

/* The tokenizers of a model without the model, for `ferry prepare tokenizer=`: both
 * sides, and how many of their pieces the model knows. target: none where it is the same.
 */
status packed_model_write_tokenizers(const struct model_config *c, struct line source,
                                     struct line target, const char *path,
                                     struct err *err);
