/*
 * Products of floats are as precise as floats allow on every CPU, also on a unit that
 * multiplies shorter numbers (device/cpu/gemm_amx.c), and the same for any number of
 * threads; what is not a number stays visible.
 */
#include <float.h>
#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "reals.h"
#include "test.h"

static const char *const kinds[] = {"cpu", "cpu-avx512", "cpu-avx2", "cpu-plain"};
enum { N_KINDS = sizeof kinds / sizeof *kinds, MOST_ROUNDINGS = 10 };

struct shape {
    size_t M, N, K;
    bool ta, tb;
    double alpha, beta;
};

/* Each transposition; edges in every dimension; sides and depths beyond one block. */
static const struct shape shapes[] = {{96, 128, 512, false, false, 1, 0},
                                      {65, 190, 1061, false, true, 1, 0},
                                      {190, 97, 700, true, false, 1, 1},
                                      {131, 131, 97, true, true, -0.75, 0.5},
                                      {1063, 1031, 67, true, false, 1, 0}};

/* Numbers of all magnitudes between 2^-20 and 1, with all bits of a float. */
static double *numbers(struct rng *r, size_t n)
{
    double *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (double)(float)ldexp(rng_unit(r) - 0.5, -(int)rng_below(r, 20));
    return x;
}

static void product(const char *kind, size_t threads, struct shape s, const double *a,
                    const double *b, const double *c, double *out)
{
    struct device d;

    reals_device(&d, kind, threads);
    const struct mat ma = reals_mat(&d, s.ta ? s.K : s.M, s.ta ? s.M : s.K, a);
    const struct mat mb = reals_mat(&d, s.tb ? s.N : s.K, s.tb ? s.K : s.N, b);
    const struct mat mc = reals_mat(&d, s.M, s.N, c);
    d.k->gemm(&d, mc, ma, mb, s.ta, s.tb, s.alpha, s.beta);
    reals_read(&d, out, mc);
    device_free(&d, ma.mem);
    device_free(&d, mb.mem);
    device_free(&d, mc.mem);
    device_close(&d);
}

static double *magnitudes(const double *x, size_t n)
{
    double *y = malloc(n * sizeof *y);

    for (size_t i = 0; i < n; i++)
        y[i] = fabs(x[i]);
    return y;
}

/* What an element's terms sum to when none has a sign. */
static void sum_magnitudes(struct shape s, const double *a, const double *b,
                           const double *c, double *out)
{
    double *ma = magnitudes(a, s.M * s.K), *mb = magnitudes(b, s.K * s.N);
    double *mc = magnitudes(c, s.M * s.N);

    s.alpha = fabs(s.alpha);
    product("double", 2, s, ma, mb, mc, out);
    free(ma);
    free(mb);
    free(mc);
}

static void check_error(const char *kind, struct shape s, const double *got,
                        const double *want, const double *size)
{
    double worst = 0;

    for (size_t i = 0; i < s.M * s.N; i++) {
        const double error = fabs(got[i] - want[i]) / size[i] / (double)FLT_EPSILON;
        worst = isnan(error) ? (double)INFINITY : fmax(worst, error);
    }
    if (!(worst <= MOST_ROUNDINGS))
        test_fail(__FILE__, __LINE__, "%s, %zu x %zu x %zu: off by %.1f roundings", kind,
                  s.M, s.N, s.K, worst);
}

static void check_shape(struct rng *r, struct shape s)
{
    const size_t n = s.M * s.N, n_bytes = n * sizeof(double);
    double *a = numbers(r, s.M * s.K), *b = numbers(r, s.K * s.N), *c = numbers(r, n);
    double *want = malloc(n_bytes), *size = malloc(n_bytes);
    double *got = malloc(n_bytes), *again = malloc(n_bytes);
    double *const all[] = {a, b, c, want, size, got, again};

    product("double", 2, s, a, b, c, want);
    sum_magnitudes(s, a, b, c, size);
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        product(kinds[kind], 1, s, a, b, c, got);
        product(kinds[kind], 3, s, a, b, c, again);
        CHECK(memcmp(got, again, n_bytes) == 0);
        check_error(kinds[kind], s, got, want, size);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

TEST(a_product_is_as_precise_as_floats_allow)
{
    struct rng r = rng_open(rng_key(test_seed(), "precision"));

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&r, shapes[i]);
}

TEST(what_is_not_a_number_stays_visible)
{
    static const double odd[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    enum { M = 70, N = 66, K = 80 };
    const struct shape s = {M, N, K, false, false, 1, 0};
    struct rng r = rng_open(rng_key(test_seed(), "odd"));
    double *a = numbers(&r, M * K), *b = numbers(&r, K * N), *c = numbers(&r, M * N);

    for (size_t kind = 0; kind < N_KINDS; kind++)
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
            a[3 * K + 7] = odd[i];
            product(kinds[kind], 1, s, a, b, c, c);
            for (size_t e = 0; e < M * N; e++)
                CHECK(isfinite(c[e]) == (e / N != 3));
        }
    free(a);
    free(b);
    free(c);
}
