/*
 * Two views of every pair, hidden tokens and a prior of label smoothing: losses and
 * gradients of the whole model against PyTorch in double (tools/golden_views.py), against
 * finite differences, and whatever the packing.
 */
#include <jansson.h>
#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "golden_model.h"
#include "model/activations.h"
#include "model/model.h"
#include "reals.h"
#include "test.h"

static struct err err;

static const json_t *golden(const char *part)
{
    static json_t *root;

    if (!root)
        root = json_load_file(test_data("golden_views.json"), 0, NULL);
    CHECK(root);
    return part ? json_object_get(root, part) : root;
}

/* One view of all pairs: what the encoder and the decoder are shown. */
static void add_view(struct packed *p, const json_t *view, bool is_other)
{
    const json_t *pairs = golden("pairs");

    for (size_t i = 0; i < json_array_size(view); i++) {
        const json_t *shown = json_array_get(view, i);
        int32_t src[64], tgt[64];
        const size_t n_src = golden_ids(json_object_get(shown, "source"), src);
        const size_t n_tgt =
            golden_ids(json_object_get(json_array_get(pairs, i), "target"), tgt);
        const size_t at = p->batch.n_tgt;
        packed_add(p, is_other ? ~(int32_t)i : (int32_t)i, src, n_src, tgt, n_tgt);
        CHECK(golden_ids(json_object_get(shown, "input"), p->tgt_in + at) == n_tgt);
    }
}

static void golden_prior(struct model *m)
{
    const json_t *list = golden("prior");
    double prior[64];

    for (size_t i = 0; i < json_array_size(list); i++)
        prior[i] = json_number_value(json_array_get(list, i));
    CHECK_OK(model_set_prior(m, prior, &err), &err);
}

static void check_list(const double *got, const json_t *want, double tolerance)
{
    for (size_t i = 0; i < json_array_size(want); i++)
        CHECK_NEAR(got[i], json_number_value(json_array_get(want, i)), tolerance);
}

static void check_gradients(struct model *m, const json_t *want)
{
    CHECK(json_object_size(want) == m->params.n_list);
    for (size_t i = 0; i < m->params.n_list; i++) {
        const struct param *t = &m->params.list[i];
        const json_t *list = json_object_get(want, t->name);
        double got[512];
        CHECK(json_array_size(list) == t->rows * t->cols);
        reals_read(m->device, got,
                   (struct mat){m->grad.mem, t->at, t->rows, t->cols, t->stride});
        check_list(got, list, 1e-10);
    }
}

static void check_part(const char *name, struct model_run run)
{
    const json_t *part = golden(name), *views = json_object_get(part, "views");
    const struct model_config c = golden_config(golden(NULL));
    const size_t n_tokens = json_array_size(json_object_get(part, "losses"));
    double loss[PACKED_MAX_TOKENS];
    struct packed p;
    struct device d;
    struct model m;

    golden_open_double(&d);
    CHECK_OK(model_open(&m, &d, &c, true, &err), &err);
    golden_weights(&m, (uint64_t)golden_number(golden(NULL), "seed"));
    golden_prior(&m);
    packed_begin(&p);
    for (size_t v = 0; v < json_array_size(views); v++)
        add_view(&p, json_array_get(views, v), v);
    CHECK_OK(model_reserve(&m, packed_shape(&p, true), &err), &err);
    run.smooth = golden_number(golden(NULL), "smooth");
    run.want_grad = true;
    model_zero_grads(&m);
    model_forward(&m, &p.batch, &run);
    model_losses(&m, loss);
    model_backward(&m, NULL);
    CHECK(p.batch.n_tgt == n_tokens * json_array_size(views));
    check_list(loss, json_object_get(part, "losses"), 1e-12);
    if (model_has_views(&run))
        check_list(loss + n_tokens, json_object_get(part, "gaps"), 1e-11);
    check_gradients(&m, json_object_get(part, "gradient"));
    model_close(&m);
    device_close(&d);
}

TEST(simcut_equals_pytorch_in_double)
{
    const double weight = golden_number(golden(NULL), "simcut_weight");

    check_part("simcut", (struct model_run){.views = {{1, 0}, {weight, 0}}});
}

