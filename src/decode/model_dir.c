#include "decode/model_dir.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "device/half.h"
#include "format/le.h"
#include "format/seal.h"
#include "format/tf/checkpoint_dir.h"

static bool is_checkpoint(const char *prefix)
{
    char path[FILE_PATH_MAX + 8];

    if (strlen(prefix) >= FILE_PATH_MAX)
        return false;
    snprintf(path, sizeof path, "%s.index", prefix);
    return file_exists(path);
}

/* What a user may point at instead of the prefix: any of the checkpoint's files. */
static void strip_suffix(char *path)
{
    static const char *const suffixes[] = {".index", ".meta", ".data-00000-of-00001"};

    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strlen(path) > strlen(suffixes[i]) && str_ends(path, suffixes[i])) {
            path[strlen(path) - strlen(suffixes[i])] = '\0';
            return;
        }
}

static status set_path(char *out, size_t n_out, const char *path, struct err *err)
{
    if (strlen(path) >= n_out)
        return err_set(err, ERR_USAGE, "%.200s...: the path is too long", path);
    memcpy(out, path, strlen(path) + 1);
    return OK;
}

/* The directory part of a path, "." when it has none. */
static status parent_of(char *out, size_t n_out, const char *path, struct err *err)
{
    TRY(set_path(out, n_out, path, err));
    const char *dir = dirname(out);
    memmove(out, dir, strlen(dir) + 1);
    return OK;
}

status model_dir_find(char *path, size_t n_path, const char *dir, const char *name,
                      struct err *err)
{
    char above[FILE_PATH_MAX];

    TRY(file_join(path, n_path, dir, name, err));
    if (file_exists(path))
        return OK;
    TRY(file_join(above, sizeof above, dir, "..", err));
    TRY(file_join(path, n_path, above, name, err));
    if (file_exists(path))
        return OK;
    return err_set(err, ERR_IO, "%s: no %s there; is it a run directory?", dir, name);
}

static status join_name(char *out, size_t n_out, const char *dir, const char *name,
                        struct err *err)
{
    if (name[0] == '/')
        return set_path(out, n_out, name, err);
    return file_join(out, n_out, dir, name, err);
}

status model_dir_prefix(char *prefix, size_t n_prefix, const char *dir, const char *name,
                        struct err *err)
{
    TRY(set_path(prefix, n_prefix, name, err));
    strip_suffix(prefix);
    if (is_checkpoint(prefix))
        return OK;
    TRY(join_name(prefix, n_prefix, dir, name, err));
    strip_suffix(prefix);
    if (is_checkpoint(prefix))
        return OK;
    return err_set(err, ERR_IO, "there is no checkpoint %s, also not in %s", name, dir);
}

static status open_first(struct model_dir *d, const char *dir, struct err *err)
{
    struct checkpoint_choice c;

    TRY(checkpoint_dir_open(&c, dir, err));
    d->bundle = c.bundle;
    memcpy(d->prefix, c.prefix, sizeof d->prefix);
    memcpy(d->note, c.note, sizeof d->note);
    return OK;
}

static status choose(struct model_dir *d, const char *path, const char *checkpoint,
                     struct err *err)
{
    char best[FILE_PATH_MAX];

    TRY(set_path(d->dir, sizeof d->dir, path, err));
    if (strcmp(checkpoint, "last") == 0)
        return open_first(d, path, err);
    if (strcmp(checkpoint, "best") != 0) {
        TRY(model_dir_prefix(d->prefix, sizeof d->prefix, path, checkpoint, err));
        return tensor_bundle_open(&d->bundle, d->prefix, err);
    }
    TRY(file_join(best, sizeof best, path, "best_models", err));
    if (!file_is_dir(best))
        return err_set(err, ERR_IO, "%s has no best_models; use checkpoint=last", path);
    return open_first(d, best, err);
}

/* The best; where there is none, or none that is whole, the last. */
static status choose_auto(struct model_dir *d, const char *path, struct err *err)
{
    char best[FILE_PATH_MAX];
    struct err damage = {0};

    TRY(file_join(best, sizeof best, path, "best_models", err));
    if (checkpoint_dir_has_any(best) && choose(d, path, "best", &damage) == OK)
        return OK;
    TRY(choose(d, path, "last", err));
    if (damage.code != OK && !d->note[0])
        snprintf(d->note, sizeof d->note, "%.200s; using %.200s instead", damage.msg,
                 d->prefix);
    return OK;
}

