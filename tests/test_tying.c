/*
 * Layers that share weights: which have which, and that a model whose layers share is the
 * model whose layers do not and happen to be equal: the same losses, gradients that are
 * sums over the layers that share, in every architecture; and that a part of the gradient
 * is final when the hook hears of it.
 */
#include <stdlib.h>

#include "architectures.h"
#include "base/rng.h"
#include "golden_model.h"
#include "model/activations.h"
#include "model/model.h"
#include "plan/hardware.h"
#include "plan/workload.h"
#include "reals.h"
#include "recipe/tying.h"
#include "test.h"

static struct err err;

enum { VOCAB = 13, ENCODER = 4, DECODER = 5, MOST = 1 << 14 };

/* ---- which set a layer has ---- */

static void check_sets(const char *order, int layers, int unique, const char *want)
{
    struct tying t = {.unique_encoder_layers = unique};
    char got[65] = "";

    snprintf(t.layer_order, sizeof t.layer_order, "%s", order);
    for (int l = 0; l < layers; l++)
        got[l] = (char)('0' + tying_set(&t, unique, layers, l));
    CHECK_STR(got, want);
}

TEST(the_orders_are_those_of_the_paper)
{
    check_sets("cycle", 6, 3, "012012");
    check_sets("sequence", 6, 3, "001122");
    check_sets("cycle_rev", 6, 3, "012210");
    check_sets("cycle_rev", 9, 3, "012012210");
    check_sets("cycle", 7, 3, "0120120");
    check_sets("sequence", 7, 3, "0001122");
    check_sets("cycle_rev", 7, 3, "0120122");
    check_sets("cycle_rev", 4, 3, "0122");
    check_sets("cycle", 3, 1, "000");
    check_sets("cycle_rev", 3, 1, "000");
}

TEST(in_every_order_a_set_that_is_met_later_has_a_higher_number)
{
    static const char *const orders[] = {"cycle", "sequence", "cycle_rev"};

    for (size_t o = 0; o < 3; o++)
        for (int layers = 2; layers <= 64; layers++)
            for (int unique = 1; unique < layers; unique++) {
                struct tying t = {.unique_encoder_layers = unique};
                int next = 0;
                snprintf(t.layer_order, sizeof t.layer_order, "%s", orders[o]);
                for (int l = 0; l < layers; l++) {
                    const int set = tying_set(&t, unique, layers, l);
                    CHECK(set >= 0 && set <= next && set < unique);
                    next += set == next;
                }
                CHECK(next == unique);
            }
}

TEST(as_many_sets_as_layers_and_an_order_of_nothing_are_refused)
{
    struct tying t = {.unique_decoder_layers = 3};

    CHECK_OK(tying_check(&t, 2, 4, &err), &err);
    CHECK_FAILS(tying_check(&t, 6, 3, &err), &err, ERR_USAGE,
                "unique_decoder_layers = 3 of 3 layers: want fewer sets of weights than "
                "layers, or 0, which gives each layer its own");
    t = (struct tying){.unique_encoder_layers = 7};
    CHECK_FAILS(tying_check(&t, 6, 6, &err), &err, ERR_USAGE,
                "unique_encoder_layers = 7 of 6");
    t = (struct tying){.layer_order = "sequence"};
    CHECK_FAILS(tying_check(&t, 6, 6, &err), &err, ERR_USAGE,
                "layer_order = sequence, but no layers share weights; give "
                "unique_encoder_layers or unique_decoder_layers as well");
}

/* ---- the model ---- */

