#include "train/log/roof.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/os.h"
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

/* What CBLAS calls its constants. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta,
                      float *c, int ldc);

/*
 * The BLAS is opened when it is asked for: only the roof needs it. OpenBLAS chooses its
 * kernels then, by the processor's name, and those of 2003 for one that is newer than
 * itself (33 instead of 162 GFLOP/s); so it is told what the processor can do. NULL: none
 * is installed.
 */
static sgemm_fn *open_blas(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4",
                                        "libblas.so.3"};
    static sgemm_fn *sgemm;
    void (*set_threads)(int n) = NULL;
    void *so = NULL;

    if (sgemm)
        return sgemm;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        (void)setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        (void)setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
    for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++)
        so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (os_symbol(so, "openblas_set_num_threads", &set_threads))
        set_threads(1); /* its own threads stay out of it */
    (void)os_symbol(so, "cblas_sgemm", &sgemm);
    return sgemm;
}

/* The best of repeated products of the BLAS: GFLOP/s of one thread. */
static double blas_rate(sgemm_fn *sgemm, const float *a, const float *b, float *c,
                        struct roof_shape s, double t_budget)
{
    const double t_end = clock_now() + t_budget;
    double best = 1e30;

    for (int i = 0; i < 2 || clock_now() < t_end; i++) {
        const double t = clock_now();
        sgemm(ROW_MAJOR, NO_TRANS, s.tb ? TRANS : NO_TRANS, (int)s.M, (int)s.N, (int)s.K,
              1, a, (int)s.K, b, (int)(s.tb ? s.K : s.N), 0, c, (int)s.N);
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
    sgemm_fn *sgemm = open_blas();
    struct device device; /* only for memory like that of tensors */
    void *mem;

    *gflops = sgemm ? 0 : NAN;
    if (!sgemm)
        return OK;
    TRY(device_open(&device, "cpu", (struct device_options){.threads = 1}, err));
    if (device_alloc(&device, &mem, 3 * n_operand * sizeof(float), err) != OK) {
        device_close(&device);
        return err->code;
    }
    for (size_t i = 0; i < n; i++) {
        float *a = mem, *b = a + n_operand, *c = b + n_operand;
        const double rate = blas_rate(sgemm, a, b, c, shapes[i], t_budget / (double)n);
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
