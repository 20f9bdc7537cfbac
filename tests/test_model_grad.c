/*
 * The whole model: its gradient is the derivative of its loss, dropout does not depend on
 * how sentences are packed, and a warmed-up step leaves the heap alone.
 */
#include <stdlib.h>

#include "architectures.h"
#include "base/rng.h"
#include "device/device.h"
#include "golden_model.h"
#include "heap_count.h"
#include "kernel_cases/mask.h"
#include "model/activations.h"
#include "model/model.h"
#include "packed.h"
#include "reals.h"
#include "test.h"

enum { SENTS = 24 };

/* A model, a batch and how to run it. */
struct setup {
    uint16_t src[SENTS], tgt[SENTS]; /* sentence lengths, 0 ends */
    int vocab, width, ff, heads, encoder, decoder;
    double drop, smooth;
    struct architecture arch;
    size_t threads; /* 0: two */
    struct tying tying;
};

#define TINY .vocab = 13, .width = 8, .ff = 10, .heads = 2

static const struct setup mixed = {.src = {5, 1, 7, 3},
                                   .tgt = {4, 6, 1, 2},
                                   TINY,
                                   .encoder = 2,
                                   .decoder = 2,
                                   .drop = 0.2,
                                   .smooth = 0.1};

struct lab {
    struct device device;
    struct model model;
    struct packed batch;
    struct model_run run;
};

static struct err err;

/* Sentence `pair` of a setup, whatever batch it is in. */
static void add_pair(struct packed *p, const struct setup *s, int32_t pair)
{
    struct rng r = rng_open(rng_hash(rng_key(test_seed(), "ids"), (uint64_t)pair));
    int32_t src[PACKED_MAX_TOKENS], tgt[PACKED_MAX_TOKENS];

    const int n_sources = s->arch.source_vocab ? (int)s->arch.source_vocab : s->vocab;
    for (size_t i = 0; i < s->src[pair]; i++)
        src[i] = (int32_t)rng_below(&r, (uint64_t)n_sources);
    for (size_t i = 0; i < s->tgt[pair]; i++)
        tgt[i] = (int32_t)rng_below(&r, (uint64_t)s->vocab);
    packed_add(p, pair, src, s->src[pair], tgt, s->tgt[pair]);
    p->tgt_in[p->batch.n_tgt - s->tgt[pair]] = s->arch.start - 1;
}

static size_t n_pairs(const struct setup *s)
{
    size_t n = 0;

    while (n < SENTS && s->src[n])
        n++;
    return n;
}

/* Step memory starts as NaN: whoever reads before writing spoils the loss. */
static void poison(struct lab *lab)
{
    const struct device_arena *arena = &lab->model.act->arena;

    memset(arena->mem, 0xff, arena->bytes);
}

static void lab_open(struct lab *lab, const struct setup *s, const char *kind)
{
    const struct model_config c = {.vocab_size = s->vocab,
                                   .d_model = s->width,
                                   .d_ff = s->ff,
                                   .heads = s->heads,
                                   .encoder_layers = s->encoder,
                                   .decoder_layers = s->decoder,
                                   .norm_epsilon = 1e-6,
                                   .arch = s->arch,
                                   .tying = s->tying};

    *lab = (struct lab){.run = {.drop_attention = s->drop,
                                .drop_relu = s->drop / 2,
                                .drop_residual = s->drop,
                                .drop_key = 4711,
                                .smooth = s->smooth,
                                .want_grad = true}};
    reals_device(&lab->device, kind, s->threads ? s->threads : 2);
    CHECK_OK(model_open(&lab->model, &lab->device, &c, true, &err), &err);
    golden_weights(&lab->model, test_seed());
    packed_begin(&lab->batch);
    for (size_t pair = 0; pair < n_pairs(s); pair++)
        add_pair(&lab->batch, s, (int32_t)pair);
    CHECK_OK(model_reserve(&lab->model, packed_shape(&lab->batch, true), &err), &err);
    poison(lab);
}