static struct model_config config_of(struct architecture arch, struct tying tying)
{
    return (struct model_config){.vocab_size = VOCAB,
                                 .d_model = 8,
                                 .d_ff = 10,
                                 .heads = 2,
                                 .encoder_layers = ENCODER,
                                 .decoder_layers = DECODER,
                                 .norm_epsilon = 1e-6,
                                 .arch = arch,
                                 .tying = tying};
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

static struct mat of_param(const struct param *t, struct mat flat)
{
    return (struct mat){flat.mem, t->at, t->rows, t->cols, t->stride};
}

/* Every layer of `own` has the weights that it has in `tied`. */
static void copy_weights(struct model *own, struct model *tied)
{
    static double x[MOST];

    for (size_t i = 0; i < own->params.n_list; i++) {
        const struct param *t = &own->params.list[i];
        reals_read(tied->device, x,
                   of_param(params_get(&tied->params, t->id, t->layer), tied->flat));
        reals_write(own->device, of_param(t, own->flat), x);
    }
}

/* What the hook was told, and what the gradient was then. */
struct heard {
    struct model *model;
    size_t n, first[64], size[64];
    double then[MOST];
};

static void hear(void *ctx, size_t first, size_t n)
{
    struct heard *h = ctx;
    struct mat slice = mat_cols(h->model->grad, first, n);

    CHECK(h->n < 64 && first + n <= MOST);
    CHECK(!h->n || first + n <= h->first[h->n - 1]);
    h->first[h->n] = first;
    h->size[h->n++] = n;
    reals_read(h->model->device, h->then + first, slice);
}

/* Losses of two micro-batches, the same one twice, and their gradient; with `heard` the
 * second tells. */
static void run(struct model *m, const struct packed *p, struct model_run run,
                double *loss, struct heard *heard)
{
    const struct model_hook hook = {hear, heard};

    CHECK_OK(model_reserve(m, packed_shape(p, true), &err), &err);
    memset(m->act->arena.mem, 0xff, m->act->arena.bytes);
    for (size_t i = 0; i < m->grad.cols; i++)
        reals_put(m->device, m->grad.mem, i, 1e9); /* of an update before */
    model_zero_grads(m);
    for (int k = 0; k < 2; k++) {
        model_forward(m, &p->batch, &run);
        model_backward(m, k && heard ? &hook : NULL);
    }
    model_losses(m, loss);
}

/* The gradient of every set is the sum of those of its layers. */
static void check_sums(struct model *tied, struct model *own)
{
    static double got[MOST], want[MOST], one[MOST];

    for (size_t i = 0; i < tied->params.n_list; i++) {
        const struct param *t = &tied->params.list[i];
        const size_t n = t->rows * t->cols;
        double most = 0;
        memset(want, 0, sizeof want);
        for (size_t k = 0; k < own->params.n_list; k++) {
            const struct param *o = &own->params.list[k];
            if (params_get(&tied->params, o->id, o->layer) != t)
                continue;
            reals_read(own->device, one, of_param(o, own->grad));
            for (size_t e = 0; e < n; e++)
                want[e] += one[e];
        }
        reals_read(tied->device, got, of_param(t, tied->grad));
        for (size_t e = 0; e < n; e++)
            most = fmax(most, fabs(want[e]));
        for (size_t e = 0; e < n; e++)
            if (!(fabs(got[e] - want[e]) <= 1e-12 * (1 + most)))
                test_fail(__FILE__, __LINE__, "%s: %.15g, want %.15g", t->name, got[e],
                          want[e]);
    }
}

/* All slices of the gradient were told, from the last to the first, when they were as
 * they are at the end. */
static void check_heard(struct heard *h)
{
    const struct params *p = &h->model->params;
    static double now[MOST];

    reals_read(h->model->device, now, h->model->grad);
    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *t = &p->list[i];
        size_t n_told = 0;
        for (size_t k = 0; k < h->n; k++)
            n_told += h->first[k] <= t->at && t->at < h->first[k] + h->size[k];
        CHECK(n_told == 1);
    }
    for (size_t k = 0; k < h->n; k++)
        CHECK(memcmp(h->then + h->first[k], now + h->first[k],
                     h->size[k] * sizeof *now) == 0);
}

static void check_model(struct architecture arch, struct tying tying,
                        const uint64_t left_out[N_STACKS], bool recompute)
{
    static struct heard heard;
    struct model_run how = {.smooth = 0.1,
                            .drop_attention = 0.2,
                            .drop_relu = 0.1,
                            .drop_residual = 0.2,
                            .drop_key = 99,
                            .want_grad = true};
    const struct model_config c = config_of(arch, tying),
                              plain = config_of(arch, (struct tying){0});
    double want[64], got[64];
    struct model tied, own;
    struct packed p;
    struct device d;

    memcpy(how.left_out, left_out, sizeof how.left_out);
    reals_device(&d, "double", 1);
    CHECK_OK(model_open(&tied, &d, &c, true, &err), &err);
    CHECK_OK(model_open(&own, &d, &plain, true, &err), &err);
    CHECK(tied.params.n_flat < own.params.n_flat && tied.params.n_flat <= MOST);
    golden_weights(&tied, test_seed());
    copy_weights(&own, &tied);
    tied.recompute = recompute;
    pack(&p, &arch);
    heard = (struct heard){.model = &tied};
    run(&own, &p, how, want, NULL);
    run(&tied, &p, how, got, &heard);
    for (size_t i = 0; i < p.batch.n_tgt; i++)
        CHECK(got[i] == want[i]);
    check_sums(&tied, &own);
    check_heard(&heard);
    model_close(&tied);
    model_close(&own);
    device_close(&d);
}

