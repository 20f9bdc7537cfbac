/*
 * Marian: one .npz with the weights and, as the text special:model.yml, the options that
 * fix what they mean. Vocabularies are .yml files (token: number) with SentencePiece
 * models for text beside them (OPUS-MT: source.spm, target.spm), or are SentencePiece
 * models themselves (.spm), whose pieces are the tokens.
 *
 * transformer-preprocess, -postprocess and -postprocess-top say where dropout (d),
 * residual (a) and norm (n) stand: "n", "da", "n" is pre-norm, "", "dan", "" post-norm,
 * with dropout, which is of training alone, here or there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"
#include "base/str.h"
#include "foreign/readers.h"
#include "format/foreign/yaml_pairs.h"

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
_Static_assert((int)N_ALL <= (int)READERS_ROWS, "room for all rows");

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
    X(STR, transformer_attention_mask, "default", "", ANY)                    \
    X(STR, transformer_tied_layers, "", "", ANY)                              \
    X(BOOL, transformer_disable_position_embeddings, "no", "", ANY)           \
    X(BOOL, right_left, "no", "", ANY)                                        \
    X(BOOL, transformer_train_position_embeddings, "no", "", ANY)             \
    X(BOOL, transformer_no_projection, "no", "", ANY)                         \
    X(BOOL, transformer_rms_norm, "no", "", ANY)                              \
    X(INT, lemma_dim_emb, "0", "", ANY_INT)
/* clang-format on */
#define ANY_INT RANGE(-1e9, 1e9)

struct marian_options {
    MARIAN_OPTIONS(OPT_FIELD)
};
OPT_TABLE(foreign_marian_table, struct marian_options, MARIAN_OPTIONS);

static status take_option(void *ctx, struct line key, struct line value, struct err *err)
{
    char name[64], text[OPT_TEXT_MAX];

    if (key.n_bytes >= sizeof name || value.n_bytes >= sizeof text)
        return OK; /* none of these */
    snprintf(name, sizeof name, "%.*s", (int)key.n_bytes, key.text);
    snprintf(text, sizeof text, "%.*s", (int)value.n_bytes, value.text);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
    return opt_find(foreign_marian_table, name)
               ? opt_set(foreign_marian_table, ctx, name, text, err)
               : OK;
}

static status read_options(struct marian_options *o, const struct tensors *t,
                           struct err *err)
{
    const struct tensors_item *yaml = tensors_find(t, "special:model.yml");

    TRY(opt_defaults(foreign_marian_table, o, err));
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

/* Is the sequence this one when nothing is dropped? */
static bool does(const char *sequence, const char *what)
{
    for (; *sequence; sequence++)
        if (*sequence != 'd' && *sequence != *what++)
            return false;
    return !*what;
}

static bool has_sequences(const struct marian_options *o, const char *before,
                          const char *behind, const char *top)
{
    return does(o->transformer_preprocess, before) &&
           does(o->transformer_postprocess, behind) &&
           does(o->transformer_postprocess_top, top);
}

static status take_norm(struct architecture *a, const struct marian_options *o,
                        struct err *err)
{
    const bool is_pre = has_sequences(o, "n", "a", "n");

