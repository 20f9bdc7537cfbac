/*
 * MarianMT as Hugging Face's transformers keeps it: config.json says what the model is,
 * model.safetensors (or pytorch_model.bin) has its weights, vocab.json (and
 * target_vocab.json, if target words have numbers of their own) its tokens, source.spm
 * and target.spm cut text into them. Positions are halves of sines and cosines that the
 * program computes itself, or tables, as in a Blenderbot.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "foreign/readers.h"

#define LINEAR(id, name)                           \
    {PARAM_##id, name ".weight", FILL_TRANSPOSED}, \
    {                                              \
        PARAM_##id##_bias, name ".bias"            \
    }
#define NORM(id, name)                   \
    {PARAM_##id##_gain, name ".weight"}, \
    {                                    \
        PARAM_##id##_bias, name ".bias"  \
    }
#define LAYER(prefix, path)                                                 \
    LINEAR(prefix##_q, path "self_attn.q_proj"),                            \
        LINEAR(prefix##_k, path "self_attn.k_proj"),                        \
        LINEAR(prefix##_v, path "self_attn.v_proj"),                        \
        LINEAR(prefix##_out, path "self_attn.out_proj"),                    \
        NORM(prefix##_att_norm, path "self_attn_layer_norm"),               \
        LINEAR(prefix##_ff1, path "fc1"), LINEAR(prefix##_ff2, path "fc2"), \
        NORM(prefix##_ff_norm, path "final_layer_norm")
#define ENC             "model.encoder.layers.%d."
#define DEC             "model.decoder.layers.%d."
#define POSITIONS(side) "model." side ".embed_positions.weight"
static const struct fill_row rows[] = {
    LAYER(enc, ENC),
    LAYER(dec, DEC),
    LINEAR(cross_q, DEC "encoder_attn.q_proj"),
    LINEAR(cross_k, DEC "encoder_attn.k_proj"),
    LINEAR(cross_v, DEC "encoder_attn.v_proj"),
    LINEAR(cross_out, DEC "encoder_attn.out_proj"),
    NORM(dec_cross_norm, DEC "encoder_attn_layer_norm"),
    NORM(enc_end, "model.encoder.layer_norm"),
    NORM(dec_end, "model.decoder.layer_norm"),
    {PARAM_enc_positions, POSITIONS("encoder")},
    {PARAM_dec_positions, POSITIONS("decoder")},
    {PARAM_embed, "model.shared.weight", FILL_SOURCES}, /* see table_of() */
    {PARAM_output_bias, "final_logits_bias", FILL_TARGETS}};
static const struct fill_row apart[] = {
    {PARAM_target_embed, "model.decoder.embed_tokens.weight", FILL_TARGETS},
    {PARAM_output, "lm_head.weight", FILL_TARGETS}};
enum {
    N_ROWS = sizeof rows / sizeof *rows,
    N_APART = sizeof apart / sizeof *apart,
    N_ALL = N_ROWS + N_APART
};
_Static_assert((int)N_ALL <= (int)READERS_ROWS, "room for all rows");

const char *const foreign_huggingface_positions[2] = {POSITIONS("encoder"),
                                                      POSITIONS("decoder")};

struct fill foreign_huggingface_rows(struct fill_row all[READERS_ROWS], bool is_apart)
{
    memcpy(all, rows, sizeof rows);
    memcpy(all + N_ROWS, apart, sizeof apart);
    for (size_t i = 0; is_apart && i < N_ROWS; i++)
        if (all[i].id == PARAM_embed)
            all[i].name = "model.encoder.embed_tokens.weight";
    return (struct fill){.row = all, .n_rows = N_ALL};
}

/* The table of sources: of models whose sides have tables of their own the encoder's. */
static const char *table_of(bool is_apart, const struct tensors *t)
{
    static const char *const names[] = {
        "model.shared.weight", "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight", "lm_head.weight"};

    for (size_t i = is_apart; i < sizeof names / sizeof *names; i++)
        if (tensors_find(t, names[i]))
            return names[i];
    return names[is_apart];
}