/* Why the path is none; whoever asks has looked for files of other kinds before. */
static status no_model(const char *path, struct err *err)
{
    if (access(path, R_OK) == 0)
        return err_set(err, ERR_FORMAT,
                       "%s is no model: neither a run directory, a checkpoint or a "
                       "packed model nor one of another program",
                       path);
    if (errno != ENOENT && errno != ENOTDIR)
        return file_error(err, path);
    return err_set(err, ERR_IO, "%s: no such run directory or checkpoint", path);
}

static status locate(struct model_dir *d, const char *path, const char *checkpoint,
                     struct err *err)
{
    if (file_is_dir(path))
        return strcmp(checkpoint, "auto") == 0 ? choose_auto(d, path, err)
                                               : choose(d, path, checkpoint, err);
    TRY(set_path(d->prefix, sizeof d->prefix, path, err));
    strip_suffix(d->prefix);
    if (!is_checkpoint(d->prefix))
        return no_model(path, err);
    TRY(parent_of(d->dir, sizeof d->dir, d->prefix, err));
    return tensor_bundle_open(&d->bundle, d->prefix, err);
}

/* ---- tensors ---- */

bool model_dir_is_number(int dtype)
{
    return dtype == TENSOR_FLOAT || dtype == TENSOR_DOUBLE || dtype == TENSOR_HALF ||
           dtype == TENSOR_BFLOAT16;
}

static double value_at(const unsigned char *bytes, int dtype, size_t i)
{
    const unsigned char *two = bytes + 2 * i;

    if (dtype == TENSOR_FLOAT)
        return (double)half_float(le_get32(bytes + 4 * i));
    if (dtype == TENSOR_DOUBLE) {
        const uint64_t bits = le_get64(bytes + 8 * i);
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    const uint16_t bits = (uint16_t)(two[0] | two[1] << 8);
    return (double)(dtype == TENSOR_HALF ? half_to(bits) : half_to_b(bits));
}

void model_dir_floats(float *out, const unsigned char *bytes, int dtype, size_t first,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)value_at(bytes, dtype, first + i);
}

void model_dir_add_values(double *out, const unsigned char *bytes, int dtype,
                          size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] += value_at(bytes, dtype, first + i);
}

const char *model_dir_shape(char text[MODEL_DIR_SHAPE], const uint64_t *dims, size_t n)
{
    size_t at = (size_t)snprintf(text, MODEL_DIR_SHAPE, "[");

    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, MODEL_DIR_SHAPE - at, "%s%llu", i ? "," : "",
                               (unsigned long long)dims[i]);
    snprintf(text + at, MODEL_DIR_SHAPE - at, "]");
    return text;
}

status model_dir_check_tensor(const struct tensor_entry *e, const struct param *t,
                              struct err *err)
{
    char seen[MODEL_DIR_SHAPE], want[MODEL_DIR_SHAPE];
    const uint64_t both[2] = {t->rows, t->cols}, *dims = both + 2 - t->n_dims;

    if (e->n_dims != t->n_dims || memcmp(e->dims, dims, t->n_dims * sizeof *dims) != 0)
        return err_set(err, ERR_FORMAT, "tensor %s has shape %s, the model wants %s",
                       e->name, model_dir_shape(seen, e->dims, e->n_dims),
                       model_dir_shape(want, dims, t->n_dims));
    if (!model_dir_is_number(e->dtype)) {
        const char *name = tensor_dtype_name(e->dtype);
        return err_set(err, ERR_FORMAT,
                       "tensor %s is of type %s, the model wants floating point", e->name,
                       name ? name : "unknown");
    }
    return OK;
}

status model_dir_tensor(const struct tensor_bundle *b, const struct param *t,
                        const char *before, const char *after,
                        const struct tensor_entry **entry, const unsigned char **bytes,
                        struct err *err)
{
    char name[2 * PARAM_NAME_MAX];

