#include "decode/average.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/le.h"
#include "format/tf/checkpoint_dir.h"
#include "format/tf/meta_graph.h"
#include "format/tf/tf_checkpoint.h"

static void forget(struct average *a)
{
    while (a->n)
        tensor_bundle_close(&a->bundle[--a->n]);
}

void average_release(struct average *a)
{
    forget(a);
    free(a->prefix);
    free(a->bundle);
    *a = (struct average){0};
}

status average_add(struct average *a, const char *run, const char *name, struct err *err)
{
    TRY(mem_grow(&a->prefix, &a->cap, a->n + 1, sizeof *a->prefix, err));
    TRY(mem_grow(&a->bundle, &a->bundle_cap, a->n + 1, sizeof *a->bundle, err));
    TRY(model_dir_prefix(a->prefix[a->n], sizeof *a->prefix, run, name, err));
    TRY(tensor_bundle_open(&a->bundle[a->n], a->prefix[a->n], err));
    a->n++;
    return OK;
}

/* The newest last. */
static status add_first(struct average *a, const char *run,
                        const struct checkpoint_dir *list, size_t n, struct err *err)
{
    const size_t n_there = list->n_listed ? list->n_listed : list->n;
    status result = OK;

    if (!n_there)
        return err_set(err, list->has_pointer ? ERR_FORMAT : ERR_IO,
                       "%s has no checkpoints: %s", run, list->note);
    for (size_t i = n < n_there ? n : n_there; i > 0 && result == OK; i--)
        result = average_add(a, run, list->name[i - 1], err);
    snprintf(a->note, sizeof a->note, "%s", list->note);
    return result;
}

status average_add_newest(struct average *a, const char *run, size_t n, struct err *err)
{
    struct checkpoint_dir list;

    for (int look = 1;; look++) {
        TRY(checkpoint_dir_list(&list, run, err));
        const status result = add_first(a, run, &list, n, err);
        const bool is_final = result == OK || look == CHECKPOINT_DIR_LOOKS ||
                              !checkpoint_dir_has_changed(&list, run);
        checkpoint_dir_release(&list);
        if (is_final)
            return result;
        forget(a);
    }
}

status average_add_steps(struct average *a, const char *run, const char *steps,
                         struct err *err)
{
    const char *at = steps;

    for (;;) {
        char name[64], *end;
        errno = 0;
        const unsigned long long step = strtoull(at, &end, 10);
        if (end == at || *at < '0' || *at > '9' || errno || (*end && *end != ','))
            return err_set(err, ERR_USAGE,
                           "steps = %s: want step numbers with commas between them",
                           steps);
        snprintf(name, sizeof name, "model.ckpt-%llu", step);
        TRY(average_add(a, run, name, err));
        if (!*end)
            return OK;
        at = end + 1;
    }
}

/* What is open while the mean is written. */
struct job {
    const struct average *a;
    const unsigned char **bytes; /* [n] of the tensor at hand */
    int *dtype;
    struct params params;
    struct param *sorted; /* by name, the order of a bundle */
    double *sum;          /* a row */
    float *mean;
    int64_t step; /* the largest */
};

