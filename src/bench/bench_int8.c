/*
 * Products of inference on one thread: the layers of a model for few and many rows, in
 * int8 and in float, with every variant of the kernels that runs here; each beside the
 * peak of its instruction, which a loop on registers alone measures. The variants' sums
 * of int8 are compared bit by bit in the same run.
 */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "infer/kernels.h"

enum { MOST_ROWS = 128, MOST_VARIANTS = 8, MOST_PIECES = 1024, ALIGN = 64 };

static const size_t row_counts[] = {1, 4, 32, MOST_ROWS};
enum { N_COUNTS = sizeof row_counts / sizeof *row_counts };

/* What products read and write, with room for the largest layer. */
struct field {
    float *value;   /* [n_in,n_out] */
    void *panel[2]; /* of both types */
    float *scale, *bias;
    int32_t *sum;
    struct kernels_input a;
    float *c, *want; /* [MOST_ROWS,n_out] */
};

struct variant {
    const struct infer_kernels *k;
    double peak[2]; /* operations a second, of both types */
};

struct run {
    const struct bench *b;
    struct field f;
    struct variant variant[MOST_VARIANTS];
    size_t n_variants, n_compared;
};

/* One layer: its matrix in both types. */
struct layer {
    const char *name;
    struct linear w[2];
};

/* ---- timing ---- */

/* What is timed, for items [first, first + n). */
typedef void timed_fn(const void *ctx, size_t first, size_t n);

/* How often all of it must be repeated to be long enough for the clock. */
static size_t repeats(timed_fn *fn, const void *ctx, size_t n)
{
    const double t_least = 30e-6;

    for (size_t times = 1;; times *= 2) {
        const double start = clock_now();
        for (size_t i = 0; i < times; i++)
            fn(ctx, 0, n);
        if (clock_now() - start > t_least)
            return times;
    }
}

/*
 * Seconds for n items, which are worked through in pieces: the sum of the shortest time
 * of each. Whoever else uses the machine takes the processor for milliseconds; short
 * pieces find moments in between, all of them together would not.
 */
static double shortest(timed_fn *fn, const void *ctx, size_t n, size_t piece)
{
    enum { LEAST = 7 };
    const double t_budget = 0.02;
    const size_t n_pieces = (n + piece - 1) / piece;
    const size_t times = n_pieces > 1 ? 1 : repeats(fn, ctx, n);
    double best[MOST_PIECES], sum = 0;
    const double t_end = clock_thread() + t_budget;

    for (int i = 0; i < LEAST || clock_thread() < t_end; i++)
        for (size_t p = 0; p < n_pieces; p++) {
            const size_t first = p * piece;
            const size_t n_some = n - first < piece ? n - first : piece;
            const double start = clock_now();
            for (size_t r = 0; r < times; r++)
                fn(ctx, first, n_some);
            const double t = clock_now() - start;
            best[p] = i == 0 || t < best[p] ? t : best[p];
        }
    for (size_t p = 0; p < n_pieces; p++)
        sum += best[p];
    return sum / (double)times;
}

/* ---- peaks ---- */

struct peak {
    const struct infer_kernels *k;
    enum linear_type type;
};

static void run_peak(const void *ctx, size_t first, size_t n)
{
    const struct peak *p = ctx;
    double n_ops;

    (void)first;
    p->k->peak(p->type, n, &n_ops);
}

static double peak_rate(const struct infer_kernels *k, enum linear_type type)
{
    enum { TIMES = 4096 };
    const struct peak p = {k, type};
    double n_ops;

    k->peak(type, TIMES, &n_ops);
    return n_ops / shortest(run_peak, &p, TIMES, TIMES);
}

static void find_variants(struct run *run)
{
    const struct infer_kernels *list[MOST_VARIANTS];

    run->n_variants = kernels_variants(list, MOST_VARIANTS);
    for (size_t i = 0; i < run->n_variants; i++)
        run->variant[i] =
            (struct variant){list[i],
                             {[LINEAR_FLOAT] = peak_rate(list[i], LINEAR_FLOAT),
                              [LINEAR_INT8] = peak_rate(list[i], LINEAR_INT8)}};
}

/* ---- products ---- */

struct product {
    const struct field *f;
    const struct infer_kernels *k;
    const struct linear *w;
    size_t n_rows;
};