static void lab_close(struct lab *lab)
{
    model_close(&lab->model);
    device_close(&lab->device);
}

static void losses(struct lab *lab, const struct packed *p, double *loss)
{
    float narrow[PACKED_MAX_TOKENS];

    model_forward(&lab->model, &p->batch, &lab->run);
    if (lab->device.real_bytes == sizeof(double)) {
        model_losses(&lab->model, loss);
        return;
    }
    model_losses(&lab->model, narrow);
    for (size_t i = 0; i < p->batch.n_tgt; i++)
        loss[i] = (double)narrow[i];
}

static double total_loss(struct lab *lab)
{
    double loss[PACKED_MAX_TOKENS], sum = 0;

    losses(lab, &lab->batch, loss);
    for (size_t i = 0; i < lab->batch.batch.n_tgt; i++)
        sum += loss[i];
    return sum;
}

static double *copy_of(struct lab *lab, struct mat flat)
{
    double *x = malloc(flat.cols * sizeof *x);

    reals_read(&lab->device, x, flat);
    return x;
}

/* (L(w + h u) - L(w - h u)) / 2h. */
static double slope(struct lab *lab, const double *w, const double *u, double h)
{
    const size_t n = lab->model.params.n_flat;
    double *x = malloc(n * sizeof *x), value[2];

    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < n; i++)
            x[i] = w[i] + (side ? -h : h) * u[i];
        reals_write(&lab->device, lab->model.flat, x);
        value[side] = total_loss(lab);
    }
    reals_write(&lab->device, lab->model.flat, w);
    free(x);
    return (value[0] - value[1]) / (2 * h);
}

/* A random direction in the elements of one tensor, or of all when t is NULL. */
static void direction(const struct params *p, const struct param *t, double *u)
{
    struct rng r = rng_open(rng_key(test_seed(), t ? t->name : "everywhere"));

    memset(u, 0, p->n_flat * sizeof *u);
    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *q = &p->list[i];
        for (size_t k = 0; (!t || q == t) && k < q->rows * q->cols; k++)
            u[q->at + k / q->cols * q->stride + k % q->cols] = 2 * rng_unit(&r) - 1;
    }
}

/*
 * Along one direction; the step is small because a ReLU that changes sides between the
 * two points is seen as an error.
 */
static void check_slope(struct lab *lab, const double *g, const struct param *t)
{
    const struct params *p = &lab->model.params;
    double *w = copy_of(lab, lab->model.flat), *u = malloc(p->n_flat * sizeof *u);
    double got = 0;

    direction(p, t, u);
    for (size_t i = 0; i < p->n_flat; i++)
        got += g[i] * u[i];
    const double want = slope(lab, w, u, 1e-6);
    if (!(fabs(got - want) <= 1e-7 * (1 + fabs(want))))
        test_fail(__FILE__, __LINE__, "%s: gradient %.10g, loss changes by %.10g",
                  t ? t->name : "all parameters", got, want);
    free(w);
    free(u);
}

static double *gradient(struct lab *lab, const struct packed *p)
{
    model_zero_grads(&lab->model);
    model_forward(&lab->model, &p->batch, &lab->run);
    model_backward(&lab->model, NULL);
    return copy_of(lab, lab->model.grad);
}

static void check_setup(const struct setup *s, bool each_tensor)
{
    struct lab lab;

    lab_open(&lab, s, "double");
    double *g = gradient(&lab, &lab.batch);
    check_slope(&lab, g, NULL);
    for (size_t i = 0; each_tensor && i < lab.model.params.n_list; i++)
        check_slope(&lab, g, &lab.model.params.list[i]);
    free(g);
    lab_close(&lab);
}

TEST(gradient_of_every_tensor_is_the_derivative_of_the_loss)
{
    check_setup(&mixed, true);
}