    snprintf(name, sizeof name, "%s%s%s", before, t->name, after);
    *entry = tensor_bundle_find(b, name);
    if (!*entry)
        return err_set(err, ERR_FORMAT, "the checkpoint has no tensor %s", name);
    TRY(model_dir_check_tensor(*entry, t, err));
    return tensor_bundle_read(b, *entry, bytes, err);
}

status model_dir_read_flat(const struct tensor_bundle *b, const struct params *p,
                           const char *before, const char *after, float *flat,
                           struct err *err)
{
    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *t = &p->list[i];
        const struct tensor_entry *e;
        const unsigned char *bytes;
        TRY(model_dir_tensor(b, t, before, after, &e, &bytes, err));
        for (size_t row = 0; row < t->rows; row++)
            model_dir_floats(flat + t->at + row * t->stride, bytes, e->dtype,
                             row * t->cols, t->cols);
    }
    return OK;
}

status model_dir_read_weights(struct model_dir *d, const struct params *p, bool averaged,
                              float *flat, struct err *err)
{
    char name[2 * PARAM_NAME_MAX];

    snprintf(name, sizeof name, "%s%s", p->list[0].name, MODEL_DIR_AVERAGE);
    averaged = averaged && tensor_bundle_find(&d->bundle, name);
    status result = model_dir_read_flat(&d->bundle, p, "",
                                        averaged ? MODEL_DIR_AVERAGE : "", flat, err);
    if (result != OK)
        (void)err_wrap(err, "%s", d->prefix);
    tensor_bundle_close(&d->bundle);
    return result;
}

status model_dir_load_weights(struct model *m, struct model_dir *d, bool averaged,
                              struct err *err)
{
    RELEASED_BY(mem_release) float *flat = NULL;

    TRY(mem_alloc(&flat, m->params.n_flat, sizeof *flat, err));
    TRY(model_dir_read_weights(d, &m->params, averaged, flat, err));
    return model_set_weights(m, flat, err);
}

status model_dir_step(const struct tensor_bundle *b, int64_t *step, struct err *err)
{
    const struct tensor_entry *e = tensor_bundle_find(b, "global_step");
    const unsigned char *bytes;

    *step = -1;
    if (!e)
        return OK;
    if (e->dtype != TENSOR_INT64 || e->n_bytes != 8)
        return err_set(err, ERR_FORMAT, "tensor global_step is not one int64");
    TRY(tensor_bundle_read(b, e, &bytes, err));
    *step = (int64_t)le_get64(bytes);
    return OK;
}

/* The rows of the targets' table are the vocabulary, when the config leaves it to the
 * data. */
static status take_vocabulary(struct model_config *c, const struct tensor_bundle *b,
                              struct err *err)
{
    struct model_config any = *c;
    struct params p;

    if (c->vocab_size)
        return OK;
    any.vocab_size = ID_N_SPECIAL;
    TRY(params_open(&p, &any, err));
    const enum param_id id =
        params_has(&p, PARAM_target_embed) ? PARAM_target_embed : PARAM_embed;
    const char *name = params_get(&p, id, 0)->name;
    const struct tensor_entry *e = tensor_bundle_find(b, name);
    const bool is_matrix = e && e->n_dims == 2 && e->dims[0] <= SPM_VOCAB_MAX;
    if (is_matrix)
        c->vocab_size = (int64_t)e->dims[0];
    else
        (void)err_set(err, ERR_FORMAT,
                      "the checkpoint has no embedding matrix %s of at most %d rows",
                      name, SPM_VOCAB_MAX);
    params_close(&p);
    return is_matrix ? OK : err->code;
}

static status read_checkpoint(struct model_dir *d, const struct tensor_bundle *b,
                              struct err *err)
{
    status result = take_vocabulary(&d->config, b, err);

    THEN(result, model_dir_step(b, &d->step, err));
    return result == OK ? OK : err_wrap(err, "%s", d->prefix);
}

/* What config.yaml says beside the shape of the model. */
#define SPOKEN_OPTIONS(X)            \
    X(STR, source_lang, "", "", ANY) \
    X(STR, target_lang, "", "", ANY) \
    X(STR, data, "", "", ANY)
