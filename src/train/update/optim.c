/*
 * With g the mean gradient (times 1/tokens, clipped, times LARC's factor), t counted
 * from 1, per element:
 *
 *   adam      m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
 *             w -= rate sqrt(1-b2^t)/(1-b1^t) m / (sqrt(v) + eps)
 *   adamw     the same, and w -= rate * weight_decay * w
 *   novograd  V = |g|^2 first, then b2 V + (1-b2) |g|^2, one number a tensor
 *             m = b1 m + a (g / sqrt(V + eps) + weight_decay w);  w -= rate m
 *             a = 1-b1 with grad_averaging, else 1
 *
 * The reference means to keep V as an average but never stores it, so that there every
 * step is a first one and V is just |g|^2. Here it is kept, as the method describes.
 *
 * LARC, of a tensor: u = eta |w| / (|g| + eps), over rate in mode clip; at least
 * min_update; in mode clip at most 1; g = u g.
 */
#include "train/update/optim.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/exchange/reducer.h"
#include "recipe/params.h"

OPT_TABLE(optim_config_table, struct optim_config, OPTIM_OPTIONS);

static bool is_optimizer(const struct optim_config *c, const char *name)
{
    return strcmp(c->optimizer, name) == 0;
}

static bool uses_larc(const struct optim_config *c)
{
    return strcmp(c->larc, "none") != 0;
}

static status compile_pattern(regex_t *regex, const char *text, struct err *err)
{
    char why[128];
    const int code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

    if (code == 0)
        return OK;
    regerror(code, regex, why, sizeof why);
    return err_set(err, ERR_USAGE, "freeze = %.64s: not a regular expression: %s", text,
                   why);
}

status optim_check(const struct optim_config *c, struct err *err)
{
    regex_t regex;

    if (uses_larc(c) && c->max_grad_norm > 0)
        return err_set(err, ERR_USAGE,
                       "larc = %s and max_grad_norm = %g exclude each other: both limit "
                       "the update, choose one",
                       c->larc, c->max_grad_norm);
    if (c->weight_decay > 0 && is_optimizer(c, "adam"))
        return err_set(err, ERR_USAGE,
                       "weight_decay = %g has no effect with optimizer = adam: "
                       "want adamw or novograd",
                       c->weight_decay);
    if (c->freeze[0]) {
        TRY(compile_pattern(&regex, c->freeze, err));
        regfree(&regex);
    }
    return OK;
}

static status mark_frozen(struct optim *o, struct err *err)
{
    const struct params *p = o->params;
    regex_t regex;

    if (!o->config.freeze[0])
        return OK;
    TRY(compile_pattern(&regex, o->config.freeze, err));
    for (size_t i = 0; i < p->n_list; i++) {
        o->frozen[i] = regexec(&regex, p->list[i].name, 0, NULL, 0) == 0;
        o->n_frozen += o->frozen[i];
    }
    regfree(&regex);
    if (o->n_frozen == 0)
        return err_set(err, ERR_USAGE,
                       "freeze = %.64s matches no tensor; names look like %s",
                       o->config.freeze, p->list[p->n_list - 1].name);
    if (o->n_frozen == p->n_list)
        return err_set(err, ERR_USAGE, "freeze = %.64s leaves no tensor to train",
                       o->config.freeze);
    return OK;
}

static status alloc_state(struct optim *o, struct err *err)
{
    const size_t n = o->params->n_list;
    const size_t n_moments = o->shards ? o->shards->n_owned : o->params->n_flat;

    TRY(mem_alloc(&o->frozen, n, sizeof *o->frozen, err));
    TRY(mem_alloc(&o->grad_sq, n, sizeof *o->grad_sq, err));
    TRY(mem_alloc(&o->weight_sq, n, sizeof *o->weight_sq, err));
    TRY(device_alloc_row(o->device, &o->m, n_moments, err));
    if (is_optimizer(&o->config, "novograd"))
        return mem_alloc(&o->norms, n, sizeof *o->norms, err);
    return device_alloc_row(o->device, &o->v, n_moments, err);
}

status optim_open(struct optim *o, struct device *d, const struct params *p,
                  const struct optim_config *c, const struct reducer_shards *shards,
                  struct err *err)
{
    *o = (struct optim){.config = *c, .device = d, .params = p, .shards = shards};
    if (optim_check(c, err) != OK || alloc_state(o, err) != OK ||
        mark_frozen(o, err) != OK) {
        optim_close(o);
        return err->code;
    }
    return OK;
}

void optim_close(struct optim *o)
{
    if (o->device) {
        device_free(o->device, o->m.mem);
        device_free(o->device, o->v.mem);
    }
    free(o->norms);
    free(o->frozen);
    free(o->grad_sq);
    free(o->weight_sq);
    *o = (struct optim){0};
}

/* The tensor as a matrix of a flat array. */
static struct mat view(struct mat flat, const struct param *t)
{
    return (struct mat){flat.mem, flat.at + t->at, t->rows, t->cols, t->stride};
}

/* Whether tensors differ in anything but their place, so that each needs a call. */
static bool goes_by_tensor(const struct optim *o)
{
    return o->n_frozen > 0 || o->norms || uses_larc(&o->config);
}

