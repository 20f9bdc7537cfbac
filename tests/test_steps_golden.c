/*
 * Ten training steps of the tiny model (forward, backward, learning rate, Adam) against
 * PyTorch in double: every loss on the way, and the weights at the end.
 */
#include "golden_model.h"
#include "model/model.h"
#include "recipe/schedule.h"
#include "test.h"
#include "train/update/optim.h"

static struct err err;

struct lab {
    struct model model;
    struct schedule schedule;
    struct optim optim;
};

static void lab_open(struct lab *lab, struct device *d, const json_t *g)
{
    const struct model_config c = golden_config(g);
    const json_t *how = json_object_get(g, "optimizer");
    struct schedule_config rate;
    struct optim_config rule;

    CHECK_OK(opt_defaults(schedule_config_table, &rate, &err), &err);
    CHECK_OK(opt_defaults(optim_config_table, &rule, &err), &err);
    rate.learning_rate = golden_number(how, "learning_rate");
    rate.warmup_steps = (int64_t)golden_number(how, "warmup_steps");
    rule.beta1 = golden_number(how, "beta1");
    rule.beta2 = golden_number(how, "beta2");
    rule.epsilon = golden_number(how, "epsilon");
    CHECK_OK(model_open(&lab->model, d, &c, true, &err), &err);
    CHECK_OK(schedule_init(&lab->schedule, &rate, c.d_model, 10, &err), &err);
    CHECK_OK(optim_open(&lab->optim, d, &lab->model.params, &rule, NULL, &err), &err);
    golden_weights(&lab->model, (uint64_t)golden_number(g, "seed"));
}

static void lab_close(struct lab *lab)
{
    optim_close(&lab->optim);
    model_close(&lab->model);
}

static double mean_loss(struct model *m, size_t n)
{
    double wide[PACKED_MAX_TOKENS] = {0}, sum = 0;
    float narrow[PACKED_MAX_TOKENS] = {0};

    if (m->device->real_bytes == sizeof(double))
        model_losses(m, wide);
    else
        model_losses(m, narrow);
    for (size_t i = 0; i < n; i++)
        sum += m->device->real_bytes == sizeof(double) ? wide[i] : (double)narrow[i];
    return sum / (double)n;
}

static double step(struct lab *lab, const json_t *pairs, int64_t t, double smooth)
{
    const struct model_run run = {.smooth = smooth, .want_grad = true};
    struct model *m = &lab->model;
    struct packed p;
    double norm;

    golden_pack(&p, pairs);
    CHECK_OK(model_reserve(m, packed_shape(&p, true), &err), &err);
    model_zero_grads(m);
    model_forward(m, &p.batch, &run);
    model_backward(m, NULL);
    const struct optim_update u = {.t = t,
                                   .rate = schedule_rate(&lab->schedule, t),
                                   .tokens = (double)p.batch.n_tgt};
    CHECK_OK(optim_step(&lab->optim, m->flat, m->grad, u, &norm, &err), &err);
    return mean_loss(m, p.batch.n_tgt);
}

/* Sum and sum of squares of each tensor. */
static void check_weights(struct model *m, const json_t *g, double tol)
{
    for (size_t i = 0; i < m->params.n_list; i++) {
        const struct param *t = &m->params.list[i];
        const struct mat view = {m->flat.mem, t->at, t->rows, t->cols, t->stride};
        double wide[512] = {0}, sum = 0, square = 0;
        float narrow[512] = {0};
        const bool is_wide = m->device->real_bytes == sizeof(double);
        device_download(m->device, is_wide ? (void *)wide : (void *)narrow, view);
        for (size_t k = 0; k < t->rows * t->cols; k++) {
            const double x = is_wide ? wide[k] : (double)narrow[k];
            sum += x;
            square += x * x;
        }
        CHECK_NEAR(sum, golden_number(json_object_get(g, "sums"), t->name), tol);
        CHECK_NEAR(square, golden_number(json_object_get(g, "sums_of_squares"), t->name),
                   tol);
    }
}

static void check_steps(struct device *d, double tol)
{
    const json_t *g = golden_part("steps"), *batches = json_object_get(g, "batches");
    const json_t *losses = json_object_get(g, "losses");
    struct lab lab;

    lab_open(&lab, d, g);
    CHECK(json_array_size(losses) == 10);
    for (size_t t = 0; t < 10; t++)
        CHECK_NEAR(step(&lab, json_array_get(batches, t % json_array_size(batches)),
                        (int64_t)t, golden_number(g, "smooth")),
                   json_number_value(json_array_get(losses, t)), tol);
    check_weights(&lab.model, g, tol);
    lab_close(&lab);
    device_close(d);
}

TEST(ten_training_steps_equal_pytorch_in_double)
{
    struct device d;

    golden_open_double(&d);
    check_steps(&d, 1e-10);
}

TEST(ten_training_steps_in_float_equal_pytorch)
{
    static const char *const kinds[] = {"cpu", "cpu-avx512", "cpu-avx2", "cpu-plain"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct device d;
        CHECK_OK(device_open(&d, kinds[i], (struct device_options){.threads = 2}, &err),
                 &err);
        check_steps(&d, 1e-5);
    }
}
