/*
 * Marian: one .npz with the weights and, as the text special:model.yml, the options that
 * fix what they mean. Vocabularies are .yml files (token: number) with SentencePiece
 * models for text beside them (OPUS-MT: source.spm, target.spm), or are SentencePiece
 * models themselves (.spm), whose pieces are the tokens.
 *
 * transformer-preprocess, -postprocess and -postprocess-top say where dropout (d),
 * residual (a) and norm (n) stand: "n", "da", "n" is pre-norm, "", "dan", "" post-norm.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/str.h"
#include "foreign/readers.h"
#include "format/foreign/yaml_pairs.h"
#include "text/subword/spm_parts.h"

#define ATTENTION(prefix, q, path)                                     \
    {PARAM_##q##_q, path "_Wq"}, {PARAM_##q##_q_bias, path "_bq"},     \
        {PARAM_##q##_k, path "_Wk"}, {PARAM_##q##_k_bias, path "_bk"}, \
        {PARAM_##q##_v, path "_Wv"}, {PARAM_##q##_v_bias, path "_bv"}, \
        {PARAM_##q##_out, path "_Wo"},                                 \
    {                                                                  \
        PARAM_##q##_out_bias, path "_bo"                               \
    }
#define NORM(id, path)                      \
    {PARAM_##id##_gain, path "_ln_scale*"}, \
    {                                       \
        PARAM_##id##_bias, path "_ln_bias*" \
    }
#define LAYER(prefix, path)                                                            \
    ATTENTION(prefix, prefix, path "_self"), NORM(prefix##_att_norm, path "_self_Wo"), \
        {PARAM_##prefix##_ff1, path "_ffn_W1"},                                        \
        {PARAM_##prefix##_ff1_bias, path "_ffn_b1"},                                   \
        {PARAM_##prefix##_ff2, path "_ffn_W2"},                                        \
        {PARAM_##prefix##_ff2_bias, path "_ffn_b2"},                                   \
        NORM(prefix##_ff_norm, path "_ffn_ffn")
/* clang-format off */
static const struct fill_row weights[] = {
    LAYER(enc, "encoder_l%d"), LAYER(dec, "decoder_l%d"),
    ATTENTION(dec, cross, "decoder_l%d_context"), NORM(dec_cross_norm, "decoder_l%d_context_Wo"),
    {PARAM_enc_end_gain, "encoder_top_ln_scale"}, {PARAM_enc_end_bias, "encoder_top_ln_bias"},
    {PARAM_dec_end_gain, "decoder_top_ln_scale"}, {PARAM_dec_end_bias, "decoder_top_ln_bias"}};
/* clang-format on */
enum {
    N_ROWS = sizeof weights / sizeof *weights,
    N_TABLES = 4,
    N_ALL = N_ROWS + N_TABLES
};

/* The options that decide what is computed; what is not said is as Marian has it. */
/* clang-format off */
#define MARIAN_OPTIONS(X)                                                     \
    X(STR, type, "", "", ANY)                                                 \
    X(INT, dim_emb, "512", "", RANGE(1, 65536))                               \
    X(INT, enc_depth, "1", "", RANGE(1, 64))                                  \
    X(INT, dec_depth, "1", "", RANGE(1, 64))                                  \
    X(INT, transformer_heads, "8", "", RANGE(1, 256))                         \
    X(INT, transformer_dim_ffn, "2048", "", RANGE(1, 65536))                  \
    X(INT, transformer_ffn_depth, "2", "", ANY_INT)                           \
    X(STR, transformer_ffn_activation, "swish", "", ANY)                      \
    X(STR, transformer_preprocess, "", "", ANY)                               \
    X(STR, transformer_postprocess, "dan", "", ANY)                           \
    X(STR, transformer_postprocess_top, "", "", ANY)                          \
    X(STR, transformer_postprocess_emb, "d", "", ANY)                         \
    X(STR, transformer_decoder_autoreg, "self-attention", "", ANY)            \
    X(BOOL, transformer_train_position_embeddings, "no", "", ANY)             \
    X(BOOL, transformer_no_projection, "no", "", ANY)                         \
    X(BOOL, transformer_rms_norm, "no", "", ANY)                              \
    X(INT, lemma_dim_emb, "0", "", ANY_INT)
/* clang-format on */
#define ANY_INT RANGE(-1e9, 1e9)

struct marian_options {
    MARIAN_OPTIONS(OPT_FIELD)
};
OPT_TABLE(marian_table, struct marian_options, MARIAN_OPTIONS);

