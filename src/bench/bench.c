#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/pool.h"
#include "bench/bench_cases.h"
#include "train/log/roof.h"

OPT_TABLE(bench_options, struct bench_config, BENCH_OPTIONS);

static struct model_config size_of(const char *name)
{
    if (strcmp(name, "small") == 0)
        return bench_model(256, 1024, 4, 3, 8192);
    if (strcmp(name, "tiny") == 0)
        return bench_model(128, 256, 4, 4, 10000);
    if (strcmp(name, "student") == 0) {
        struct model_config c = bench_model(256, 1536, 8, 6, 32000);
        c.decoder_layers = 2;
        return c;
    }
    return bench_model(512, 2048, 8, 6, 32768); /* base */
}

/* ---- for the parts ---- */

void bench_json(const struct bench *b, json_t *line)
{
    json_dumpf(line, b->out, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6));
    fputc('\n', b->out);
    fflush(b->out);
    json_decref(line);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

double bench_peak_mib(void)
{
    struct rusage use;

    return getrusage(RUSAGE_SELF, &use) == 0 ? (double)use.ru_maxrss / 1024 : 0;
}

/* ---- matrix products and memory ---- */

/* Operands and result of one product on a device of their own. */
struct product {
    struct device device;
    struct device_arena arena;
    struct mat a, b, c;
};

static void place(struct product *p, struct bench_shape s)
{
    p->arena.at = 0;
    p->a = s.ta ? device_arena_mat(&p->arena, s.K, s.M)
                : device_arena_mat(&p->arena, s.M, s.K);
    p->b = s.tb ? device_arena_mat(&p->arena, s.N, s.K)
                : device_arena_mat(&p->arena, s.K, s.N);
    p->c = device_arena_mat(&p->arena, s.M, s.N);
}

static status open_product(struct product *p, const char *device, size_t threads,
                           struct bench_shape s, struct err *err)
{
    *p = (struct product){0};
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

enum work { PRODUCT, PASS };

/* The shortest of at least `least` runs, and of those that begin within the budget. */
static status time_product(double *best, const char *device, size_t threads,
                           enum work work, struct bench_shape s, int least,
                           double t_budget, struct err *err)
{
    struct product p;
    struct device *d = &p.device;

    TRY(open_product(&p, device, threads, s, err));
    status result = device_sync(d, err); /* GPUs only queue until then */
    const double t_end = clock_now() + t_budget;
    *best = 1e30;
    for (int i = 0; result == OK && (i < least || clock_now() < t_end); i++) {
        const double t = clock_now();
        if (work == PRODUCT)
            d->k->gemm(d, p.c, p.a, p.b, s.ta, s.tb, 1, 0);
        else
            d->k->average(d, p.c, p.a, 0.5); /* c = (c + a) / 2 */
        result = device_sync(d, err);
        const double took = clock_now() - t;
        *best = took < *best ? took : *best;
    }
    device_free(d, p.arena.mem);
    device_close(d);
    return result;
}

status bench_product_rate(double *gflops, const char *device, size_t threads,
                          struct bench_shape s, double t_budget, struct err *err)
{
    double best;

    TRY(time_product(&best, device, threads, PRODUCT, s, 2, t_budget, err));
    *gflops = 2.0 * (double)s.M * (double)s.N * (double)s.K / best * 1e-9;
    return OK;
}

/* GB/s of a pass that reads two vectors and writes a third, all threads together. */
static status memory_rate(double *gb_per_s, const char *device, size_t threads,
                          struct err *err)
{
    enum { ROWS = 4096, COLS = 4096 }; /* 64 MiB each: beyond every cache */
    const struct bench_shape s = {ROWS, COLS, COLS, 0, 0};
    double best;