static void run_product(const void *ctx, size_t first, size_t n)
{
    const struct product *p = ctx;

    p->k->multiply(p->f->c + first * LINEAR_PANEL, linear_panels(p->w) * LINEAR_PANEL,
                   &p->f->a, p->w, false, 0, p->n_rows, first, first + n);
}

static double product_rate(struct product p)
{
    const double n_ops = 2.0 * (double)p.w->n_in * (double)p.w->n_out * (double)p.n_rows;
    const size_t n = linear_panels(p.w);
    const size_t wished = (size_t)(2e7 * (double)n / n_ops) / 4 * 4;

    return n_ops / shortest(run_product, &p, n, wished > 4 ? wished : 4);
}

/* The first variant's result is what the others must give. */
static status compare(struct run *run, struct product p, const char *name,
                      struct err *err)
{
    const size_t n = p.n_rows * linear_panels(p.w) * LINEAR_PANEL;
    const struct infer_kernels *first = run->variant[0].k;

    run_product(&p, 0, linear_panels(p.w));
    if (p.k == first)
        memcpy(run->f.want, run->f.c, n * sizeof *run->f.c);
    else if (memcmp(run->f.want, run->f.c, n * sizeof *run->f.c) != 0)
        return err_set(err, ERR_NUMERIC,
                       "%s and %s differ in the int8 product of %zu rows with layer %s",
                       first->name, p.k->name, p.n_rows, name);
    run->n_compared++;
    return OK;
}

static void tell(const struct run *run, const struct layer *l, const struct variant *v,
                 size_t n_rows, const double rate[2])
{
    const double share[2] = {100 * rate[0] / v->peak[0], 100 * rate[1] / v->peak[1]};
    const size_t n_in = l->w[0].n_in, n_out = l->w[0].n_out;

    if (run->b->config->json)
        bench_json(run->b,
                   json_pack("{ss, ss, ss, sI, sI, sI, sf, sf, sf, sf, sf, sf}", "bench",
                             "int8", "variant", v->k->name, "layer", l->name, "k",
                             (json_int_t)n_in, "n", (json_int_t)n_out, "rows",
                             (json_int_t)n_rows, "gops", 1e-9 * rate[LINEAR_INT8],
                             "peak_gops", 1e-9 * v->peak[LINEAR_INT8], "percent_of_peak",
                             share[LINEAR_INT8], "gflops", 1e-9 * rate[LINEAR_FLOAT],
                             "peak_gflops", 1e-9 * v->peak[LINEAR_FLOAT],
                             "float_percent_of_peak", share[LINEAR_FLOAT]));
    else
        fprintf(run->b->out,
                "int8      %-7s %4zu x %5zu, rows %3zu  int8 %6.1f GOP/s %3.0f %% of "
                "%5.1f   fp32 %5.1f GFLOP/s %3.0f %% of %5.1f   %s\n",
                v->k->name, n_in, n_out, n_rows, 1e-9 * rate[LINEAR_INT8],
                share[LINEAR_INT8], 1e-9 * v->peak[LINEAR_INT8],
                1e-9 * rate[LINEAR_FLOAT], share[LINEAR_FLOAT],
                1e-9 * v->peak[LINEAR_FLOAT], l->name);
}

static status time_layer(struct run *run, const struct layer *l, struct err *err)
{
    for (size_t r = 0; r < N_COUNTS; r++)
        for (size_t i = 0; i < run->n_variants; i++) {
            const struct variant *v = &run->variant[i];
            struct product p = {&run->f, v->k, &l->w[LINEAR_INT8], row_counts[r]};
            double rate[2];
            run->f.a.n = l->w[0].n_in;
            v->k->quantise(&run->f.a, 0, MOST_ROWS);
            TRY(compare(run, p, l->name, err));
            rate[LINEAR_INT8] = product_rate(p);
            p.w = &l->w[LINEAR_FLOAT];
            rate[LINEAR_FLOAT] = product_rate(p);
            tell(run, l, v, row_counts[r], rate);
        }
    return OK;
}

/* ---- layers ---- */