static status take_option(void *ctx, struct line key, struct line value, struct err *err)
{
    char name[64], text[OPT_TEXT_MAX];

    if (key.n_bytes >= sizeof name || value.n_bytes >= sizeof text)
        return OK; /* none of these */
    snprintf(name, sizeof name, "%.*s", (int)key.n_bytes, key.text);
    snprintf(text, sizeof text, "%.*s", (int)value.n_bytes, value.text);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return opt_find(marian_table, name) ? opt_set(marian_table, ctx, name, text, err)
                                        : OK;
}

static status read_options(struct marian_options *o, const struct tensors *t,
                           struct err *err)
{
    const struct tensors_item *yaml = tensors_find(t, "special:model.yml");

    TRY(opt_defaults(marian_table, o, err));
    if (!yaml || (yaml->type != TENSORS_I8 && yaml->type != TENSORS_U8))
        return err_set(err, ERR_FORMAT,
                       "there is no special:model.yml: no model of Marian");
    const size_t n = strnlen((const char *)yaml->bytes, yaml->n);
    if (yaml_pairs_read(yaml->bytes, n, take_option, o, err) != OK)
        return err_wrap(err, "special:model.yml");
    return OK;
}

static status refuse(const char *option, const char *value, struct err *err)
{
    return err_set(err, ERR_FORMAT, "the model has %s = %.60s, which we do not compute",
                   option, value);
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static status take_norm(struct architecture *a, const struct marian_options *o,
                        struct err *err)
{
    const bool is_pre = is(o->transformer_preprocess, "n") &&
                        is(o->transformer_postprocess, "da") &&
                        is(o->transformer_postprocess_top, "n");
    const bool is_post = is(o->transformer_preprocess, "") &&
                         is(o->transformer_postprocess, "dan") &&
                         is(o->transformer_postprocess_top, "");

    a->norm = is_pre ? NORM_PRE : NORM_POST;
    if (is_pre || is_post)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "the model has transformer-preprocess = \"%.10s\", -postprocess = "
                   "\"%.10s\", -postprocess-top = \"%.10s\"; read are \"n\", \"da\", "
                   "\"n\" and \"\", \"dan\", \"\"",
                   o->transformer_preprocess, o->transformer_postprocess,
                   o->transformer_postprocess_top);
}

static status take_activation(struct architecture *a, const char *name, struct err *err)
{
    if (is(name, "relu"))
        a->activation = ACTIVATION_RELU;
    else if (is(name, "swish"))
        a->activation = ACTIVATION_SWISH;
    else if (is(name, "gelu"))
        a->activation = ACTIVATION_GELU_SIGMOID;
    else
        return refuse("transformer-ffn-activation", name, err);
    return OK;
}

static status take_config(struct foreign *f, const struct marian_options *o,
                          struct err *err)
{
    struct model_config *c = &f->config;
    const char *emb = o->transformer_postprocess_emb;

    if (!is(o->type, "transformer"))
        return refuse("type", o->type, err);
    if (!is(o->transformer_decoder_autoreg, "self-attention"))
        return refuse("transformer-decoder-autoreg", o->transformer_decoder_autoreg, err);
    if (!is(emb, "") && !is(emb, "d"))
        return refuse("transformer-postprocess-emb", emb, err);
    if (o->transformer_ffn_depth != 2)
        return refuse("transformer-ffn-depth", "another than 2", err);
    if (o->transformer_train_position_embeddings)
        return refuse("transformer-train-position-embeddings", "true", err);
    if (o->transformer_no_projection)
        return refuse("transformer-no-projection", "true", err);
    if (o->transformer_rms_norm)
        return refuse("transformer-rms-norm", "true", err);
    if (o->lemma_dim_emb)
        return refuse("lemma-dim-emb", "another than 0", err);
    c->d_model = o->dim_emb;
    c->d_ff = o->transformer_dim_ffn;
    c->heads = o->transformer_heads;
    c->encoder_layers = o->enc_depth;
    c->decoder_layers = o->dec_depth;
    c->norm_epsilon = 1e-6;
    c->arch.has_attention_bias = true;
    c->arch.has_no_begin = true;
    TRY(take_norm(&c->arch, o, err));
    return take_activation(&c->arch, o->transformer_ffn_activation, err);
}

/* ---- tables ---- */