static const struct tying tyings[] = {{2, 2, "cycle"},    {2, 3, "cycle_rev"},
                                      {3, 2, "sequence"}, {1, 1, "cycle"},
                                      {0, 4, "cycle"},    {3, 0, "cycle_rev"}};

TEST(a_model_whose_layers_share_is_the_one_whose_layers_are_equal)
{
    static const uint64_t none[N_STACKS];

    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        for (size_t k = 0; k < sizeof tyings / sizeof *tyings; k++)
            check_model(architectures[i].arch, tyings[k], none, (i + k) % 2);
}

TEST(layers_that_share_may_be_left_out_one_by_one_or_all)
{
    static const uint64_t some[][N_STACKS] = {{1, 16}, {2 | 8, 4}, {1 | 4, 1 | 4 | 16}};

    for (size_t i = 0; i < N_ARCHITECTURES; i++)
        for (size_t k = 0; k < sizeof tyings / sizeof *tyings; k++)
            check_model(architectures[i].arch, tyings[k], some[(i + k) % 3], i % 2);
}

TEST(weights_that_are_untied_are_those_that_each_layer_had)
{
    const struct model_config c = config_of((struct architecture){0}, tyings[1]),
                              plain =
                                  config_of((struct architecture){0}, (struct tying){0});
    struct params tied, own;

    CHECK_OK(params_open(&tied, &c, &err), &err);
    CHECK_OK(params_open(&own, &plain, &err), &err);
    float *from = calloc(tied.n_flat, sizeof *from), *to = calloc(own.n_flat, sizeof *to);
    params_init(&tied, 5, from);
    params_untie(&tied, from, &own, to);
    for (int l = 0; l < DECODER; l++) {
        const struct param *a = params_get(&tied, PARAM_cross_v, l),
                           *b = params_get(&own, PARAM_cross_v, l);
        CHECK(b->layer == l && a->layer == (int)"01221"[l] - '0');
        for (size_t e = 0; e < a->rows * a->cols; e++)
            CHECK(to[b->at + e / b->cols * b->stride + e % b->cols] ==
                  from[a->at + e / a->cols * a->stride + e % a->cols]);
    }
    free(from);
    free(to);
    params_close(&tied);
    params_close(&own);
}

/* ---- the planner ---- */

/* The share of backward that has passed when n tensors, from the end, are final. */
static double ready(const struct workload *w, size_t n)
{
    return (w->piece[n - 1].t_ready - w->t_forward) / w->t_backward;
}

TEST(a_plan_knows_when_a_set_is_finished_and_how_many_parameters_there_are)
{
    struct model_config c;
    struct hardware_device device;
    struct workload own, cycle, runs;
    const struct workload_batch batch = {.pairs = 100,
                                         .mean_length = 20,
                                         .max_length = 100,
                                         .bucket_bytes = 1 << 20,
                                         .views = 1};

    CHECK_OK(model_config_defaults(&c, &err), &err);
    c.vocab_size = 1000;
    CHECK_OK(hardware_device(&device, hardware_texts[0].name, &err), &err);
    CHECK_OK(workload_open(&own, &c, &device, &batch, 10, &err), &err);
    c.tying = (struct tying){3, 3, "cycle"};
    CHECK_OK(workload_open(&cycle, &c, &device, &batch, 10, &err), &err);
    c.tying = (struct tying){3, 3, "sequence"};
    CHECK_OK(workload_open(&runs, &c, &device, &batch, 10, &err), &err);
    CHECK(cycle.operations == own.operations);
    CHECK(own.n_parameters - cycle.n_parameters == 3 * (3150336 + 4199936));
    /* a decoder of six layers is finished at the same time, whoever shares what; with
     * cycles its uppermost set after four of them, with runs after two */
    const size_t above = 2, a_layer = 18, decoder = above + 3 * a_layer;
    const double all = ready(&own, above + 6 * a_layer);
    CHECK_NEAR(ready(&cycle, decoder), all, 1e-9);
    CHECK_NEAR(ready(&runs, decoder), all, 1e-9);
    CHECK_NEAR(ready(&cycle, above + a_layer), ready(&own, above + 4 * a_layer), 1e-9);
    CHECK_NEAR(ready(&runs, above + a_layer), ready(&own, above + 2 * a_layer), 1e-9);
    workload_close(&own);
    workload_close(&cycle);
    workload_close(&runs);
}