TEST(gradient_without_dropout_and_smoothing_is_the_derivative)
{
    struct setup s = mixed;

    s.drop = s.smooth = 0;
    check_setup(&s, true);
    s.drop = 0.3;
    check_setup(&s, false);
    s.drop = 0;
    s.smooth = 0.1;
    check_setup(&s, false);
}

TEST(gradient_of_sentences_of_one_token_is_the_derivative)
{
    check_setup(&(struct setup){.src = {1, 1, 1},
                                .tgt = {1, 1, 1},
                                TINY,
                                .encoder = 1,
                                .decoder = 2,
                                .drop = 0.1,
                                .smooth = 0.1},
                true);
}

TEST(gradient_of_a_batch_of_one_sentence_is_the_derivative)
{
    check_setup(&(struct setup){.src = {6},
                                .tgt = {9},
                                TINY,
                                .encoder = 3,
                                .decoder = 1,
                                .drop = 0.1,
                                .smooth = 0.1},
                true);
    check_setup(&(struct setup){.src = {1}, .tgt = {1}, TINY, .encoder = 1, .decoder = 1},
                false);
}

TEST(gradient_with_one_head_and_odd_widths_is_the_derivative)
{
    check_setup(&(struct setup){.src = {3, 8},
                                .tgt = {5, 2},
                                .vocab = 7,
                                .width = 6,
                                .ff = 17,
                                .heads = 1,
                                .encoder = 1,
                                .decoder = 3,
                                .drop = 0.25,
                                .smooth = 0.05},
                true);
}

TEST(gradient_of_a_sentence_of_300_tokens_is_the_derivative)
{
    check_setup(&(struct setup){.src = {300, 2},
                                .tgt = {280, 3},
                                TINY,
                                .encoder = 1,
                                .decoder = 1,
                                .drop = 0.1,
                                .smooth = 0.1},
                false);
}

TEST(gradient_of_a_sentence_that_outgrows_standing_scratch_is_the_derivative)
{
    check_setup(&(struct setup){.src = {1200},
                                .tgt = {2},
                                .vocab = 7,
                                .width = 32,
                                .ff = 4,
                                .heads = 1,
                                .encoder = 1,
                                .decoder = 1},
                false);
}

TEST(gradient_of_every_tensor_of_every_architecture_is_the_derivative)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        struct setup s = mixed;
        s.arch = architectures[i].arch;
        s.threads = 1; /* many small models: threads would mostly wait */
        s.decoder = 1;
        check_setup(&s, true);
        s.decoder = 3;
        s.drop = 0;
        check_setup(&s, false);
    }
}

TEST(gradient_of_every_tensor_of_layers_that_share_is_the_derivative)
{
    static const struct tying tyings[] = {
        {2, 3, "cycle"}, {2, 1, "cycle_rev"}, {1, 2, "sequence"}};

    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        struct setup s = mixed;
        s.arch = architectures[i].arch;
        s.tying = tyings[i % 3];
        s.threads = 1;
        s.encoder = 3;
        s.decoder = 4;
        check_setup(&s, true);
    }
}

static void check_recomputed(struct setup s)
{
    struct lab lab;

    lab_open(&lab, &s, "cpu");
    const struct model_shape shape = packed_shape(&lab.batch, true);
    const size_t n = lab.model.params.n_flat, bytes = model_measure(&lab.model, shape);
    double *kept = gradient(&lab, &lab.batch);
    lab.model.recompute = true;
    CHECK(model_measure(&lab.model, shape) < bytes);
    poison(&lab);
    double *again = gradient(&lab, &lab.batch);
    CHECK(memcmp(kept, again, n * sizeof *kept) == 0);
    free(kept);
    free(again);
    lab_close(&lab);
}

