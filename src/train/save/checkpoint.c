#include "train/save/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "decode/model_dir.h"
#include "device/half.h"
#include "format/tf/meta_graph.h"
#include "format/tf/tensor_bundle.h"

#define SLOTS   "Loss_Optimization/"
#define MASTERS SLOTS "FP32-master-copy/" /* in mixed precision; X itself has 16 bits */

/* One tensor of the bundle: a view of a flat array, or a scalar or vector at hand. */
struct tensor {
    char name[PARAM_NAME_MAX + 80];
    const struct param *param; /* NULL for the small ones */
    struct mat flat;
    const float *copy; /* where the values are instead, when not NULL */
    int dtype;         /* enum tensor_dtype */
    void *host;        /* bytes of the small ones, and where they are read to */
    uint64_t n_host;
    bool is_scalar;
};

struct tensors {
    struct tensor *list;
    size_t n, cap;
    float beta1_power, beta2_power;
    int64_t step;
    struct loss_scale scale;
};

static status add(struct tensors *t, struct tensor one, struct err *err)
{
    TRY(mem_grow(&t->list, &t->cap, t->n + 1, sizeof *t->list, err));
    t->list[t->n++] = one;
    return OK;
}

static bool is_mixed(const struct checkpoint *c)
{
    return c->model->half.mem;
}

/* Every parameter as prefix + name + suffix, in one of the flat arrays. Mixed precision
 * has another prefix for those that have masters, and beside the masters the weights as
 * products read them, which are made from the masters and so never read back. */
static status add_part(struct tensors *t, const struct checkpoint *c,
                       enum checkpoint_part part, const char *prefix, const char *mixed,
                       const char *suffix, struct err *err)
{
    const struct params *p = &c->model->params;
    const bool is_fp16 = c->model->device->precision == PRECISION_FP16;

    for (const struct param *one = p->list; one < p->list + p->n_list; one++) {
        const bool has_master = is_mixed(c) && !params_is_float(one);
        struct tensor tensor = {.param = one,
                                .flat = c->part[part],
                                .copy = c->copy ? c->copy->part[part] : NULL,
                                .dtype = TENSOR_FLOAT};
        snprintf(tensor.name, sizeof tensor.name, "%s%s%s", has_master ? mixed : prefix,
                 one->name, suffix);
        TRY(add(t, tensor, err));
        if (!has_master || part != CHECKPOINT_WEIGHTS)
            continue;
        tensor.dtype = is_fp16 ? TENSOR_HALF : TENSOR_BFLOAT16;
        snprintf(tensor.name, sizeof tensor.name, "%s", one->name);
        TRY(add(t, tensor, err));
    }
    return OK;
}

static status add_scalar(struct tensors *t, const char *name, int dtype, void *host,
                         struct err *err)
{
    struct tensor one = {.dtype = dtype, .host = host, .n_host = 1, .is_scalar = true};

    snprintf(one.name, sizeof one.name, "%s", name);
    return add(t, one, err);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tensor *)a)->name, ((const struct tensor *)b)->name);
}

/* The scaler's variables, numbered as the reference numbers them. */
static status add_scaler(struct tensors *t, struct err *err)
{
    struct loss_scale *s = &t->scale;
    float *const logmax[] = {&s->scale,        &s->x_hat,         &s->slow_x_hat,
                             &s->xsquared_hat, &s->b1_correction, &s->b2_correction};

    if (s->rule != LOSS_SCALE_BACKOFF && s->rule != LOSS_SCALE_LOGMAX)
        return OK;
    TRY(add_scalar(t, SLOTS "Variable", TENSOR_INT64, &s->iteration, err));
    if (s->rule == LOSS_SCALE_BACKOFF) {
        TRY(add_scalar(t, SLOTS "Variable_1", TENSOR_INT64, &s->last_overflow, err));
        return add_scalar(t, SLOTS "Variable_2", TENSOR_FLOAT, &s->scale, err);
    }
    for (size_t i = 0; i < sizeof logmax / sizeof *logmax; i++) {
        char name[64];
        snprintf(name, sizeof name, SLOTS "Variable_%zu", i + 1);
        TRY(add_scalar(t, name, TENSOR_FLOAT, logmax[i], err));
    }
    return OK;
}

/* Adam's slots have the reference's names; NovoGrad's are Momentum and its norms. */
static status add_slots(struct tensors *t, const struct checkpoint *c, struct err *err)
{
    const bool mixed = is_mixed(c);
    const char *beta1 = mixed ? SLOTS "cond_1/beta1_power" : SLOTS "beta1_power";
    const char *beta2 = mixed ? SLOTS "cond_1/beta2_power" : SLOTS "beta2_power";

    if (!c->optim->norms) {
        TRY(add_part(t, c, CHECKPOINT_M, SLOTS, SLOTS MASTERS, "/Adam", err));
        TRY(add_part(t, c, CHECKPOINT_V, SLOTS, SLOTS MASTERS, "/Adam_1", err));
        TRY(add_scalar(t, beta1, TENSOR_FLOAT, &t->beta1_power, err));
        return add_scalar(t, beta2, TENSOR_FLOAT, &t->beta2_power, err);
    }
    struct tensor norms = {.name = SLOTS "nvgrad2_ema",
                           .dtype = TENSOR_DOUBLE,
                           .host = c->copy ? c->copy->norms : c->optim->norms,
                           .n_host = c->model->params.n_list};
    TRY(add_part(t, c, CHECKPOINT_M, SLOTS, SLOTS MASTERS, "/Momentum", err));
    return add(t, norms, err);
}

