/*
 * The CUDA device against a stand-in driver (tests/standin): kernels, transfers, whole
 * updates, and whether every wait between its two streams is needed.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "device/cuda/driver.h"
#include "device/cuda/side_stream.h"
#include "device/device.h"
#include "device/gpu/gpu.h"
#include "device/half.h"
#include "model/model.h"
#include "packed.h"
#include "reals.h"
#include "test.h"
#include "train/log/meter.h"
#include "train/run/micro_batch.h"
#include "train/update/optim.h"

enum { STEPS = 2, MANY = 8192 };

static const struct model_config config = {.vocab_size = 23,
                                           .d_model = 16,
                                           .d_ff = 24,
                                           .heads = 2,
                                           .encoder_layers = 1,
                                           .decoder_layers = 1,
                                           .norm_epsilon = 1e-6};

/* eager, deaf: a stream's number or "". */
static void open_cuda(struct device *d, enum precision precision, const char *eager,
                      const char *deaf)
{
    const struct device_options options = {.precision = precision};
    struct err err;

    setenv("FERRY_CUDA_IMAGE", STANDIN, 1);
    setenv("FERRY_STANDIN_EAGER", eager, 1);
    setenv("FERRY_STANDIN_DEAF", deaf, 1);
    CHECK_OK(device_open(d, "cuda", options, &err), &err);
}

static void add_pairs(struct packed *p, int step)
{
    struct rng r = rng_open(rng_hash(rng_key(7, "ids"), (uint64_t)step));

    for (int32_t pair = 0; pair < 3; pair++) {
        int32_t src[9], tgt[7];
        for (size_t i = 0; i < 9; i++)
            src[i] = (int32_t)rng_below(&r, 23);
        for (size_t i = 0; i < 7; i++)
            tgt[i] = (int32_t)rng_below(&r, 23);
        packed_add(p, pair, src, 9 - (size_t)pair, tgt, 5 + (size_t)pair);
    }
}

/* A few updates of a tiny model; its weights afterwards, and the sum of all losses, which
 * is NaN when an update failed. */
static double train(struct device *d, float *weights)
{
    struct optim_config how;
    struct model m;
    struct optim o;
    struct err err;
    static struct packed p;
    float *flat, losses[64];
    double sum = 0, norm;

    CHECK_OK(opt_defaults(optim_config_table, &how, &err), &err);
    CHECK_OK(model_open(&m, d, &config, true, &err), &err);
    CHECK_OK(optim_open(&o, d, &m.params, &how, NULL, &err), &err);
    CHECK(m.params.n_flat <= MANY);
    flat = calloc(m.params.n_flat, sizeof *flat);
    params_init(&m.params, 3, flat);
    CHECK_OK(model_set_weights(&m, flat, &err), &err);
    CHECK_OK(model_reserve(&m, (struct model_shape){3, 32, 32, 16, true}, &err), &err);
    for (int step = 0; step < STEPS; step++) {
        packed_begin(&p);
        add_pairs(&p, step);
        const struct model_batch b = p.batch;
        const struct model_run run = {.drop_residual = 0.1,
                                      .drop_key = (uint64_t)step,
                                      .smooth = 0.1,
                                      .want_grad = true};
        model_zero_grads(&m);
        model_forward(&m, &b, &run);
        model_backward(&m, NULL);
        model_losses(&m, losses);
        for (size_t i = 0; i < b.n_tgt; i++)
            sum += (double)losses[i];
        const struct optim_update how_far = {step, 0.01, (double)b.n_tgt, 1};
        if (optim_step(&o, m.flat, m.grad, how_far, &norm, &err) != OK)
            sum = (double)NAN; /* as it should be without a wait */
    }
    model_get_weights(&m, flat);
    CHECK_OK(device_sync(d, &err), &err);
    memcpy(weights, flat, m.params.n_flat * sizeof *flat);
    free(flat);
    optim_close(&o);
    model_close(&m);
    return sum;
}

