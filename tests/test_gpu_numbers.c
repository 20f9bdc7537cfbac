/*
 * Numbers at the edges, on the GPU kernels as C and, where there is a device, by OpenCL:
 * every kind of rounding to 16 bits, overflow, NaN, and sums of very tall matrices.
 */
#include <stdlib.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

#include "device/device.h"
#include "device/half.h"
#include "reals.h"
#include "standin/fibre_device.h"
#include "test.h"

enum { LOWS = 9, MANY = LOWS << 16 };

typedef void check_fn(struct device *d);

/* On every GPU that there is. */
static void each(enum precision precision, check_fn *check)
{
    const struct device_options options = {.precision = precision};
    struct device d;
    struct err err;

    CHECK_OK(fibre_device_open(&d, precision, &err), &err);
    check(&d);
    CHECK_OK(device_sync(&d, &err), &err);
    device_close(&d);
    if (device_open(&d, "opencl", options, &err) == OK) {
        check(&d);
        CHECK_OK(device_sync(&d, &err), &err);
    }
    device_close(&d);
}

static struct mat new_mat(struct device *d, size_t cols, enum mat_type type)
{
    struct mat m = {NULL, 0, 1, cols, cols, type};
    struct err err;

    CHECK_OK(device_alloc(d, &m.mem, cols * device_width(d, type), &err), &err);
    return m;
}

static uint16_t stored(const struct device *d, float x)
{
    return d->precision == PRECISION_FP16 ? half_from(x) : half_from_b(x);
}

static float loaded(const struct device *d, uint16_t h)
{
    return d->precision == PRECISION_FP16 ? half_to(h) : half_to_b(h);
}

/* Every upper half of a float with lower halves around each tie. */
static void rounds_as_the_host(struct device *d)
{
    static const uint32_t low[LOWS] = {0,      1,      0x0fff, 0x1000, 0x1001,
                                       0x7fff, 0x8000, 0x8001, 0xffff};
    const struct mat x = new_mat(d, MANY, MAT_REAL), y = new_mat(d, MANY, MAT_HALF);
    float *from = malloc(MANY * sizeof *from);
    uint16_t *to = malloc(MANY * sizeof *to);

    for (uint32_t i = 0; i < MANY; i++)
        from[i] = half_float(i / LOWS << 16 | low[i % LOWS]);
    device_upload(d, x, from);
    d->k->cast(d, y, x);
    device_download(d, to, y);
    for (uint32_t i = 0; i < MANY; i++) {
        const float near = d->precision == PRECISION_FP16 ? half_clip(from[i]) : from[i];
        const uint16_t want = stored(d, near);
        const bool both_nan = isnan(from[i]) && isnan(loaded(d, to[i]));
        if (to[i] != want && !both_nan)
            test_fail(__FILE__, __LINE__, "%s: %a becomes %04x, want %04x", d->name,
                      (double)from[i], to[i], want);
    }
    device_free(d, x.mem);
    device_free(d, y.mem);
    free(from);
    free(to);
}

TEST(every_number_becomes_16_bits_as_on_the_host)
{
    each(PRECISION_FP16, rounds_as_the_host);
    each(PRECISION_BF16, rounds_as_the_host);
}

static void keeps_all(struct device *d)
{
    static uint16_t before[1 << 16], after[1 << 16];
    const struct mat m = new_mat(d, 1 << 16, MAT_HALF);

    for (uint32_t i = 0; i < 1 << 16; i++)
        before[i] = (uint16_t)i;
    device_upload(d, m, before);
    d->k->scale(d, m, 1);
    device_download(d, after, m);
    for (uint32_t i = 0; i < 1 << 16; i++)
        CHECK(after[i] == before[i] ||
              (isnan(loaded(d, before[i])) && isnan(loaded(d, after[i]))));
    device_free(d, m.mem);
}

TEST(all_16_bit_numbers_survive_loading_and_storing)
{
    each(PRECISION_FP16, keeps_all);
    each(PRECISION_BF16, keeps_all);
}

#ifdef __x86_64__
/* As on cards that take denormal floats for 0; a denormal of half is none. */
TEST(denormals_of_half_survive_a_device_without_denormals)
{
    enum { BOTH_ARE_ZERO = 0x8040 }; /* operands and results */
    const unsigned before = _mm_getcsr();
    struct device d;
    struct err err;

    CHECK_OK(fibre_device_open(&d, PRECISION_FP16, &err), &err);
    _mm_setcsr(before | BOTH_ARE_ZERO);
    keeps_all(&d);
    _mm_setcsr(before);
    device_close(&d);
}
#endif