    a->norm = is_pre ? NORM_PRE : NORM_POST;
    if (is_pre || has_sequences(o, "", "an", ""))
        return OK;
    return err_set(err, ERR_FORMAT,
                   "the model has transformer-preprocess = \"%.10s\", -postprocess = "
                   "\"%.10s\", -postprocess-top = \"%.10s\"; read is what computes as "
                   "\"n\", \"da\", \"n\" or \"\", \"dan\", \"\" do",
                   o->transformer_preprocess, o->transformer_postprocess,
                   o->transformer_postprocess_top);
}

static const struct {
    const char *name;
    enum activation kind;
} activations[] = {{"relu", ACTIVATION_RELU},
                   {"swish", ACTIVATION_SWISH},
                   {"gelu", ACTIVATION_GELU}}; /* with erf, as version 1.12 computes it */
enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

const char *foreign_marian_activation(enum activation kind)
{
    for (size_t i = 0; i < N_ACTIVATIONS; i++)
        if (activations[i].kind == kind)
            return activations[i].name;
    return NULL;
}

static status take_activation(struct architecture *a, const char *name, struct err *err)
{
    for (size_t i = 0; i < N_ACTIVATIONS; i++)
        if (is(name, activations[i].name)) {
            a->activation = activations[i].kind;
            return OK;
        }
    return refuse("transformer-ffn-activation", name, err);
}

/* What changes the model and we do not compute. */
static status check_options(const struct marian_options *o, struct err *err)
{
    const struct {
        const char *name, *value;
        bool is_other;
    } all[] = {{"type", o->type, !is(o->type, "transformer")},
               {"transformer-decoder-autoreg", o->transformer_decoder_autoreg,
                !is(o->transformer_decoder_autoreg, "self-attention")},
               {"transformer-attention-mask", o->transformer_attention_mask,
                !is(o->transformer_attention_mask, "default")},
               {"transformer-postprocess-emb", o->transformer_postprocess_emb,
                !does(o->transformer_postprocess_emb, "")},
               {"transformer-tied-layers", "a list", *o->transformer_tied_layers},
               {"transformer-ffn-depth", "another than 2", o->transformer_ffn_depth != 2},
               {"transformer-train-position-embeddings", "true",
                o->transformer_train_position_embeddings},
               {"transformer-disable-position-embeddings", "true",
                o->transformer_disable_position_embeddings},
               {"transformer-no-projection", "true", o->transformer_no_projection},
               {"transformer-rms-norm", "true", o->transformer_rms_norm},
               {"right-left", "true", o->right_left},
               {"lemma-dim-emb", "another than 0", o->lemma_dim_emb}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].is_other)
            return refuse(all[i].name, all[i].value, err);
    return OK;
}

static status take_config(struct foreign *f, const struct marian_options *o,
                          struct err *err)
{
    struct model_config *c = &f->config;

    TRY(check_options(o, err));
    c->d_model = o->dim_emb;
    c->d_ff = o->transformer_dim_ffn;
    c->heads = o->transformer_heads;
    c->encoder_layers = o->enc_depth;
    c->decoder_layers = o->dec_depth;
    c->norm_epsilon = 1e-6;
    c->arch.has_attention_bias = true;
    c->arch.has_no_begin = true;
    c->arch.has_no_unknown = true; /* as Marian does unless it is told otherwise */
    TRY(take_norm(&c->arch, o, err));
    return take_activation(&c->arch, o->transformer_ffn_activation, err);
}

/* ---- tables ---- */

/* The rows of tables, and of the output's bias, into four behind the others. */
static void put_tables(struct fill_row *row, enum architecture_tables tables,
                       bool has_columns)
{
    const bool is_one = tables == TABLES_ONE || tables == TABLES_INPUTS;

    row[0] = (struct fill_row){PARAM_embed, is_one ? "Wemb" : "encoder_Wemb",
                               FILL_SOURCES, 0, 0};
    row[1] = (struct fill_row){PARAM_target_embed, "decoder_Wemb", FILL_TARGETS, 0, 0};
    row[2] = has_columns ? (struct fill_row){PARAM_output, "decoder_ff_logit_out_W",
                                             FILL_COLUMNS, 0, 0}
                         : (struct fill_row){PARAM_output, "decoder_ff_logit_out_Wt",
                                             FILL_TARGETS, 0, 0};
    row[3] = (struct fill_row){PARAM_output_bias, "decoder_ff_logit_out_b", FILL_TARGETS,
                               0, 0};
}

static enum architecture_tables find_tables(const struct tensors *t, bool *has_columns)
{
    *has_columns = tensors_find(t, "decoder_ff_logit_out_W");
    const bool has_output = *has_columns || tensors_find(t, "decoder_ff_logit_out_Wt");

    if (tensors_find(t, "Wemb"))
        return has_output ? TABLES_INPUTS : TABLES_ONE;
    return has_output ? TABLES_SEPARATE : TABLES_TARGET;
}

struct fill foreign_marian_rows(struct fill_row all[READERS_ROWS],
                                const struct architecture *a, bool has_columns)
{
    memcpy(all, weights, sizeof weights);
    put_tables(all + N_ROWS, a->tables, has_columns);
    return (struct fill){.row = all,
                         .n_rows = N_ALL,
                         .first_layer = 1,
                         .norm_suffix = a->norm == NORM_PRE ? "_pre" : ""};
}

