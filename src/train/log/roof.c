#include "train/log/roof.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/os.h"
#include "base/pool.h"
#include "device/device.h"

/* What CBLAS calls its constants. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta,
                      float *c, int ldc);

/* What OpenBLAS calls processors with registers as wide as those of our kernels. */
static const char *blas_core(size_t vector_bytes)
{
#if defined(__x86_64__)
    return vector_bytes == 64   ? "SkylakeX"
           : vector_bytes == 32 ? "Haswell"
           : vector_bytes == 16 ? "Nehalem"
                                : NULL;
#else
    (void)vector_bytes;
    return NULL;
#endif
}

/*
 * The BLAS is opened when it is asked for: only the roof needs it. OpenBLAS chooses its
 * kernels then, by the processor's name, and those of 2003 for one that is newer than
 * itself (33 instead of 162 GFLOP/s); so it is told what the device uses, whatever the
 * environment asks for, perhaps on behalf of other programs. NULL: none is installed.
 */
static sgemm_fn *open_blas(const struct device *d)
{
    static const char *const names[] = {"libopenblas.so.0", "libblis.so.4",
                                        "libblas.so.3"};
    static sgemm_fn *sgemm;
    const char *core = blas_core(d->vector_bytes);
    void (*set_threads)(int n) = NULL;
    void *so = NULL;

    if (sgemm)
        return sgemm;
    if (core)
        (void)setenv("OPENBLAS_CORETYPE", core, 1);
    for (size_t i = 0; !so && i < sizeof names / sizeof *names; i++)
        so = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (os_symbol(so, "openblas_set_num_threads", &set_threads))
        set_threads(1); /* its own threads stay out of it */
    (void)os_symbol(so, "cblas_sgemm", &sgemm);
    return sgemm;
}

struct shape {
    size_t M, N, K;
    bool tb; /* b is stored transposed */
};

/* The best of repeated products of the BLAS: GFLOP/s of one thread. */
static double blas_rate(sgemm_fn *sgemm, const float *a, const float *b, float *c,
                        struct shape s, double t_budget)
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

status roof_gemm(double *gflops, struct device *d, double t_budget, struct err *err)
{
    /* a feed-forward layer and an output chunk of the base model */
    static const struct shape shapes[] = {
        {1024, 2048, 512, false}, {512, 8192, 512, true}, {1024, 512, 2048, false}};
    const size_t n = sizeof shapes / sizeof *shapes, n_operand = (size_t)4 << 20;
    sgemm_fn *sgemm = open_blas(d);
    void *mem;

    *gflops = sgemm ? 0 : NAN;
    if (!sgemm)
        return OK;
    TRY(device_alloc(d, &mem, 3 * n_operand * sizeof(float), err)); /* as for tensors */
    for (size_t i = 0; i < n; i++) {
        float *a = mem, *b = a + n_operand, *c = b + n_operand;
        const double rate = blas_rate(sgemm, a, b, c, shapes[i], t_budget / (double)n);
        *gflops = rate > *gflops ? rate : *gflops;
    }
    device_free(d, mem);
    *gflops *= (double)pool_size(d->pool);
    return OK;
}
