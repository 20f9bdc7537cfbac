#include "cli/bench_kernels.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "device/device.h"

/* Tensors of one layer and of the output, shared by all cases. */
struct bench {
    const struct bench_kernels_options *o;
    struct device device;
    struct device_arena arena;
    size_t N, D, F, V, H, B, chunk;
    struct mat x, y, f, dx, dy, stats, qkv, dqkv, lse, h, dh, logits, loss;
    struct mat embed, dembed, moment1, moment2, gain, bias, wide_bias, signal, top;
    struct ids at, id, pair, pos, label, top_id;
    struct drop drop;
    struct attend attend;
    double sum;
};

enum { N_TOP = 8 };

static void place(struct bench *b)
{
    struct device_arena *a = &b->arena;
    enum { N_ROWS = 5, N_TABLES = 4 };
    struct mat *const rows[N_ROWS] = {&b->x, &b->y, &b->f, &b->dx, &b->dy};
    struct mat *const tables[N_TABLES] = {&b->embed, &b->dembed, &b->moment1,
                                          &b->moment2};

    a->at = 0;
    for (size_t i = 0; i < N_ROWS; i++)
        *rows[i] = device_arena_mat(a, b->N, b->D);
    for (size_t i = 0; i < N_TABLES; i++)
        *tables[i] = device_arena_mat(a, b->V, b->D);
    b->stats = device_arena_mat(a, b->N, 2);
    b->qkv = device_arena_mat(a, b->N, 3 * b->D);
    b->dqkv = device_arena_mat(a, b->N, 3 * b->D);
    b->lse = device_arena_mat(a, b->N, b->H);
    b->h = device_arena_mat(a, b->N, b->F);
    b->dh = device_arena_mat(a, b->N, b->F);
    b->logits = device_arena_mat(a, b->chunk, b->V);
    b->loss = device_arena_mat(a, b->chunk, 1);
    b->top = device_arena_mat(a, b->chunk, N_TOP);
    b->gain = device_arena_mat(a, 1, b->D);
    b->bias = device_arena_mat(a, 1, b->D);
    b->wide_bias = device_arena_mat(a, 1, b->F);
    b->signal = device_arena_mat(a, b->o->length, b->D);
    b->at = device_arena_ids(a, b->B + 1);
    b->id = device_arena_ids(a, b->N);
    b->pair = device_arena_ids(a, b->N);
    b->pos = device_arena_ids(a, b->N);
    b->label = device_arena_ids(a, b->chunk);
    b->top_id = device_arena_ids(a, b->chunk * N_TOP);
}

/* Ids are uploaded one by one: N is a few thousand, and this is not timed. */
static void fill_ids(struct bench *b)
{
    const size_t L = b->o->length;

    for (size_t i = 0; i < b->N; i++) {
        const int id = (int)(i * 7919 % b->V), pair = (int)(i / L), pos = (int)(i % L);
        device_upload_ids(&b->device, ids_part(b->id, i, 1), &id);
        device_upload_ids(&b->device, ids_part(b->pair, i, 1), &pair);
        device_upload_ids(&b->device, ids_part(b->pos, i, 1), &pos);
    }
    for (size_t i = 0; i <= b->B; i++) {
        const int at = (int)(i * L);
        device_upload_ids(&b->device, ids_part(b->at, i, 1), &at);
    }
    for (size_t i = 0; i < b->chunk; i++) {
        const int label = (int)(i * 104729 % b->V);
        device_upload_ids(&b->device, ids_part(b->label, i, 1), &label);
    }
}

static status open_bench(struct bench *b, const struct bench_kernels_options *o,
                         struct err *err)
{
    const size_t B = o->tokens / o->length ? o->tokens / o->length : 1;

