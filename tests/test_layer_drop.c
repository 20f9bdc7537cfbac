/*
 * A pass without some layers is that of a smaller model: the same losses, the same
 * gradients, none for what was left out; in every architecture, also when activations are
 * computed again. And which layers an update goes without.
 */
#include <stdlib.h>

#include "architectures.h"
#include "base/rng.h"
#include "golden_model.h"
#include "model/activations.h"
#include "model/model.h"
#include "reals.h"
#include "test.h"
#include "train/update/layer_drop.h"

static struct err err;

enum { VOCAB = 13, ENCODER = 3, DECODER = 4, MOST = 4096 };

static void open_model(struct model *m, struct device *d, struct architecture arch,
                       int encoder, int decoder)
{
    const struct model_config c = {.vocab_size = VOCAB,
                                   .d_model = 8,
                                   .d_ff = 10,
                                   .heads = 2,
                                   .encoder_layers = encoder,
                                   .decoder_layers = decoder,
                                   .norm_epsilon = 1e-6,
                                   .arch = arch};

    CHECK_OK(model_open(m, d, &c, true, &err), &err);
}

static void pack(struct packed *p, const struct architecture *arch)
{
    packed_begin(p);
    for (int32_t pair = 0; pair < 4; pair++) {
        struct rng r = rng_open(rng_hash(rng_key(test_seed(), "ids"), (uint64_t)pair));
        int32_t src[12], tgt[12];
        const size_t n_src = 1 + rng_below(&r, 11), n_tgt = 1 + rng_below(&r, 11);
        const size_t at = p->batch.n_tgt;
        for (size_t i = 0; i < n_src; i++)
            src[i] = (int32_t)rng_below(&r, 9);
        for (size_t i = 0; i < n_tgt; i++)
            tgt[i] = (int32_t)rng_below(&r, VOCAB);
        packed_add(p, pair, src, n_src, tgt, n_tgt);
        p->tgt_in[at] = arch->start - 1;
    }
}

/* The layers of the small model as layers of the large one. */
static const int of[N_STACKS][2] = {{0, 2}, {1, 2}};
static const uint64_t left_out[N_STACKS] = {2, 1 | 8};

static struct mat of_param(const struct param *t, struct mat flat)
{
    return (struct mat){flat.mem, t->at, t->rows, t->cols, t->stride};
}

/* The tensor of the large model that tensor t of the small one is. */
static const struct param *large_one(const struct model *large, const struct param *t)
{
    const bool is_layer = t->block == BLOCK_ENCODER || t->block == BLOCK_DECODER;
    const enum stack s = t->block == BLOCK_ENCODER ? STACK_ENCODER : STACK_DECODER;

    return params_get(&large->params, t->id, is_layer ? of[s][t->layer] : t->layer);
}

static void copy_weights(struct model *small, struct model *large)
{
    static double x[MOST];

    for (size_t i = 0; i < small->params.n_list; i++) {
        const struct param *t = &small->params.list[i];
        reals_read(large->device, x, of_param(large_one(large, t), large->flat));
        reals_write(small->device, of_param(t, small->flat), x);
    }
}

/* Losses of two micro-batches, which are the same one, and their gradient. */
static void run(struct model *m, const struct packed *p, const uint64_t without[N_STACKS],
                double *loss)
{
    struct model_run run = {.smooth = 0.1, .want_grad = true};

    memcpy(run.left_out, without, sizeof run.left_out);
    CHECK_OK(model_reserve(m, packed_shape(p, true), &err), &err);
    memset(m->act->arena.mem, 0xff, m->act->arena.bytes);
    for (size_t i = 0; i < m->grad.cols; i++)
        reals_put(m->device, m->grad.mem, i, 1e9); /* of an update before */
    model_zero_grads(m);
    for (int k = 0; k < 2; k++) {
        model_forward(m, &p->batch, &run);
        model_backward(m, NULL);
    }
    model_losses(m, loss);
}

static double largest(const double *x, size_t n)
{
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static bool is_left_out(const struct param *t)
{
    if (t->block != BLOCK_ENCODER && t->block != BLOCK_DECODER)
        return false;
    return left_out[t->block == BLOCK_DECODER] >> t->layer & 1;
}

static void check_gradients(const struct model *small, const struct model *large)
{
    static double want[MOST], got[MOST];

    for (size_t i = 0; i < small->params.n_list; i++) {
        const struct param *t = &small->params.list[i];
        reals_read(small->device, want, of_param(t, small->grad));
        reals_read(large->device, got, of_param(large_one(large, t), large->grad));
        CHECK(largest(want, t->rows * t->cols) > 0);
        for (size_t k = 0; k < t->rows * t->cols; k++)
            if (got[k] != want[k])
                test_fail(__FILE__, __LINE__, "%s: %.12g, want %.12g", t->name, got[k],
                          want[k]);
    }
    for (size_t i = 0; i < large->params.n_list; i++) {
        const struct param *t = &large->params.list[i];
        reals_read(large->device, got, of_param(t, large->grad));
        if (is_left_out(t))
            CHECK(largest(got, t->rows * t->cols) == 0);
    }
}

static void check_architecture(struct architecture arch, bool recompute)
{
    static const uint64_t none[N_STACKS];
    double want[64], got[64];
    struct model small, large;
    struct packed p;
    struct device d;

    reals_device(&d, "double", 1);
    open_model(&large, &d, arch, ENCODER, DECODER);
    open_model(&small, &d, arch, 2, 2);
    golden_weights(&large, test_seed());
    copy_weights(&small, &large);
    small.recompute = large.recompute = recompute;
    pack(&p, &arch);
    run(&small, &p, none, want);
    run(&large, &p, left_out, got);
    for (size_t i = 0; i < p.batch.n_tgt; i++)
        CHECK(got[i] == want[i]);
    check_gradients(&small, &large);
    run(&large, &p, none, got); /* and with all layers again */
    CHECK(got[0] != want[0]);
    model_close(&small);
    model_close(&large);
    device_close(&d);
}

TEST(a_pass_without_layers_is_that_of_the_model_that_has_none_of_them)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        for (int recompute = 0; recompute < 2; recompute++)
            check_architecture(architectures[i].arch, recompute);
}

TEST(each_layer_is_left_out_as_often_as_asked_for_and_one_stays)
{
    enum { STEPS = 4000, LAYERS = 6 };
    int n_out[LAYERS] = {0}, n_same = 0;

    for (uint64_t step = 0; step < STEPS; step++) {
        const struct layer_drop drop = {7, step, 0.3};
        const uint64_t mask = layer_drop_mask(drop, "encoder", LAYERS);
        CHECK(mask < (1 << LAYERS) - 1);
        CHECK(mask == layer_drop_mask(drop, "encoder", LAYERS));
        n_same += mask == layer_drop_mask(drop, "decoder", LAYERS);
        for (int l = 0; l < LAYERS; l++)
            n_out[l] += (int)(mask >> l & 1);
    }
    for (int l = 0; l < LAYERS; l++)
        CHECK_NEAR((double)n_out[l] / STEPS, 0.3, 0.03);
    CHECK(n_same < STEPS / 10);
}

TEST(no_rate_leaves_none_out_and_of_one_layer_that_one_stays)
{
    for (uint64_t step = 0; step < 1000; step++) {
        CHECK(layer_drop_mask((struct layer_drop){1, step, 0}, "decoder", 64) == 0);
        CHECK(layer_drop_mask((struct layer_drop){1, step, 0.9}, "decoder", 1) == 0);
        CHECK(layer_drop_mask((struct layer_drop){1, step, 0.9}, "decoder", 2) < 3);
    }
}
