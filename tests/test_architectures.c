/* ctest: slow
 * Every architecture: what it computes in double is what it computes on every device, in
 * inference with every set of kernels, and when a target is decoded step by step.
 */
#include "architectures.h"
#include "base/pool.h"
#include "golden_model.h"
#include "infer/session.h"
#include "infer_variants.h"
#include "model/decoder.h"
#include "reals.h"
#include "standin/fibre_device.h"

enum { VOCAB = 23, PAIRS = 3, LONGEST = 7, TOKENS = PAIRS * LONGEST };

static struct err err;

/* S, pieces, EOS; below 9, the smallest vocabulary of sources. */
static const int32_t sources[PAIRS][LONGEST] = {
    {2, 8, 4, 5, 1}, {2, 7, 1}, {2, 3, 8, 8, 6, 4, 1}};
static const int32_t targets[PAIRS][LONGEST] = {
    {2, 22, 1}, {2, 6, 3, 17, 6, 20, 1}, {2, 9, 9, 1}};
static const size_t n_source[PAIRS] = {5, 3, 7}, n_target[PAIRS] = {3, 7, 4};

static struct model_config config_of(const struct architecture *a)
{
    return (struct model_config){.vocab_size = VOCAB,
                                 .d_model = 24,
                                 .d_ff = 40,
                                 .heads = 3,
                                 .encoder_layers = 3,
                                 .decoder_layers = 2,
                                 .norm_epsilon = 1e-6,
                                 .arch = *a};
}

static float *weights_of(const struct params *p)
{
    float *flat = calloc(p->n_flat, sizeof *flat);

    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *t = &p->list[i];
        struct rng r = rng_open(rng_key(test_seed(), t->name));
        for (size_t k = 0; k < t->rows * t->cols; k++)
            flat[t->at + k / t->cols * t->stride + k % t->cols] =
                (float)((rng_unit(&r) - 0.5) * (t->n_dims == 2 ? 0.9 : 0.4) +
                        (t->init == INIT_ONE));
    }
    return flat;
}

/* The pairs as the model reads them. */
static void pack(struct packed *p, const struct architecture *a)
{
    const size_t skip = a->has_no_begin;

    packed_begin(p);
    for (int i = 0; i < PAIRS; i++) {
        packed_add(p, i, sources[i] + skip, n_source[i] - skip, targets[i] + skip,
                   n_target[i] - skip);
        p->tgt_in[p->tgt_at[i]] = a->start - 1;
    }
}

struct lab {
    struct device device;
    struct model model;
    struct packed batch;
};

static void lab_open(struct lab *lab, const struct architecture *a)
{
    const struct model_config c = config_of(a);

    CHECK_OK(model_open(&lab->model, &lab->device, &c, true, &err), &err);
    float *flat = weights_of(&lab->model.params);
    CHECK_OK(model_set_weights(&lab->model, flat, &err), &err);
    free(flat);
    pack(&lab->batch, a);
    CHECK_OK(model_reserve(&lab->model, packed_shape(&lab->batch, true), &err), &err);
}

static void lab_close(struct lab *lab)
{
    model_close(&lab->model);
    device_close(&lab->device);
}

/* The log-probability of every token, and the gradient of the loss. */
static double *run(struct lab *lab, double log_prob[TOKENS])
{
    const struct model_run how = {.want_grad = true};
    double raw[PACKED_MAX_TOKENS];
    double *g = malloc(lab->model.params.n_flat * sizeof *g);

    model_zero_grads(&lab->model);
    model_forward(&lab->model, &lab->batch.batch, &how);
    model_backward(&lab->model, NULL);
    CHECK_OK(device_sync(&lab->device, &err), &err);
    model_losses(&lab->model, raw);
    for (size_t i = 0; i < lab->batch.batch.n_tgt; i++)
        log_prob[i] = -reals_get(&lab->device, raw, i);
    reals_read(&lab->device, g, lab->model.grad);
    return g;
}