TEST(recomputed_activations_give_the_same_gradient_bit_by_bit)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        struct setup s = mixed;
        s.arch = architectures[i].arch;
        s.threads = 1;
        s.encoder = 3;
        s.decoder = 4;
        check_recomputed(s);
        s.encoder = 1;
        s.decoder = 2;
        check_recomputed(s);
    }
}

TEST(a_larger_evaluation_takes_no_memory_for_a_backward_pass_of_its_size)
{
    struct lab lab;

    lab_open(&lab, &mixed, "cpu");
    const struct device_arena *arena = &lab.model.act->arena;
    struct model_shape shape = packed_shape(&lab.batch, true);
    const size_t training = arena->bytes;
    CHECK(training == model_measure(&lab.model, shape));

    shape.want_grad = false;
    shape.n_tgt += 1; /* without a backward pass that is still less */
    CHECK(model_measure(&lab.model, shape) < training);
    CHECK_OK(model_reserve(&lab.model, shape, &err), &err);
    CHECK(arena->bytes == training);
    shape.n_tgt *= 100;
    CHECK_OK(model_reserve(&lab.model, shape, &err), &err);
    CHECK(arena->bytes == model_measure(&lab.model, shape));
    lab_close(&lab);
}

/* The loss of each token, whatever batch it is in. */
struct table {
    double loss[SENTS][320];
};

static void tabulate(struct table *t, struct lab *lab, const struct packed *p)
{
    double loss[PACKED_MAX_TOKENS];

    losses(lab, p, loss);
    for (size_t i = 0; i < p->batch.n_tgt; i++)
        t->loss[p->tgt_pair[i]][p->tgt_pos[i]] = loss[i];
}

static void check_tables(const struct table *got, const struct table *want,
                         double tolerance)
{
    for (size_t b = 0; b < SENTS; b++)
        for (size_t i = 0; i < 320; i++)
            CHECK_NEAR(got->loss[b][i], want->loss[b][i], tolerance);
}

static void check_gradients(const double *got, const double *want, size_t n,
                            double tolerance)
{
    double size = 0, off = 0;

    for (size_t i = 0; i < n; i++) {
        size = fmax(size, fabs(want[i]));
        off = fmax(off, fabs(got[i] - want[i]));
    }
    CHECK(size > 0);
    if (!(off <= tolerance * size))
        test_fail(__FILE__, __LINE__, "off by %.3g of %.3g", off, size);
}

/*
 * 24 pairs in one batch of more rows than the output layer takes at once, against the
 * same pairs in another order and in micro-batches of `each`.
 */
static void check_packing(const char *kind, struct architecture arch, double tolerance)
{
    static struct table want, got;
    struct setup s = {TINY,        .encoder = 1,  .decoder = 2,
                      .drop = 0.2, .smooth = 0.1, .arch = arch};
    struct lab lab;

    for (size_t b = 0; b < SENTS; b++) {
        s.src[b] = (uint16_t)(1 + 37 * b % 53);
        s.tgt[b] = (uint16_t)(1 + 29 * (b + 3) % 61);
    }
    lab_open(&lab, &s, kind);
    CHECK(lab.batch.batch.n_tgt > ACT_CHUNK);
    tabulate(&want, &lab, &lab.batch);
    double *whole = gradient(&lab, &lab.batch);
    for (size_t each = SENTS; each >= 1; each = each * 2 / 5) {
        model_zero_grads(&lab.model);
        for (size_t first = 0; first < SENTS; first += each) {
            struct packed p;
            packed_begin(&p);
            for (size_t b = first; b < first + each && b < SENTS; b++)
                add_pair(&p, &s, (int32_t)(7 * b % SENTS));
            poison(&lab);
            tabulate(&got, &lab, &p);
            model_backward(&lab.model, NULL);
        }
        double *sum = copy_of(&lab, lab.model.grad);
        check_tables(&got, &want, tolerance);
        check_gradients(sum, whole, lab.model.params.n_flat, tolerance);
        free(sum);
    }
    free(whole);
    lab_close(&lab);
}