    *b = (struct bench){.o = o,
                        .B = B,
                        .N = B * o->length,
                        .D = (size_t)o->model->d_model,
                        .F = (size_t)o->model->d_ff,
                        .V = (size_t)o->model->vocab_size,
                        .H = (size_t)o->model->heads};
    b->chunk = b->N < 512 ? b->N : 512;
    TRY(device_open(&b->device, o->device,
                    (struct device_options){.threads = o->threads, .pin = true}, err));
    b->arena.device = &b->device;
    place(b);
    const size_t n_bytes = b->arena.peak;
    if (device_reserve_attention(&b->device, b->D / b->H, o->length, err) != OK ||
        device_alloc(&b->device, &b->arena.mem, n_bytes, err) != OK) {
        device_close(&b->device);
        return err->code;
    }
    b->arena.bytes = n_bytes;
    place(b);
    fill_ids(b);
    b->drop = (struct drop){.key = 7, .rate = o->dropout, .pair = b->pair, .pos = b->pos};
    b->attend = (struct attend){.q_at = b->at,
                                .k_at = b->at,
                                .n_sents = b->B,
                                .heads = b->H,
                                .max_q = o->length,
                                .max_k = o->length,
                                .drop = b->drop};
    return OK;
}

static void close_bench(struct bench *b)
{
    device_free(&b->device, b->arena.mem);
    device_close(&b->device);
}

/* name, call, bytes in reals, floating-point operations */
#define Q(m)  mat_cols(m, 0, b->D)
#define KK(m) mat_cols(m, b->D, b->D)
#define VV(m) mat_cols(m, 2 * b->D, b->D)
/* clang-format off */
#define CASE_LIST(C)                                                                     \
    C(embed_forward, (d, b->x, b->embed, b->signal, b->id, 22, b->drop), 3 * ND, 2 * ND)  \
    C(embed_backward, (d, b->dembed, b->dx, b->id, 22, b->drop), 3 * ND, 2 * ND)          \
    C(norm_forward, (d, b->x, b->y, b->stats, b->x, b->f, b->bias, b->gain, b->bias, 1e-6, b->drop), 4 * ND, 9 * ND) \
    C(norm_backward, (d, b->dx, b->f, b->gain, b->bias, b->wide_bias, b->dy, b->dx, b->x, b->stats, b->gain, b->drop), 5 * ND, 14 * ND) \
    C(relu_forward, (d, b->h, b->wide_bias, b->drop), 2 * NF, 2 * NF)                     \
    C(relu_backward, (d, b->dh, b->wide_bias, b->h, b->drop.rate), 3 * NF, 2 * NF)        \
    C(attention_forward, (d, b->x, b->lse, Q(b->qkv), KK(b->qkv), VV(b->qkv), b->attend), 4 * ND, 4 * ND * L) \
    C(attention_backward, (d, Q(b->dqkv), KK(b->dqkv), VV(b->dqkv), b->dx, b->x, b->lse, Q(b->qkv), KK(b->qkv), \
                           VV(b->qkv), b->attend), 8 * ND, 10 * ND * L)                   \
    C(xent, (d, b->loss, (struct ids){0}, b->logits, b->label, 0.1, 1), 2 * CV, 4 * CV) \
    C(topk, (d, b->top, b->top_id, b->logits), CV, 2 * CV)                               \
    C(fill, (d, b->dembed, 0), VD, 0)                                                    \
    C(sumsq, (d, &b->sum, b->dembed), VD, 2 * VD)                                           \
    C(scale, (d, b->dembed, 0.99), 2 * VD, VD)                                           \
    C(average, (d, b->moment1, b->embed, 0.99), 3 * VD, 3 * VD)                          \
    C(adam, (d, b->embed, b->moment1, b->moment2, b->dembed, adam), 7 * VD, 11 * VD)     \
    C(novograd, (d, b->embed, b->moment1, b->dembed, novograd), 5 * VD, 5 * VD)
/* clang-format on */

