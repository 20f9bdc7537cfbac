/*
 * model_config - the options that fix a model's shape and arithmetic.
 *
 * They are part of every run's config.yaml. Whoever opens a model (training, decoding,
 * report, planner) reads these keys from there and nothing else.
 */
#pragma once

#include "base/opt.h"
#include "recipe/architecture.h"
#include "recipe/tying.h"

/* kind, field, default, help, limits */
#define MODEL_OPTIONS(X)                                                              \
    X(INT, vocab_size, "0", "rows of the embedding; 0: as the data", RANGE(0, 65536)) \
    X(INT, d_model, "512", "width of the model", RANGE(4, 8192))                      \
    X(INT, d_ff, "2048", "width of the feed-forward layers", RANGE(1, 65536))         \
    X(INT, heads, "8", "attention heads", RANGE(1, 256))                              \
    X(INT, encoder_layers, "6", "encoder layers", RANGE(1, 64))                       \
    X(INT, decoder_layers, "6", "decoder layers", RANGE(1, 64))                       \
    X(REAL, norm_epsilon, "1e-6", "epsilon of layer normalisation", RANGE(0, 1))

struct model_config {
    MODEL_OPTIONS(OPT_FIELD)
    struct architecture arch; /* of models of others; zeroed: the reference's */
    struct tying tying;       /* of layers; zeroed: none */
};

extern const struct opt_table model_config_table;

/* What a model is that nothing is said of: the reference's architecture at its size. */
status model_config_defaults(struct model_config *c, struct err *err);

/* d_model even and divisible by heads, vocabularies known. */
status model_config_check(const struct model_config *c, struct err *err);

/* Rows of the table of sources. */
static inline int64_t model_config_source_vocab(const struct model_config *c)
{
    return c->arch.source_vocab ? c->arch.source_vocab : c->vocab_size;
}
