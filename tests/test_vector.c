#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "test.h"

extern const struct kernels cpu_f64_kernels;

enum { ROWS = 7, COLS = 13, STRIDE = 20, AT = 5, N = AT + ROWS * STRIDE };

static struct err err;

static struct device opened(size_t threads)
{
    struct device d;

    CHECK_OK(device_open(&d, "cpu", (struct device_options){.threads = threads}, &err),
             &err);
    return d;
}

static struct device opened_wide(size_t threads)
{
    struct device d;

    CHECK_OK(device_open_cpu(&d, &cpu_f64_kernels, "cpu-f64", sizeof(double),
                             (struct device_options){.threads = threads}, &err),
             &err);
    return d;
}

static struct mat inner(double *mem)
{
    return (struct mat){mem, AT, ROWS, COLS, STRIDE};
}

static bool is_inside(size_t at)
{
    return at >= AT && (at - AT) % STRIDE < COLS;
}

static void randomise(double *x, size_t n, const char *name)
{
    struct rng r = rng_open(rng_key(test_seed(), name));

    for (size_t i = 0; i < n; i++)
        x[i] = rng_unit(&r) - 0.5;
}

/* What a kernel should make of one element; a guard around the matrix stays. */
#define CHECK_INSIDE(after, before, expression) \
    for (size_t i = 0; i < N; i++)              \
    CHECK_NEAR((after)[i], is_inside(i) ? (expression) : (before)[i], 1e-15)

TEST(fill_scale_and_average_touch_the_matrix_and_nothing_around_it)
{
    for (size_t threads = 1; threads <= 3; threads++) {
        struct device d = opened_wide(threads);
        double old[N], x[N], y[N];
        randomise(old, N, "old");
        randomise(x, N, "x");
        memcpy(y, old, sizeof y);
        d.k->fill(&d, inner(y), 2.5);
        CHECK_INSIDE(y, old, 2.5);
        memcpy(y, old, sizeof y);
        d.k->scale(&d, inner(y), -3);
        CHECK_INSIDE(y, old, -3 * old[i]);
        memcpy(y, old, sizeof y);
        d.k->average(&d, inner(y), inner(x), 0.9);
        CHECK_INSIDE(y, old, 0.9 * old[i] + 0.1 * x[i]);
        device_close(&d);
    }
}

TEST(adam_updates_a_strided_matrix_and_nothing_around_it)
{
    const struct adam how = {.rate = 0.1,
                             .beta1 = 0.8,
                             .beta2 = 0.9,
                             .epsilon = 1e-3,
                             .decay = 0.01,
                             .scale = 0.5};

    for (size_t threads = 1; threads <= 3; threads++) {
        struct device d = opened_wide(threads);
        double w0[N], m0[N], v0[N], g0[N], w[N], m[N], v[N], g[N];
        randomise(w0, N, "w");
        randomise(m0, N, "m");
        randomise(v0, N, "v");
        randomise(g0, N, "g");
        for (size_t i = 0; i < N; i++)
            v0[i] += 0.5;
        memcpy(w, w0, sizeof w);
        memcpy(m, m0, sizeof m);
        memcpy(v, v0, sizeof v);
        memcpy(g, g0, sizeof g);
        d.k->adam(&d, inner(w), inner(m), inner(v), inner(g), how);
        CHECK_INSIDE(m, m0, 0.8 * m0[i] + 0.2 * 0.5 * g0[i]);
        CHECK_INSIDE(v, v0, 0.9 * v0[i] + 0.1 * 0.25 * g0[i] * g0[i]);
        CHECK_INSIDE(w, w0, 0.99 * w0[i] - 0.1 * m[i] / (sqrt(v[i]) + 1e-3));
        CHECK_INSIDE(g, g0, g0[i]);
        device_close(&d);
    }
}

TEST(novograd_updates_a_strided_matrix_and_nothing_around_it)
{
    const struct novograd how = {
        .rate = 0.1, .beta1 = 0.8, .scale = 0.5, .decay = 0.03, .average = 0.2};
    struct device d = opened_wide(2);
    double w0[N], m0[N], g0[N], w[N], m[N], g[N];

    randomise(w0, N, "w");
    randomise(m0, N, "m");
    randomise(g0, N, "g");
    memcpy(w, w0, sizeof w);
    memcpy(m, m0, sizeof m);
    memcpy(g, g0, sizeof g);
    d.k->novograd(&d, inner(w), inner(m), inner(g), how);
    CHECK_INSIDE(m, m0, 0.8 * m0[i] + 0.2 * (0.5 * g0[i] + 0.03 * w0[i]));
    CHECK_INSIDE(w, w0, w0[i] - 0.1 * m[i]);
    CHECK_INSIDE(g, g0, g0[i]);
    device_close(&d);
}

TEST(sumsq_reads_the_matrix_and_nothing_around_it)
{
    struct device d = opened_wide(2);
    double x[N], want = 0, sum;

    randomise(x, N, "x");
    for (size_t i = 0; i < N; i++)
        if (is_inside(i))
            want += x[i] * x[i];
        else
            x[i] = (double)NAN;
    d.k->sumsq(&d, &sum, inner(x));
    CHECK_NEAR(sum, want, 1e-14);
    d.k->sumsq(&d, &sum, mat_rows(inner(x), 3, 0));
    CHECK(sum == 0);
    device_close(&d);
}

static double sum_with(size_t threads, struct mat x)
{
    struct device d = opened(threads);
    double sum;

    d.k->sumsq(&d, &sum, x);
    device_close(&d);
    return sum;
}

TEST(sumsq_is_the_same_bit_for_bit_on_any_number_of_threads)
{
    enum { LONG = 300007 };
    float *x = malloc(LONG * sizeof *x);
    struct rng r = rng_open(rng_key(test_seed(), "long"));
    double want = 0;

    for (size_t i = 0; i < LONG; i++) {
        x[i] = (float)(rng_normal(&r) * 1e3);
        want += (double)x[i] * (double)x[i];
    }
    const struct mat run = {x, 0, 1, LONG, LONG}, strided = {x, 3, 500, 511, 600};
    const double one = sum_with(1, run), one_strided = sum_with(1, strided);
    CHECK_NEAR(one, want, 1e-12);
    for (size_t threads = 2; threads <= 5; threads++) {
        CHECK(sum_with(threads, run) == one);
        CHECK(sum_with(threads, strided) == one_strided);
    }
    free(x);
}

TEST(sumsq_is_finite_exactly_when_every_element_is)
{
    enum { MANY = 20000 };
    float *x = calloc(MANY, sizeof *x);
    const struct mat run = {x, 0, 1, MANY, MANY};

    x[9000] = 3e38f;
    CHECK_NEAR(sum_with(2, run), 9e76, 1e-6);
    x[9000] = INFINITY;
    CHECK(isinf(sum_with(2, run)));
    x[17000] = NAN;
    CHECK(isnan(sum_with(2, run)));
    x[9000] = 0;
    CHECK(isnan(sum_with(2, run)));
    free(x);
}