/* The length of the difference, as a part of what is wanted. */
static void check_near(const char *name, const char *where, const double *got,
                       const double *want, size_t n, double tolerance)
{
    double size = 0, off = 0;

    for (size_t i = 0; i < n; i++) {
        size += want[i] * want[i];
        off += (got[i] - want[i]) * (got[i] - want[i]);
    }
    if (!(sqrt(off) <= tolerance * sqrt(size)))
        test_fail(__FILE__, __LINE__, "%s, %s: %.3g off %.3g", name, where, sqrt(off),
                  sqrt(size));
}

/* Losses and gradients on an open device. */
static void check_device(struct lab *lab, const struct architectures_row *row,
                         const double *want, const double *want_grad, double tolerance)
{
    double got[TOKENS];

    lab_open(lab, &row->arch);
    double *grad = run(lab, got);
    check_near(row->name, lab->device.name, got, want, lab->batch.batch.n_tgt, tolerance);
    check_near(row->name, lab->device.name, grad, want_grad, lab->model.params.n_flat,
               tolerance);
    free(grad);
    lab_close(lab);
}

static void check_devices(const struct architectures_row *row, const double *want,
                          const double *want_grad)
{
    static const char *const kinds[] = {"cpu", "cpu-avx512", "cpu-avx2", "cpu-plain"};
    static const enum precision halves[] = {PRECISION_FP16, PRECISION_BF16};
    const double coarse[] = {0.05, 0.4};
    struct lab lab;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct device_options o = {.threads = 1};
        if (device_open(&lab.device, kinds[i], o, &err) == OK)
            check_device(&lab, row, want, want_grad, 2e-5);
    }
    CHECK_OK(fibre_device_open(&lab.device, PRECISION_FP32, &err), &err);
    check_device(&lab, row, want, want_grad, 2e-5);
    for (size_t i = 0; i < 2; i++) {
        const struct device_options o = {.threads = 1, .precision = halves[i]};
        CHECK_OK(device_open(&lab.device, "cpu-plain", o, &err), &err);
        check_device(&lab, row, want, want_grad, coarse[i]);
        CHECK_OK(fibre_device_open(&lab.device, halves[i], &err), &err);
        check_device(&lab, row, want, want_grad, coarse[i]);
    }
}

static double *in_double(const struct architectures_row *row, double want[TOKENS])
{
    struct lab lab;

    reals_device(&lab.device, "double", 1);
    lab_open(&lab, &row->arch);
    double *grad = run(&lab, want);
    lab_close(&lab);
    return grad;
}

TEST(every_device_computes_every_architecture)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        double want[TOKENS];
        double *grad = in_double(&architectures[i], want);
        check_devices(&architectures[i], want, grad);
        free(grad);
    }
}

TEST(an_opencl_device_computes_every_architecture)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        double want[TOKENS];
        struct lab lab;
        if (device_open(&lab.device, "opencl", (struct device_options){0}, &err) != OK)
            test_skip("no OpenCL device here");
        double *grad = in_double(&architectures[i], want);
        check_device(&lab, &architectures[i], want, grad, 2e-5);
        free(grad);
    }
}

/* ---- inference ---- */

static void check_variant(const struct architectures_row *row, const struct network *net,
                          const struct infer_kernels *k, const double *want)
{
    const struct session_shape shape = {.n_rows = PAIRS,
                                        .n_entries = 4,
                                        .n_memory = 16 * PAIRS,
                                        .n_tokens = TOKENS,
                                        .max_len = 16,
                                        .n_top = 1};
    struct session_sentence sentence[PAIRS];
    struct session_pair pair[PAIRS];
    double got[TOKENS], seen[TOKENS];
    struct session s;
    size_t n = 0, at = 0;

    CHECK_OK(session_open(&s, net, k, NULL, shape, &err), &err);
    for (int i = 0; i < PAIRS; i++) {
        sentence[i].id = sources[i];
        CHECK(session_lend(&s, n_source[i], &sentence[i].to));
        pair[i] = (struct session_pair){
            .source = sentence[i].to, .label = targets[i], .n = n_target[i]};
    }
    session_encode(&s, sentence, PAIRS);
    session_score(&s, pair, PAIRS, got);
    for (int i = 0; i < PAIRS; i++)
        for (size_t t = 0; t < n_target[i]; t++, at++)
            if (t < row->arch.has_no_begin)
                CHECK(got[at] == 0); /* S is certain */
            else
                seen[n++] = got[at];
    check_near(row->name, k->name, seen, want, n, 1e-5);
    session_close(&s);
}

