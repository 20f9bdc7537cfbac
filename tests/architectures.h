/* Architectures that differ from the reference's: each switch alone, and models of
 * others. */
#pragma once

#include "recipe/architecture.h"

struct architectures_row {
    const char *name;
    struct architecture arch;
};

static const struct architectures_row architectures[] = {
    {"reference", {0}},
    {"norms behind", {.norm = NORM_POST}},
    {"biases of attention", {.has_attention_bias = true}},
    {"bias of the output", {.has_output_bias = true}},
    {"tables: target", {.tables = TABLES_TARGET, .source_vocab = 9}},
    {"tables: inputs", {.tables = TABLES_INPUTS}},
    {"tables: separate", {.tables = TABLES_SEPARATE, .source_vocab = 17}},
    {"swish", {.activation = ACTIVATION_SWISH}},
    {"gelu", {.activation = ACTIVATION_GELU}},
    {"gelu-tanh", {.activation = ACTIVATION_GELU_TANH}},
    {"gelu-sigmoid", {.activation = ACTIVATION_GELU_SIGMOID}},
    {"gated relu", {.is_gated = true}},
    {"gated swish", {.is_gated = true, .activation = ACTIVATION_SWISH}},
    {"halves", {.positions = POSITIONS_HALVES}},
    {"interleaved", {.positions = POSITIONS_INTERLEAVED}},
    {"learned positions", {.positions = POSITIONS_LEARNED, .max_positions = 12}},
    {"embeddings as they are", {.is_unscaled = true}},
    {"start by a token", {.start = 1 + 5}},
    {"no <s>", {.has_no_begin = true}},
    {"Marian",
     {.norm = NORM_POST,
      .activation = ACTIVATION_SWISH,
      .positions = POSITIONS_HALVES,
      .has_attention_bias = true,
      .has_output_bias = true,
      .has_no_begin = true,
      .start = 1 + 0}},
    {"everything",
     {.norm = NORM_POST,
      .activation = ACTIVATION_GELU,
      .is_gated = true,
      .tables = TABLES_SEPARATE,
      .source_vocab = 11,
      .positions = POSITIONS_LEARNED,
      .max_positions = 11,
      .has_attention_bias = true,
      .has_output_bias = true,
      .is_unscaled = true,
      .has_no_begin = true,
      .start = 1 + 3}},
    {"everything in front",
     {.activation = ACTIVATION_GELU_TANH,
      .is_gated = true,
      .tables = TABLES_TARGET,
      .source_vocab = 11,
      .positions = POSITIONS_LEARNED,
      .max_positions = 300,
      .has_attention_bias = true,
      .has_output_bias = true,
      .start = 1 + 1}}};

enum { N_ARCHITECTURES = sizeof architectures / sizeof *architectures };