/* Packs the same random values in both types. */
static struct layer make_layer(const struct field *f, const char *name, size_t n_in,
                               size_t n_out)
{
    const struct linear_source from = {f->value, n_out, 1};
    const struct linear w = {
        .n_in = n_in, .n_out = n_out, .scale = f->scale, .sum = f->sum, .bias = f->bias};
    struct layer l = {name, {w, w}};

    linear_pack_float(f->panel[LINEAR_FLOAT], from, n_in, n_out);
    linear_pack_int8(f->panel[LINEAR_INT8], f->scale, f->sum, from, n_in, n_out);
    for (int type = 0; type < 2; type++) {
        l.w[type].type = (enum linear_type)type;
        l.w[type].panel = f->panel[type];
    }
    return l;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Places in one block, or its size when that is NULL. */
struct layout {
    char *block;
    size_t at;
};

static void *take(struct layout *l, size_t n, size_t bytes)
{
    void *p = l->block ? l->block + l->at : NULL;

    l->at += linear_round(n * bytes, ALIGN);
    return p;
}

static void lay_out(struct field *f, struct layout *l, const struct model_config *m)
{
    const size_t D = (size_t)m->d_model, F = (size_t)m->d_ff, V = (size_t)m->vocab_size;
    const size_t wide = linear_round(larger(V, larger(F, 3 * D)), LINEAR_PANEL);
    const size_t deep = linear_round(larger(D, F), LINEAR_DEPTH);
    const size_t n = larger(linear_round(D, LINEAR_DEPTH) * wide,
                            deep * linear_round(D, LINEAR_PANEL));

    f->value = take(l, n, sizeof(float));
    f->panel[LINEAR_FLOAT] = take(l, n, sizeof(float));
    f->panel[LINEAR_INT8] = take(l, n, 1);
    f->c = take(l, MOST_ROWS * wide, sizeof(float));
    f->want = take(l, MOST_ROWS * wide, sizeof(float));
    f->scale = take(l, wide, sizeof(float));
    f->bias = take(l, wide, sizeof(float));
    f->sum = take(l, wide, sizeof(int32_t));
    f->a = (struct kernels_input){.real = take(l, MOST_ROWS * deep, sizeof(float)),
                                  .stride = deep,
                                  .byte = take(l, MOST_ROWS * deep, 1),
                                  .byte_stride = deep,
                                  .scale = take(l, MOST_ROWS, sizeof(float))};
    if (!l->block)
        return;
    struct rng r = rng_open(1);
    for (size_t i = 0; i < n; i++)
        f->value[i] = (float)rng_unit(&r) - 0.5f;
    for (size_t i = 0; i < wide; i++)
        f->bias[i] = (float)rng_unit(&r) - 0.5f;
    for (size_t i = 0; i < MOST_ROWS * deep; i++)
        f->a.real[i] = (float)rng_unit(&r) - 0.5f;
}

static status time_layers(struct run *run, struct err *err)
{
    const struct model_config *m = &run->b->model;
    const size_t D = (size_t)m->d_model, F = (size_t)m->d_ff;
    const struct {
        const char *name;
        size_t n_in, n_out;
    } list[] = {{"q,k,v", D, 3 * D},
                {"out", D, D},
                {"ff1", D, F},
                {"ff2", F, D},
                {"logits", D, (size_t)m->vocab_size}};

    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const struct layer l =
            make_layer(&run->f, list[i].name, list[i].n_in, list[i].n_out);
        TRY(time_layer(run, &l, err));
    }
    return OK;
}

status bench_int8(const struct bench *b, struct err *err)
{
    struct run run = {.b = b};
    struct layout l = {0};
    RELEASED_BY(mem_release) char *block = NULL;

    lay_out(&run.f, &l, &b->model);
    TRY(mem_alloc(&block, l.at + ALIGN, 1, err));
    l = (struct layout){.block = block + ALIGN - (uintptr_t)block % ALIGN};
    lay_out(&run.f, &l, &b->model);
    find_variants(&run);
    TRY(time_layers(&run, err));
    if (b->config->json)
        bench_json(b, json_pack("{ss, sI, sI}", "bench", "int8 bits", "variants",
                                (json_int_t)run.n_variants, "equal_products",
                                (json_int_t)run.n_compared));
    else
        fprintf(b->out, "int8      %zu variants gave the same bits in %zu products\n",
                run.n_variants, run.n_compared);
    return OK;
}