static status list_tensors(struct tensors *t, const struct checkpoint *c, struct err *err)
{
    TRY(add_part(t, c, CHECKPOINT_WEIGHTS, "", MASTERS, "", err));
    TRY(add_slots(t, c, err));
    TRY(add_scaler(t, err));
    if (c->part[CHECKPOINT_AVERAGE].mem)
        TRY(add_part(t, c, CHECKPOINT_AVERAGE, "", "", MODEL_DIR_AVERAGE, err));
    if (c->part[CHECKPOINT_OUTER].mem)
        TRY(add_part(t, c, CHECKPOINT_OUTER, SLOTS, SLOTS, "/Outer", err));
    TRY(add_scalar(t, "global_step", TENSOR_INT64, &t->step, err));
    qsort(t->list, t->n, sizeof *t->list, by_name);
    return OK;
}

/* In place: floats become the numbers of 16 bits that a device would make of them. */
static size_t narrow(float *host, size_t n, int dtype)
{
    uint16_t *to = (uint16_t *)(void *)host;

    if (dtype == TENSOR_FLOAT)
        return n * sizeof *host;
    for (size_t i = 0; i < n; i++) {
        float x;
        memcpy(&x, (const char *)host + i * sizeof x, sizeof x);
        const uint16_t h =
            dtype == TENSOR_HALF ? half_from(half_clip(x)) : half_from_b(x);
        memcpy((char *)to + i * sizeof h, &h, sizeof h);
    }
    return n * sizeof *to;
}

static struct mat view(const struct tensor *one)
{
    const struct param *p = one->param;

    return (struct mat){one->flat.mem, one->flat.at + p->at, p->rows, p->cols, p->stride};
}

/* A parameter's rows come through a host buffer, whatever the device. The writing thread
 * never touches the device: it has a copy. */
static status write_param(struct tensor_bundle_writer *w, struct device *d,
                          const struct tensor *one, struct err *err)
{
    const struct param *p = one->param;
    const uint64_t dims[2] = {p->n_dims == 2 ? p->rows : p->cols, p->cols};
    float *host;

    TRY(tensor_bundle_add(w, one->name, (enum tensor_dtype)one->dtype, dims, p->n_dims,
                          err));
    TRY(mem_alloc(&host, p->rows * p->cols, sizeof *host, err));
    if (!one->copy)
        device_download(d, host, view(one));
    for (size_t r = 0; one->copy && r < p->rows; r++)
        memcpy(host + r * p->cols, one->copy + p->at + r * p->stride,
               p->cols * sizeof *host);
    const size_t n_bytes = narrow(host, p->rows * p->cols, one->dtype);
    const status result = tensor_bundle_add_bytes(w, host, n_bytes, err);
    free(host);
    return result;
}

static status write_small(struct tensor_bundle_writer *w, const struct tensor *one,
                          struct err *err)
{
    const size_t n = (size_t)one->n_host * tensor_dtype_bytes(one->dtype);

    TRY(tensor_bundle_add(w, one->name, (enum tensor_dtype)one->dtype, &one->n_host,
                          one->is_scalar ? 0 : 1, err));
    return tensor_bundle_add_bytes(w, one->host, n, err);
}

static status write_bundle(const struct checkpoint *c, const struct tensors *t,
                           const char *prefix, struct err *err)
{
    struct tensor_bundle_writer w;
    status result = tensor_bundle_begin(&w, prefix, err);

    if (result != OK)
        return result;
    for (size_t i = 0; result == OK && i < t->n; i++)
        result = t->list[i].param ? write_param(&w, c->model->device, &t->list[i], err)
                                  : write_small(&w, &t->list[i], err);
    if (result == OK)
        return tensor_bundle_finish(&w, err);
    tensor_bundle_abort(&w);
    return result;
}

static status suffixed(char *out, const char *prefix, const char *suffix, struct err *err)
{
    const int n = snprintf(out, FILE_PATH_MAX, "%s%s", prefix, suffix);

    if (n < 0 || n >= FILE_PATH_MAX)
        return err_set(err, ERR_USAGE, "path '%s%s' is too long", prefix, suffix);
    return OK;
}

