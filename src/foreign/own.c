/*
 * Weights of our own architecture in safetensors: a directory with config.json, which
 * names the architecture FerryTransformer and has the options of recipe/model_config.h
 * and recipe/architecture.h under their names, with model.safetensors, vocab.model and,
 * where targets are cut otherwise, target.model.
 *
 * Tensors have the names and shapes of recipe/params.h. Those of another program are read
 * by a map: YAML with our name and theirs, "transposed" behind it where theirs has
 * outputs before inputs.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "foreign/readers.h"
#include "format/foreign/yaml_pairs.h"

#define TRANSPOSED " transposed"

#define PARAM_ROW(field, block, name, ...) {PARAM_##field, name, FILL_PLAIN, 0, 0},
static const struct fill_row weights[] = {PARAM_LIST(PARAM_ROW)};
const struct fill foreign_own_rows = {.row = weights,
                                      .n_rows = sizeof weights / sizeof *weights};

/* ---- config.json ---- */

static bool names_ours(json_t *root)
{
    const char *name =
        json_string_value(json_array_get(json_object_get(root, "architectures"), 0));

    return name && strcmp(name, READERS_OWN_KIND) == 0;
}

bool foreign_is_own(const struct place *p)
{
    struct err ignored;
    json_t *root = NULL;

    if (!place_has(p, "config.json") ||
        readers_json(&root, p, "config.json", &ignored) != OK)
        return false;
    const bool is_ours = names_ours(root);
    json_decref(root);
    return is_ours;
}

/* Options that the object has, from its values. */
static status take_options(struct opt_table t, void *config, json_t *root,
                           struct err *err)
{
    status result = OK;

    for (size_t i = 0; i < t.n; i++) {
        const json_t *value = json_object_get(root, t.opt[i].name);
        struct str text = str_new(0);
        if (json_is_string(value))
            str_puts(&text, json_string_value(value));
        else if (json_is_boolean(value))
            str_puts(&text, json_is_true(value) ? "yes" : "no");
        else if (json_is_integer(value))
            str_printf(&text, "%lld", (long long)json_integer_value(value));
        else if (json_is_real(value))
            str_printf(&text, "%.17g", json_real_value(value));
        if (value)
            THEN(result, opt_set(t, config, t.opt[i].name, str_text(&text), err));
        str_release(&text);
    }
    return result;
}

static void take_language(char out[16], json_t *root, const char *key)
{
    const char *value = json_string_value(json_object_get(root, key));

    snprintf(out, 16, "%.15s", value ? value : "");
}

static status take_config(struct foreign *f, json_t *root, struct err *err)
{
    struct architecture_options o;
    struct err why = {0};

    TRY(model_config_defaults(&f->config, err));
    TRY(opt_defaults(architecture_table, &o, err));
    status result = take_options(model_config_table, &f->config, root, &why);
    THEN(result, take_options(architecture_table, &o, root, &why));
    if (result != OK)
        return readers_refuse(&why, err);
    f->config.arch = architecture_from_options(&o);
    take_language(f->source, root, "source_lang");
    take_language(f->target, root, "target_lang");
    if (model_config_check(&f->config, &why) != OK)
        return readers_refuse(&why, err);
    return OK;
}

/* ---- names ---- */

struct names {
    struct params *params;
    struct tensors_name {
        char *theirs; /* NULL: as ours */
        bool is_transposed;
    } * name; /* [params->n_list] */
};

static status take_name(void *ctx, struct line key, struct line value, struct err *err)
{
    const struct names *n = ctx;
    size_t i = 0;

    while (i < n->params->n_list && strcmp(n->params->list[i].name, key.text) != 0)
        i++;
    if (i == n->params->n_list)
        return err_set(err, ERR_FORMAT, "this model has no tensor %.*s",
                       (int)(key.n_bytes < 100 ? key.n_bytes : 100), key.text);
    struct tensors_name *to = &n->name[i];
    to->is_transposed = str_ends(value.text, TRANSPOSED);
    const size_t cut = to->is_transposed ? strlen(TRANSPOSED) : 0;
    mem_release(&to->theirs);
    TRY(mem_alloc(&to->theirs, value.n_bytes - cut + 1, 1, err));
    memcpy(to->theirs, value.text, value.n_bytes - cut);
    return OK;
}

static status read_map(struct names *n, const char *map, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map bytes = {0};

    if (!*map)
        return OK;
    TRY(file_map_open(&bytes, map, err));
    return yaml_pairs_read(bytes.data, bytes.n_bytes, take_name, n, err) == OK
               ? OK
               : err_wrap(err, "%s", map);
}