/* The whole gradient's sum of squares, of which every rank has a part. */
static status measure_shards(struct optim *o, struct mat g, double *sum, struct err *err)
{
    for (size_t i = 0; i < o->shards->n_list; i++) {
        const struct reducer_shard s = o->shards->list[i];
        double part = 0;
        o->device->k->sumsq(o->device, &part, mat_cols(g, s.first, s.n));
        TRY(device_sync(o->device, err));
        *sum += part;
    }
    return comm_allreduce(o->shards->comm, COMM_SUM, sum, 1, err);
}

/* Sums of squares that this update needs, and the whole gradient's. */
static status measure(struct optim *o, struct mat w, struct mat g, double *sum,
                      struct err *err)
{
    const struct kernels *k = o->device->k;

    *sum = 0;
    if (o->shards)
        return measure_shards(o, g, sum, err);
    if (!goes_by_tensor(o)) {
        k->sumsq(o->device, sum, g);
        return device_sync(o->device, err);
    }
    for (size_t i = 0; i < o->params->n_list; i++) {
        const struct param *t = &o->params->list[i];
        if (o->frozen[i])
            continue;
        k->sumsq(o->device, &o->grad_sq[i], view(g, t));
        if (uses_larc(&o->config))
            k->sumsq(o->device, &o->weight_sq[i], view(w, t));
    }
    TRY(device_sync(o->device, err));
    for (size_t i = 0; i < o->params->n_list; i++)
        *sum += o->grad_sq[i]; /* 0 where frozen */
    return OK;
}

static double larc_factor(const struct optim_config *c, double weight_norm,
                          double grad_norm, double rate)
{
    const double trust = c->larc_eta * weight_norm / (grad_norm + c->larc_epsilon);

    if (strcmp(c->larc, "scale") == 0)
        return fmax(trust, c->larc_min_update);
    return fmin(fmax(trust / rate, c->larc_min_update), 1); /* rate 0: 1 or the least */
}

/* `scale` is what the gradient is multiplied by. */
static void update_adam(struct optim *o, struct mat w, struct mat m, struct mat v,
                        struct mat g, struct optim_update u, double scale)
{
    const struct optim_config *c = &o->config;
    const double n = (double)u.t + 1;
    const double correction = sqrt(1 - pow(c->beta2, n)) / (1 - pow(c->beta1, n));

    o->device->k->adam(o->device, w, m, v, g,
                       (struct adam){.rate = u.rate * correction,
                                     .beta1 = c->beta1,
                                     .beta2 = c->beta2,
                                     .epsilon = c->epsilon,
                                     .decay = u.rate * c->weight_decay,
                                     .scale = scale});
}

/* An average of 0 has not begun: the first squared norm is taken whole. */
static void update_novograd(struct optim *o, struct mat w, struct mat m, struct mat g,
                            size_t tensor, struct optim_update u, double scale)
{
    const struct optim_config *c = &o->config;
    const double square = scale * scale * o->grad_sq[tensor];
    double *v = &o->norms[tensor];

    *v = *v == 0 ? square : c->beta2 * *v + (1 - c->beta2) * square;
    o->device->k->novograd(
        o->device, w, m, g,
        (struct novograd){.rate = u.rate,
                          .beta1 = c->beta1,
                          .scale = scale / sqrt(*v + c->epsilon),
                          .decay = c->weight_decay,
                          .average = c->grad_averaging ? 1 - c->beta1 : 1});
}

static void update_tensors(struct optim *o, struct mat w, struct mat g,
                           struct optim_update u, double scale)
{
    for (size_t i = 0; i < o->params->n_list; i++) {
        const struct param *t = &o->params->list[i];
        double own = scale;
        if (o->frozen[i])
            continue;
        if (uses_larc(&o->config))
            own *= larc_factor(&o->config, sqrt(o->weight_sq[i]),
                               scale * sqrt(o->grad_sq[i]), u.rate);
        if (o->norms)
            update_novograd(o, view(w, t), view(o->m, t), view(g, t), i, u, own);
        else
            update_adam(o, view(w, t), view(o->m, t), view(o->v, t), view(g, t), u, own);
    }
}

static void update_shards(struct optim *o, struct mat w, struct mat g,
                          struct optim_update u, double scale)
{
    for (size_t i = 0; i < o->shards->n_list; i++) {
        const struct reducer_shard s = o->shards->list[i];
        if (s.n)
            update_adam(o, mat_cols(w, s.first, s.n), mat_cols(o->m, s.at, s.n),
                        mat_cols(o->v, s.at, s.n), mat_cols(g, s.first, s.n), u, scale);
    }
}

status optim_step(struct optim *o, struct mat weights, struct mat gradient,
                  struct optim_update u, double *grad_norm, struct err *err)
{
    const double most = o->config.max_grad_norm;
    double scale = 1 / (u.tokens * (u.scale > 0 ? u.scale : 1)), sum;

    TRY(measure(o, weights, gradient, &sum, err));
    *grad_norm = scale * sqrt(sum);
    if (!isfinite(*grad_norm))
        return err_set(err, ERR_NUMERIC,
                       "the gradient of update %lld is not finite (norm %g over %.0f "
                       "target tokens)",
                       (long long)u.t + 1, *grad_norm, u.tokens);
    if (most > 0 && *grad_norm > most)
        scale *= most / *grad_norm;
    if (o->shards)
        update_shards(o, weights, gradient, u, scale);
    else if (goes_by_tensor(o))
        update_tensors(o, weights, gradient, u, scale);
    else
        update_adam(o, weights, o->m, o->v, gradient, u, scale);
    return OK;
}
