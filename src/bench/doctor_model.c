#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "bench/bench_cases.h"
#include "bench/doctor.h"
#include "device/device.h"
#include "model/model.h"
#include "train/update/optim.h"

#define LOSS_SCALE 1024.0 /* as mixed training has one; a power of two changes no bit */

enum { SENTS = 6, LENGTH = 12, TOKENS = SENTS * LENGTH, V = 61, UPDATES = 2 };

/* The largest differences from the CPU, by precision; see doctor_kernels.c. */
static const double loss_limits[] = {1e-4, 5e-3, 2e-2};
static const double weight_limits[] = {1e-4, 3e-3, 5e-3};
static const double slope_limit = 2e-2;

struct result {
    double slope, slope_wanted;              /* by gradient, by differences */
    double loss[UPDATES], loss_cpu[UPDATES]; /* mean token loss of the updates */
    double distance; /* root mean square difference of the weights after them */
    double moved;    /* the same between the CPU's weights before and after */
};

/* Sentences of equal length, of random ids; the same for every device. */
struct text {
    int32_t at[SENTS + 1], pos[TOKENS], pair[TOKENS];
    int32_t src[TOKENS], in[TOKENS], label[TOKENS];
};

static void draw(struct text *t)
{
    struct rng r = rng_open(rng_key(2, "doctor"));

    for (int i = 0; i <= SENTS; i++)
        t->at[i] = i * LENGTH;
    for (int i = 0; i < TOKENS; i++) {
        t->pos[i] = i % LENGTH;
        t->pair[i] = i / LENGTH;
        t->src[i] = (int32_t)rng_below(&r, V);
        t->label[i] = (int32_t)rng_below(&r, V);
        t->in[i] = i % LENGTH ? t->label[i - 1] : -1;
    }
}

static struct model_batch batch_of(const struct text *t)
{
    return (struct model_batch){.n_sents = SENTS,
                                .n_src = TOKENS,
                                .n_tgt = TOKENS,
                                .max_src = LENGTH,
                                .max_tgt = LENGTH,
                                .src_at = t->at,
                                .tgt_at = t->at,
                                .src_id = t->src,
                                .src_pos = t->pos,
                                .src_pair = t->pair,
                                .tgt_in = t->in,
                                .tgt_pos = t->pos,
                                .tgt_pair = t->pair,
                                .tgt_label = t->label};
}

/* One device with its model and optimizer. */
struct patient {
    struct device device;
    struct model model;
    struct optim optim;
    struct text text;
    float *flat, *direction; /* [n_flat] */
};

static status admit(struct patient *p, const char *device, enum precision precision,
                    struct err *err)
{
    const struct model_config tiny = bench_model(32, 64, 2, 2, V);
    struct optim_config how;
    struct rng r = rng_open(rng_key(3, "doctor"));

    draw(&p->text);
    TRY(device_open(&p->device, device,
                    (struct device_options){.threads = 1, .precision = precision}, err));
    TRY(model_open(&p->model, &p->device, &tiny, true, err));
    TRY(opt_defaults(optim_config_table, &how, err));
    TRY(optim_open(&p->optim, &p->device, &p->model.params, &how, NULL, err));
    const size_t n = p->model.params.n_flat;
    TRY(mem_alloc(&p->flat, n, sizeof *p->flat, err));
    TRY(mem_alloc(&p->direction, n, sizeof *p->direction, err));
    params_init(&p->model.params, 1, p->flat);
    for (size_t i = 0; i < n; i++)
        p->direction[i] = (float)(rng_unit(&r) - 0.5);
    TRY(model_set_weights(&p->model, p->flat, err));
    return model_reserve(&p->model,
                         (struct model_shape){SENTS, TOKENS, TOKENS, LENGTH, true}, err);
}

static void discharge(struct patient *p)
{
    optim_close(&p->optim);
    model_close(&p->model);
    device_close(&p->device);
    free(p->flat);
    free(p->direction);
}

static status loss_of(struct patient *p, const struct model_run *run, double *sum,
                      struct err *err)
{
    const struct model_batch b = batch_of(&p->text);
    float losses[TOKENS];

    model_forward(&p->model, &b, run);
    model_losses(&p->model, losses);
    TRY(device_sync(&p->device, err));
    *sum = 0;
    for (int i = 0; i < TOKENS; i++)
        *sum += (double)losses[i];
    return OK;
}

