#include "bench/bench_cases.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "device/half.h"

enum { NARROWEST = 16 }; /* width of a head */

#define NAME(name, ...) #name,
const char *const bench_cases_mats[BENCH_MATS] = {BENCH_MAT_LIST(NAME)};
const char *const bench_cases_ids[BENCH_IDS] = {BENCH_IDS_LIST(NAME)};

#define PLACE_MAT(name, rows, cols, storage, low) \
    b->name = device_arena_##storage(&b->arena, rows, cols);
#define PLACE_IDS(name, n, value) b->name = device_arena_ids(&b->arena, n);

static void place(struct bench_cases *b)
{
    const size_t N = b->N, D = b->D, F = b->F, V = b->V, H = b->H, B = b->B;
    const size_t chunk = b->chunk, length = b->length;

    b->arena.at = 0;
    BENCH_MAT_LIST(PLACE_MAT)
    BENCH_IDS_LIST(PLACE_IDS)
}

static status reserve(struct bench_cases *b, struct err *err)
{
    size_t most = 0;

    b->arena.device = &b->device;
    place(b);
    for (size_t i = 0; i < BENCH_MATS; i++)
        most = b->mat[i].rows * b->mat[i].cols > most ? b->mat[i].rows * b->mat[i].cols
                                                      : most;
    TRY(device_reserve_attention(&b->device, b->D / b->heads, b->length, err));
    TRY(mem_alloc((float **)&b->host, most, sizeof(float), err));
    TRY(device_alloc(&b->device, &b->arena.mem, b->arena.peak, err));
    b->arena.bytes = b->arena.peak;
    place(b);
    bench_cases_load(b);
    return device_sync(&b->device, err);
}

status bench_cases_open(struct bench_cases *b, const struct bench_cases_options *o,
                        struct err *err)
{
    const size_t B = o->tokens / o->length ? o->tokens / o->length : 1;

    *b = (struct bench_cases){.B = B,
                              .N = B * o->length,
                              .D = (size_t)o->model->d_model,
                              .F = (size_t)o->model->d_ff,
                              .V = (size_t)o->model->vocab_size,
                              .heads = (size_t)o->model->heads,
                              .length = o->length,
                              .dropout = o->dropout};
    b->H = b->D / NARROWEST > b->heads ? b->D / NARROWEST : b->heads;
    b->chunk = b->N < 512 ? b->N : 512;
    const struct device_options how = {
        .threads = o->threads, .pin = true, .precision = o->precision};
    TRY(device_open(&b->device, o->device, how, err));
    if (reserve(b, err) == OK)
        return OK;
    bench_cases_close(b);
    return err->code;
}

void bench_cases_close(struct bench_cases *b)
{
    device_free(&b->device, b->arena.mem);
    device_close(&b->device);
    free(b->host);
    *b = (struct bench_cases){0};
}

/* ---- numbers ---- */

static uint16_t narrow(const struct bench_cases *b, float x)
{
    return b->device.precision == PRECISION_FP16 ? half_from(x) : half_from_b(x);
}

static float widen(const struct bench_cases *b, uint16_t x)
{
    return b->device.precision == PRECISION_FP16 ? half_to(x) : half_to_b(x);
}

/* Uniform from `low` to 1; in 16 bits, or rounded to them where they are emulated. */
static void load_mat(struct bench_cases *b, struct mat m, double low, uint64_t key)
{
    float *reals = b->host;
    uint16_t *halves = b->host;
    struct rng r = rng_open(key);

    for (size_t i = 0; i < m.rows * m.cols; i++) {
        const float x = (float)(low + (1 - low) * rng_unit(&r));
        if (m.type == MAT_REAL)
            reals[i] = x;
        else if (b->device.half_bytes == sizeof *halves)
            halves[i] = narrow(b, x);
        else
            reals[i] = widen(b, narrow(b, x));
    }
    device_upload(&b->device, m, b->host);
}