TEST(inference_computes_what_training_does)
{
    const struct infer_variants v = infer_variants();

    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        const struct model_config c = config_of(&architectures[i].arch);
        double want[TOKENS];
        struct network net;
        struct params p;
        free(in_double(&architectures[i], want));
        CHECK_OK(params_open(&p, &c, &err), &err);
        float *flat = weights_of(&p);
        CHECK_OK(network_open(&net, &c, &err), &err);
        CHECK_OK(network_pack(&net, &p, flat, (struct network_types){0}, &err), &err);
        for (size_t k = 0; k < v.n; k++)
            check_variant(&architectures[i], &net, v.k[k], want);
        network_close(&net);
        params_close(&p);
        free(flat);
    }
}

/* ---- step by step ---- */

static void check_steps(struct lab *lab, const struct architectures_row *row,
                        const double *want, double tolerance)
{
    const size_t skip = row->arch.has_no_begin;
    struct decoder *dec;
    double top[PAIRS * VOCAB];
    int32_t id[PAIRS * VOCAB];

    CHECK_OK(decoder_open(
                 &dec, &lab->model,
                 (struct decoder_shape){PAIRS, lab->batch.batch.n_src, LONGEST, VOCAB},
                 &err),
             &err);
    model_encode(&lab->model, &lab->batch.batch);
    decoder_begin(dec);
    for (size_t t = 0; t < LONGEST; t++) {
        int32_t token[PAIRS], physical[PAIRS * LONGEST];
        for (size_t r = 0; r < PAIRS; r++) {
            token[r] = t == 0 ? -1 : targets[r][t - 1];
            for (size_t i = 0; i <= t; i++)
                physical[r * (t + 1) + i] = (int32_t)r;
        }
        decoder_step(dec, t,
                     &(struct decoder_rows){PAIRS, token, lab->batch.src_at,
                                            lab->batch.src_at + 1, physical},
                     top, id);
        for (size_t r = 0; r < PAIRS; r++) {
            size_t k = 0;
            if (t >= n_target[r])
                continue;
            while (id[r * VOCAB + k] != targets[r][t])
                k++;
            const double got = reals_get(&lab->device, top, r * VOCAB + k);
            const size_t at = (size_t)lab->batch.tgt_at[r] + t - skip;
            if (!(fabs(got - (t < skip ? 0 : want[at])) <= tolerance))
                test_fail(__FILE__, __LINE__, "%s, %s: token %zu of %zu has %.9g",
                          row->name, lab->device.name, t, r, got);
        }
    }
    decoder_close(dec);
}

TEST(stepping_through_a_target_equals_the_whole_pass)
{
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        double want[TOKENS];
        struct lab lab;
        free(in_double(&architectures[i], want));
        reals_device(&lab.device, "double", 1);
        lab_open(&lab, &architectures[i].arch);
        check_steps(&lab, &architectures[i], want, 1e-12);
        lab_close(&lab);
        CHECK_OK(fibre_device_open(&lab.device, PRECISION_FP32, &err), &err);
        lab_open(&lab, &architectures[i].arch);
        check_steps(&lab, &architectures[i], want, 1e-4);
        lab_close(&lab);
    }
}

TEST(more_positions_than_were_learned_are_refused)
{
    const struct architecture a = {.positions = POSITIONS_LEARNED, .max_positions = 6};
    const struct model_config c = config_of(&a);
    struct lab lab;

    reals_device(&lab.device, "double", 1);
    CHECK_OK(model_open(&lab.model, &lab.device, &c, false, &err), &err);
    pack(&lab.batch, &a);
    CHECK_FAILS(model_reserve(&lab.model, packed_shape(&lab.batch, false), &err), &err,
                ERR_USAGE,
                "a sentence of 7 tokens, where the model has learned 6 "
                "positions; lower max_length or raise max_positions");
    lab_close(&lab);
}