static void report(const struct bench_kernels_options *o, FILE *out, const char *name,
                   double t, double reals, double flops)
{
    const double gb = reals * sizeof(float) / t * 1e-9, gflops = flops / t * 1e-9;

    if (o->json) {
        json_t *j = json_pack("{ss, ss, sf, sf, sf}", "bench", "kernel", "name", name,
                              "ms", 1e3 * t, "gb_per_s", gb, "gflops", gflops);
        json_dumpf(j, out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
        fputc('\n', out);
        json_decref(j);
    } else {
        fprintf(out, "kernel    %-20s %9.3f ms  %6.1f GB/s  %6.1f GFLOP/s\n", name,
                1e3 * t, gb, gflops);
    }
}

/* What a case needs beside the tensors. */
static const struct adam adam = {1e-4, 0.9, 0.997, 1e-9, 0, 1};
static const struct novograd novograd = {1e-4, 0.95, 1, 0, 1};

#define C(name, args, reals, flops)         \
    static void run_##name(struct bench *b) \
    {                                       \
        struct device *d = &b->device;      \
        d->k->name args;                    \
    }
CASE_LIST(C)
#undef C

/* The shortest of several runs, in seconds. */
static status time_case(struct bench *b, void (*run)(struct bench *), double *best,
                        struct err *err)
{
    enum { REPEATS = 9 };

    *best = 1e30;
    for (int i = 0; i < REPEATS; i++) {
        const double t = clock_now();
        run(b);
        TRY(device_sync(&b->device, err));
        const double took = clock_now() - t;
        *best = took < *best ? took : *best;
    }
    return OK;
}

status bench_kernels(const struct bench_kernels_options *o, FILE *out, struct err *err)
{
    struct bench bench, *b = &bench;
    status result = OK;
    double best;

    TRY(open_bench(b, o, err));
    const double ND = (double)(b->N * b->D), NF = (double)(b->N * b->F);
    const double CV = (double)(b->chunk * b->V), VD = (double)(b->V * b->D);
    const double L = (double)o->length;
#define C(name, args, reals, flops)                    \
    if (result == OK)                                  \
        result = time_case(b, run_##name, &best, err); \
    if (result == OK)                                  \
        report(o, out, #name, best, reals, flops);
    CASE_LIST(C)
#undef C
    close_bench(b);
    return result;
}

/* The same numbers in both: what a kernel may find, nothing negative. */
static void load(struct bench *b, const float *host)
{
    const size_t n = b->arena.bytes / sizeof *host;

    device_upload(&b->device, (struct mat){b->arena.mem, 0, 1, n, n}, host);
    fill_ids(b);
}

static status compare_case(struct bench *b, struct bench *ref,
                           void (*run)(struct bench *), float *host, double *furthest,
                           struct err *err)
{
    const size_t n = b->arena.bytes / sizeof *host;
    const struct mat all = {b->arena.mem, 0, 1, n, n},
                     want = {ref->arena.mem, 0, 1, n, n};
    struct rng r = rng_open(rng_key(1, "doctor"));

    for (size_t i = 0; i < n; i++)
        host[i] = (float)rng_unit(&r);
    load(b, host);
    load(ref, host);
    run(b);
    run(ref);
    device_download(&b->device, host, all);
    device_download(&ref->device, host + n, want);
    TRY(device_sync(&b->device, err));
    *furthest = 0;
    for (size_t i = 0; i < n; i++) {
        const double gap = fabs((double)host[i] - (double)host[n + i]);
        const double relative = gap / (1 + fabs((double)host[n + i]));
        if (!(relative <= *furthest) && memcmp(&host[i], &host[n + i], sizeof *host) != 0)
            *furthest = relative;
    }
    return OK;
}

status bench_kernels_compare(const struct bench_kernels_options *o,
                             bench_kernels_fn *tell, void *ctx, struct err *err)
{
    struct bench_kernels_options cpu = *o;
    struct bench one, two;
    float *host = NULL;
    double gap = 0;

    cpu.device = "cpu";
    TRY(open_bench(&one, o, err));
    status result = open_bench(&two, &cpu, err);
    if (result != OK) {
        close_bench(&one);
        return result;
    }
    result = mem_alloc(&host, 2 * (one.arena.bytes / sizeof *host), sizeof *host, err);
#define C(name, args, reals, flops)                                     \
    if (result == OK)                                                   \
        result = compare_case(&one, &two, run_##name, host, &gap, err); \
    if (result == OK)                                                   \
        tell(ctx, #name, gap);
    CASE_LIST(C)
#undef C
    free(host);
    close_bench(&one);
    close_bench(&two);
    return result;
}