struct spoken {
    SPOKEN_OPTIONS(OPT_FIELD)
};
typedef struct spoken opt_owner;
static const struct opt spoken_rows[] = {SPOKEN_OPTIONS(OPT_OWN_ROW)};
static const struct opt_table spoken_table = {spoken_rows,
                                              sizeof spoken_rows / sizeof *spoken_rows};

static status read_spoken(struct spoken *s, struct model_dir_languages *l,
                          const char *path, struct err *err)
{
    TRY(opt_defaults(spoken_table, s, err));
    TRY(opt_file(spoken_table, s, path, OPT_SKIP_UNKNOWN, err));
    snprintf(l->source, sizeof l->source, "%.15s", s->source_lang);
    snprintf(l->target, sizeof l->target, "%.15s", s->target_lang);
    return OK;
}

status model_dir_languages(struct model_dir_languages *l, const char *path,
                           struct err *err)
{
    struct spoken s;

    return read_spoken(&s, l, path, err);
}

static status read_architecture(struct architecture *a, const char *path, struct err *err)
{
    struct architecture_options o;

    TRY(opt_defaults(architecture_table, &o, err));
    TRY(opt_file(architecture_table, &o, path, OPT_SKIP_UNKNOWN, err));
    *a = architecture_from_options(&o);
    return OK;
}

/* The tokenizer of targets, where they have their own; "" where not. */
static void find_target(char path[FILE_PATH_MAX], const char *dir)
{
    struct err none;

    if (model_dir_find(path, FILE_PATH_MAX, dir, CHECKPOINT_DIR_TARGET, &none) != OK)
        path[0] = '\0';
}

static status open_parts(struct model_dir *d, const struct tensor_bundle *b,
                         struct err *err)
{
    char path[FILE_PATH_MAX], vocab[FILE_PATH_MAX];
    struct spoken s;

    TRY(model_dir_find(path, sizeof path, d->dir, "config.yaml", err));
    TRY(parent_of(d->dir, sizeof d->dir, path, err));
    TRY(model_dir_find(vocab, sizeof vocab, d->dir, "vocab.model", err));
    TRY(seal_check(path, vocab, err));
    TRY(model_config_defaults(&d->config, err));
    TRY(opt_file(model_config_table, &d->config, path, OPT_SKIP_UNKNOWN, err));
    TRY(read_architecture(&d->config.arch, path, err));
    TRY(opt_defaults(tying_table, &d->config.tying, err));
    TRY(opt_file(tying_table, &d->config.tying, path, OPT_SKIP_UNKNOWN, err));
    TRY(read_spoken(&s, &d->lang, path, err));
    TRY(set_path(d->data, sizeof d->data, s.data, err));
    TRY(read_checkpoint(d, b, err));
    TRY(model_config_check(&d->config, err));
    find_target(path, d->dir);
    if (architecture_is_reference(&d->config.arch)) /* it has all pieces, or is refused */
        return spm_load(&d->spm, vocab, err);
    return spm_load_both(&d->spm, vocab, path,
                         (size_t)model_config_source_vocab(&d->config),
                         (size_t)d->config.vocab_size, err);
}

status model_dir_open(struct model_dir *d, const char *path, const char *checkpoint,
                      struct err *err)
{
    *d = (struct model_dir){.step = -1};
    status result = locate(d, path, checkpoint, err);
    THEN(result, open_parts(d, &d->bundle, err));
    if (result != OK)
        model_dir_close(d);
    return result;
}

status model_dir_describe(struct model_dir *d, const char *dir, const char *prefix,
                          const struct tensor_bundle *b, struct err *err)
{
    *d = (struct model_dir){.step = -1};
    status result = set_path(d->dir, sizeof d->dir, dir, err);
    THEN(result, set_path(d->prefix, sizeof d->prefix, prefix, err));
    THEN(result, open_parts(d, b, err));
    if (result != OK)
        model_dir_close(d);
    return result;
}

void model_dir_close(struct model_dir *d)
{
    spm_free(d->spm);
    tensor_bundle_close(&d->bundle);
    *d = (struct model_dir){.step = -1};
}
