/*
 * CTranslate2: model.bin has weights and the facts of the architecture as tensors of one
 * number; config.json says which marks stand around a sentence; the vocabulary is
 * shared_vocabulary.json, or one of each side. Text is cut by SentencePiece models that
 * converters leave beside it.
 *
 * Positions are a table there; it must be one of the signals that we compute.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foreign/readers.h"

#define LINEAR(id, bias, path, which, n)                     \
    {PARAM_##id, path "/weight", FILL_TRANSPOSED, which, n}, \
    {                                                        \
        PARAM_##bias, path "/bias", FILL_PLAIN, which, n     \
    }
#define NORM(id, path)                             \
    {PARAM_##id##_gain, path "/layer_norm/gamma"}, \
    {                                              \
        PARAM_##id##_bias, path "/layer_norm/beta" \
    }
#define LAYER(prefix, path)                                                             \
    LINEAR(prefix##_q, prefix##_q_bias, path "/self_attention/linear_0", 0, 3),         \
        LINEAR(prefix##_k, prefix##_k_bias, path "/self_attention/linear_0", 1, 3),     \
        LINEAR(prefix##_v, prefix##_v_bias, path "/self_attention/linear_0", 2, 3),     \
        LINEAR(prefix##_out, prefix##_out_bias, path "/self_attention/linear_1", 0, 0), \
        NORM(prefix##_att_norm, path "/self_attention"),                                \
        LINEAR(prefix##_ff1, prefix##_ff1_bias, path "/ffn/linear_0", 0, 0),            \
        LINEAR(prefix##_ff_gate, prefix##_ff_gate_bias, path "/ffn/linear_0_noact", 0,  \
               0),                                                                      \
        LINEAR(prefix##_ff2, prefix##_ff2_bias, path "/ffn/linear_1", 0, 0),            \
        NORM(prefix##_ff_norm, path "/ffn")
#define DEC "decoder/layer_%d"
static const struct fill_row weights[] = {
    LAYER(enc, "encoder/layer_%d"),
    LAYER(dec, DEC),
    LINEAR(cross_q, cross_q_bias, DEC "/attention/linear_0", 0, 0),
    LINEAR(cross_k, cross_k_bias, DEC "/attention/linear_1", 0, 2),
    LINEAR(cross_v, cross_v_bias, DEC "/attention/linear_1", 1, 2),
    LINEAR(cross_out, cross_out_bias, DEC "/attention/linear_2", 0, 0),
    NORM(dec_cross_norm, DEC "/attention"),
    NORM(enc_end, "encoder"),
    NORM(dec_end, "decoder"),
    {PARAM_embed, "encoder/embeddings_0/weight", FILL_SOURCES},
    {PARAM_target_embed, "decoder/embeddings/weight", FILL_TARGETS},
    {PARAM_output, "decoder/projection/weight", FILL_TARGETS},
    {PARAM_enc_positions, READERS_ENCODER_TABLE, FILL_PLAIN},
    {PARAM_dec_positions, READERS_DECODER_TABLE, FILL_PLAIN},
    {PARAM_output_bias, "decoder/projection/bias", FILL_TARGETS}};
enum { N_ROWS = sizeof weights / sizeof *weights };

const struct fill foreign_ctranslate2_rows = {.row = weights, .n_rows = N_ROWS};

/* By their numbers there. */
static const enum activation activations[] = {ACTIVATION_RELU, ACTIVATION_GELU_TANH,
                                              ACTIVATION_SWISH, ACTIVATION_GELU,
                                              ACTIVATION_GELU_SIGMOID};
enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

int foreign_ctranslate2_activation(enum activation kind)
{
    int i = 0;

    while (activations[i] != kind)
        i++;
    return i;
}

/* A fact of the architecture; `usual` where the file does not say it. */
static double fact(const struct tensors *t, const char *name, double usual)
{
    const struct tensors_item *item = tensors_find(t, name);

    return item && item->n == 1 ? tensors_value(item, 0) : usual;
}

static size_t count_layers(const struct tensors *t, const char *stack)
{
    char name[FILL_NAME];
    size_t n = 0;

    do
        snprintf(name, sizeof name, "%s/layer_%zu/ffn/linear_0/weight", stack, n);
    while (tensors_find(t, name) && ++n);
    return n;
}

static status take_activation(struct architecture *a, double number, struct err *err)
{
    if (!(number >= 0 && number < (double)N_ACTIVATIONS))
        return err_set(err, ERR_FORMAT, "activation %g is not known", number);
    a->activation = activations[(size_t)number];
    return OK;
}

