#include "recipe/architecture.h"

#include <stdio.h>
#include <string.h>

OPT_TABLE(architecture_table, struct architecture_options, ARCHITECTURE_OPTIONS);

#define NORMS "pre|post"

/* Where a name stands in "a|b|c". */
static int number_of(const char *names, const char *name)
{
    const size_t n = strlen(name);
    int number = 0;

    for (const char *at = names;; number++) {
        const size_t length = strcspn(at, "|");
        if (length == n && memcmp(at, name, n) == 0)
            return number;
        if (!at[length])
            return 0;
        at += length + 1;
    }
}

static void name_of(char out[OPT_CHOICE_MAX], const char *names, int number)
{
    while (number-- > 0)
        names += strcspn(names, "|") + 1;
    snprintf(out, OPT_CHOICE_MAX, "%.*s", (int)strcspn(names, "|"), names);
}

static bool has_learned(const struct architecture *a)
{
    return a->positions == POSITIONS_LEARNED;
}

bool architecture_is_reference(const struct architecture *a)
{
    const struct architecture reference = {0};

    return a->norm == reference.norm && a->activation == reference.activation &&
           a->tables == reference.tables && a->positions == reference.positions &&
           !a->source_vocab && !a->is_gated && !a->has_attention_bias &&
           !a->has_output_bias && !a->is_unscaled && !a->has_no_begin &&
           !a->has_no_unknown && !a->start;
}

void architecture_to_options(struct architecture_options *o, const struct architecture *a)
{
    *o = (struct architecture_options){.source_vocab_size = a->source_vocab,
                                       .gated = a->is_gated,
                                       .max_positions =
                                           has_learned(a) ? a->max_positions : 512,
                                       .attention_bias = a->has_attention_bias,
                                       .output_bias = a->has_output_bias,
                                       .embed_scale = !a->is_unscaled,
                                       .decoder_start = a->start - 1,
                                       .sentence_begin = !a->has_no_begin,
                                       .says_unknown = !a->has_no_unknown};
    name_of(o->norm, NORMS, (int)a->norm);
    name_of(o->activation, ACTIVATION_NAMES, (int)a->activation);
    name_of(o->tables, ARCHITECTURE_TABLES, (int)a->tables);
    name_of(o->positions, POSITIONS_NAMES, (int)a->positions);
}

struct architecture architecture_from_options(const struct architecture_options *o)
{
    return (struct architecture){
        .norm = (enum architecture_norm)number_of(NORMS, o->norm),
        .activation = (enum activation)number_of(ACTIVATION_NAMES, o->activation),
        .tables = (enum architecture_tables)number_of(ARCHITECTURE_TABLES, o->tables),
        .positions = (enum positions)number_of(POSITIONS_NAMES, o->positions),
        .source_vocab = o->source_vocab_size,
        .is_gated = o->gated,
        .max_positions = strcmp(o->positions, "learned") == 0 ? o->max_positions : 0,
        .has_attention_bias = o->attention_bias,
        .has_output_bias = o->output_bias,
        .is_unscaled = !o->embed_scale,
        .has_no_begin = !o->sentence_begin,
        .has_no_unknown = !o->says_unknown,
        .start = (int32_t)(o->decoder_start + 1)};
}
