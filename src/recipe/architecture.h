/*
 * architecture - in what a model's arithmetic differs from the reference's.
 *
 * Zeroed it is the reference: norms in front of sublayers and behind the last, ReLU, no
 * gates or biases in attention or output, one table for source, target and output,
 * embeddings times sqrt(D), sine and cosine halves, a decoder that starts with a zero
 * vector, and sentences that begin with <s> on both sides and may hold <unk>. Models of
 * others set what they have instead.
 *
 * Threads: values only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/activation.h"
#include "base/opt.h"
#include "recipe/positions.h"

/* Where layer normalisation stands: x + f(norm(x)), or norm(x + f(x)). */
enum architecture_norm { NORM_PRE, NORM_POST };

/* Which of the tables of source, target and output are one: all; target and output;
 * source and target; none. */
#define ARCHITECTURE_TABLES "one|target|inputs|separate"
enum architecture_tables { TABLES_ONE, TABLES_TARGET, TABLES_INPUTS, TABLES_SEPARATE };

/* kind, field, default, help, limits */
/* clang-format off */
#define ARCHITECTURE_OPTIONS(X)                                                                \
    X(CHOICE, norm, "pre", "normalise before or after each sublayer", ONE_OF("pre|post"))     \
    X(CHOICE, activation, "relu", "of feed-forward layers", ONE_OF(ACTIVATION_NAMES)) \
    X(BOOL, gated, "no", "feed-forward layers multiply by a second product", ANY)             \
    X(CHOICE, tables, "one", "which of source, target and output share a table",              \
      ONE_OF(ARCHITECTURE_TABLES))                                                            \
    X(CHOICE, positions, "reference", "position signal (recipe/positions.h)",                 \
      ONE_OF(POSITIONS_NAMES))                                                                \
    X(INT, max_positions, "512", "rows of the tables of positions = learned",                 \
      RANGE(1, 65536))                                                                        \
    X(INT, source_vocab_size, "0", "rows of a source table of its own; 0: as the target's",   \
      RANGE(0, 65536))                                                                        \
    X(BOOL, attention_bias, "no", "products of attention have biases", ANY)                   \
    X(BOOL, output_bias, "no", "the output layer has a bias", ANY)                            \
    X(BOOL, embed_scale, "yes", "embeddings times sqrt(d_model)", ANY)                        \
    X(INT, decoder_start, "-1", "token that the decoder starts with; -1: a zero vector",      \
      RANGE(-1, 65535))                                                                       \
    X(BOOL, sentence_begin, "yes", "sentences of both sides begin with <s>", ANY)             \
    X(BOOL, says_unknown, "yes", "translations may hold <unk>", ANY)
/* clang-format on */

struct architecture_options {
    ARCHITECTURE_OPTIONS(OPT_FIELD)
};

extern const struct opt_table architecture_table;

struct architecture {
    enum architecture_norm norm;
    enum activation activation;
    bool is_gated; /* of feed-forward layers: a(x W1 + b1) * (x Wg + bg) */
    enum architecture_tables tables;
    enum positions positions;
    int64_t max_positions; /* of learned positions */
    int64_t source_vocab;  /* 0: as the target's */
    bool has_attention_bias, has_output_bias;
    bool is_unscaled;    /* embeddings as they are */
    bool has_no_begin;   /* sentences begin with their first piece */
    bool has_no_unknown; /* <unk> is no token of a translation */
    int32_t start;       /* the decoder's first token plus one; 0: a zero vector */
};

bool architecture_is_reference(const struct architecture *a);

/* The same as options, for files, and back; options were checked. */
void architecture_to_options(struct architecture_options *o,
                             const struct architecture *a);
struct architecture architecture_from_options(const struct architecture_options *o);

/* The longest sentence that a model takes, S and EOS counted. */
static inline size_t architecture_longest(const struct architecture *a)
{
    return a->positions == POSITIONS_LEARNED ? (size_t)a->max_positions + a->has_no_begin
                                             : SIZE_MAX;
}

static inline bool architecture_has_target_table(const struct architecture *a)
{
    return a->tables == TABLES_TARGET || a->tables == TABLES_SEPARATE;
}

static inline bool architecture_has_output_table(const struct architecture *a)
{
    return a->tables == TABLES_INPUTS || a->tables == TABLES_SEPARATE;
}