/* ---- what lies beside it ---- */

/* Files that a decoder.yml names, as far as they are there: paths in it are of the
 * machine that wrote it, so their last parts count. */
struct beside {
    const struct place *place;
    char vocabulary[2][FILE_PATH_MAX], model[FILE_PATH_MAX];
    size_t n_vocabularies;
};

static bool is_key(struct line key, const char *name)
{
    return key.n_bytes == strlen(name) && memcmp(key.text, name, key.n_bytes) == 0;
}

static status take_name(void *ctx, struct line key, struct line value, struct err *err)
{
    struct beside *b = ctx;
    char path[FILE_PATH_MAX], *to = NULL;

    (void)err;
    if (is_key(key, "vocabs") && b->n_vocabularies < 2)
        to = b->vocabulary[b->n_vocabularies];
    else if (is_key(key, "models") && !b->model[0])
        to = b->model;
    if (!to || value.n_bytes >= sizeof path)
        return OK;
    snprintf(path, sizeof path, "%.*s", (int)value.n_bytes, value.text);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!place_has(b->place, name))
        return OK;
    memcpy(to, name, strlen(name) + 1);
    b->n_vocabularies += to != b->model;
    return OK;
}

/* The decoder.yml of a model (NULL: whichever is there); the last in the order of names.
 */
struct decoder_yml {
    const char *model;
    char name[FILE_PATH_MAX];
};

static void see_decoder_yml(void *ctx, const char *name)
{
    struct decoder_yml *d = ctx;
    const size_t n = d->model ? strlen(d->model) : 0;
    const bool is_own = n && strncmp(name, d->model, n) == 0;

    if (!str_ends(name, "decoder.yml") || strchr(name, '/') ||
        strlen(name) >= sizeof d->name)
        return;
    if ((strcmp(name, "decoder.yml") == 0 || is_own || !n) && strcmp(name, d->name) > 0)
        memcpy(d->name, name, strlen(name) + 1);
}

/* model: the file; NULL: it is to be found. */
static status read_decoder_yml(struct beside *b, const struct place *p, const char *model,
                               struct err *err)
{
    RELEASED_BY(place_file_close) struct place_file f = {0};
    struct decoder_yml yml = {.model = model};
    const char *name = yml.name;

    *b = (struct beside){.place = p};
    place_each(p, see_decoder_yml, &yml);
    if (!*name)
        return OK;
    TRY(place_read(p, name, &f, err));
    return yaml_pairs_read(f.data, f.n_bytes, take_name, b, err) == OK
               ? OK
               : place_wrap(p, name, err);
}

/* The vocabularies that lie beside a model, under the names that people give them. */
static status find_vocabularies(const char *v[2], const struct beside *b, struct err *err)
{
    static const char *const both[] = {"vocab.yml", "vocab.spm", "vocab.json",
                                       "opus.spm32k-spm32k.vocab.yml",
                                       "opus.bpe32k-bpe32k.vocab.yml"};
    static const char *const source[] = {"source.vocab.yml", "vocab.src.spm",
                                         "srcvocab.spm", "vocab.src.yml"};
    static const char *const target[] = {"target.vocab.yml", "vocab.trg.spm",
                                         "trgvocab.spm", "vocab.trg.yml"};
    const struct place *p = b->place;

    v[0] = v[1] = b->vocabulary[0];
    if (b->n_vocabularies == 2)
        v[1] = b->vocabulary[1];
    if (b->n_vocabularies)
        return OK;
    v[0] = v[1] = place_find(p, both, sizeof both / sizeof *both);
    if (v[0])
        return OK;
    v[0] = place_find(p, source, sizeof source / sizeof *source);
    v[1] = place_find(p, target, sizeof target / sizeof *target);
    return v[0] && v[1] ? OK
                        : err_set(err, ERR_IO,
                                  "%s has no vocabulary beside the model: want vocab.yml "
                                  "or vocab.spm, or a decoder.yml that names them",
                                  p->path);
}