static double on_cpu(float *weights, enum precision precision)
{
    struct device d;
    struct err err;

    CHECK_OK(device_open(&d, "cpu",
                         (struct device_options){.threads = 1, .precision = precision},
                         &err),
             &err);
    const double sum = train(&d, weights);
    device_close(&d);
    return sum;
}

static double on_cuda(float *weights, enum precision precision, const char *eager,
                      const char *deaf)
{
    struct device d;

    open_cuda(&d, precision, eager, deaf);
    const double sum = train(&d, weights);
    device_close(&d);
    return sum;
}

static double furthest(const float *a, const float *b)
{
    double most = 0;

    for (size_t i = 0; i < MANY; i++) {
        const double gap = fabs((double)a[i] - (double)b[i]);
        most = gap > most || gap != gap ? gap : most;
    }
    return most;
}

TEST(updates_agree_with_the_cpu_whatever_stream_runs_early)
{
    static float want[MANY], got[MANY];
    const double loss = on_cpu(want, PRECISION_FP32);

    CHECK_NEAR(on_cuda(got, PRECISION_FP32, "", ""), loss, 1e-4 * loss);
    CHECK_NEAR(furthest(want, got), 0, 1e-4);
    CHECK_NEAR(on_cuda(got, PRECISION_FP32, "1", ""), loss, 1e-4 * loss);
    CHECK_NEAR(furthest(want, got), 0, 1e-4);
    CHECK_NEAR(on_cuda(got, PRECISION_FP32, "2", ""), loss, 1e-4 * loss);
    CHECK_NEAR(furthest(want, got), 0, 1e-4);
}

TEST(mixed_precision_agrees_with_its_emulation)
{
    static float want[MANY], got[MANY];

    for (int p = PRECISION_FP16; p <= PRECISION_BF16; p++) {
        const double loss = on_cpu(want, (enum precision)p);
        CHECK_NEAR(on_cuda(got, (enum precision)p, "", ""), loss, 1e-2 * loss);
    }
}

TEST(more_sentences_than_a_grid_has_are_several_launches)
{
    static float want[MANY], got[MANY];
    const double loss = on_cuda(want, PRECISION_FP32, "", "");
    struct device d;

    open_cuda(&d, PRECISION_FP32, "", "");
    d.gpu->grid_max = 2; /* of three sentences */
    CHECK(train(&d, got) == loss && memcmp(want, got, sizeof got) == 0);
    device_close(&d);
}

static bool differs(const float *want, double loss, const char *eager, const char *deaf)
{
    static float got[MANY];
    const double sum = on_cuda(got, PRECISION_FP32, eager, deaf);

    return !(fabs(sum - loss) < 1e-3 * loss) || !(furthest(want, got) < 1e-3);
}

/* Stream 1 computes, stream 2 copies. */
TEST(without_either_wait_the_numbers_are_wrong)
{
    static float want[MANY];
    const double loss = on_cpu(want, PRECISION_FP32);

    CHECK(differs(want, loss, "", "1") || differs(want, loss, "1", "1"));
    CHECK(differs(want, loss, "", "2") || differs(want, loss, "2", "2"));
}

/* A plan for more memory than the card has, because memory_mib says so. */
TEST(memory_that_a_step_lacks_is_told_with_what_to_set)
{
    struct device d;
    struct model m;
    struct train_config c;
    struct micro_batch b = {.config = &c, .model = &m};
    struct err err;

    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_OK(train_config_defaults(&c, &err), &err);
    c.batch_tokens = 1000000;
    c.memory_mib = 1000000;
    CHECK_OK(model_open(&m, &d, &config, true, &err), &err);
    size_t n_tgt = 0;
    CHECK_OK(micro_batch_choose(&b, 1, 0, &n_tgt, &err), &err);
    CHECK_FAILS(micro_batch_reserve(&b, n_tgt, &err), &err, ERR_MEMORY,
                "; 1000000 target tokens were at once: set micro_tokens = 500000 or "
                "memory_mib = ");
    micro_batch_release(&b);
    model_close(&m);
    device_close(&d);
}