static int by_name(const void *a, const void *b)
{
    const struct param *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static status open_params(struct job *j, const struct model_config *c, struct err *err)
{
    size_t widest = 0;

    TRY(params_open(&j->params, c, err));
    TRY(mem_alloc(&j->sorted, j->params.n_list, sizeof *j->sorted, err));
    for (size_t i = 0; i < j->params.n_list; i++) {
        j->sorted[i] = j->params.list[i];
        widest = j->sorted[i].cols > widest ? j->sorted[i].cols : widest;
    }
    qsort(j->sorted, j->params.n_list, sizeof *j->sorted, by_name);
    TRY(mem_alloc(&j->sum, widest, sizeof *j->sum, err));
    return mem_alloc(&j->mean, widest, sizeof *j->mean, err);
}

static status find_step(struct job *j, struct err *err)
{
    const size_t n = j->a->n;

    TRY(mem_alloc(&j->bytes, n, sizeof *j->bytes, err));
    TRY(mem_alloc(&j->dtype, n, sizeof *j->dtype, err));
    for (size_t i = 0; i < n; i++) {
        int64_t step;
        if (model_dir_step(&j->a->bundle[i], &step, err) != OK)
            return err_wrap(err, "%s", j->a->prefix[i]);
        j->step = step > j->step ? step : j->step;
    }
    return OK;
}

static status write_tensor(struct job *j, struct tensor_bundle_writer *w,
                           const struct param *t, struct err *err)
{
    const uint64_t dims[2] = {t->rows, t->cols};
    const size_t n = j->a->n;

    for (size_t i = 0; i < n; i++) {
        const struct tensor_entry *e;
        if (model_dir_tensor(&j->a->bundle[i], t, "", "", &e, &j->bytes[i], err) != OK)
            return err_wrap(err, "%s", j->a->prefix[i]);
        j->dtype[i] = e->dtype;
    }
    TRY(tensor_bundle_add(w, t->name, TENSOR_FLOAT, dims + 2 - t->n_dims, t->n_dims,
                          err));
    for (size_t row = 0; row < t->rows; row++) {
        memset(j->sum, 0, t->cols * sizeof *j->sum);
        for (size_t i = 0; i < n; i++)
            model_dir_add_values(j->sum, j->bytes[i], j->dtype[i], row * t->cols,
                                 t->cols);
        for (size_t c = 0; c < t->cols; c++)
            j->mean[c] = (float)(j->sum[c] / (double)n);
        TRY(tensor_bundle_add_bytes(w, j->mean, t->cols * sizeof *j->mean, err));
    }
    return OK;
}

static status write_tensors(struct job *j, struct tensor_bundle_writer *w,
                            struct err *err)
{
    unsigned char step[8];

    for (size_t i = 0; i < j->params.n_list; i++)
        TRY(write_tensor(j, w, &j->sorted[i], err));
    le_put64(step, (uint64_t)j->step);
    TRY(tensor_bundle_add(w, "global_step", TENSOR_INT64, NULL, 0, err));
    return tensor_bundle_add_bytes(w, step, sizeof step, err);
}

static status write_bundle(struct job *j, const char *prefix, struct err *err)
{
    struct tensor_bundle_writer w;

    TRY(tensor_bundle_begin(&w, prefix, err));
    if (write_tensors(j, &w, err) != OK) {
        tensor_bundle_abort(&w);
        return err->code;
    }
    TRY(tensor_bundle_finish(&w, err));
    return meta_graph_write(prefix, "ForwardPass/", err);
}

/* The file `name` of the model, byte for byte. */
static status copy_file(const struct model_dir *model, const char *out, const char *name,
                        struct err *err)
{
    char from[FILE_PATH_MAX], to[FILE_PATH_MAX];
    struct file_map map;

    TRY(model_dir_find(from, sizeof from, model->dir, name, err));
    TRY(file_join(to, sizeof to, out, name, err));
    TRY(file_map_open(&map, from, err));
    const status result = file_write(to, map.data, map.n_bytes, err);
    file_map_close(&map);
    return result;
}

static status write_dir(struct job *j, const struct model_dir *model, const char *out,
                        struct err *err)
{
    char name[64], path[FILE_PATH_MAX], pointer[FILE_PATH_MAX];
    const char *const all[] = {name};

    TRY(file_join(pointer, sizeof pointer, out, CHECKPOINT_DIR_POINTER, err));
    if (checkpoint_dir_has_any(out))
        return err_set(err, ERR_USAGE,
                       "out = %s: a model is there already; name a new directory", out);
    TRY(open_params(j, &model->config, err));
    TRY(find_step(j, err));
    TRY(file_make_dirs(out, err));
    snprintf(name, sizeof name, "model.ckpt-%lld", (long long)j->step);
    TRY(file_join(path, sizeof path, out, name, err));
    TRY(write_bundle(j, path, err));
    TRY(copy_file(model, out, "config.yaml", err));
    TRY(copy_file(model, out, "vocab.model", err));
    if (spm_target(model->spm) != model->spm)
        TRY(copy_file(model, out, CHECKPOINT_DIR_TARGET, err));
    return tf_checkpoint_write(pointer, name, all, 1, err);
}

status average_write(const struct average *a, const struct model_dir *model,
                     const char *out, struct err *err)
{
    struct job j = {.a = a};
    const status result = write_dir(&j, model, out, err);

    free(j.bytes);
    free(j.dtype);
    params_close(&j.params);
    free(j.sorted);
    free(j.sum);
    free(j.mean);
    return result;
}