TEST(rdrop_equals_pytorch_in_double)
{
    const double weight = golden_number(golden(NULL), "rdrop_weight");

    check_part("rdrop",
               (struct model_run){.views = {{0.5, 0.5}, {weight / 4, weight / 4}}});
}

TEST(a_prior_of_label_smoothing_equals_pytorch_in_double)
{
    check_part("unigram", (struct model_run){.has_prior = true});
}

/* ---- finite differences, packing, devices ---- */

enum { PAIRS = 24, VOCAB = 13 };

struct lab {
    struct device device;
    struct model model;
    struct model_run run;
};

static void lab_open(struct lab *lab, const char *kind)
{
    const struct model_config c = {.vocab_size = VOCAB,
                                   .d_model = 8,
                                   .d_ff = 10,
                                   .heads = 2,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .norm_epsilon = 1e-6};
    double prior[VOCAB];

    *lab = (struct lab){.run = {.drop_attention = 0.2,
                                .drop_relu = 0.1,
                                .drop_residual = 0.2,
                                .drop_key = 4711,
                                .smooth = 0.1,
                                .has_prior = true,
                                .views = {{0.7, 0.3}, {2, 0.5}},
                                .want_grad = true}};
    reals_device(&lab->device, kind, 2);
    CHECK_OK(model_open(&lab->model, &lab->device, &c, true, &err), &err);
    golden_weights(&lab->model, test_seed());
    for (int v = 0; v < VOCAB; v++)
        prior[v] = (double)v / (VOCAB * (VOCAB - 1) / 2);
    CHECK_OK(model_set_prior(&lab->model, prior, &err), &err);
}

static void lab_close(struct lab *lab)
{
    model_close(&lab->model);
    device_close(&lab->device);
}

/* View v of pair `pair`, some of its tokens hidden. */
static void add_pair(struct packed *p, int32_t pair, bool is_other)
{
    struct rng r = rng_open(rng_hash(rng_key(test_seed(), "ids"), (uint64_t)pair));
    struct rng hide =
        rng_open(rng_hash(rng_key(test_seed(), "hide"), (uint64_t)(2 * pair + is_other)));
    const size_t n_src = 1 + (size_t)pair * 37 % 29, n_tgt = 1 + (size_t)pair * 29 % 31;
    const size_t s = p->batch.n_src, t = p->batch.n_tgt;
    int32_t src[64], tgt[64];

    for (size_t i = 0; i < n_src; i++)
        src[i] = (int32_t)rng_below(&r, VOCAB);
    for (size_t i = 0; i < n_tgt; i++)
        tgt[i] = (int32_t)rng_below(&r, VOCAB);
    packed_add(p, is_other ? ~pair : pair, src, n_src, tgt, n_tgt);
    for (size_t i = 0; i < n_src; i++)
        p->src_id[s + i] = rng_unit(&hide) < 0.2 ? -1 : p->src_id[s + i];
    for (size_t i = 0; i < n_tgt; i++)
        p->tgt_in[t + i] = rng_unit(&hide) < 0.2 ? -1 : p->tgt_in[t + i];
}

/* Pairs of one batch, both views. */
static void pack(struct packed *p, const int32_t *pair, size_t n)
{
    packed_begin(p);
    for (int v = 0; v < 2; v++)
        for (size_t i = 0; i < n; i++)
            add_pair(p, pair[i], v);
}

/* The sum of losses and gaps. */
static double total(struct lab *lab, const struct packed *p)
{
    double loss[PACKED_MAX_TOKENS], sum = 0;

    CHECK_OK(model_reserve(&lab->model, packed_shape(p, true), &err), &err);
    memset(lab->model.act->arena.mem, 0xff, lab->model.act->arena.bytes);
    model_forward(&lab->model, &p->batch, &lab->run);
    reals_read(&lab->device, loss, lab->model.act->loss);
    for (size_t i = 0; i < p->batch.n_tgt; i++)
        sum += loss[i];
    return sum;
}

static double *copy_of(struct lab *lab, struct mat flat)
{
    double *x = malloc(flat.cols * sizeof *x);

    reals_read(&lab->device, x, flat);
    return x;
}