/* Which tables there are, into four rows behind the others. */
static void take_tables(struct foreign *f, const struct tensors *t, struct fill_row *row)
{
    const bool is_one = tensors_find(t, "Wemb");
    const bool has_columns = tensors_find(t, "decoder_ff_logit_out_W");
    const bool has_output = has_columns || tensors_find(t, "decoder_ff_logit_out_Wt");
    const char *source = is_one ? "Wemb" : "encoder_Wemb";

    f->config.arch.tables = is_one ? (has_output ? TABLES_INPUTS : TABLES_ONE)
                                   : (has_output ? TABLES_SEPARATE : TABLES_TARGET);
    row[0] = (struct fill_row){PARAM_embed, source, FILL_SOURCES, 0, 0};
    row[1] = (struct fill_row){PARAM_target_embed, "decoder_Wemb", FILL_TARGETS, 0, 0};
    row[2] = has_columns ? (struct fill_row){PARAM_output, "decoder_ff_logit_out_W",
                                             FILL_COLUMNS, 0, 0}
                         : (struct fill_row){PARAM_output, "decoder_ff_logit_out_Wt",
                                             FILL_TARGETS, 0, 0};
    row[3] = (struct fill_row){PARAM_output_bias, "decoder_ff_logit_out_b", FILL_TARGETS,
                               0, 0};
}

/* ---- vocabularies ---- */

struct vocabularies {
    char path[2][FILE_PATH_MAX];
    size_t n;
};

/* The two paths of "vocabs" in a decoder.yml. */
static status take_vocab(void *ctx, struct line key, struct line value, struct err *err)
{
    struct vocabularies *v = ctx;

    if (key.n_bytes != 6 || memcmp(key.text, "vocabs", 6) != 0 || v->n == 2 ||
        value.n_bytes >= FILE_PATH_MAX)
        return OK;
    (void)err;
    snprintf(v->path[v->n++], FILE_PATH_MAX, "%.*s", (int)value.n_bytes, value.text);
    return OK;
}

/* The last part alone: paths in such a file are of the machine that wrote it. */
static bool find_beside(char path[FILE_PATH_MAX], const char *dir, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *const names[] = {slash ? slash + 1 : name};

    return readers_find(path, dir, names, 1);
}

static status read_decoder_yml(struct vocabularies *v, const char *dir, struct err *err)
{
    static const char *const names[] = {"decoder.yml", "model.npz.decoder.yml"};
    RELEASED_BY(file_map_close) struct file_map map = {0};
    struct vocabularies said = {.n = 0};
    char path[FILE_PATH_MAX];

    if (!readers_find(path, dir, names, 2))
        return OK;
    TRY(file_map_open(&map, path, err));
    if (yaml_pairs_read(map.data, map.n_bytes, take_vocab, &said, err) != OK)
        return err_wrap(err, "%s", path);
    for (size_t i = 0; i < said.n; i++)
        if (find_beside(v->path[v->n], dir, said.path[i]))
            v->n++;
    return OK;
}

/* The vocabularies that lie beside a model, under the names that people give them. */
static status find_vocabularies(struct vocabularies *v, const char *dir, struct err *err)
{
    static const char *const both[] = {"vocab.yml", "vocab.spm", "vocab.json",
                                       "opus.spm32k-spm32k.vocab.yml",
                                       "opus.bpe32k-bpe32k.vocab.yml"};
    static const char *const source[] = {"source.vocab.yml", "vocab.src.spm",
                                         "srcvocab.spm", "vocab.src.yml"};
    static const char *const target[] = {"target.vocab.yml", "vocab.trg.spm",
                                         "trgvocab.spm", "vocab.trg.yml"};

    TRY(read_decoder_yml(v, dir, err));
    if (v->n)
        return OK;
    if (readers_find(v->path[0], dir, both, sizeof both / sizeof *both))
        v->n = 1;
    else if (readers_find(v->path[0], dir, source, sizeof source / sizeof *source) &&
             readers_find(v->path[1], dir, target, sizeof target / sizeof *target))
        v->n = 2;
    return v->n ? OK
                : err_set(err, ERR_IO,
                          "%s has no vocabulary beside the model: want vocab.yml or "
                          "vocab.spm, or a decoder.yml that names them",
                          dir);
}

/* The pieces of a SentencePiece model are its tokens. */
static status read_pieces(struct vocabulary *v, const char *path, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    struct spm_parts parts = {0};
    status result = OK;

    TRY(file_map_open(&map, path, err));
    TRY(spm_parts_guard(map.data, map.n_bytes, err));
    TRY(spm_parts_read(&parts, map.data, map.n_bytes, err));
    for (size_t i = 0; i < parts.n_pieces; i++)
        THEN(result, vocabulary_add(v, parts.piece[i].text, (int64_t)i, err));
    spm_parts_release(&parts);
    return result;
}

static status read_vocabulary(struct vocabulary *v, const char *path, struct err *err)
{
    static const struct vocabulary_names names = {"<pad>", "</s>", "<s>", "<unk>"};

    if (str_ends(path, ".spm"))
        TRY(read_pieces(v, path, err));
    else
        TRY(readers_yaml_words(v, path, err));
    return vocabulary_close(v, names, err) == OK ? OK : err_wrap(err, "%s", path);
}

