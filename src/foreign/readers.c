#include "foreign/readers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "format/foreign/yaml_pairs.h"
#include "text/subword/spm_parts.h"

void readers_release(struct readers_words *w)
{
    vocabulary_release(&w->source);
    vocabulary_release(&w->target);
    *w = (struct readers_words){0};
}

status readers_tensors(struct readers_tensors *t, enum tensors_format format,
                       const struct place *p, const char *name, struct err *err)
{
    *t = (struct readers_tensors){.file = {0}};
    TRY(place_read(p, name, &t->file, err));
    if (tensors_parse(&t->t, format, t->file.data, t->file.n_bytes, err) == OK)
        return OK;
    readers_close(t);
    return place_wrap(p, name, err);
}

void readers_close(struct readers_tensors *t)
{
    tensors_close(&t->t);
    place_file_close(&t->file);
}

/* ---- vocabularies ---- */

static status parse_json(json_t **root, const struct place *p, const char *name,
                         struct err *err)
{
    RELEASED_BY(place_file_close) struct place_file f = {0};
    json_error_t why = {.line = 1, .text = "it is empty"};

    TRY(place_read(p, name, &f, err));
    *root = f.n_bytes ? json_loadb((const char *)f.data, f.n_bytes,
                                   JSON_REJECT_DUPLICATES, &why)
                      : NULL;
    if (*root)
        return OK;
    return err_set(err, ERR_FORMAT, "%s/%s: line %d is no JSON: %s", p->path, name,
                   why.line, why.text);
}

status readers_json(json_t **root, const struct place *p, const char *name,
                    struct err *err)
{
    TRY(parse_json(root, p, name, err));
    if (json_is_object(*root))
        return OK;
    json_decref(*root);
    *root = NULL;
    return err_set(err, ERR_FORMAT, "%s/%s is no JSON object", p->path, name);
}

static status add_json(struct vocabulary *v, json_t *root, struct err *err)
{
    const char *key;
    json_t *value;
    size_t i;

    if (!json_is_array(root) && !json_is_object(root))
        return err_set(err, ERR_FORMAT, "want an object of numbers or a list of texts");
    json_array_foreach(root, i, value)
    {
        if (!json_is_string(value))
            return err_set(err, ERR_FORMAT, "token %zu is no text", i);
        TRY(vocabulary_add(
            v, (struct line){json_string_value(value), json_string_length(value)},
            (int64_t)i, err));
    }
    json_object_foreach(root, key, value)
    {
        if (!json_is_integer(value))
            return err_set(err, ERR_FORMAT, "token %.40s has no number", key);
        TRY(vocabulary_add(v, (struct line){key, strlen(key)}, json_integer_value(value),
                           err));
    }
    return OK;
}

static status json_words(struct vocabulary *v, const struct place *p, const char *name,
                         struct err *err)
{
    json_t *root;

    TRY(parse_json(&root, p, name, err));
    const status result = add_json(v, root, err);
    json_decref(root);
    return result == OK ? OK : place_wrap(p, name, err);
}

static status take_word(void *ctx, struct line key, struct line value, struct err *err)
{
    char *end;
    const long long number = strtoll(value.text, &end, 10);

    if (!value.n_bytes || end != value.text + value.n_bytes)
        return err_set(err, ERR_FORMAT, "token %.40s has no number", key.text);
    return vocabulary_add(ctx, key, number, err);
}

/* The pieces of a SentencePiece model are its tokens. */
static status add_pieces(struct vocabulary *v, const struct place_file *f,
                         struct err *err)
{
    struct spm_parts parts = {0};
    status result = OK;

    TRY(spm_parts_guard(f->data, f->n_bytes, err));
    TRY(spm_parts_read(&parts, f->data, f->n_bytes, err));
    for (size_t i = 0; i < parts.n_pieces; i++)
        THEN(result, vocabulary_add(v, parts.piece[i].text, (int64_t)i, err));
    spm_parts_release(&parts);
    return result;
}

static status add_lines(struct vocabulary *v, const struct place_file *f, struct err *err)
{
    struct lines lines = lines_over(f->data, f->n_bytes);
    struct line line;

    for (int64_t i = 0; lines_next(&lines, &line); i++)
        TRY(vocabulary_add(v, line, i, err));
    return OK;
}

static status read_list(struct vocabulary *v, const struct place *p, const char *name,
                        struct err *err)
{
    RELEASED_BY(place_file_close) struct place_file f = {0};

    if (str_ends(name, ".json"))
        return json_words(v, p, name, err);
    TRY(place_read(p, name, &f, err));
    const status result =
        str_ends(name, ".spm") || str_ends(name, ".model") ? add_pieces(v, &f, err)
        : str_ends(name, ".txt")                           ? add_lines(v, &f, err)
                                 : yaml_pairs_read(f.data, f.n_bytes, take_word, v, err);
    return result == OK ? OK : place_wrap(p, name, err);
}

status readers_words(struct vocabulary *v, const struct place *p,
                     const struct readers_list *list, struct err *err)
{
    const struct tensors_item *table = tensors_find(list->tensors, list->table);

    if (!table || table->n_dims != 2)
        return err_set(err, ERR_FORMAT, "there is no table %s", list->table);
    TRY(read_list(v, p, list->file, err));
    status result = vocabulary_fit(v, (size_t)table->dim[0], err);
    THEN(result, vocabulary_close(v, list->names, err));
    return result == OK ? OK : place_wrap(p, list->file, err);
}