static status take_int(json_t *root, const char *key, int64_t *out, struct err *err)
{
    const json_t *value = json_object_get(root, key);

    if (!json_is_integer(value) || json_integer_value(value) < 1 ||
        json_integer_value(value) > 1 << 20)
        return err_set(err, ERR_FORMAT, "config.json has no number %s above zero", key);
    *out = json_integer_value(value);
    return OK;
}

static bool is_true(json_t *root, const char *key, bool usual)
{
    const json_t *value = json_object_get(root, key);

    return value ? json_is_true(value) : usual;
}

/* The first of a kind is what is written. */
static const struct {
    const char *name;
    enum activation kind;
} activations[] = {{"relu", ACTIVATION_RELU},
                   {"swish", ACTIVATION_SWISH},
                   {"silu", ACTIVATION_SWISH},
                   {"gelu", ACTIVATION_GELU},
                   {"gelu_new", ACTIVATION_GELU_TANH},
                   {"gelu_pytorch_tanh", ACTIVATION_GELU_TANH},
                   {"quick_gelu", ACTIVATION_GELU_SIGMOID}};
enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

const char *foreign_huggingface_activation(enum activation kind)
{
    size_t i = 0;

    while (activations[i].kind != kind)
        i++;
    return activations[i].name;
}

static status take_activation(json_t *root, struct architecture *a, struct err *err)
{
    const char *name = json_string_value(json_object_get(root, "activation_function"));

    for (size_t i = 0; name && i < N_ACTIVATIONS; i++)
        if (strcmp(name, activations[i].name) == 0) {
            a->activation = activations[i].kind;
            return OK;
        }
    return err_set(err, ERR_FORMAT, "activation_function %.40s is not known",
                   name ? name : "(none)");
}

/* What the model computes; ERR_FORMAT for what we do not. */
static status take_config(struct foreign *f, json_t *root, bool *is_apart,
                          struct err *err)
{
    struct model_config *c = &f->config;
    const char *type = json_string_value(json_object_get(root, "model_type"));
    int64_t heads = 0, d_ff = 0;

    const bool is_pre = type && strcmp(type, "blenderbot") == 0;
    if (!is_pre && (!type || strcmp(type, "marian") != 0))
        return err_set(
            err, ERR_FORMAT,
            "model_type is %.40s; of Hugging Face's models marian is read, and "
            "blenderbot where its words are SentencePiece's",
            type ? type : "not said");
    TRY(take_int(root, "d_model", &c->d_model, err));
    TRY(take_int(root, "encoder_layers", &c->encoder_layers, err));
    TRY(take_int(root, "decoder_layers", &c->decoder_layers, err));
    TRY(take_int(root, "encoder_attention_heads", &c->heads, err));
    TRY(take_int(root, "decoder_attention_heads", &heads, err));
    TRY(take_int(root, "encoder_ffn_dim", &c->d_ff, err));
    TRY(take_int(root, "decoder_ffn_dim", &d_ff, err));
    if (heads != c->heads || d_ff != c->d_ff)
        return err_set(err, ERR_FORMAT,
                       "encoder and decoder have another number of heads "
                       "or another feed-forward width");
    TRY(take_activation(root, &c->arch, err));
    c->norm_epsilon = 1e-5;
    c->arch.norm = is_pre ? NORM_PRE : NORM_POST;
    c->arch.positions = POSITIONS_HALVES;
    c->arch.has_attention_bias = true;
    c->arch.has_no_begin = !json_is_integer(json_object_get(root, "forced_bos_token_id"));
    c->arch.is_unscaled = !is_true(root, "scale_embedding", false);
    *is_apart = !is_true(root, "share_encoder_decoder_embeddings", true);
    const bool is_tied = is_true(root, "tie_word_embeddings", true);
    c->arch.tables = *is_apart ? (is_tied ? TABLES_TARGET : TABLES_SEPARATE)
                               : (is_tied ? TABLES_ONE : TABLES_INPUTS);
    return OK;
}

/* The decoder begins with this token, in its numbering. */
static status take_start(struct foreign *f, json_t *root, const struct vocabulary *target,
                         struct err *err)
{
    const json_t *value = json_object_get(root, "decoder_start_token_id");
    const json_int_t start = json_is_integer(value) ? json_integer_value(value) : -1;