/* Target tokens of a micro-batch of an update of 6,000. */
static size_t micro_tokens(struct device d)
{
    struct model m;
    struct train_config c;
    struct micro_batch b = {.config = &c, .model = &m};
    struct err err;

    CHECK_OK(train_config_defaults(&c, &err), &err);
    c.batch_tokens = 6000;
    CHECK_OK(model_open(&m, &d, &config, true, &err), &err);
    size_t n_tgt = 0;
    CHECK_OK(micro_batch_choose(&b, 1, 0, &n_tgt, &err), &err);
    model_close(&m);
    device_close(&d);
    return n_tgt;
}

TEST(a_card_has_as_much_at_once_as_fits)
{
    struct device d;
    struct err err;

    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK(micro_tokens(d) == 6000);
    CHECK_OK(device_open(&d, "cpu", (struct device_options){.threads = 1}, &err), &err);
    CHECK(micro_tokens(d) == 4096);
}

enum { M = 7, K = 10, N = 9, BAD = 3 };

/* h = relu(a b + bias) by the card; the bias of column BAD is not a number. */
static void relu_product(enum precision precision, const float *host, float *got)
{
    struct device_arena arena = {.bytes = 8192};
    uint16_t half[M * N];
    struct device d;
    struct err err;

    open_cuda(&d, precision, "", "");
    arena.device = &d;
    CHECK_OK(device_alloc(&d, &arena.mem, arena.bytes, &err), &err);
    const struct mat a = device_arena_mat(&arena, M, K),
                     b = device_arena_mat(&arena, K, N);
    const struct mat bias = device_arena_mat(&arena, 1, N);
    const struct mat a16 = device_arena_half(&arena, M, K);
    const struct mat b16 = device_arena_half(&arena, K, N);
    const struct mat bias16 = device_arena_half(&arena, 1, N);
    const struct mat h = device_arena_half(&arena, M, N);
    device_upload(&d, a, host);
    device_upload(&d, b, host + M * K);
    device_upload(&d, bias, host + M * K + K * N);
    d.k->cast(&d, a16, a);
    d.k->cast(&d, b16, b);
    d.k->cast(&d, bias16, bias);
    d.k->gemm_relu(&d, h, a16, b16, bias16);
    device_download(&d, precision == PRECISION_FP32 ? (void *)got : (void *)half, h);
    CHECK_OK(device_sync(&d, &err), &err);
    for (size_t i = 0; i < M * N && precision != PRECISION_FP32; i++)
        got[i] = precision == PRECISION_FP16 ? half_to(half[i]) : half_to_b(half[i]);
    device_free(&d, arena.mem);
    device_close(&d);
}

/* Bias and ReLU of cuBLASLt, where a NaN becomes 0: for evaluation and decoding only. */
TEST(a_product_with_bias_and_relu_is_one_call)
{
    float host[M * K + K * N + N], got[M * N];

    for (size_t i = 0; i < M * K + K * N + N; i++)
        host[i] = (float)((int)(i * 37 % 23) - 11) / 8;
    host[M * K + K * N + BAD] = (float)NAN;
    for (int p = PRECISION_FP32; p <= PRECISION_BF16; p++) {
        relu_product((enum precision)p, host, got);
        for (size_t r = 0; r < M; r++)
            for (size_t c = 0; c < N; c++) {
                double want = (double)host[M * K + K * N + c];
                for (size_t k = 0; k < K; k++)
                    want += (double)host[r * K + k] * (double)host[M * K + k * N + c];
                want = c == BAD ? 0 : fmax(want, 0);
                CHECK_NEAR((double)got[r * N + c], want,
                           p == PRECISION_FP32 ? 1e-6 : 2e-2);
            }
    }
}

