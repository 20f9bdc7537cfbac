#include "foreign/export.h"

#include <math.h>
#include <string.h>

#include "foreign/writers.h"
#include "format/new_dir.h"

static const struct writers_format *const formats[] = {
    &export_ctranslate2, &export_marian,     &export_huggingface,
    &export_safetensors, &export_tensorflow, NULL};

static const struct writers_format *format_of(const char *name)
{
    for (size_t i = 0; formats[i]; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    BUG_ON(true);
    return NULL;
}

/* Is the name one of "a|b|c"? */
static bool is_among(const char *names, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = names; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == '|' || !at[n]))
            return true;
    return false;
}

/* Can it be had so? */
static status check(const struct writers_format *format, const struct foreign *f,
                    const struct export_options *o, struct err *err)
{
    if (format->types && !is_among(format->types, o->type))
        return err_set(
            err, ERR_USAGE,
            "quantization = %s: %s is written in %s; CTranslate2 has all types", o->type,
            o->to, format->types);
    return format->check(&f->config, err);
}

/* ---- what a format must have ---- */

static status add_biases(struct foreign *f, struct err *err)
{
    struct model_config c = f->config;

    if (c.arch.has_attention_bias && c.arch.has_output_bias)
        return OK;
    c.arch.has_attention_bias = c.arch.has_output_bias = true;
    return writers_widen(f, &c, err);
}

/* Numbers that are none would be carried into every translation. */
static status check_numbers(const struct foreign *f, struct err *err)
{
    for (size_t i = 0; i < f->params.n_flat; i++)
        if (!isfinite(f->flat[i]))
            return err_set(err, ERR_NUMERIC,
                           "the model holds weights that are not numbers: it is damaged, "
                           "or training diverged");
    return OK;
}

status export_write(struct foreign *f, const struct export_options *o, const char *out,
                    struct str *notes, struct err *err)
{
    const struct writers_format *format = format_of(o->to);
    struct new_dir dir = {.path = ""};
    struct writers_job j = {.model = f,
                            .options = o,
                            .type = pour_type_of(o->type),
                            .dir = dir.path,
                            .notes = notes};

    TRY(check(format, f, o, err));
    TRY(check_numbers(f, err));
    if (format->has_biases)
        TRY(add_biases(f, err));
    TRY(new_dir_begin(&dir, out, err));
    status result = format->write(&j, err);
    if (o->licence.n_bytes)
        THEN(result, writers_bytes(&j, "LICENCE", o->licence, err));
    THEN(result, new_dir_commit(&dir, err));
    new_dir_abort(&dir);
    return result;
}