    TRY(time_product(&best, device, threads, PASS, s, 5, 0, err));
    *gb_per_s = 3.0 * ROWS * COLS * sizeof(float) / best * 1e-9;
    return OK;
}

/* What products are measured against; 0 on a GPU, whose roof is not the processor's. */
static status product_roof(double *gflops, const struct bench *b, struct err *err)
{
    const struct device_options options = {.threads = b->threads};
    struct device d;

    TRY(device_open(&d, b->config->device, options, err));
    *gflops = 0;
    const status result = d.gpu ? OK : roof_gemm(gflops, &d, 1, err);
    device_close(&d);
    return result;
}

static void tell_product(const struct bench *b, const char *name, struct bench_shape s,
                         double rate, double roof)
{
    if (b->config->json) {
        json_t *o = json_pack("{ss, ss, sI, sI, sI, sf}", "bench", "gemm", "name", name,
                              "m", (json_int_t)s.M, "n", (json_int_t)s.N, "k",
                              (json_int_t)s.K, "gflops", rate);
        if (roof > 0)
            json_object_update_new(o, json_pack("{sf, sf}", "roof_gflops", roof,
                                                "percent_of_roof", 100 * rate / roof));
        bench_json(b, o);
        return;
    }
    fprintf(b->out, "gemm      %-32s %5zu x %5zu x %5zu  %7.1f GFLOP/s", name, s.M, s.N,
            s.K, rate);
    if (roof > 0)
        fprintf(b->out, "  %3.0f %%", 100 * rate / roof);
    fputc('\n', b->out);
}

/* The products of a step at this size: layer, M, N, K, transposed operands. */
static status bench_gemm(const struct bench *b, struct err *err)
{
    const size_t T = b->tokens, D = (size_t)b->model.d_model, F = (size_t)b->model.d_ff;
    const size_t V = (size_t)b->model.vocab_size, chunk = T < 512 ? T : 512;
    const struct {
        const char *name;
        struct bench_shape shape;
    } list[] = {{"q|k|v forward", {T, 3 * D, D, 0, 0}},
                {"q|k|v input gradient", {T, D, 3 * D, 0, 1}},
                {"q|k|v weight gradient", {D, 3 * D, T, 1, 0}},
                {"attention out forward", {T, D, D, 0, 0}},
                {"feed-forward 1 forward", {T, F, D, 0, 0}},
                {"feed-forward 1 weight gradient", {D, F, T, 1, 0}},
                {"feed-forward 2 forward", {T, D, F, 0, 0}},
                {"feed-forward 2 weight gradient", {F, D, T, 1, 0}},
                {"output logits", {chunk, V, D, 0, 1}},
                {"output input gradient", {chunk, D, V, 0, 0}},
                {"output weight gradient", {V, D, chunk, 1, 0}}};
    double roof, rate;

    TRY(product_roof(&roof, b, err));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        TRY(bench_product_rate(&rate, b->config->device, b->threads, list[i].shape, 0.3,
                               err));
        tell_product(b, list[i].name, list[i].shape, rate, roof);
    }
    return OK;
}

static status bench_memory(const struct bench *b, struct err *err)
{
    double one, all;

    TRY(memory_rate(&one, b->config->device, 1, err));
    TRY(memory_rate(&all, b->config->device, b->threads, err));
    if (b->config->json)
        bench_json(b,
                   json_pack("{ss, sf, sf, sI}", "bench", "memory", "one_thread_gb_per_s",
                             one, "gb_per_s", all, "threads", (json_int_t)b->threads));
    else
        fprintf(b->out, "memory    %.1f GB/s on one thread, %.1f on %zu\n", one, all,
                b->threads);
    return OK;
}

/* ---- every kernel ---- */

/* What memory and products of the device can do. */
struct roof {
    double gb_per_s, gflops;
};

/* Where there is no BLAS to compare with, as on a GPU, products are measured against the
 * best of their own. */
static status measure_roof(struct roof *r, const struct bench *b, struct device *d,
                           struct err *err)
{
    const struct bench_shape shape = {1024, 2048, 512, 0, 0};

    TRY(memory_rate(&r->gb_per_s, b->config->device, b->threads, err));
    r->gflops = NAN;
    if (!d->gpu)
        TRY(roof_gemm(&r->gflops, d, 0.3, err));
    if (r->gflops > 0)
        return OK;
    return bench_product_rate(&r->gflops, b->config->device, b->threads, shape, 0.3, err);
}

static void tell_kernel(const struct bench *b, const char *name, double t,
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

    TRY(measure_roof(&roof, b, &cases->device, err));
    for (size_t i = 0; i < bench_cases_n; i++) {
        const struct bench_case *c = &bench_cases_list[i];
        if (c->is_for_doctor)
            continue;
        TRY(time_case(cases, c, &best, err));
        tell_kernel(b, c->name, best, c->cost(cases), roof);
    }
    return OK;
}

/* The time of every kernel at the sizes of a step, beside what limits it. */
static status bench_kernels(const struct bench *b, struct err *err)
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

/* ---- which ---- */

static const struct {
    const char *name;
    status (*run)(const struct bench *, struct err *);
} parts[] = {{"gemm", bench_gemm},           {"memory", bench_memory},
             {"kernels", bench_kernels},     {"int8", bench_int8},
             {"wire", bench_wire},           {"step", bench_step},
             {"translate", bench_translate}, {"text", bench_text}};

status bench_run(const struct bench_config *c, const char *part, FILE *out,
                 struct err *err)
{
    const struct bench b = {.config = c,
                            .model = size_of(c->size),
                            .threads = c->threads ? (size_t)c->threads : pool_cores(),
                            .tokens = (size_t)c->tokens,
                            .mean = (size_t)c->mean,
                            .steps = (size_t)c->steps,
                            .against = (size_t)c->against,
                            .out = out};
    bool is_found = false;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (part ? strcmp(part, parts[i].name) != 0
                 : parts[i].run == bench_text && !c->text[0])
            continue;
        is_found = true;
        TRY(parts[i].run(&b, err));
    }
    if (!is_found)
        return err_set(
            err, ERR_USAGE,
            "unknown part '%.64s'; there are gemm, memory, kernels, int8, wire, step, "
            "translate and text",
            part);
    return OK;
}