/* The SentencePiece models that cut the text of each side. */
static status find_tokenizers(char source[FILE_PATH_MAX], char target[FILE_PATH_MAX],
                              const struct vocabularies *v, const char *dir,
                              struct err *err)
{
    static const char *const sources[] = {"source.spm", "vocab.model"},
                             *const targets[] = {"target.spm", "vocab.model"};
    const char *last = v->path[v->n - 1];

    if (str_ends(v->path[0], ".spm") && str_ends(last, ".spm")) {
        snprintf(source, FILE_PATH_MAX, "%s", v->path[0]);
        snprintf(target, FILE_PATH_MAX, "%s", last);
        return OK;
    }
    if (readers_find(source, dir, sources, 2) && readers_find(target, dir, targets, 2))
        return OK;
    return err_set(
        err, ERR_IO,
        "%s has no source.spm and target.spm: without the SentencePiece models "
        "of its text (models cut by BPE have others) it cannot translate text",
        dir);
}

/* ---- the model ---- */

static status open_all(struct foreign *f, const char *dir, const struct tensors *t,
                       struct readers_words *w, struct err *err)
{
    char source[FILE_PATH_MAX], target[FILE_PATH_MAX];
    struct vocabularies v = {.n = 0};
    struct marian_options o;
    struct fill_row all[N_ALL];
    struct readers_model m = {
        .tensors = t, .words = w, .source_spm = source, .target_spm = target};

    TRY(read_options(&o, t, err));
    TRY(take_config(f, &o, err));
    TRY(find_vocabularies(&v, dir, err));
    TRY(read_vocabulary(&w->source, v.path[0], err));
    memcpy(all, weights, sizeof weights);
    take_tables(f, t, all + N_ROWS);
    w->is_one =
        f->config.arch.tables == TABLES_ONE || f->config.arch.tables == TABLES_INPUTS;
    if (!w->is_one)
        TRY(read_vocabulary(&w->target, v.path[v.n - 1], err));
    TRY(find_tokenizers(source, target, &v, dir, err));
    m.fill = (struct fill){.row = all,
                           .n_rows = N_ALL,
                           .first_layer = 1,
                           .norm_suffix = f->config.arch.norm == NORM_PRE ? "_pre" : ""};
    return readers_finish(f, &m, err);
}

status marian_open(struct foreign *f, const char *path, const char *dir, struct err *err)
{
    struct readers_words words = {0};
    struct tensors tensors = {0};

    f->kind = "Marian";
    TRY(tensors_open(&tensors, TENSORS_NPZ, path, err));
    const status result = open_all(f, dir, &tensors, &words, err);
    readers_release(&words);
    tensors_close(&tensors);
    return result == OK ? OK : err_wrap(err, "%s", path);
}

/* ---- where it is ---- */

static bool is_model_name(const char *name)
{
    return str_ends(name, ".npz") && !strstr(name, ".optimizer.") &&
           !strstr(name, ".orig.");
}

/* The model a directory is about: the best one, or the only one. */
static status find_only(char path[FILE_PATH_MAX], const char *dir, struct err *err)
{
    DIR *d = opendir(dir);
    char found[FILE_PATH_MAX] = "";
    size_t n = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        if (is_model_name(e->d_name)) {
            snprintf(found, sizeof found, "%s", e->d_name);
            n++;
        }
    if (d)
        closedir(d);
    if (n == 1)
        return file_join(path, FILE_PATH_MAX, dir, found, err);
    return err_set(err, ERR_IO,
                   "%s has %zu models of Marian (.npz); give the path of one", dir, n);
}

static status take_model(void *ctx, struct line key, struct line value, struct err *err)
{
    struct vocabularies *v = ctx;

    (void)err;
    if (key.n_bytes == 6 && memcmp(key.text, "models", 6) == 0 && !v->n &&
        value.n_bytes < FILE_PATH_MAX)
        snprintf(v->path[v->n++], FILE_PATH_MAX, "%.*s", (int)value.n_bytes, value.text);
    return OK;
}

status marian_find(char path[FILE_PATH_MAX], const char *dir, struct err *err)
{
    static const char *const names[] = {"decoder.yml", "model.npz.decoder.yml"};
    RELEASED_BY(file_map_close) struct file_map map = {0};
    struct vocabularies said = {.n = 0};
    char yml[FILE_PATH_MAX];

    if (!readers_find(yml, dir, names, 2))
        return find_only(path, dir, err);
    TRY(file_map_open(&map, yml, err));
    if (yaml_pairs_read(map.data, map.n_bytes, take_model, &said, err) != OK)
        return err_wrap(err, "%s", yml);
    if (said.n && find_beside(path, dir, said.path[0]))
        return OK;
    return find_only(path, dir, err);
}