    if (start < 0 || (size_t)start >= target->n)
        return err_set(err, ERR_FORMAT, "decoder_start_token_id is no token");
    f->config.arch.start = target->token[start].id + 1;
    return OK;
}

static status read_words(struct readers_words *w, const struct place *p,
                         const struct tensors *t, bool is_apart, struct err *err)
{
    static const struct vocabulary_names names = {"<pad>", "</s>", "<s>", "<unk>"};
    const struct readers_list source = {"vocab.json", names, t, table_of(is_apart, t)},
                              target = {"target_vocab.json", names, t,
                                        "model.decoder.embed_tokens.weight"};

    TRY(readers_words(&w->source, p, &source, err));
    w->is_one = !is_apart || !place_has(p, target.file);
    return w->is_one ? OK : readers_words(&w->target, p, &target, err);
}

/* Tied tables stand under one of their names, or under each. */
static void name_tables(struct fill_row *row, const struct tensors *t, bool is_apart)
{
    for (size_t i = 0; i < N_ALL; i++)
        if (row[i].id == PARAM_embed)
            row[i].name = table_of(is_apart, t);
}

static status read_weights(struct readers_tensors *t, const struct place *p,
                           struct err *err)
{
    if (place_has(p, "model.safetensors"))
        return readers_tensors(t, TENSORS_SAFETENSORS, p, "model.safetensors", err);
    if (place_has(p, "pytorch_model.bin"))
        return readers_tensors(t, TENSORS_TORCH, p, "pytorch_model.bin", err);
    return err_set(err, ERR_IO, "%s has neither model.safetensors nor pytorch_model.bin",
                   p->path);
}

/* MarianMT may leave its tables of positions out, which it computes. */
static bool has_tables(const struct foreign *f, const struct tensors *t)
{
    return f->config.arch.norm == NORM_PRE ||
           tensors_find(t, foreign_huggingface_positions[0]) ||
           tensors_find(t, foreign_huggingface_positions[1]);
}

static status open_all(struct foreign *f, const struct place *p, json_t *root,
                       struct readers_words *w, struct readers_tensors *t,
                       struct err *err)
{
    struct fill_row all[READERS_ROWS];
    struct readers_model m = {.place = p,
                              .tensors = &t->t,
                              .words = w,
                              .source_spm = "source.spm",
                              .target_spm = "target.spm",
                              .has_output_bias = true};
    bool is_apart = false;

    TRY(take_config(f, root, &is_apart, err));
    TRY(read_weights(t, p, err));
    TRY(read_words(w, p, &t->t, is_apart, err));
    TRY(take_start(f, root, w->is_one ? &w->source : &w->target, err));
    if (has_tables(f, &t->t))
        TRY(readers_positions(&f->config, &t->t, foreign_huggingface_positions, err));
    m.fill = foreign_huggingface_rows(all, is_apart);
    name_tables(all, &t->t, is_apart);
    return readers_finish(f, &m, err);
}

static void take_languages(struct foreign *f, const struct place *p)
{
    struct err ignored;
    json_t *root = NULL;

    if (!place_has(p, "tokenizer_config.json") ||
        readers_json(&root, p, "tokenizer_config.json", &ignored) != OK)
        return;
    const char *source = json_string_value(json_object_get(root, "source_lang"));
    const char *target = json_string_value(json_object_get(root, "target_lang"));
    snprintf(f->source, sizeof f->source, "%.15s", source ? source : "");
    snprintf(f->target, sizeof f->target, "%.15s", target ? target : "");
    json_decref(root);
}

bool foreign_is_huggingface(const struct place *p)
{
    return place_has(p, "config.json") && place_has(p, "vocab.json");
}

status foreign_open_huggingface(struct foreign *f, const struct place *p, struct err *err)
{
    struct readers_words words = {0};
    struct readers_tensors tensors = {.file = {0}};
    json_t *root = NULL;

    f->kind = "Hugging Face MarianMT";
    TRY(readers_json(&root, p, "config.json", err));
    const status result = open_all(f, p, root, &words, &tensors, err);
    take_languages(f, p);
    readers_release(&words);
    readers_close(&tensors);
    json_decref(root);
    return result;
}
