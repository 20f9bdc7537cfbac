#include "train/update/optim.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "recipe/model_config.h"
#include "recipe/params.h"
#include "test.h"

extern const struct kernels cpu_f64_kernels;

static struct err err;

/* Weights and gradient of the tiny model of tools/golden_optim.py on one device. */
struct lab {
    struct device device;
    struct params params;
    struct optim optim;
    struct mat w, g;
};

static struct model_config tiny(void)
{
    struct model_config c;

    CHECK_OK(model_config_defaults(&c, &err), &err);
    c.vocab_size = 5;
    c.d_model = 4;
    c.d_ff = 3;
    c.heads = 2;
    c.encoder_layers = c.decoder_layers = 1;
    return c;
}

static struct optim_config defaults(void)
{
    struct optim_config c;

    CHECK_OK(opt_defaults(optim_config_table, &c, &err), &err);
    return c;
}

static void set(struct optim_config *c, const char *name, const char *text)
{
    CHECK_OK(opt_set(optim_config_table, c, name, text, &err), &err);
}

static struct mat flat(struct lab *lab)
{
    const size_t n = lab->params.n_flat;
    struct mat m = {.rows = 1, .cols = n, .stride = n};

    CHECK_OK(device_alloc(&lab->device, &m.mem, n * lab->device.real_bytes, &err), &err);
    return m;
}

static double get(const struct lab *lab, struct mat m, size_t at)
{
    return lab->device.real_bytes == sizeof(double) ? ((double *)m.mem)[at]
                                                    : (double)((float *)m.mem)[at];
}

static void put(const struct lab *lab, struct mat m, size_t at, double x)
{
    if (lab->device.real_bytes == sizeof(double))
        ((double *)m.mem)[at] = x;
    else
        ((float *)m.mem)[at] = (float)x;
}

static void fill_tensor(struct lab *lab, struct mat m, const struct param *t,
                        uint64_t seed, double size, double shift)
{
    struct rng r = rng_open(rng_key(seed, t->name));

    for (size_t row = 0; row < t->rows; row++)
        for (size_t col = 0; col < t->cols; col++)
            put(lab, m, t->at + row * t->stride + col,
                (rng_unit(&r) - 0.5) * size + shift);
}

static void fill_weights(struct lab *lab)
{
    for (size_t i = 0; i < lab->params.n_list; i++) {
        const struct param *t = &lab->params.list[i];
        const bool zero = strstr(t->name, "layer_norm_bias") != NULL;
        fill_tensor(lab, lab->w, t, 7, zero ? 0 : 1,
                    strstr(t->name, "layer_norm_scale") ? 1 : 0);
    }
}

/* The gradient of step t, summed over tokens. */
static void fill_gradient(struct lab *lab, int t, double size)
{
    for (size_t i = 0; i < lab->params.n_list; i++)
        fill_tensor(lab, lab->g, &lab->params.list[i], 100 + (uint64_t)t, size, 0);
}

static void lab_open(struct lab *lab, bool wide, const struct optim_config *c)
{
    const struct model_config model = tiny();
    const struct device_options two = {.threads = 2};

    *lab = (struct lab){0};
    if (wide)
        CHECK_OK(device_open_cpu(&lab->device, &cpu_f64_kernels, "cpu-f64",
                                 sizeof(double), two, &err),
                 &err);
    else
        CHECK_OK(device_open(&lab->device, "cpu", two, &err), &err);
    CHECK_OK(params_open(&lab->params, &model, &err), &err);
    CHECK_OK(optim_open(&lab->optim, &lab->device, &lab->params, c, NULL, &err), &err);
    lab->w = flat(lab);
    lab->g = flat(lab);
    fill_weights(lab);
}

static void lab_close(struct lab *lab)
{
    device_free(&lab->device, lab->w.mem);
    device_free(&lab->device, lab->g.mem);
    optim_close(&lab->optim);
    params_close(&lab->params);
    device_close(&lab->device);
}

static double step(struct lab *lab, int64_t t, double rate, double tokens)
{
    double norm;

    CHECK_OK(optim_step(&lab->optim, lab->w, lab->g,
                        (struct optim_update){.t = t, .rate = rate, .tokens = tokens},
                        &norm, &err),
             &err);
    return norm;
}

static double number(const json_t *object, const char *name, int i)
{
    return json_number_value(json_array_get(json_object_get(object, name), (size_t)i));
}