/* More than the host's pinned half of an upload holds: it is used again and again. */
TEST(a_large_upload_arrives_whole)
{
    enum { LARGE = 3 << 20 };
    float *sent = malloc(LARGE * sizeof *sent), *got = malloc(LARGE * sizeof *got);
    struct mat m = {NULL, 0, 1, LARGE, LARGE};
    struct device d;
    struct err err;

    for (size_t i = 0; i < LARGE; i++)
        sent[i] = (float)i;
    for (int eager = 0; eager <= 2; eager++) {
        open_cuda(&d, PRECISION_FP32, (const char *[]){"", "1", "2"}[eager], "");
        CHECK_OK(device_alloc(&d, &m.mem, LARGE * sizeof *sent, &err), &err);
        device_upload(&d, m, sent);
        device_download(&d, got, m);
        CHECK_OK(device_sync(&d, &err), &err);
        CHECK(memcmp(sent, got, LARGE * sizeof *sent) == 0);
        device_free(&d, m.mem);
        device_close(&d);
    }
    free(sent);
    free(got);
}

/* No kernel between its operands and it, nor between it and who reads it. */
TEST(a_product_alone_waits_and_is_waited_for)
{
    const float two[] = {3, 4};
    struct mat a = {NULL, 0, 1, 2, 2}, b = {NULL, 0, 2, 1, 1}, c = {NULL, 0, 1, 1, 1};
    struct device d;
    struct err err;
    float got;

    for (int eager = 0; eager <= 2; eager++) {
        open_cuda(&d, PRECISION_FP32, (const char *[]){"", "1", "2"}[eager], "");
        CHECK_OK(device_alloc(&d, &a.mem, sizeof two, &err), &err);
        CHECK_OK(device_alloc(&d, &b.mem, sizeof two, &err), &err);
        CHECK_OK(device_alloc(&d, &c.mem, sizeof got, &err), &err);
        device_upload(&d, a, two);
        device_upload(&d, b, two);
        d.k->gemm(&d, c, a, b, false, false, 1, 0);
        device_download(&d, &got, c);
        CHECK_OK(device_sync(&d, &err), &err);
        CHECK_NEAR((double)got, 25, 1e-6);
        device_free(&d, a.mem);
        device_free(&d, b.mem);
        device_free(&d, c.mem);
        device_close(&d);
    }
}

/* Uploads that nothing has read: a wait ends them too, since their pinned bytes are used
 * again and their memory may go. */
TEST(a_wait_is_for_uploads_too)
{
    enum { FEW = 1000 };
    float one[FEW], two[FEW], got[FEW];
    struct mat a = {NULL, 0, 1, FEW, FEW}, b = a;
    struct device d;
    struct err err;

    for (size_t i = 0; i < FEW; i++) {
        one[i] = (float)i;
        two[i] = -1;
    }
    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_OK(device_alloc(&d, &a.mem, sizeof one, &err), &err);
    CHECK_OK(device_alloc(&d, &b.mem, sizeof two, &err), &err);
    device_upload(&d, a, one);
    CHECK_OK(device_sync(&d, &err), &err);
    device_upload(&d, b, two);
    device_download(&d, got, a);
    CHECK(memcmp(one, got, sizeof got) == 0);
    device_upload(&d, a, two);
    device_free(&d, a.mem); /* the stand-in ends the process if the upload is queued */
    device_upload(&d, b, one);
    device_free(&d, b.mem);
    device_close(&d);
}

/* As when a rank died before its buckets left; the stand-in keeps to events that have
 * happened. */
TEST(a_lane_closes_with_a_mark_that_nobody_waited_for)
{
    struct device d;
    struct side_stream *l;
    struct err err;
    void *mem;

    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_OK(side_stream_open(&l, &d, 2, 0, &err), &err);
    CHECK_OK(device_alloc(&d, &mem, 64, &err), &err);
    side_stream_mark(l, 0);
    side_stream_close(l);
    device_free(&d, mem);
    device_close(&d);
}