/* What only other kinds of models have. */
static status check_kind(const struct tensors *t, struct err *err)
{
    static const char *const others[] = {
        "encoder/layernorm_embedding/gamma",
        "decoder/layernorm_embedding/gamma",
        "encoder/embeddings_1/weight",
        "encoder/layer_0/self_attention/relative_position_keys",
        "encoder/layer_0/self_attention/relative_attention_bias",
        "encoder/conv1/weight",
        "encoder/layer_0/self_attention/rotary_dim"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (tensors_find(t, others[i]))
            return err_set(err, ERR_FORMAT, "the model has %s, which we do not compute",
                           others[i]);
    if (!tensors_find(t, "encoder/layer_0/ffn/linear_0/weight") ||
        !tensors_find(t, "decoder/layer_0/attention/linear_0/weight"))
        return err_set(err, ERR_FORMAT, "it is no encoder and decoder of a Transformer");
    return OK;
}

/* One tensor that was written twice lies at one place. */
static bool is_one_table(const struct tensors *t, const char *a, const char *b)
{
    const struct tensors_item *x = tensors_find(t, a), *y = tensors_find(t, b);

    return x && y && x->type == y->type && x->n == y->n &&
           memcmp(x->bytes, y->bytes, x->n * tensors_type_bytes(x->type)) == 0;
}

static void take_tables(struct architecture *a, const struct tensors *t)
{
    const char *source = "encoder/embeddings_0/weight",
               *target = "decoder/embeddings/weight",
               *output = "decoder/projection/weight";
    const bool inputs = is_one_table(t, source, target);
    const bool outputs = is_one_table(t, target, output);

    a->tables = inputs ? (outputs ? TABLES_ONE : TABLES_INPUTS)
                       : (outputs ? TABLES_TARGET : TABLES_SEPARATE);
}

/* What both stacks must have, because ours do. */
static status check_stacks(const struct tensors *t, struct err *err)
{
    static const char *const same[][2] = {
        {"encoder/num_heads", "decoder/num_heads"},
        {"encoder/pre_norm", "decoder/pre_norm"},
        {"encoder/activation", "decoder/activation"},
        {"encoder/scale_embeddings", "decoder/scale_embeddings"}};
    static const char *const none[] = {"encoder/multi_query_attention",
                                       "decoder/multi_query_attention", "encoder/alibi",
                                       "decoder/alibi", "decoder/sliding_window"};

    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (fact(t, same[i][0], 1) != fact(t, same[i][1], 1))
            return err_set(err, ERR_FORMAT, "%s and %s differ, which we do not compute",
                           same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (fact(t, none[i], 0) != 0)
            return err_set(err, ERR_FORMAT, "the model has %s, which we do not compute",
                           none[i]);
    return OK;
}

/* A factor, or whether it is sqrt(D). */
static status take_scale(struct model_config *c, const struct tensors *t, struct err *err)
{
    const struct tensors_item *item = tensors_find(t, "encoder/scale_embeddings");
    const double usual = sqrt((double)c->d_model);
    double factor = fact(t, "encoder/scale_embeddings", 1);

    if (!item || item->type == TENSORS_I8)
        factor = factor != 0 ? usual : 1;
    c->arch.is_unscaled = fabs(factor - 1) < 1e-3;
    if (c->arch.is_unscaled || fabs(factor - usual) < 1e-3 * usual)
        return OK;
    return err_set(err, ERR_FORMAT, "embeddings times %g are not computed here", factor);
}

static status take_config(struct foreign *f, const struct tensors *t, json_t *json,
                          struct err *err)
{
    static const char *const positions[] = {READERS_ENCODER_TABLE, READERS_DECODER_TABLE};
    struct model_config *c = &f->config;
    const struct tensors_item *up =
        tensors_find(t, "encoder/layer_0/ffn/linear_0/weight");
    const json_t *epsilon = json_object_get(json, "layer_norm_epsilon");

    TRY(check_kind(t, err));
    TRY(check_stacks(t, err));
    if (up->n_dims != 2 || up->dim[0] > 1 << 20 || up->dim[1] > 1 << 20)
        return err_set(err, ERR_FORMAT, "tensor %s is no matrix", up->name);
    c->d_ff = (int64_t)up->dim[0];
    c->d_model = (int64_t)up->dim[1];
    c->heads = (int64_t)fact(t, "encoder/num_heads", 8);
    c->encoder_layers = (int64_t)count_layers(t, "encoder");
    c->decoder_layers = (int64_t)count_layers(t, "decoder");
    if (c->heads < 1 || c->heads > c->d_model)
        return err_set(err, ERR_FORMAT, "its numbers of heads are not read");
    c->norm_epsilon = json_is_number(epsilon) ? json_number_value(epsilon) : 1e-5;
    c->arch.norm = fact(t, "encoder/pre_norm", 1) != 0 ? NORM_PRE : NORM_POST;
    c->arch.has_attention_bias =
        tensors_find(t, "encoder/layer_0/self_attention/linear_0/bias");
    c->arch.is_gated = tensors_find(t, "encoder/layer_0/ffn/linear_0_noact/weight");
    TRY(take_scale(c, t, err));
    take_tables(&c->arch, t);
    TRY(take_activation(&c->arch, fact(t, "encoder/activation", 0), err));
    return readers_positions(c, t, positions, err);
}

/* ---- words ---- */

static status read_words(struct readers_words *w, const struct place *p,
                         const struct tensors *t, json_t *json, struct err *err)
{
    static const char *const both[] = {"shared_vocabulary.json", "shared_vocabulary.txt"},
                             *const sources[] = {"source_vocabulary.json",
                                                 "source_vocabulary.txt"},
                             *const targets[] = {"target_vocabulary.json",
                                                 "target_vocabulary.txt"};
    const struct vocabulary_names names = {
        "<pad>", json_string_value(json_object_get(json, "eos_token")),
        json_string_value(json_object_get(json, "bos_token")),
        json_string_value(json_object_get(json, "unk_token"))};
    const char *shared = place_find(p, both, 2);
    const struct readers_list source = {shared ? shared : place_find(p, sources, 2),
                                        names, t, "encoder/embeddings_0/weight"},
                              target = {place_find(p, targets, 2), names, t,
                                        "decoder/embeddings/weight"};

    w->is_one = shared;
    if (!source.file || (!shared && !target.file))
        return err_set(err, ERR_IO,
                       "%s has no shared_vocabulary.json, nor source_vocabulary.json and "
                       "target_vocabulary.json",
                       p->path);
    TRY(readers_words(&w->source, p, &source, err));
    return w->is_one ? OK : readers_words(&w->target, p, &target, err);
}

/* What stands before a sentence, and what the decoder begins with. */
static status take_marks(struct foreign *f, const struct tensors *t, json_t *json,
                         const struct vocabulary *target, struct err *err)
{
    const char *start = json_string_value(json_object_get(json, "decoder_start_token"));
    const char *end = json_string_value(json_object_get(json, "eos_token"));
    const bool is_zero = fact(t, "decoder/start_from_zero_embedding", 0) != 0;
    /* Models of MarianMT want an end that their tokenizer sets, not the program. */
    const bool is_marian = is_zero && start && end && strcmp(start, end) == 0;

    if (!json_is_true(json_object_get(json, "add_source_eos")) && !is_marian)
        return err_set(err, ERR_FORMAT,
                       "add_source_eos is not true in config.json: models whose sources "
                       "have no end are not read");
    f->config.arch.has_no_begin = !json_is_true(json_object_get(json, "add_source_bos"));
    if (is_zero)
        return OK;
    for (size_t i = 0; start && i < target->n; i++)
        if (target->token[i].text && strcmp(target->token[i].text, start) == 0) {
            f->config.arch.start = target->token[i].id + 1;
            return OK;
        }
    return err_set(err, ERR_FORMAT, "decoder_start_token is no token of the vocabulary");
}

static status find_tokenizers(struct readers_model *m, struct err *err)
{
    static const char *const sources[] = {"source.spm", "sentencepiece.model",
                                          "vocab.model", "sentencepiece.bpe.model",
                                          "spm.model"};

    m->source_spm = place_find(m->place, sources, sizeof sources / sizeof *sources);
    m->target_spm = place_has(m->place, "target.spm") ? "target.spm" : m->source_spm;
    if (m->source_spm)
        return OK;
    return err_set(err, ERR_IO,
                   "%s has no SentencePiece model (source.spm and target.spm, or "
                   "sentencepiece.model): without it text cannot be translated",
                   m->place->path);
}

static status open_all(struct foreign *f, const struct place *p, json_t *json,
                       struct readers_words *w, const struct tensors *t, struct err *err)
{
    const bool has_bias = tensors_find(t, "decoder/projection/bias");
    struct readers_model m = {
        .place = p, .tensors = t, .words = w, .has_output_bias = has_bias};

    TRY(take_config(f, t, json, err));
    TRY(read_words(w, p, t, json, err));
    TRY(take_marks(f, t, json, w->is_one ? &w->source : &w->target, err));
    TRY(find_tokenizers(&m, err));
    m.fill = (struct fill){.row = weights, .n_rows = N_ROWS - !has_bias};
    return readers_finish(f, &m, err);
}

bool foreign_is_ctranslate2(const struct place *p)
{
    return place_has(p, "model.bin");
}

status foreign_open_ctranslate2(struct foreign *f, const struct place *p, struct err *err)
{
    struct readers_words words = {0};
    struct readers_tensors tensors = {.file = {0}};
    json_t *json = NULL;

    f->kind = "CTranslate2";
    TRY(readers_json(&json, p, "config.json", err));
    status result = readers_tensors(&tensors, TENSORS_CTRANSLATE2, p, "model.bin", err);
    THEN(result, open_all(f, p, json, &words, &tensors.t, err));
    readers_release(&words);
    readers_close(&tensors);
    json_decref(json);
    return result;
}