static void check_weights(struct lab *lab, json_t *golden, const char *what, double tol)
{
    const json_t *all = json_object_get(golden, "weights");

    CHECK(json_object_size(all) == lab->params.n_list);
    for (size_t i = 0; i < lab->params.n_list; i++) {
        const struct param *t = &lab->params.list[i];
        const json_t *list = json_object_get(all, t->name);
        CHECK(json_array_size(list) == t->rows * t->cols);
        for (size_t e = 0; e < t->rows * t->cols; e++) {
            const size_t at = t->at + e / t->cols * t->stride + e % t->cols;
            const double want = json_number_value(json_array_get(list, e));
            const double got = get(lab, lab->w, at);
            if (!(fabs(got - want) <= tol * (1 + fabs(want))))
                test_fail(__FILE__, __LINE__, "%s: %s[%zu] = %.15g, want %.15g", what,
                          t->name, e, got, want);
        }
    }
}

static void check_case(const json_t *head, json_t *golden, bool wide)
{
    const double tol = wide ? 1e-12 : 1e-5;
    json_t *options = json_object_get(golden, "options"), *text;
    char *what = json_dumps(options, 0);
    struct optim_config c = defaults();
    struct lab lab;
    const char *name;

    json_object_foreach(options, name, text) set(&c, name, json_string_value(text));
    lab_open(&lab, wide, &c);
    for (int t = 0; t < 10; t++) {
        const double tokens = number(head, "tokens", t);
        fill_gradient(&lab, t, number(head, "sizes", t) * tokens);
        CHECK_NEAR(step(&lab, t, number(head, "rates", t), tokens),
                   number(golden, "norms", t), tol);
    }
    check_weights(&lab, golden, what, tol);
    lab_close(&lab);
    free(what);
}

static void check_all(bool wide)
{
    json_error_t where;
    json_t *head = json_load_file(test_data("golden_optim.json"), 0, &where);
    const json_t *cases = json_object_get(head, "cases");

    CHECK(json_array_size(cases) == 15);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(head, json_array_get(cases, i), wide);
    json_decref(head);
}

TEST(ten_steps_of_every_optimizer_equal_an_independent_one_in_double)
{
    check_all(true);
}

TEST(ten_steps_of_every_optimizer_equal_an_independent_one_in_float)
{
    check_all(false);
}

TEST(a_gradient_over_twice_the_tokens_makes_the_same_step)
{
    const struct optim_config c = defaults();
    struct lab one, two;

    lab_open(&one, true, &c);
    lab_open(&two, true, &c);
    fill_gradient(&one, 0, 8);
    fill_gradient(&two, 0, 16);
    CHECK(step(&one, 0, 0.01, 32) == step(&two, 0, 0.01, 64));
    CHECK(memcmp(one.w.mem, two.w.mem, one.params.n_flat * sizeof(double)) == 0);
    lab_close(&one);
    lab_close(&two);
}

static void check_refused(const char *optimizer, double poison, double tokens)
{
    struct optim_config c = defaults();
    struct lab lab;
    double norm = 0;

    set(&c, "optimizer", optimizer);
    lab_open(&lab, false, &c);
    const size_t n_bytes = lab.params.n_flat * sizeof(float);
    const bool adam = lab.optim.v.mem;
    fill_gradient(&lab, 0, 1);
    step(&lab, 0, 0.01, 8); /* moments that could be damaged */
    float *before = malloc(3 * n_bytes);
    const double v = adam ? 0 : lab.optim.norms[3];
    memcpy(before, lab.w.mem, n_bytes);
    memcpy(before + lab.params.n_flat, lab.optim.m.mem, n_bytes);
    if (adam)
        memcpy(before + 2 * lab.params.n_flat, lab.optim.v.mem, n_bytes);
    put(&lab, lab.g, lab.params.list[5].at + 1, poison);
    CHECK_FAILS(optim_step(&lab.optim, lab.w, lab.g,
                           (struct optim_update){1, 0.01, tokens}, &norm, &err),
                &err, ERR_NUMERIC, "the gradient of update 2 is not finite");
    CHECK(!isfinite(norm));
    CHECK(memcmp(before, lab.w.mem, n_bytes) == 0);
    CHECK(memcmp(before + lab.params.n_flat, lab.optim.m.mem, n_bytes) == 0);
    CHECK(!adam || memcmp(before + 2 * lab.params.n_flat, lab.optim.v.mem, n_bytes) == 0);
    CHECK(adam || lab.optim.norms[3] == v);
    free(before);
    lab_close(&lab);
}