/* What the product of two numbers by themselves gives, and how the device ends. */
static status product_of_two(float *got, struct err *err)
{
    const float two[] = {3, 4};
    struct mat a = {NULL, 0, 1, 2, 2}, b = {NULL, 0, 2, 1, 1}, c = {NULL, 0, 1, 1, 1};
    struct device d;

    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_OK(device_alloc(&d, &a.mem, sizeof two, err), err);
    CHECK_OK(device_alloc(&d, &b.mem, sizeof two, err), err);
    CHECK_OK(device_alloc(&d, &c.mem, sizeof *got, err), err);
    device_upload(&d, a, two);
    device_upload(&d, b, two);
    d.k->gemm(&d, c, a, b, false, false, 1, 0);
    device_download(&d, got, c);
    const status result = device_sync(&d, err);
    device_free(&d, a.mem);
    device_free(&d, b.mem);
    device_free(&d, c.mem);
    device_close(&d);
    return result;
}

static unsigned n_asked; /* times that cuBLASLt was asked how to do a product */
static unsigned (*real_choice)(struct cublasLtContext *, void *, void *, void *, void *,
                               void *, void *, int, struct driver_choice *, int *);

static unsigned count_choice(struct cublasLtContext *h, void *desc, void *a, void *b,
                             void *c, void *d, void *pref, int n,
                             struct driver_choice *choice, int *found)
{
    n_asked++;
    return real_choice(h, desc, a, b, c, d, pref, n, choice, found);
}

/* The functions that the device calls; a test puts its own among them. */
static struct driver *opened(void)
{
    const struct driver *api;
    struct err err;

    CHECK_OK(driver_open(&api, &err), &err);
    return (struct driver *)api;
}

static unsigned answer; /* of these: */

static unsigned refuse_matmul(struct cublasLtContext *h, void *desc, const void *alpha,
                              const void *pa, void *a, const void *pb, void *b,
                              const void *beta, const void *pc, void *c, void *pd,
                              void *d, const void *algorithm, void *workspace,
                              size_t n_workspace, struct CUstream_st *s)
{
    (void)h, (void)desc, (void)alpha, (void)pa, (void)a, (void)pb, (void)b, (void)beta;
    (void)pc, (void)c, (void)pd, (void)d, (void)algorithm, (void)workspace;
    (void)n_workspace, (void)s;
    return answer;
}

static unsigned refuse_choice(struct cublasLtContext *h, void *desc, void *a, void *b,
                              void *c, void *d, void *pref, int n,
                              struct driver_choice *choice, int *found)
{
    (void)h, (void)desc, (void)a, (void)b, (void)c, (void)d, (void)pref, (void)n;
    (void)choice, (void)found;
    return answer;
}

TEST(a_product_that_the_library_refuses_is_our_own)
{
    struct driver *api = opened();
    const struct driver real = *api;
    struct err err;

    for (int i = 0; i < 4; i++) {
        float got = 0;
        answer = i % 2 ? DRIVER_NOT_SUPPORTED : DRIVER_ARCH_MISMATCH;
        if (i < 2)
            api->cublasLtMatmul = refuse_matmul;
        else
            api->cublasLtMatmulAlgoGetHeuristic = refuse_choice;
        CHECK_OK(product_of_two(&got, &err), &err);
        CHECK_NEAR((double)got, 25, 1e-6);
        *api = real;
    }
}