/* Only a result that is infinite tells that an update overflowed. */
static void overflows(struct device *d)
{
    const struct mat m = new_mat(d, 4, MAT_HALF);
    uint16_t h[4] = {half_from(65504), half_from(-40000), half_from(30000), 0x7e00};

    device_upload(d, m, h);
    d->k->scale(d, m, 2);
    device_download(d, h, m);
    CHECK(h[0] == 0x7c00 && h[1] == 0xfc00 && half_to(h[2]) == 60000);
    CHECK(isnan(half_to(h[3])));
    d->k->fill(d, m, 65519); /* rounds down; half way up it would be infinite */
    device_download(d, h, m);
    CHECK(half_to(h[0]) == 65504);
    d->k->fill(d, m, 65520);
    device_download(d, h, m);
    CHECK(isinf(half_to(h[3])));
    d->k->fill(d, m, -70000);
    device_download(d, h, m);
    CHECK(h[1] == 0xfc00);
    device_free(d, m.mem);
}

TEST(what_is_too_large_for_a_half_becomes_infinite)
{
    each(PRECISION_FP16, overflows);
}

/* An emulated device keeps a 16-bit number in a float: the very number of a GPU. */
static void emulated(enum precision precision)
{
    static const float some[] = {1.0f / 3, -2e-6f, 65519, 65520, -70000, 3e38f};
    struct device d;
    struct err err;
    float got;

    CHECK_OK(device_open(&d, "cpu",
                         (struct device_options){.threads = 1, .precision = precision},
                         &err),
             &err);
    const struct mat m = new_mat(&d, 1, MAT_HALF), real = new_mat(&d, 1, MAT_REAL);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        d.k->fill(&d, m, (double)some[i]);
        device_download(&d, &got, m);
        CHECK(got == loaded(&d, stored(&d, some[i])));
        d.k->fill(&d, m, 3);
        d.k->scale(&d, m, (double)some[i]);
        device_download(&d, &got, m);
        CHECK(got == loaded(&d, stored(&d, 3 * some[i])));
        d.k->fill(&d, real, 3);
        d.k->scale(&d, real, (double)some[i]);
        device_download(&d, &got, real);
        CHECK(got == 3 * some[i]);
    }
    device_free(&d, m.mem);
    device_free(&d, real.mem);
    device_close(&d);
}

TEST(what_an_emulated_device_fills_and_scales_has_16_bits)
{
    emulated(PRECISION_FP16);
    emulated(PRECISION_BF16);
}

static void finds_nan(struct device *d)
{
    enum { N = 9001 };
    static const size_t places[] = {0, 1, 255, 256, 4095, 4096, 5000, N - 1};
    static float host[N];
    const struct mat m = new_mat(d, N, MAT_REAL);
    struct err err;
    double got;

    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (int kind = 0; kind < 3; kind++) {
            const float odd = kind == 0 ? NAN : kind == 1 ? -INFINITY : -7;
            for (size_t i = 0; i < N; i++)
                host[i] = (float)(i % 13) / 3 - 2;
            host[places[p]] = odd;
            device_upload(d, m, host);
            d->k->maxabs(d, &got, m);
            CHECK_OK(device_sync(d, &err), &err);
            CHECK(kind == 0 ? isnan(got) : got == (double)fabsf(odd));
            d->k->sumsq(d, &got, m);
            CHECK_OK(device_sync(d, &err), &err);
            CHECK(kind == 2 ? isfinite(got) : !isfinite(got));
        }
    device_free(d, m.mem);
}

TEST(a_norm_tells_of_one_number_that_is_not_finite_wherever_it_is)
{
    each(PRECISION_FP32, finds_nan);
}

static void relu_passes_nan(struct device *d)
{
    struct mat h = reals_mat(d, 1, 3, (double[]){(double)NAN, -1, 2});
    struct mat bias = reals_mat(d, 1, 3, NULL);
    double out[3];

    d->k->relu_forward(d, h, bias, (struct drop){0});
    reals_read(d, out, h);
    CHECK(isnan(out[0]) && out[1] == 0 && out[2] == 2);
    device_free(d, h.mem);
    device_free(d, bias.mem);
}

TEST(a_nan_passes_relu_and_so_reaches_the_loss)
{
    each(PRECISION_FP32, relu_passes_nan);
}

/* More rows than there are partial sums: a group then takes several. */
TEST(a_matrix_of_a_million_rows_is_summed_whole_by_opencl)
{
    enum { ROWS_MANY = (1 << 20) + 3 };
    struct device d;
    struct err err;
    struct mat m = {NULL, 0, ROWS_MANY, 1, 1, MAT_REAL};
    double sum, max;
    const float large = -9;

    if (device_open(&d, "opencl", (struct device_options){0}, &err) != OK)
        test_skip("%s", err.msg);
    CHECK_OK(device_alloc(&d, &m.mem, ROWS_MANY * sizeof(float), &err), &err);
    d.k->fill(&d, (struct mat){m.mem, 0, 1, ROWS_MANY, ROWS_MANY, MAT_REAL}, 2);
    device_upload(&d, mat_rows(m, ROWS_MANY - 1, 1), &large);
    d.k->sumsq(&d, &sum, m);
    d.k->maxabs(&d, &max, m);
    CHECK_OK(device_sync(&d, &err), &err);
    CHECK(sum == 4.0 * (ROWS_MANY - 1) + 81);
    CHECK(max == 9);
    device_free(&d, m.mem);
    device_close(&d);
}