TEST(a_gradient_that_is_not_finite_changes_nothing)
{
    check_refused("adam", (double)NAN, 8);
    check_refused("adam", (double)INFINITY, 8);
    check_refused("novograd", (double)NAN, 8);
    check_refused("novograd", -(double)INFINITY, 8);
    check_refused("adamw", 1, 0); /* no tokens: no mean */
}

TEST(frozen_tensors_keep_every_bit_and_do_not_count)
{
    struct optim_config c = defaults();
    struct lab lab;

    set(&c, "optimizer", "adamw");
    set(&c, "weight_decay", "0.5");
    set(&c, "freeze", "embedding_and_softmax");
    lab_open(&lab, false, &c);
    const struct param *embed = params_get(&lab.params, PARAM_embed, 0);
    const struct param *q = params_get(&lab.params, PARAM_enc_q, 0);
    const double kept = get(&lab, lab.w, embed->at), moved = get(&lab, lab.w, q->at);
    CHECK(lab.optim.n_frozen == 1);
    fill_gradient(&lab, 0, 1);
    put(&lab, lab.g, embed->at, (double)NAN);
    CHECK(isfinite(step(&lab, 0, 0.01, 8)));
    CHECK(get(&lab, lab.w, embed->at) == kept);
    CHECK(get(&lab, lab.w, q->at) != moved);
    lab_close(&lab);
}

TEST(gaps_between_tensors_stay_zero)
{
    const struct optim_config c = defaults();
    struct lab lab;

    lab_open(&lab, false, &c);
    const struct param *embed = params_get(&lab.params, PARAM_embed, 0);
    for (int t = 0; t < 3; t++) {
        fill_gradient(&lab, t, 1);
        step(&lab, t, 0.01, 8);
    }
    CHECK(embed->rows * embed->cols == 20);
    for (size_t at = 20; at < 32; at++)
        CHECK(get(&lab, lab.w, at) == 0);
    lab_close(&lab);
}

TEST(a_learning_rate_of_zero_moves_nothing_in_any_mode)
{
    static const char *const modes[] = {"none", "clip", "scale"};

    for (int i = 0; i < 3; i++) {
        struct optim_config c = defaults();
        struct lab lab;
        set(&c, "larc", modes[i]);
        lab_open(&lab, true, &c);
        fill_gradient(&lab, 0, 1);
        const double before = get(&lab, lab.w, 3);
        CHECK(isfinite(step(&lab, 0, 0, 8)));
        for (size_t at = 0; at < lab.params.n_flat; at++)
            CHECK(isfinite(get(&lab, lab.w, at)) && isfinite(get(&lab, lab.optim.m, at)));
        CHECK(get(&lab, lab.w, 3) == before);
        lab_close(&lab);
    }
}

TEST(contradictions_and_bad_patterns_are_refused_by_name)
{
    struct optim_config c = defaults();

    CHECK_OK(optim_check(&c, &err), &err);
    set(&c, "larc", "clip");
    set(&c, "max_grad_norm", "1");
    CHECK_FAILS(optim_check(&c, &err), &err, ERR_USAGE, "larc = clip and max_grad_norm");
    c = defaults();
    set(&c, "weight_decay", "0.1");
    CHECK_FAILS(optim_check(&c, &err), &err, ERR_USAGE, "want adamw or novograd");
    c = defaults();
    set(&c, "freeze", "layer_(");
    CHECK_FAILS(optim_check(&c, &err), &err, ERR_USAGE, "freeze = layer_(");
}

TEST(a_pattern_that_freezes_nothing_or_everything_is_refused)
{
    const struct model_config model = tiny();
    struct device d;
    struct params p;
    struct optim o;
    struct optim_config c = defaults();

    CHECK_OK(device_open(&d, "cpu", (struct device_options){.threads = 1}, &err), &err);
    CHECK_OK(params_open(&p, &model, &err), &err);
    set(&c, "freeze", "layer_9");
    CHECK_FAILS(optim_open(&o, &d, &p, &c, NULL, &err), &err, ERR_USAGE,
                "matches no tensor");
    set(&c, "freeze", ".");
    CHECK_FAILS(optim_open(&o, &d, &p, &c, NULL, &err), &err, ERR_USAGE,
                "no tensor to train");
    optim_close(&o);
    params_close(&p);
    device_close(&d);
}