status checkpoint_write(const struct checkpoint *c, const struct state *s,
                        const char *prefix, uint64_t *n_bytes, struct err *err)
{
    struct tensors t = {
        .step = s->step,
        .scale = s->scale,
        /* the reference's counters: beta^(t+1) after t updates */
        .beta1_power = (float)pow(c->optim->config.beta1, (double)s->step + 1),
        .beta2_power = (float)pow(c->optim->config.beta2, (double)s->step + 1)};
    char path[FILE_PATH_MAX];

    status result = suffixed(path, prefix, ".state", err);
    THEN(result, state_write(s, path, err));
    THEN(result, list_tensors(&t, c, err));
    THEN(result, write_bundle(c, &t, prefix, err));
    THEN(result, meta_graph_write(prefix, "ForwardPass/", err));
    *n_bytes = shelf_bytes(prefix);
    free(t.list);
    return result == OK ? OK : err_wrap(err, "saving %s", prefix);
}

/* ---- reading ---- */

static status read_param(const struct tensor_bundle *b, const struct tensor_entry *e,
                         struct device *d, const struct tensor *one, struct err *err)
{
    const struct param *p = one->param;
    const size_t n = p->rows * p->cols;
    float *host;

    TRY(model_dir_check_tensor(e, p, err));
    if (e->dtype != TENSOR_FLOAT)
        return err_set(err, ERR_FORMAT, "tensor %s is not of type float32", one->name);
    TRY(mem_alloc(&host, n, sizeof *host, err));
    const status result =
        tensor_bundle_copy(b, e, host, 1, n * sizeof *host, n * sizeof *host, err);
    if (result == OK)
        device_upload(d, view(one), host);
    free(host);
    return result;
}

static status read_small(const struct tensor_bundle *b, const struct tensor_entry *e,
                         const struct tensor *one, struct err *err)
{
    const size_t n = (size_t)one->n_host * tensor_dtype_bytes(one->dtype);

    if (e->dtype != one->dtype || e->n_bytes != n)
        return err_set(err, ERR_FORMAT, "tensor %s has an unexpected type or shape",
                       one->name);
    return tensor_bundle_copy(b, e, one->host, 1, n, n, err);
}

/* Another tool's checkpoint must have the weights and the step; moments may be new. */
static bool is_needed(const struct checkpoint *c, const struct tensor *one,
                      const int64_t *step, enum checkpoint_kind kind)
{
    return kind == CHECKPOINT_OURS || one->host == step ||
           (one->param && one->flat.mem == c->model->flat.mem);
}

static status read_tensors(const struct checkpoint *c, const struct tensors *t,
                           const struct tensor_bundle *b, enum checkpoint_kind kind,
                           struct err *err)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct tensor *one = &t->list[i];
        const struct tensor_entry *e = tensor_bundle_find(b, one->name);
        if (one->param && one->dtype != TENSOR_FLOAT)
            continue; /* made from its master */
        if (!e && !is_needed(c, one, &t->step, kind))
            continue;
        if (!e)
            return err_set(err, ERR_FORMAT, "tensor %s is missing", one->name);
        TRY(one->param ? read_param(b, e, c->model->device, one, err)
                       : read_small(b, e, one, err));
    }
    return OK;
}

/* Our .meta is a function of the index, so that a cut one is seen by its size. */
static status check_meta(const struct tensor_bundle *b, const char *prefix,
                         struct err *err)
{
    struct str want = str_new(0);
    char path[FILE_PATH_MAX];

    TRY(suffixed(path, prefix, ".meta", err));
    status result =
        meta_graph_build(&want, b->index.entry, b->index.n, "ForwardPass/", err);
    if (result == OK && file_bytes(path) != (int64_t)want.len)
        result = err_set(err, ERR_FORMAT, "%s is not whole", path);
    str_release(&want);
    return result;
}

static status read_state(struct state *s, const char *prefix, enum checkpoint_kind *kind,
                         struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(suffixed(path, prefix, ".state", err));
    *kind = file_exists(path) ? CHECKPOINT_OURS : CHECKPOINT_FOREIGN;
    *s = (struct state){0};
    return *kind == CHECKPOINT_OURS ? state_read(s, path, err) : OK;
}

static status read_all(const struct checkpoint *c, struct state *s, const char *prefix,
                       struct tensor_bundle *b, enum checkpoint_kind *kind,
                       struct err *err)
{
    struct tensors t = {.scale = c->scale};

    status result = read_state(s, prefix, kind, err);
    if (result == OK && *kind == CHECKPOINT_OURS)
        result = check_meta(b, prefix, err);
    THEN(result, list_tensors(&t, c, err));
    THEN(result, read_tensors(c, &t, b, *kind, err));
    if (result == OK && *kind == CHECKPOINT_OURS && s->step != t.step)
        result = err_set(err, ERR_FORMAT, "its files are of steps %lld and %lld",
                         (long long)s->step, (long long)t.step);
    s->step = t.step;
    s->scale = t.scale;
    free(t.list);
    return result;
}

status checkpoint_read(const struct checkpoint *c, struct state *s, const char *prefix,
                       enum checkpoint_kind *kind, struct err *err)
{
    struct tensor_bundle b;

    status result = tensor_bundle_open(&b, prefix, err);
    if (result == OK) {
        result = read_all(c, s, prefix, &b, kind, err);
        tensor_bundle_close(&b);
    }
    return result == OK ? OK : err_wrap(err, "checkpoint %s", prefix);
}