TEST(a_product_that_fails_is_told_in_the_librarys_words)
{
    struct driver *api = opened();
    const struct driver real = *api;
    struct err err;
    float got;

    api->cublasLtMatmul = refuse_matmul;
    answer = DRIVER_EXECUTION_FAILED;
    CHECK_FAILS(product_of_two(&got, &err), &err, ERR_DEVICE,
                "cuBLASLt failed in a product on stand-in (EXECUTION_FAILED, code 13)");
    answer = DRIVER_ALLOC_FAILED;
    CHECK_FAILS(product_of_two(&got, &err), &err, ERR_MEMORY,
                "stand-in ran out of memory in a product");
    answer = 77;
    CHECK_FAILS(product_of_two(&got, &err), &err, ERR_DEVICE,
                "(an error without a name, code 77)");
    *api = real;
}

/* Layers repeat their shapes: cuBLASLt is asked once for each. */
TEST(the_choice_of_a_product_is_remembered)
{
    enum { SHAPES = 70 }; /* more than are remembered */
    struct driver *api = opened();
    const struct driver real = *api;
    struct mat x = {NULL, 0, 1, SHAPES, SHAPES}, y = {NULL, 0, 1, 1, 1};
    float ones[SHAPES], got;
    struct device d;
    struct err err;

    real_choice = real.cublasLtMatmulAlgoGetHeuristic;
    api->cublasLtMatmulAlgoGetHeuristic = count_choice;
    n_asked = 0;
    for (size_t i = 0; i < SHAPES; i++)
        ones[i] = 1;
    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_OK(device_alloc(&d, &x.mem, sizeof ones, &err), &err);
    CHECK_OK(device_alloc(&d, &y.mem, sizeof got, &err), &err);
    device_upload(&d, x, ones);
    for (size_t n = 1; n <= SHAPES; n++)
        for (int twice = 0; twice < 2; twice++) {
            const struct mat a = {x.mem, 0, 1, n, n};
            d.k->gemm(&d, y, a, a, false, true, 1, 0);
            device_download(&d, &got, y);
            CHECK(got == (float)n);
        }
    CHECK_OK(device_sync(&d, &err), &err);
    CHECK(n_asked == SHAPES);
    device_free(&d, x.mem);
    device_free(&d, y.mem);
    device_close(&d);
    *api = real;
}

static unsigned reductions; /* that were allowed last */

static unsigned note_preference(void *pref, unsigned what, const void *value, size_t n)
{
    (void)pref;
    if (what == DRIVER_PREF_REDUCTIONS && n == sizeof reductions)
        memcpy(&reductions, value, n);
    return 0;
}

/* Shares of a product are added in fp32, never in the 16 bits of the result. */
TEST(products_are_reduced_in_the_type_of_computing)
{
    struct driver *api = opened();
    const struct driver real = *api;
    struct err err;
    float got;

    reductions = 0;
    answer = DRIVER_NOT_SUPPORTED;
    api->cublasLtMatmulPreferenceSetAttribute = note_preference;
    api->cublasLtMatmul = refuse_matmul;
    CHECK_OK(product_of_two(&got, &err), &err);
    CHECK(reductions == DRIVER_REDUCE_IN_32F);
    *api = real;
}

static unsigned refuse_name(unsigned code, const char **name)
{
    (void)code;
    *name = NULL; /* as the driver does with codes that it does not know */
    return 1;
}

static unsigned refuse_wait(struct CUstream_st *s)
{
    (void)s;
    return answer;
}

TEST(a_code_that_the_driver_cannot_name_is_told_as_a_number)
{
    struct driver *api = opened();
    const struct driver real = *api;
    struct mat m = {NULL, 0, 1, 1, 1};
    struct device d;
    struct err err;

    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_OK(device_alloc(&d, &m.mem, sizeof(float), &err), &err);
    device_upload(&d, m, &(float){1}); /* still queued when it is freed, below */
    api->cuGetErrorName = refuse_name;
    api->cuStreamSynchronize = refuse_wait;
    answer = 12345;
    CHECK_FAILS(device_sync(&d, &err), &err, ERR_DEVICE,
                "stand-in failed in computing (an error without a name, code 12345)");
    *api = real;
    device_free(&d, m.mem);
    device_close(&d);
}