#define LOAD_MAT(name, rows, cols, storage, low) \
    load_mat(b, b->name, low, rng_key(1, "bench " #name));
#define LOAD_IDS(name, count, value)       \
    for (size_t i = 0; i < b->name.n; i++) \
        host[i] = (int)(value);            \
    device_upload_ids(&b->device, b->name, host);

/* Shares that rise with the id and add up to 1: kernels may rely on it. */
static void load_prior(struct bench_cases *b)
{
    const double V = (double)b->V;
    float *share = b->host;

    for (size_t v = 0; v < b->V; v++)
        share[v] = (float)(2 * (double)(v + 1) / (V * (V + 1)));
    device_upload(&b->device, b->prior, share);
}

void bench_cases_load(struct bench_cases *b)
{
    const size_t V = b->V, B = b->B, length = b->length;
    int *host = b->host;

    BENCH_MAT_LIST(LOAD_MAT)
    load_prior(b);
    BENCH_IDS_LIST(LOAD_IDS)
    b->number = 0;
}

const float *bench_cases_floats(struct bench_cases *b, size_t i)
{
    const struct mat m = b->mat[i];
    float *reals = b->host;
    const uint16_t *halves = b->host;

    device_download(&b->device, b->host, m);
    if (m.type == MAT_HALF && b->device.half_bytes == sizeof *halves)
        for (size_t at = m.rows * m.cols; at-- > 0;) /* from the end: in place */
            reals[at] = widen(b, halves[at]);
    return b->host;
}

const int *bench_cases_ints(struct bench_cases *b, size_t i)
{
    device_download_ids(&b->device, b->host, b->ids[i]);
    return b->host;
}

/* ---- the cases ---- */

static struct drop drop_of(const struct bench_cases *b)
{
    return (struct drop){.key = 7, .rate = b->dropout, .pair = b->pair, .pos = b->pos};
}

static struct attend attend_of(const struct bench_cases *b, bool is_causal)
{
    return (struct attend){.q_at = b->at,
                           .k_at = b->at,
                           .n_sents = b->B,
                           .heads = b->heads,
                           .max_q = b->length,
                           .max_k = b->length,
                           .causal = is_causal,
                           .drop = drop_of(b)};
}

static struct mat lse_of(const struct bench_cases *b)
{
    struct mat m = b->lse;

    m.cols = m.stride = b->heads;
    return m;
}

/* The same memory with rows and columns changed: the result of a'b'. */
static struct mat turned(struct mat m)
{
    return (struct mat){m.mem, m.at, m.cols, m.rows, m.rows, m.type};
}

/* Without three rows and columns: sizes that no tile divides, and rows that begin where
 * no vector does. */
static struct mat inner(struct mat m)
{
    return mat_cols(mat_rows(m, 1, m.rows - 3), 1, m.cols - 3);
}

static struct cache cache_of(const struct bench_cases *b)
{
    return (struct cache){.k = mat_cols(b->qkv, b->D, b->D),
                          .v = mat_cols(b->qkv, 2 * b->D, b->D),
                          .physical = b->physical,
                          .rows = b->B,
                          .len = b->length,
                          .heads = b->heads};
}

static const struct adam adam = {1e-4, 0.9, 0.997, 1e-9, 0, 1};
static const struct novograd novograd = {1e-4, 0.95, 1, 0, 1};
static const struct smoothing alike = {.rate = 0.1};
static const struct views views = {{0.5, 0.5}, {1, 2}};

static struct smoothing prior_of(const struct bench_cases *b)
{
    return (struct smoothing){.rate = 0.1, .prior = b->prior, .entropy = 1};
}

#define ND ((double)(b->N * b->D))
#define NF ((double)(b->N * b->F))
#define DF ((double)(b->D * b->F))
#define CV ((double)(b->chunk * b->V))
#define VD ((double)(b->V * b->D))
#define BD ((double)(b->B * b->D))
#define L  ((double)b->length)

#define QQ(m) mat_cols(m, 0, b->D)
#define KK(m) mat_cols(m, b->D, b->D)
#define VV(m) mat_cols(m, 2 * b->D, b->D)
#define WORK  (2 * NF * (double)b->D)

enum { PLAIN, HEADS, DOCTOR };

/* name, kernel, arguments, reals that it moves, floating-point operations, kind */
/* clang-format off */
#define CASE_LIST(C)                                                                                     \
    C(gemm_nn, gemm, (d, b->h, b->x, b->w, false, false, 1, 0), ND + DF + NF, WORK, PLAIN)                \
    C(gemm_nt, gemm, (d, b->dx, b->dh, b->w, false, true, 1, 0), ND + DF + NF, WORK, PLAIN)               \
    C(gemm_tn, gemm, (d, b->dw, b->x, b->dh, true, false, 1, 1), ND + 2 * DF + NF, WORK, PLAIN)           \
    C(gemm_tt, gemm, (d, turned(b->dh), b->w, b->x, true, true, 1, 0), ND + DF + NF, WORK, PLAIN)         \
    C(gemm_nn_odd, gemm, (d, inner(b->h), inner(b->x), inner(b->w), false, false, 0.5, 1), 0, 0, DOCTOR)     \
    C(gemm_nt_odd, gemm, (d, inner(b->dx), inner(b->dh), inner(b->w), false, true, 1, 0), 0, 0, DOCTOR)      \
    C(gemm_tn_odd, gemm, (d, inner(b->dw), inner(b->x), inner(b->dh), true, false, 1, 1), 0, 0, DOCTOR)      \
    C(gemm_tt_odd, gemm, (d, inner(turned(b->dh)), inner(b->w), inner(b->x), true, true, 1, 0), 0, 0, DOCTOR) \
    C(gemm_relu, gemm_relu, (d, b->h, b->x, b->w, b->wide_bias), ND + DF + NF, WORK + 2 * NF, PLAIN)      \
    C(embed_forward, embed_forward, (d, b->x, b->embed, b->signal, b->id, 22, drop_of(b)), 3 * ND, 2 * ND, PLAIN) \
    C(embed_backward, embed_backward, (d, b->dembed, b->dx, b->id, 22, drop_of(b)), 3 * ND, 2 * ND, PLAIN) \
    C(norm_forward, norm_forward, (d, b->x, b->y, b->stats, b->x, b->f, b->bias, b->gain, b->shift, 1e-6, \
                                   drop_of(b)), 4 * ND, 9 * ND, PLAIN)                                   \
    C(norm_backward, norm_backward, (d, b->dx, b->f, b->dgain, b->dshift, b->dbias, b->dy, b->dx, b->x,   \
                                     b->stats, b->gain, drop_of(b)), 5 * ND, 14 * ND, PLAIN)              \
    C(relu_forward, relu_forward, (d, b->h, b->wide_bias, drop_of(b)), 2 * NF, 2 * NF, PLAIN)             \
    C(relu_backward, relu_backward, (d, b->dh, b->dwide_bias, b->h, b->dropout), 3 * NF, 2 * NF, PLAIN)   \
    C(activate_forward, activate_forward, (d, mat_cols(b->h, 0, b->F / 2), b->dh, b->wide_bias, ACTIVATION_SWISH, \
                                           drop_of(b)), 2.5 * NF, 16 * NF, PLAIN)                        \
    C(activate_backward, activate_backward, (d, b->dh, b->dwide_bias, mat_cols(b->h, 0, b->F / 2), b->dh, \
                                             ACTIVATION_SWISH, drop_of(b)), 2.5 * NF, 18 * NF, PLAIN)     \
    C(bias_forward, bias_forward, (d, b->h, b->wide_bias), 2 * NF, NF, PLAIN)                             \
    C(bias_backward, bias_backward, (d, b->dwide_bias, b->h), NF, NF, PLAIN)                              \
    C(attention_forward, attention_forward, (d, b->x, lse_of(b), QQ(b->qkv), KK(b->qkv), VV(b->qkv),      \
                                             attend_of(b, false)), 4 * ND, 4 * ND * L, HEADS)            \
    C(attention_forward_causal, attention_forward, (d, b->x, lse_of(b), QQ(b->qkv), KK(b->qkv), VV(b->qkv), \
                                                    attend_of(b, true)), 0, 0, DOCTOR)                   \
    C(attention_backward, attention_backward, (d, QQ(b->dqkv), KK(b->dqkv), VV(b->dqkv), b->dx, b->x,     \
                                               lse_of(b), QQ(b->qkv), KK(b->qkv), VV(b->qkv),            \
                                               attend_of(b, false)), 8 * ND, 10 * ND * L, HEADS)         \
    C(attention_backward_causal, attention_backward, (d, QQ(b->dqkv), KK(b->dqkv), VV(b->dqkv), b->dx, b->x, \
                                                      lse_of(b), QQ(b->qkv), KK(b->qkv), VV(b->qkv),     \
                                                      attend_of(b, true)), 0, 0, DOCTOR)                 \
    C(attend_cache, attend_cache, (d, mat_rows(b->y, 0, b->B), mat_rows(b->x, 0, b->B), cache_of(b)),     \
      2 * ND + 2 * BD, 4 * ND, HEADS)                                                                    \
    C(attend_memory, attend_memory, (d, b->y, b->x, KK(b->qkv), VV(b->qkv), b->first, b->last, b->heads), \
      4 * ND, 4 * ND * L, HEADS)                                                                         \
    C(xent, xent, (d, b->loss, b->best, b->logits, b->label, alike, 1), 2 * CV, 4 * CV, PLAIN)            \
    C(xent_prior, xent, (d, b->loss, b->best, b->logits, b->label, prior_of(b), 1), 0, 0, DOCTOR)         \
    C(xent_views, xent_views, (d, b->loss, b->gap, b->logits, b->other, b->label, alike, views, 1),       \
      4 * CV, 20 * CV, PLAIN)                                                                            \
    C(topk, topk, (d, b->top, b->top_id, b->logits), CV, 2 * CV, PLAIN)                                  \
    C(fill, fill, (d, b->embed, 0.5), VD, 0, PLAIN)                                                      \
    C(sumsq, sumsq, (d, &b->number, b->dembed), VD, 2 * VD, PLAIN)                                       \
    C(maxabs, maxabs, (d, &b->number, b->dembed), VD, VD, PLAIN)                                         \
    C(scale, scale, (d, b->embed, 0.99), 2 * VD, VD, PLAIN)                                              \
    C(average, average, (d, b->moment1, b->master, 0.99), 3 * VD, 3 * VD, PLAIN)                         \
    C(cast, cast, (d, b->embed, b->master), 2 * VD, 0, PLAIN)                                            \
    C(adam, adam, (d, b->master, b->moment1, b->moment2, b->dembed, adam), 7 * VD, 11 * VD, PLAIN)       \
    C(novograd, novograd, (d, b->master, b->moment1, b->dembed, novograd), 5 * VD, 5 * VD, PLAIN)
/* clang-format on */

#define FUNCTIONS(name, kernel, args, reals, flops, kind)             \
    static void run_##name(struct bench_cases *b)                     \
    {                                                                 \
        struct device *d = &b->device;                                \
        d->k->kernel args;                                            \
    }                                                                 \
    static struct bench_cost cost_##name(const struct bench_cases *b) \
    {                                                                 \
        (void)b;                                                      \
        return (struct bench_cost){reals, flops};                     \
    }
CASE_LIST(FUNCTIONS)

#define ROW(name, kernel, args, reals, flops, kind) \
    {#name, run_##name, cost_##name, (kind) == HEADS, (kind) == DOCTOR},
const struct bench_case bench_cases_list[] = {CASE_LIST(ROW)};

const size_t bench_cases_n = sizeof bench_cases_list / sizeof *bench_cases_list;

/* A bit for each kernel of KERNEL_LIST. */
#define BIT(name, kernel, ...) \
    | 1ull << offsetof(struct kernels, kernel) / sizeof(void (*)(void))
_Static_assert((0 CASE_LIST(BIT)) ==
                   (1ull << sizeof(struct kernels) / sizeof(void (*)(void))) - 1,
               "a kernel of KERNEL_LIST has no case here");