TEST(loss_and_gradient_do_not_depend_on_order_or_micro_batches_in_double)
{
    check_packing("double", (struct architecture){0}, 1e-11);
    check_packing("double", architectures[N_ARCHITECTURES - 1].arch, 1e-11);
}

TEST(loss_and_gradient_do_not_depend_on_order_or_micro_batches_in_float)
{
    check_packing("cpu", (struct architecture){0}, 1e-5);
    check_packing("cpu-plain", (struct architecture){0}, 1e-5);
}

TEST(loss_changes_with_the_key_of_the_step_and_with_nothing_else)
{
    struct lab lab;

    lab_open(&lab, &mixed, "double");
    const double first = total_loss(&lab);
    poison(&lab);
    CHECK(total_loss(&lab) == first);
    lab.run.want_grad = false;
    poison(&lab);
    CHECK(total_loss(&lab) == first);
    lab.run.drop_key++;
    CHECK(fabs(total_loss(&lab) - first) > 1e-3);
    lab_close(&lab);
}

/* After its first position an embedding has no zeros but those of the mask. */
static void check_embedding_mask(struct lab *lab, struct mat x, uint64_t key,
                                 const int32_t *pair, const int32_t *pos)
{
    double *value = malloc(x.rows * x.cols * sizeof *value);

    reals_read(&lab->device, value, x);
    for (size_t i = 0; i < x.rows * x.cols; i++) {
        const size_t r = i / x.cols;
        const bool kept =
            mask_keeps(key, lab->run.drop_residual, pair[r], pos[r], i % x.cols);
        CHECK(kept ? pos[r] == 0 || value[i] != 0 : value[i] == 0);
    }
    free(value);
}

TEST(masks_follow_the_pair_and_the_position_of_a_token)
{
    struct lab lab;

    lab_open(&lab, &mixed, "double");
    const struct activations *a = lab.model.act;
    lab.run.drop_residual = 0.5;
    model_forward(&lab.model, &lab.batch.batch, &lab.run);
    check_embedding_mask(&lab, a->stack[STACK_ENCODER].layer[0].self.norm.x,
                         activations_drop(a, STACK_ENCODER, 0, ACT_EMBED).key,
                         lab.batch.src_pair, lab.batch.src_pos);
    check_embedding_mask(&lab, a->stack[STACK_DECODER].layer[0].self.norm.x,
                         activations_drop(a, STACK_DECODER, 0, ACT_EMBED).key,
                         lab.batch.tgt_pair, lab.batch.tgt_pos);
    lab_close(&lab);
}

TEST(every_place_of_dropout_has_a_stream_of_its_own)
{
    enum { LAYERS = 4, N = 2 * LAYERS * ACT_N_SITES };
    struct setup deep = mixed;
    uint64_t key[N];
    struct lab lab;

    deep.encoder = deep.decoder = LAYERS;
    lab_open(&lab, &deep, "double");
    model_forward(&lab.model, &lab.batch.batch, &lab.run);
    for (int i = 0; i < N; i++) {
        const int kind = i % ACT_N_SITES, layer = i / ACT_N_SITES / 2;
        const int stack = i / ACT_N_SITES % 2;
        key[i] =
            activations_drop(lab.model.act, (enum stack)stack, layer, (enum act_site)kind)
                .key;
        for (int k = 0; k < i; k++)
            CHECK(key[k] != key[i]);
    }
    lab_close(&lab);
}

TEST(two_backward_passes_add_up)
{
    struct lab lab;

    lab_open(&lab, &mixed, "double");
    double *one = gradient(&lab, &lab.batch);
    model_forward(&lab.model, &lab.batch.batch, &lab.run);
    model_backward(&lab.model, NULL);
    double *two = copy_of(&lab, lab.model.grad);
    for (size_t i = 0; i < lab.model.params.n_flat; i++)
        one[i] *= 2;
    check_gradients(two, one, lab.model.params.n_flat, 1e-14);
    free(one);
    free(two);
    lab_close(&lab);
}