static unsigned refuse_image(struct CUmod_st **m, const void *image)
{
    (void)m, (void)image;
    return answer;
}

TEST(kernels_that_the_driver_refuses_are_told_by_reason)
{
    struct driver *api = opened();
    const struct driver real = *api;
    const struct device_options options = {0};
    struct device d;
    struct err err;

    setenv("FERRY_CUDA_IMAGE", STANDIN, 1);
    api->cuModuleLoadData = refuse_image;
    answer = DRIVER_NO_BINARY;
    CHECK_FAILS(device_open(&d, "cuda", options, &err), &err, ERR_DEVICE,
                "no kernels for stand-in (sm_80) in " STANDIN);
    answer = DRIVER_NEWER_PTX;
    CHECK_FAILS(device_open(&d, "cuda", options, &err), &err, ERR_DEVICE,
                "driver of stand-in (sm_80) is for CUDA 13.0, older than the kernels");
    answer = 200;
    CHECK_FAILS(device_open(&d, "cuda", options, &err), &err, ERR_DEVICE,
                "stand-in (sm_80) does not take the kernels in " STANDIN);
    *api = real;
}

TEST(auto_takes_a_card_that_opens_and_else_the_processor)
{
    struct driver *api = opened();
    const struct driver real = *api;
    const struct device_options options = {.threads = 1};
    struct device d;
    struct err err;

    setenv("FERRY_CUDA_IMAGE", STANDIN, 1);
    CHECK_OK(device_open(&d, "auto", options, &err), &err);
    CHECK(strcmp(d.kind, "cuda") == 0 && d.card && !*d.skipped);
    device_close(&d);
    api->cuModuleLoadData = refuse_image;
    answer = DRIVER_NO_BINARY;
    CHECK_OK(device_open(&d, "auto", options, &err), &err);
    CHECK(strcmp(d.kind, "cpu") == 0 && !d.card && !d.gpu);
    CHECK(strstr(d.skipped, "no kernels for stand-in"));
    device_close(&d);
    *api = real;
}

TEST(memory_that_the_card_lacks_is_refused_with_a_sentence)
{
    struct device d;
    struct err err;
    void *mem;

    open_cuda(&d, PRECISION_FP32, "", "");
    CHECK_FAILS(
        device_alloc(&d, &mem, (size_t)2 << 30, &err), &err, ERR_MEMORY,
        "cannot allocate 2048.0 MiB for tensors on stand-in: 1024.0 of its 1024.0");
    device_close(&d);
}

static struct meter_lap metered(const char *nvml)
{
    struct meter_lap lap;
    struct device d;
    struct meter m;

    setenv("FERRY_STANDIN_NVML", nvml, 1);
    open_cuda(&d, PRECISION_FP32, "", "");
    meter_start(&m, "/no such directory", &d);
    meter_look(&m);
    meter_look(&m); /* too soon to look again */
    lap = meter_next(&m);
    device_close(&d);
    return lap;
}

TEST(a_card_tells_how_busy_hot_and_full_it_is)
{
    const struct device_usage all = metered("").gpu, some = metered("old").gpu;

    CHECK_NEAR(all.busy, 0.5, 1e-12);
    CHECK_NEAR(all.power_w, 123.456, 1e-12);
    CHECK_NEAR(all.power_limit_w, 250, 1e-12);
    CHECK_NEAR(all.memory_mib, 4096, 1e-12);
    CHECK_NEAR(all.memory_all_mib, 16384, 1e-12);
    CHECK_NEAR(all.clock_mhz, 1380, 1e-12);
    CHECK_NEAR(all.clock_max_mhz, 1530, 1e-12);
    CHECK(isfinite(some.busy) && !isfinite(some.clock_mhz));
    CHECK(!isfinite(some.clock_max_mhz));
}
