#include "pack/importing.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "decode/packed_model.h"
#include "foreign/foreign.h"

OPT_TABLE(importing_options, struct importing_config, IMPORTING_OPTIONS);

struct work {
    const struct importing_config *c;
    struct foreign foreign;
    struct network network;
    struct file_map licence;
};

static enum linear_type type_of(void *ctx, const struct network_part *part)
{
    const struct work *w = ctx;

    (void)part;
    return strcmp(w->c->precision, "int8") == 0 ? LINEAR_INT8 : LINEAR_FLOAT;
}

static status read_licence(struct work *w, struct err *err)
{
    if (!w->c->licence[0])
        return OK;
    TRY(file_map_open(&w->licence, w->c->licence, err));
    if (utf8_valid((const char *)w->licence.data, w->licence.n_bytes))
        return OK;
    return err_set(err, ERR_FORMAT, "%s: the licence is not valid UTF-8", w->c->licence);
}

/* What is given goes before what the model says. */
static void take_languages(const struct work *w, struct packed_model_options *o)
{
    const char *source = w->c->source_lang[0] ? w->c->source_lang : w->foreign.source;
    const char *target = w->c->target_lang[0] ? w->c->target_lang : w->foreign.target;

    snprintf(o->source_lang, sizeof o->source_lang, "%.15s", source);
    snprintf(o->target_lang, sizeof o->target_lang, "%.15s", target);
}

static status describe(const struct work *w, const char *model, const char *made_by,
                       char **about, struct err *err)
{
    const char *slash = strrchr(model, '/');
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s}", "made_by", made_by, "precision",
                  w->c->precision, "imported_from", slash && slash[1] ? slash + 1 : model,
                  "format", w->foreign.kind);

    *about = root ? json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    return *about ? OK
                  : err_set(err, ERR_MEMORY, "cannot describe the model: out of memory");
}

static status write_file(struct work *w, const char *about, struct err *err)
{
    struct packed_model_parts parts = {
        .network = &w->network,
        .options = {.step = -1, .alignment_layer = -1},
        .is_half = strcmp(w->c->precision, "fp16") == 0,
        .tokenizer = spm_bytes(w->foreign.spm),
        .target = spm_target_bytes(w->foreign.spm),
        .about = {about, strlen(about)},
        .licence = {(const char *)w->licence.data, w->licence.n_bytes}};

    take_languages(w, &parts.options);
    return packed_model_write(&parts, w->c->out, err);
}

static status run(struct work *w, const char *model, const char *made_by, FILE *out,
                  struct err *err)
{
    const struct model_config *c = &w->foreign.config;
    char *about;

    if (!foreign_is(model))
        return err_set(err, ERR_USAGE,
                       "%s is no model of Hugging Face, Marian or CTranslate2 that is "
                       "read here; docs/models.md says what must be there",
                       model);
    TRY(file_check_output(w->c->out, err));
    TRY(read_licence(w, err));
    TRY(foreign_open_mapped(&w->foreign, model, w->c->map, err));
    TRY(network_open(&w->network, c, err));
    TRY(network_pack(&w->network, &w->foreign.params, w->foreign.flat,
                     (struct network_types){type_of, w}, err));
    TRY(describe(w, model, made_by, &about, err));
    const status result = write_file(w, about, err);
    free(about);
    TRY(result);
    fprintf(out, "%s  %lld and %lld layers of width %lld, vocabulary %lld, %s\n",
            w->foreign.kind, (long long)c->encoder_layers, (long long)c->decoder_layers,
            (long long)c->d_model, (long long)c->vocab_size,
            c->arch.norm == NORM_PRE ? "pre-norm" : "post-norm");
    fprintf(out, "%s  %.1f MB\n", w->c->out, (double)file_bytes(w->c->out) / 1e6);
    return OK;
}

status importing_run(const struct importing_config *c, const char *model,
                     const char *made_by, FILE *out, struct err *err)
{
    struct work w = {.c = c};
    const status result = run(&w, model, made_by, out, err);

    network_close(&w.network);
    foreign_close(&w.foreign);
    file_map_close(&w.licence);
    return result;
}