/* ---- the model ---- */

/* Halves are as near to a signal as this. */
static bool is_signal(const struct tensors_item *table, enum positions kind)
{
    enum { LOOKED_AT = 64 };
    const size_t D = (size_t)table->dim[1];

    for (size_t p = 0; p < LOOKED_AT && p < table->dim[0]; p++)
        for (size_t d = 0; d < D; d++)
            if (!(fabs(tensors_value(table, p * D + d) -
                       positions_signal(kind, p, d, D)) < 2e-3))
                return false;
    return true;
}

static enum positions kind_of(const struct tensors_item *table)
{
    int kind = POSITIONS_REFERENCE;

    while (kind < POSITIONS_LEARNED && !is_signal(table, (enum positions)kind))
        kind++;
    return (enum positions)kind;
}

static status find_positions(const struct tensors_item **table, const struct tensors *t,
                             const char *name, size_t D, struct err *err)
{
    *table = tensors_find(t, name);
    if (*table && (*table)->n_dims == 2 && (*table)->dim[1] == D)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "the model has no table of positions %s of %zu columns; convert it "
                   "again with a converter that writes one",
                   name, D);
}

status readers_positions(struct model_config *c, const struct tensors *t,
                         const char *const tables[2], struct err *err)
{
    const struct tensors_item *table[2];

    if (c->d_model < 2 || c->d_model % 2)
        return err_set(err, ERR_FORMAT,
                       "the model is %lld wide; positions, which are pairs of sine and "
                       "cosine, want an even number",
                       (long long)c->d_model);
    for (size_t i = 0; i < 2; i++)
        TRY(find_positions(&table[i], t, tables[i], (size_t)c->d_model, err));
    c->arch.positions = kind_of(table[0]);
    if (kind_of(table[1]) != c->arch.positions)
        return err_set(err, ERR_FORMAT,
                       "positions of encoder and decoder are of two kinds, which we do "
                       "not compute");
    if (c->arch.positions != POSITIONS_LEARNED)
        return OK;
    if (table[0]->dim[0] > 65536)
        return err_set(err, ERR_FORMAT,
                       "its table of positions has more than 65536 rows");
    c->arch.max_positions = (int64_t)table[0]->dim[0];
    return OK;
}

static status read_tokenizer(const struct vocabulary *v, const struct place *p,
                             const char *name, struct spm **spm, struct err *err)
{
    RELEASED_BY(place_file_close) struct place_file f = {0};

    TRY(place_read(p, name, &f, err));
    return vocabulary_tokenizer(v, f.data, f.n_bytes, spm, err) == OK
               ? OK
               : place_wrap(p, name, err);
}

static status read_tokenizers(struct foreign *f, const struct readers_model *m,
                              struct err *err)
{
    const struct readers_words *w = m->words;
    const struct vocabulary *target = w->is_one ? &w->source : &w->target;
    struct spm *other;

    TRY(read_tokenizer(&w->source, m->place, m->source_spm, &f->spm, err));
    if (w->is_one && strcmp(m->source_spm, m->target_spm) == 0)
        return OK;
    TRY(read_tokenizer(target, m->place, m->target_spm, &other, err));
    const struct line a = spm_bytes(f->spm), b = spm_bytes(other);
    if (a.n_bytes == b.n_bytes && memcmp(a.text, b.text, a.n_bytes) == 0)
        spm_free(other);
    else
        spm_join(f->spm, other);
    return OK;
}

/* Pad is no token of a translation in any of these programs, nor what has no weights or
 * no text. */
static void silence(struct foreign *f, const struct vocabulary *target)
{
    float *bias = f->flat + params_get(&f->params, PARAM_output_bias, 0)->at;

    bias[ID_PAD] = READERS_NEVER;
    if (!target->has[ID_BOS])
        bias[ID_BOS] = READERS_NEVER;
    for (size_t i = 0; i < target->n; i++)
        if (!target->token[i].text)
            bias[target->token[i].id] = READERS_NEVER;
}

status readers_refuse(const struct err *why, struct err *err)
{
    return err_set(err, ERR_FORMAT, "%s", why->msg);
}

/* Sizes have the limits of our options, so that none is beyond all memory. */
static status check_limits(const struct model_config *c, struct err *err)
{
    const struct opt_table t = model_config_table;
    struct model_config copy = *c;
    struct err why = {0};
    status result = OK;

    for (size_t i = 0; i < t.n; i++) {
        struct str value = str_new(0);
        opt_value(&t.opt[i], c, &value);
        THEN(result, opt_set(t, &copy, t.opt[i].name, str_text(&value), &why));
        str_release(&value);
    }
    THEN(result, model_config_check(c, &why));
    return result == OK ? OK : readers_refuse(&why, err);
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
    TRY(check_limits(&f->config, err));
    fill.tensors = m->tensors;
    fill.source = &m->words->source;
    fill.target = target;
    TRY(params_open(&f->params, &f->config, err));
    TRY(fill_check(&fill, &f->params, err));
    TRY(mem_alloc(&f->flat, f->params.n_flat, sizeof *f->flat, err));
    memset(f->flat, 0, f->params.n_flat * sizeof *f->flat);
    TRY(fill_all(&fill, &f->params, f->flat, err));
    if (has_silent)
        silence(f, target);
    return read_tokenizers(f, m, err);
}
