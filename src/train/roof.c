#include "train/roof.h"

#include <cblas.h>

#include "base/clock.h"
#include "base/pool.h"
#include "device/device.h"

/* Operands and result of one product on a device of their own. */
struct bench {
    struct device device;
    struct device_arena arena;
    struct mat a, b, c;
};

static void place(struct bench *p, struct roof_shape s)
{
    p->arena.at = 0;
    p->a = s.ta ? device_arena_mat(&p->arena, s.K, s.M)
                : device_arena_mat(&p->arena, s.M, s.K);
    p->b = s.tb ? device_arena_mat(&p->arena, s.N, s.K)
                : device_arena_mat(&p->arena, s.K, s.N);
    p->c = device_arena_mat(&p->arena, s.M, s.N);
}

static status open_bench(struct bench *p, const char *device, size_t threads,
                         struct roof_shape s, struct err *err)
{
    *p = (struct bench){0};
    TRY(device_open(&p->device, device,
                    (struct device_options){.threads = threads, .pin = true}, err));
    p->arena.device = &p->device;
    place(p, s);
    const size_t n_bytes = p->arena.peak;
    if (device_alloc(&p->device, &p->arena.mem, n_bytes, err) != OK) {
        device_close(&p->device);
        return err->code;
    }
    p->arena.bytes = n_bytes;
    place(p, s);
    p->device.k->fill(&p->device, p->a, 0.5);
    p->device.k->fill(&p->device, p->b, 0.25);
    return OK;
}

static void close_bench(struct bench *p)
{
    device_free(&p->device, p->arena.mem);
    device_close(&p->device);
}

status roof_shape(double *gflops, const char *device, size_t threads, struct roof_shape s,
                  double t_budget, struct err *err)
{
    const double work = 2.0 * (double)s.M * (double)s.N * (double)s.K;
    struct bench p;
    double best = 1e30;

    TRY(open_bench(&p, device, threads, s, err));
    const double t_end = clock_now() + t_budget;
    for (int i = 0; i < 2 || clock_now() < t_end; i++) {
        const double t = clock_now();
        p.device.k->gemm(&p.device, p.c, p.a, p.b, s.ta, s.tb, 1, 0);
        if (device_sync(&p.device, err) != OK) {
            close_bench(&p);
            return err->code;
        }
        const double took = clock_now() - t;
        best = took < best ? took : best;
    }
    close_bench(&p);
    *gflops = work / best * 1e-9;
    return OK;
}

/* OpenBLAS's own threads stay out of it; absent in other BLAS libraries. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

/* The best of repeated products of the BLAS: GFLOP/s of one thread. */
static double blas_rate(const float *a, const float *b, float *c, struct roof_shape s,
                        double t_budget)
{
    const double t_end = clock_now() + t_budget;
    double best = 1e30;

    for (int i = 0; i < 2 || clock_now() < t_end; i++) {
        const double t = clock_now();
        cblas_sgemm(CblasRowMajor, CblasNoTrans, s.tb ? CblasTrans : CblasNoTrans,
                    (int)s.M, (int)s.N, (int)s.K, 1, a, (int)s.K, b,
                    (int)(s.tb ? s.K : s.N), 0, c, (int)s.N);
        const double took = clock_now() - t;
        best = took < best ? took : best;
    }
    return 2.0 * (double)s.M * (double)s.N * (double)s.K / best * 1e-9;
}

status roof_gemm(double *gflops, size_t threads, double t_budget, struct err *err)
{
    /* a feed-forward layer and an output chunk of the base model */
    static const struct roof_shape shapes[] = {
        {1024, 2048, 512, 0, 0}, {512, 8192, 512, 0, 1}, {1024, 512, 2048, 0, 0}};
    const size_t n = sizeof shapes / sizeof *shapes, n_operand = (size_t)4 << 20;
    struct device device; /* only for memory like that of tensors */
    void *mem;

    *gflops = 0;
    TRY(device_open(&device, "cpu", (struct device_options){.threads = 1}, err));
    if (device_alloc(&device, &mem, 3 * n_operand * sizeof(float), err) != OK) {
        device_close(&device);
        return err->code;
    }
    if (openblas_set_num_threads)
        openblas_set_num_threads(1);
    for (size_t i = 0; i < n; i++) {
        float *a = mem, *b = a + n_operand, *c = b + n_operand;
        const double rate = blas_rate(a, b, c, shapes[i], t_budget / (double)n);
        *gflops = rate > *gflops ? rate : *gflops;
    }
    device_free(&device, mem);
    device_close(&device);
    *gflops *= (double)(threads ? threads : pool_cores());
    return OK;
}

status roof_memory(double *gb_per_s, const char *device, size_t threads, struct err *err)
{
    enum { ROWS = 4096, COLS = 4096 }; /* 64 MiB each: beyond every cache */
    const struct roof_shape s = {ROWS, COLS, COLS, 0, 0};
    struct bench p;
    double best = 1e30;

    TRY(open_bench(&p, device, threads, s, err));
    status result = device_sync(&p.device, err); /* GPUs only queue until then */
    for (int i = 0; i < 5 && result == OK; i++) {
        const double t = clock_now();
        p.device.k->average(&p.device, p.c, p.a, 0.5); /* c = (c + a) / 2 */
        result = device_sync(&p.device, err);
        const double took = clock_now() - t;
        best = took < best ? took : best;
    }
    close_bench(&p);
    TRY(result);
    *gb_per_s = 3.0 * ROWS * COLS * sizeof(float) / best * 1e-9;
    return OK;
}