/* The SentencePiece models that cut the text of each side. */
static status find_tokenizers(struct readers_model *m, const char *const v[2],
                              struct err *err)
{
    static const char *const sources[] = {"source.spm", "vocab.model"},
                             *const targets[] = {"target.spm", "vocab.model"};

    m->source_spm = v[0];
    m->target_spm = v[1];
    if (str_ends(v[0], ".spm") && str_ends(v[1], ".spm"))
        return OK;
    m->source_spm = place_find(m->place, sources, 2);
    m->target_spm = place_find(m->place, targets, 2);
    if (m->source_spm && m->target_spm)
        return OK;
    return err_set(
        err, ERR_IO,
        "%s has no source.spm and target.spm: without the SentencePiece models "
        "of its text (models cut by BPE have others) it cannot translate text",
        m->place->path);
}

/* ---- the model ---- */

static status read_words(struct foreign *f, struct readers_words *w,
                         const struct place *p, const struct tensors *t,
                         const char *const v[2], struct err *err)
{
    static const struct vocabulary_names names = {"<pad>", "</s>", "<s>", "<unk>"};
    const bool is_one =
        f->config.arch.tables == TABLES_ONE || f->config.arch.tables == TABLES_INPUTS;
    const struct readers_list source = {v[0], names, t, is_one ? "Wemb" : "encoder_Wemb"},
                              target = {v[1], names, t, "decoder_Wemb"};

    w->is_one = is_one;
    TRY(readers_words(&w->source, p, &source, err));
    return is_one ? OK : readers_words(&w->target, p, &target, err);
}

static status open_all(struct foreign *f, const struct beside *b, const struct tensors *t,
                       struct readers_words *w, struct err *err)
{
    struct marian_options o;
    struct fill_row all[READERS_ROWS];
    struct readers_model m = {.place = b->place, .tensors = t, .words = w};
    bool has_columns = false;
    const char *v[2];

    TRY(read_options(&o, t, err));
    TRY(take_config(f, &o, err));
    f->config.arch.tables = find_tables(t, &has_columns);
    TRY(find_vocabularies(v, b, err));
    TRY(read_words(f, w, b->place, t, v, err));
    TRY(find_tokenizers(&m, v, err));
    m.fill = foreign_marian_rows(all, &f->config.arch, has_columns);
    return readers_finish(f, &m, err);
}

/* ---- where it is ---- */

/* The weights that are not of an optimizer, and how many such files there are. */
struct found {
    char name[FILE_PATH_MAX];
    size_t n;
};

static void see(void *ctx, const char *name)
{
    struct found *f = ctx;

    if (!str_ends(name, ".npz") || strstr(name, ".optimizer.") ||
        strstr(name, ".orig.") || strchr(name, '/') || strlen(name) >= sizeof f->name)
        return;
    memcpy(f->name, name, strlen(name) + 1);
    f->n++;
}

bool foreign_is_marian(const struct place *p)
{
    struct found found = {.n = 0};

    place_each(p, see, &found);
    return found.n > 0 && !place_has(p, "config.yaml");
}

static status find_model(struct found *found, const struct beside *b, struct err *err)
{
    *found = (struct found){.n = 0};
    if (b->model[0]) {
        memcpy(found->name, b->model, sizeof found->name);
        return OK;
    }
    place_each(b->place, see, found);
    if (found->n == 1)
        return OK;
    return err_set(err, ERR_IO,
                   "%s has %zu models of Marian (.npz); give the path of one",
                   b->place->path, found->n);
}

status foreign_open_marian(struct foreign *f, const struct place *p, const char *name,
                           struct err *err)
{
    struct readers_words words = {0};
    struct readers_tensors tensors = {.file = {0}};
    struct beside beside;
    struct found found;

    f->kind = "Marian";
    TRY(read_decoder_yml(&beside, p, name, err));
    if (!name) {
        TRY(find_model(&found, &beside, err));
        name = found.name;
    }
    TRY(readers_tensors(&tensors, TENSORS_NPZ, p, name, err));
    const status result = open_all(f, &beside, &tensors.t, &words, err);
    readers_release(&words);
    readers_close(&tensors);
    return result;
}