/* The loss with the weights moved along the direction. */
static status loss_at(struct patient *p, double by, double *sum, struct err *err)
{
    const struct model_run run = {.smooth = 0.1};
    const size_t n = p->model.params.n_flat;
    float *moved;

    TRY(mem_alloc(&moved, n, sizeof *moved, err));
    for (size_t i = 0; i < n; i++)
        moved[i] = p->flat[i] + (float)by * p->direction[i];
    status result = model_set_weights(&p->model, moved, err);
    THEN(result, loss_of(p, &run, sum, err));
    free(moved);
    return result == OK ? model_set_weights(&p->model, p->flat, err) : result;
}

static status check_slope(struct patient *p, struct result *r, struct err *err)
{
    const double h = 1e-3;
    const struct model_run run = {.smooth = 0.1, .want_grad = true};
    const size_t n = p->model.params.n_flat;
    double up = 0, down = 0, here = 0;
    float *grad;

    TRY(loss_at(p, h, &up, err));
    TRY(loss_at(p, -h, &down, err));
    model_zero_grads(&p->model);
    TRY(loss_of(p, &run, &here, err));
    model_backward(&p->model, NULL);
    TRY(mem_alloc(&grad, n, sizeof *grad, err));
    device_download(&p->device, grad, p->model.grad);
    r->slope = 0;
    for (size_t i = 0; i < n; i++)
        r->slope += (double)grad[i] * (double)p->direction[i];
    r->slope_wanted = (up - down) / (2 * h);
    free(grad);
    return device_sync(&p->device, err);
}

static status update(struct patient *p, int t, double *loss, struct err *err)
{
    const struct model_run run = {.drop_attention = 0.1,
                                  .drop_relu = 0.1,
                                  .drop_residual = 0.1,
                                  .drop_key = 77 + (uint64_t)t,
                                  .smooth = 0.1,
                                  .loss_scale = LOSS_SCALE,
                                  .want_grad = true};
    const struct optim_update how = {
        .t = t, .rate = 0.01, .tokens = TOKENS, .scale = LOSS_SCALE};
    double norm;

    model_zero_grads(&p->model);
    TRY(loss_of(p, &run, loss, err));
    *loss /= TOKENS;
    model_backward(&p->model, NULL);
    return optim_step(&p->optim, p->model.flat, p->model.grad, how, &norm, err);
}

static status train(struct patient *p, double *loss, struct err *err)
{
    for (int t = 0; t < UPDATES; t++)
        TRY(update(p, t, &loss[t], err));
    model_get_weights(&p->model, p->flat);
    return device_sync(&p->device, err);
}

static double distance(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return sqrt(sum / (double)n);
}

static status examine(struct patient *it, struct patient *cpu, struct result *r,
                      struct err *err)
{
    const size_t n = it->model.params.n_flat;

    TRY(check_slope(it, r, err));
    TRY(train(it, r->loss, err));
    params_init(&it->model.params, 1, cpu->direction); /* where both began */
    TRY(train(cpu, r->loss_cpu, err));
    r->distance = distance(it->flat, cpu->flat, n);
    r->moved = distance(cpu->direction, cpu->flat, n);
    return OK;
}

static status run_both(struct result *r, const char *device, enum precision precision,
                       struct err *err)
{
    struct patient it = {0}, cpu = {0};

    *r = (struct result){0};
    status result = admit(&it, device, precision, err);
    THEN(result, admit(&cpu, "cpu", precision, err));
    THEN(result, examine(&it, &cpu, r, err));
    discharge(&it);
    discharge(&cpu);
    return result;
}

static void report(struct doctor *d, int p, const struct result *r)
{
    const double slope = fabs(r->slope - r->slope_wanted) / (1 + fabs(r->slope_wanted));

    if (p == PRECISION_FP32) /* differences are too small for 16 bits */
        fprintf(d->out,
                "  %s  slope of the loss      %.5g by gradient, %.5g by differences\n",
                doctor_verdict(d, slope <= slope_limit), r->slope, r->slope_wanted);
    for (int i = 0; i < UPDATES; i++) {
        const double gap = fabs(r->loss[i] - r->loss_cpu[i]);
        fprintf(d->out, "  %s  loss of update %d       %.6f, on the CPU %.6f\n",
                doctor_verdict(d, gap <= loss_limits[p] * r->loss_cpu[i]), i + 1,
                r->loss[i], r->loss_cpu[i]);
    }
    fprintf(d->out,
            "  %s  weights after them     %.1e from the CPU's, which moved by %.1e\n",
            doctor_verdict(d, r->distance <= weight_limits[p]), r->distance, r->moved);
}

status doctor_model(struct doctor *d, struct err *err)
{
    struct result r;

    for (int p = 0; p < DOCTOR_PRECISIONS; p++) {
        fprintf(d->out, "a small model in %s\n", doctor_precision[p]);
        TRY(run_both(&r, d->device, (enum precision)p, err));
        report(d, p, &r);
    }
    return OK;
}