/* The gradient and the loss of all pairs in micro-batches of `each`. */
static double *gradient(struct lab *lab, size_t each, double *sum)
{
    int32_t pair[PAIRS];
    struct packed p;

    *sum = 0;
    model_zero_grads(&lab->model);
    for (size_t first = 0; first < PAIRS; first += each) {
        size_t n = 0;
        for (; n < each && first + n < PAIRS; n++)
            pair[n] = (int32_t)(7 * (first + n) % PAIRS);
        pack(&p, pair, n);
        *sum += total(lab, &p);
        model_backward(&lab->model, NULL);
    }
    return copy_of(lab, lab->model.grad);
}

TEST(gradient_of_two_views_is_the_derivative_of_losses_and_gaps)
{
    const int32_t pair[] = {1, 5, 8, 0};
    struct lab lab;
    struct packed p;
    double value[2];

    lab_open(&lab, "double");
    pack(&p, pair, 4);
    const size_t n = lab.model.params.n_flat;
    double *w = copy_of(&lab, lab.model.flat), *x = malloc(n * sizeof *x);
    model_zero_grads(&lab.model);
    total(&lab, &p);
    model_backward(&lab.model, NULL);
    double *g = copy_of(&lab, lab.model.grad);
    for (size_t i = 0; i < lab.model.params.n_list; i++) {
        const struct param *t = &lab.model.params.list[i];
        struct rng r = rng_open(rng_key(test_seed(), t->name));
        double *u = calloc(n, sizeof *u), got = 0;
        for (size_t k = 0; k < t->rows * t->cols; k++) {
            const size_t e = t->at + k / t->cols * t->stride + k % t->cols;
            u[e] = 2 * rng_unit(&r) - 1;
            got += u[e] * g[e];
        }
        for (int side = 0; side < 2; side++) {
            for (size_t k = 0; k < n; k++)
                x[k] = w[k] + (side ? -1e-6 : 1e-6) * u[k];
            reals_write(&lab.device, lab.model.flat, x);
            value[side] = total(&lab, &p);
        }
        reals_write(&lab.device, lab.model.flat, w);
        const double want = (value[0] - value[1]) / 2e-6;
        if (!(fabs(got - want) <= 1e-7 * (1 + fabs(want))))
            test_fail(__FILE__, __LINE__, "%s: gradient %.10g, loss changes by %.10g",
                      t->name, got, want);
        free(u);
    }
    free(g);
    free(w);
    free(x);
    lab_close(&lab);
}

static void check_packing(const char *kind, double tolerance)
{
    struct lab lab;
    double want, got;

    lab_open(&lab, kind);
    double *whole = gradient(&lab, PAIRS, &want);
    for (size_t each = PAIRS / 2; each >= 1; each /= 3) {
        double *g = gradient(&lab, each, &got), size = 0, off = 0;
        CHECK(fabs(got - want) <= tolerance * want);
        for (size_t i = 0; i < lab.model.params.n_flat; i++) {
            size = fmax(size, fabs(whole[i]));
            off = fmax(off, fabs(whole[i] - g[i]));
        }
        CHECK(off <= tolerance * size);
        free(g);
    }
    free(whole);
    lab_close(&lab);
}

TEST(two_views_in_any_micro_batches_have_the_same_loss_and_gradient)
{
    check_packing("double", 1e-11);
    check_packing("cpu", 1e-5);
}

TEST(two_equal_views_without_dropout_do_not_disagree)
{
    struct lab lab;
    struct packed p;
    double loss[PACKED_MAX_TOKENS];

    lab_open(&lab, "double");
    lab.run.drop_attention = lab.run.drop_relu = lab.run.drop_residual = 0;
    packed_begin(&p);
    add_pair(&p, 3, false);
    add_pair(&p, 3, false);
    total(&lab, &p);
    reals_read(&lab.device, loss, lab.model.act->loss);
    for (size_t i = p.batch.n_tgt / 2; i < p.batch.n_tgt; i++)
        CHECK_NEAR(loss[i], 0, 1e-13);
    CHECK(loss[0] > 0);
    lab_close(&lab);
}