/* What the hook was told, and the gradient as it was then. */
struct told {
    struct lab *lab;
    double *then;
    int *times;
    size_t last; /* first element of the latest report */
    bool backwards;
};

static void note(void *ctx, size_t first, size_t n)
{
    struct told *told = ctx;
    const struct mat all = told->lab->model.grad;
    const struct mat part = {all.mem, all.at + first, 1, n, n};

    CHECK(n > 0 && first + n <= all.cols);
    reals_read(&told->lab->device, told->then + first, part);
    for (size_t i = first; i < first + n; i++)
        told->times[i]++;
    told->backwards &= first + n <= told->last;
    told->last = first;
}

static void check_hook(const struct setup *s)
{
    struct lab lab;

    lab_open(&lab, s, "double");
    const struct params *p = &lab.model.params;
    struct told told = {.lab = &lab,
                        .then = calloc(p->n_flat, sizeof(double)),
                        .times = calloc(p->n_flat, sizeof(int)),
                        .last = p->n_flat,
                        .backwards = true};
    const struct model_hook hook = {note, &told};

    model_zero_grads(&lab.model);
    model_forward(&lab.model, &lab.batch.batch, &lab.run);
    model_backward(&lab.model, &hook);
    double *now = copy_of(&lab, lab.model.grad);
    CHECK(told.backwards);
    for (size_t i = 0; i < p->n_list; i++)
        for (size_t k = 0; k < p->list[i].rows * p->list[i].cols; k++) {
            const struct param *t = &p->list[i];
            const size_t e = t->at + k / t->cols * t->stride + k % t->cols;
            CHECK(told.times[e] == 1);
            CHECK(told.then[e] == now[e]);
        }
    for (size_t e = 0; e < p->n_flat; e++)
        CHECK(told.times[e] <= 1);
    free(now);
    free(told.then);
    free(told.times);
    lab_close(&lab);
}

TEST(hook_hears_of_every_element_once_when_it_is_final_from_the_end_to_the_front)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        struct setup s = mixed;
        s.arch = architectures[i].arch;
        s.threads = 1;
        check_hook(&s);
    }
}

static void check_zeros(const struct setup *s)
{
    struct lab lab;

    lab_open(&lab, s, "cpu");
    const struct params *p = &lab.model.params;
    struct device *d = &lab.device;
    double *want = gradient(&lab, &lab.batch);
    d->k->fill(d, lab.model.grad, NAN);
    double *got = gradient(&lab, &lab.batch);
    for (size_t e = 0; e < p->n_flat; e++) /* gaps that align tensors too */
        CHECK(got[e] == want[e]);
    free(got);
    model_write_zero_grads(&lab.model);
    got = copy_of(&lab, lab.model.grad);
    for (size_t e = 0; e < p->n_flat; e++)
        CHECK(got[e] == 0);
    free(got);
    free(want);
    lab_close(&lab);
}

TEST(gradients_begin_at_zero_whatever_was_there)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        struct setup s = mixed;
        s.arch = architectures[i].arch;
        s.threads = 1;
        check_zeros(&s);
    }
}

TEST(a_warmed_up_step_asks_the_heap_for_nothing)
{
    struct lab lab;
    void *volatile probe;

    const size_t at_start = heap_asked;
    probe = malloc(1);
    free(probe);
    CHECK(heap_asked == at_start + 1);
    lab_open(&lab, &mixed, "cpu");
    for (int step = 0; step < 5; step++) {
        const size_t before = heap_asked;
        model_zero_grads(&lab.model);
        model_forward(&lab.model, &lab.batch.batch, &lab.run);
        model_backward(&lab.model, NULL);
        if (step >= 2)
            CHECK(heap_asked == before);
    }
    lab_close(&lab);
}
