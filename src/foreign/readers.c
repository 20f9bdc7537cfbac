#include "foreign/readers.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/foreign/yaml_pairs.h"

/* The logit of a token that is never said: exp() of it is nothing beside any other. */
static const float never = -1e9f;

void readers_release(struct readers_words *w)
{
    vocabulary_release(&w->source);
    vocabulary_release(&w->target);
    *w = (struct readers_words){0};
}

bool readers_find(char path[FILE_PATH_MAX], const char *dir, const char *const *names,
                  size_t n)
{
    struct err ignored;

    for (size_t i = 0; i < n; i++)
        if (file_join(path, FILE_PATH_MAX, dir, names[i], &ignored) == OK &&
            file_exists(path))
            return true;
    return false;
}

/* ---- vocabularies ---- */

status readers_json(json_t **root, const char *path, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    json_error_t why = {.line = 1, .text = "it is none"};

    TRY(file_map_open(&map, path, err));
    *root = json_loadb((const char *)map.data, map.n_bytes, 0, &why);
    if (json_is_object(*root))
        return OK;
    json_decref(*root);
    *root = NULL;
    return err_set(err, ERR_FORMAT, "%s: line %d is no JSON object: %s", path, why.line,
                   why.text);
}

static status add_json(struct vocabulary *v, json_t *root, struct err *err)
{
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_array(root)) {
        json_array_foreach(root, i, value)
        {
            if (!json_is_string(value))
                return err_set(err, ERR_FORMAT, "token %zu is no text", i);
            TRY(vocabulary_add(
                v, (struct line){json_string_value(value), json_string_length(value)},
                (int64_t)i, err));
        }
        return OK;
    }
    if (!json_is_object(root))
        return err_set(err, ERR_FORMAT, "want an object of numbers or a list of texts");
    json_object_foreach(root, key, value)
    {
        if (!json_is_integer(value))
            return err_set(err, ERR_FORMAT, "token %.40s has no number", key);
        TRY(vocabulary_add(v, (struct line){key, strlen(key)}, json_integer_value(value),
                           err));
    }
    return OK;
}

status readers_json_words(struct vocabulary *v, const char *path, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    json_error_t why;

    TRY(file_map_open(&map, path, err));
    json_t *root = json_loadb((const char *)map.data, map.n_bytes, 0, &why);
    const status result =
        root ? add_json(v, root, err)
             : err_set(err, ERR_FORMAT, "line %d is no JSON: %s", why.line, why.text);
    json_decref(root);
    return result == OK ? OK : err_wrap(err, "%s", path);
}

static status take_word(void *ctx, struct line key, struct line value, struct err *err)
{
    char *end;
    const long long number = strtoll(value.text, &end, 10);

    if (!value.n_bytes || end != value.text + value.n_bytes)
        return err_set(err, ERR_FORMAT, "token %.40s has no number", key.text);
    return vocabulary_add(ctx, key, number, err);
}

status readers_yaml_words(struct vocabulary *v, const char *path, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};

    TRY(file_map_open(&map, path, err));
    return yaml_pairs_read(map.data, map.n_bytes, take_word, v, err) == OK
               ? OK
               : err_wrap(err, "%s", path);
}

/* ---- the model ---- */

static status read_tokenizer(const struct vocabulary *v, const char *path,
                             struct spm **spm, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};

    TRY(file_map_open(&map, path, err));
    return vocabulary_tokenizer(v, map.data, map.n_bytes, spm, err) == OK
               ? OK
               : err_wrap(err, "%s", path);
}

static status read_tokenizers(struct foreign *f, const struct readers_model *m,
                              struct err *err)
{
    const struct readers_words *w = m->words;
    const struct vocabulary *target = w->is_one ? &w->source : &w->target;
    struct spm *other;

    TRY(read_tokenizer(&w->source, m->source_spm, &f->spm, err));
    if (w->is_one && strcmp(m->source_spm, m->target_spm) == 0)
        return OK;
    TRY(read_tokenizer(target, m->target_spm, &other, err));
    const struct line a = spm_bytes(f->spm), b = spm_bytes(other);
    if (a.n_bytes == b.n_bytes && memcmp(a.text, b.text, a.n_bytes) == 0)
        spm_free(other);
    else
        spm_join(f->spm, other);
    return OK;
}

/* Pad is no token of a translation in any of these programs, nor what has no weights. */
static void silence(struct foreign *f, const struct vocabulary *target)
{
    float *bias = f->flat + params_get(&f->params, PARAM_output_bias, 0)->at;

    bias[ID_PAD] = never;
    if (!target->has[ID_BOS])
        bias[ID_BOS] = never;
}

status readers_finish(struct foreign *f, const struct readers_model *m, struct err *err)
{
    const struct vocabulary *target =
        m->words->is_one ? &m->words->source : &m->words->target;
    struct fill fill = m->fill;

    f->config.vocab_size = (int64_t)target->n_ids;
    if (!m->words->is_one)
        f->config.arch.source_vocab = (int64_t)m->words->source.n_ids;
    /* Where sentences begin with <s> the model is like ours, and knows its rows. */
    const bool has_silent = f->config.arch.has_no_begin;
    f->config.arch.has_output_bias = has_silent || m->has_output_bias;
    TRY(model_config_check(&f->config, err));
    TRY(params_open(&f->params, &f->config, err));
    TRY(mem_alloc(&f->flat, f->params.n_flat, sizeof *f->flat, err));
    memset(f->flat, 0, f->params.n_flat * sizeof *f->flat);
    fill.tensors = m->tensors;
    fill.source = &m->words->source;
    fill.target = target;
    TRY(fill_all(&fill, &f->params, f->flat, err));
    if (has_silent)
        silence(f, target);
    return read_tokenizers(f, m, err);
}
