#include <math.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "bench/bench_cases.h"
#include "train/log/roof.h"

/* What memory and products of the device can do. */
struct roof {
    double gb_per_s, gflops;
};

/* Where there is no BLAS to compare with, as on a GPU, products are measured against the
 * best of their own. */
static status measure_roof(struct roof *r, const struct bench *b, bool is_gpu,
                           struct err *err)
{
    const struct bench_shape shape = {1024, 2048, 512, 0, 0};

    TRY(bench_memory_rate(&r->gb_per_s, b->config->device, b->threads, err));
    r->gflops = NAN;
    if (!is_gpu)
        TRY(roof_gemm(&r->gflops, b->threads, 0.3, err));
    if (r->gflops > 0)
        return OK;
    return bench_product_rate(&r->gflops, b->config->device, b->threads, shape, 0.3, err);
}

static void report(const struct bench *b, const char *name, double t,
                   struct bench_cost cost, struct roof roof)
{
    const double gb = cost.reals * sizeof(float) * 1e-9, gflop = cost.flops * 1e-9;
    const double t_memory = gb / roof.gb_per_s, t_products = gflop / roof.gflops;
    const char *limit = t_memory > t_products ? "memory" : "products";
    const double percent = 100 * (t_memory > t_products ? t_memory : t_products) / t;

    if (b->config->json)
        bench_json(b, json_pack("{ss, ss, sf, sf, sf, sf, ss}", "bench", "kernel", "name",
                                name, "ms", 1e3 * t, "gb_per_s", gb / t, "gflops",
                                gflop / t, "percent_of_roof", percent, "roof", limit));
    else
        fprintf(b->out,
                "kernel    %-20s %9.3f ms  %6.1f GB/s  %6.1f GFLOP/s  %3.0f %% of %s\n",
                name, 1e3 * t, gb / t, gflop / t, percent, limit);
}

/* The shortest of several runs, in seconds. */
static status time_case(struct bench_cases *b, const struct bench_case *c, double *best,
                        struct err *err)
{
    enum { REPEATS = 9 };

    *best = 1e30;
    for (int i = 0; i < REPEATS; i++) {
        const double t = clock_now();
        c->run(b);
        TRY(device_sync(&b->device, err));
        const double took = clock_now() - t;
        *best = took < *best ? took : *best;
    }
    return OK;
}

static status time_all(const struct bench *b, struct bench_cases *cases, struct err *err)
{
    struct roof roof;
    double best;

    TRY(measure_roof(&roof, b, cases->device.gpu, err));
    for (size_t i = 0; i < bench_cases_n; i++) {
        const struct bench_case *c = &bench_cases_list[i];
        if (c->is_for_doctor)
            continue;
        TRY(time_case(cases, c, &best, err));
        report(b, c->name, best, c->cost(cases), roof);
    }
    return OK;
}

status bench_kernels(const struct bench *b, struct err *err)
{
    const struct bench_cases_options o = {.model = &b->model,
                                          .device = b->config->device,
                                          .threads = b->threads,
                                          .tokens = b->tokens,
                                          .length = b->mean,
                                          .dropout = b->config->dropout};
    struct bench_cases cases;

    TRY(bench_cases_open(&cases, &o, err));
    const status result = time_all(b, &cases, err);
    bench_cases_close(&cases);
    return result;
}