/* ---- weights ---- */

static bool has_shape(const struct tensors_item *item, size_t rows, size_t cols)
{
    if (item->n_dims == 1)
        return rows == 1 && item->dim[0] == cols;
    return item->n_dims == 2 && item->dim[0] == rows && item->dim[1] == cols;
}

static status fill_param(float *flat, const struct param *p, const struct tensors_name *n,
                         const struct tensors *t, struct err *err)
{
    const char *name = n->theirs ? n->theirs : p->name;
    const struct tensors_item *item = tensors_find(t, name);
    const bool flips = n->is_transposed;

    if (!item)
        return err_set(err, ERR_FORMAT, "there is no tensor %s", name);
    if (!has_shape(item, flips ? p->cols : p->rows, flips ? p->rows : p->cols))
        return err_set(err, ERR_FORMAT, "tensor %s is not %zu x %zu, as this model needs",
                       name, flips ? p->cols : p->rows, flips ? p->rows : p->cols);
    for (size_t r = 0; flat && r < p->rows; r++)
        for (size_t c = 0; c < p->cols; c++) {
            const float x =
                (float)tensors_value(item, flips ? c * p->rows + r : r * p->cols + c);
            if (!isfinite(x))
                return err_set(err, ERR_FORMAT,
                               "tensor %s holds something that is no number", name);
            flat[p->at + r * p->stride + c] = x;
        }
    return OK;
}

/* All there and of the right shape, before memory is taken. */
static status fill_all_params(struct foreign *f, const struct names *n,
                              const struct tensors *t, struct err *err)
{
    for (size_t i = 0; i < f->params.n_list; i++)
        TRY(fill_param(NULL, &f->params.list[i], &n->name[i], t, err));
    TRY(fill_check_size(&f->params, t, err));
    TRY(mem_alloc(&f->flat, f->params.n_flat, sizeof *f->flat, err));
    for (size_t i = 0; i < f->params.n_list; i++)
        TRY(fill_param(f->flat, &f->params.list[i], &n->name[i], t, err));
    return OK;
}

static status read_weights(struct foreign *f, const char *map,
                           const struct readers_tensors *t, struct err *err)
{
    struct names n = {.params = &f->params};

    status result = mem_alloc(&n.name, f->params.n_list, sizeof *n.name, err);
    THEN(result, read_map(&n, map, err));
    THEN(result, fill_all_params(f, &n, &t->t, err));
    for (size_t i = 0; n.name && i < f->params.n_list; i++)
        mem_release(&n.name[i].theirs);
    mem_release(&n.name);
    return result;
}

static status read_tokenizer(struct spm **spm, const struct place *p, const char *name,
                             int64_t n_ids, struct err *err)
{
    RELEASED_BY(place_file_close) struct place_file f = {0};

    TRY(place_read(p, name, &f, err));
    status result = spm_parse(spm, f.data, f.n_bytes, err);
    THEN(result, spm_check_special(*spm, err));
    if (result == OK) {
        spm_limit(*spm, (size_t)n_ids);
        return OK;
    }
    spm_free(*spm);
    *spm = NULL;
    return place_wrap(p, name, err);
}

static status read_tokenizers(struct foreign *f, const struct place *p, struct err *err)
{
    struct spm *target;

    TRY(read_tokenizer(&f->spm, p, READERS_OWN_TOKENIZER,
                       model_config_source_vocab(&f->config), err));
    if (!place_has(p, READERS_OWN_TARGET))
        return OK;
    TRY(read_tokenizer(&target, p, READERS_OWN_TARGET, f->config.vocab_size, err));
    spm_join(f->spm, target);
    return OK;
}

status foreign_open_own(struct foreign *f, const struct place *p, const char *name,
                        const char *map, struct err *err)
{
    struct readers_tensors tensors = {.file = {0}};
    json_t *root = NULL;

    f->kind = "Ferry's own names in safetensors";
    TRY(readers_json(&root, p, "config.json", err));
    status result = take_config(f, root, err);
    json_decref(root);
    THEN(result, params_open(&f->params, &f->config, err));
    THEN(result, readers_tensors(&tensors, TENSORS_SAFETENSORS, p,
                                 name ? name : READERS_OWN_WEIGHTS, err));
    THEN(result, read_weights(f, map, &tensors, err));
    THEN(result, read_tokenizers(f, p, err));
    readers_close(&tensors);
    return result;
}
