/* What inference does to rows and to logits, every variant that runs here: packing,
 * rounding to bytes, normalisation, embedding, the best tokens and the softmax. What is
 * no product of floats has the same bits in all variants. */
#include "infer_variants.h"

static struct rng seeded(const char *name)
{
    return rng_open(rng_key(test_seed(), name));
}

static const size_t widths[] = {1, 2, 4, 15, 16, 17, 31, 48, 63, 64, 65, 100, 128, 130};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

/* ---- packing ---- */

TEST(packed_floats_are_what_was_packed)
{
    struct rng r = seeded("pack");

    for (size_t i = 0; i < N_WIDTHS; i++)
        for (size_t k = 0; k < N_WIDTHS; k++) {
            const size_t n_in = widths[i], n_out = widths[k];
            const struct infer_layer l =
                infer_layer(LINEAR_FLOAT, n_in, n_out, false, &r);
            const float *panel = l.w.panel;
            CHECK(linear_panels(&l.w) * linear_panel_bytes(LINEAR_FLOAT, n_in) ==
                  linear_bytes(LINEAR_FLOAT, n_in, n_out));
            for (size_t n = 0; n < l.n_round; n++)
                for (size_t in = 0; in < n_in; in++) {
                    const float want = n < n_out ? l.value[in * n_out + n] : 0;
                    CHECK_BITS(panel[n / 16 * n_in * 16 + in * 16 + n % 16], want);
                    if (n < n_out)
                        CHECK_BITS(linear_value(&l.w, in, n), want);
                }
            guarded_close();
        }
}

/* One scale an output, by its largest weight; half a step of rounding; zeros around. */
static void check_int8(const struct infer_layer *l)
{
    const size_t n_in = l->w.n_in, n_out = l->w.n_out;

    for (size_t n = 0; n < l->n_round; n++) {
        float top = 0;
        int32_t sum = 0;
        for (size_t k = 0; k < n_in && n < n_out; k++)
            top = fmaxf(top, fabsf(l->value[k * n_out + n]));
        CHECK_NEAR((double)l->scale[n], (double)top / 127, 1e-7);
        for (size_t k = 0; k < linear_round(n_in, 64); k++) {
            const int q = infer_weight(l, k, n);
            const bool is_inside = k < n_in && n < n_out;
            CHECK(is_inside ? abs(q) <= 127 : q == 0);
            sum += q;
            if (!is_inside)
                continue;
            CHECK_BITS(linear_value(&l->w, k, n), l->scale[n] * (float)q);
            CHECK(fabs((double)linear_value(&l->w, k, n) -
                       (double)l->value[k * n_out + n]) <= 0.5001 * (double)l->scale[n]);
        }
        CHECK(l->sum[n] == sum);
    }
}

TEST(packed_bytes_are_within_half_a_step_of_what_was_packed)
{
    struct rng r = seeded("pack int8");

    for (size_t i = 0; i < N_WIDTHS; i++)
        for (size_t k = 0; k < N_WIDTHS; k++) {
            struct infer_layer l =
                infer_layer(LINEAR_INT8, widths[i], widths[k], false, &r);
            check_int8(&l);
            for (size_t in = 0; in < widths[i]; in++) /* an output that reads nothing */
                l.value[in * widths[k] + widths[k] / 2] = 0;
            infer_pack(&l);
            check_int8(&l);
            CHECK(l.scale[widths[k] / 2] == 0);
            guarded_close();
        }
}

/* An embedding [V,D] is packed as a matrix [D,V]: the distances are changed. */
TEST(a_matrix_is_packed_from_any_distances)
{
    enum { N_IN = 21, N_OUT = 37 };
    struct rng r = seeded("distances");
    struct infer_layer l = infer_layer(LINEAR_FLOAT, N_IN, N_OUT, false, &r);
    float *turned = guarded_floats(N_OUT * 30);

    for (size_t n = 0; n < N_OUT; n++)
        for (size_t k = 0; k < N_IN; k++)
            turned[n * 30 + k] = l.value[k * N_OUT + n];
    memset(l.panel, 1, linear_bytes(LINEAR_FLOAT, N_IN, N_OUT));
    linear_pack_float((float *)l.panel, (struct linear_source){turned, 1, 30}, N_IN,
                      N_OUT);
    for (size_t n = 0; n < N_OUT; n++)
        for (size_t k = 0; k < N_IN; k++)
            CHECK_BITS(linear_value(&l.w, k, n), l.value[k * N_OUT + n]);
    guarded_close();
}

TEST(a_damaged_weight_spoils_its_own_output_alone)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    struct rng r = seeded("damaged");

    for (size_t b = 0; b < 3; b++) {
        struct infer_layer l = infer_layer(LINEAR_INT8, 20, 20, false, &r);
        l.value[7 * 20 + 5] = bad[b];
        infer_pack(&l);
        for (size_t n = 0; n < 20; n++)
            CHECK(isnan(l.scale[n]) == (n == 5));
        guarded_close();
    }
}

/* ---- rounding to bytes ---- */

/* scale = top / 127, byte = x / scale to the nearest, of two to the even one. */
static void check_quantised(const struct kernels_input *a, size_t row, int offset)
{
    const float *x = a->real + row * a->stride;
    const uint8_t *byte = a->byte + row * a->byte_stride;
    float top = 0;

    for (size_t i = 0; i < a->n; i++)
        top = fmaxf(top, fabsf(x[i]));
    CHECK_BITS(a->scale[row], top / 127);
    for (size_t i = 0; i < a->byte_stride; i++) {
        const volatile float scaled = i < a->n && top > 0 ? x[i] * (127 / top) : 0;
        CHECK((int8_t)(byte[i] - offset) == (int)rintf(scaled));
    }
}

TEST(rows_become_bytes_to_the_nearest)
{
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("quantise");

    for (size_t i = 0; i < N_WIDTHS; i++)
        for (size_t k = 0; k < v.n; k++) {
            const struct kernels_input a = infer_input(6, widths[i], i % 2 ? 16 : 0);
            infer_fill(&a, 6, &r);
            for (size_t c = 0; c < widths[i]; c++) {
                a.real[2 * a.stride + c] *= 1e-20f;
                a.real[3 * a.stride + c] = 0;
                a.real[4 * a.stride + c] *= 1e30f;
            }
            v.k[k]->quantise(&a, 1, 4);
            for (size_t row = 1; row < 5; row++)
                check_quantised(&a, row, infer_offset(v.k[k]));
            for (size_t c = 0; c < a.byte_stride; c++)
                CHECK(a.byte[c] == GUARDED_FILL &&
                      a.byte[5 * a.byte_stride + c] == GUARDED_FILL);
            CHECK(guarded_is_fresh(a.scale[0]) && guarded_is_fresh(a.scale[5]));
            guarded_close();
        }
}

TEST(halves_become_the_even_byte)
{
    const struct infer_variants v = infer_variants();
    const float x[] = {127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 126.5f, -126.5f, 3};
    const int want[] = {127, 0, 2, 2, 0, -2, -2, 126, -126, 3};

    for (size_t k = 0; k < v.n; k++) {
        const struct kernels_input a = infer_input(1, 10, 0);
        memcpy(a.real, x, sizeof x);
        v.k[k]->quantise(&a, 0, 1);
        for (size_t i = 0; i < 10; i++)
            CHECK((int8_t)(a.byte[i] - infer_offset(v.k[k])) == want[i]);
        guarded_close();
    }
}

/* 127 / top would be infinite: such a row counts as zero, and not as what an overflow
 * leaves in a byte. */
TEST(the_smallest_numbers_become_bytes_of_zero)
{
    const struct infer_variants v = infer_variants();
    const float tiny[] = {1e-45f, 1e-40f, 1e-38f, 3e-37f};

    for (size_t k = 0; k < v.n; k++)
        for (size_t t = 0; t < 4; t++) {
            const struct kernels_input a = infer_input(1, 20, 0);
            for (size_t i = 0; i < 20; i++)
                a.real[i] = i % 3 ? tiny[t] : i % 2 ? -tiny[t] : 0;
            v.k[k]->quantise(&a, 0, 1);
            CHECK(a.scale[0] <= tiny[t]);
            for (size_t i = 0; i < 64; i++)
                CHECK(a.byte[i] == infer_offset(v.k[k]));
            guarded_close();
        }
}

TEST(a_row_with_a_number_that_is_none_has_such_a_scale)
{
    const struct infer_variants v = infer_variants();
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    struct rng r = seeded("bad rows");

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 37; at++) {
            const struct kernels_input a = infer_input(3, 37, 0);
            infer_fill(&a, 3, &r);
            a.real[a.stride + at] = bad[at % 4];
            v.k[k]->quantise(&a, 0, 3);
            CHECK(isfinite(a.scale[0]) && isnan(a.scale[1]) && isfinite(a.scale[2]));
            guarded_close();
        }
}

/* ---- normalisation ---- */

struct norm_case {
    struct kernels_input y;
    struct kernels_norm how;
    float *x, *f, *gain, *bias;
    size_t n_rows;
};

static struct norm_case norm_case(size_t n, size_t n_rows, bool has_f, size_t extra,
                                  uint64_t key)
{
    struct norm_case c = {.y = infer_input(n_rows, n, extra), .n_rows = n_rows};
    const size_t stride = linear_round(n, 16) + (extra ? 32 : 0);
    struct rng r = rng_open(key);

    c.x = guarded_floats(n_rows * stride);
    c.f = guarded_floats(n_rows * stride);
    c.gain = guarded_floats(stride);
    c.bias = guarded_floats(stride);
    for (size_t i = 0; i < n_rows * stride; i++) {
        c.x[i] = i % stride < n ? 3 * guarded_unit(&r) + 1 : 0;
        c.f[i] = i % stride < n ? guarded_unit(&r) : 0;
    }
    for (size_t i = 0; i < stride; i++) {
        c.gain[i] = i < n ? 1 + guarded_unit(&r) : 0;
        c.bias[i] = i < n ? guarded_unit(&r) : 0;
    }
    c.how = (struct kernels_norm){c.x, has_f ? c.f : NULL, c.gain, c.bias, stride, 1e-6f};
    return c;
}

static void check_norm_row(const struct norm_case *c, const float *x0, size_t row)
{
    const size_t n = c->y.n, stride = c->how.stride;
    const float *x = c->x + row * stride, *y = c->y.real + row * c->y.stride;
    double mean = 0, var = 0;

    for (size_t i = 0; i < n; i++) {
        CHECK_BITS(x[i], x0[row * stride + i] + (c->how.f ? c->f[row * stride + i] : 0));
        mean += (double)x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        var += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR((double)y[i],
                   ((double)x[i] - mean) / sqrt(var + 1e-6) * (double)c->gain[i] +
                       (double)c->bias[i],
                   n == 1 ? 1e-3 : 1e-5);
    for (size_t i = n; i < linear_round(n, 16); i++)
        CHECK(x[i] == 0 && y[i] == 0);
}

TEST(rows_are_normalised_as_in_double)
{
    const struct infer_variants v = infer_variants();

    for (size_t i = 0; i < N_WIDTHS; i++)
        for (size_t k = 0; k < v.n; k++)
            for (int has_f = 0; has_f < 2; has_f++) {
                struct norm_case c = norm_case(widths[i], 5, has_f, i % 2 ? 16 : 0, i);
                float *x0 = guarded_floats(5 * c.how.stride);
                memcpy(x0, c.x, 5 * c.how.stride * sizeof *x0);
                v.k[k]->norm(&c.y, &c.how, has_f ? KERNELS_BYTE : KERNELS_REAL, 1, 3);
                for (size_t row = 1; row < 4; row++) {
                    check_norm_row(&c, x0, row);
                    if (has_f)
                        check_quantised(&c.y, row, infer_offset(v.k[k]));
                    else
                        CHECK(c.y.byte[row * c.y.byte_stride] == GUARDED_FILL);
                }
                CHECK(memcmp(c.x, x0, c.how.stride * sizeof *x0) == 0);
                CHECK(guarded_is_fresh(c.y.real[0]) &&
                      guarded_is_fresh(c.y.real[4 * c.y.stride]));
                guarded_close();
            }
}

TEST(a_row_that_holds_no_number_is_none_after_normalisation)
{
    const struct infer_variants v = infer_variants();

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 37; at++) {
            struct norm_case c = norm_case(37, 3, true, 0, at);
            c.f[c.how.stride + at] = at % 2 ? NAN : -INFINITY;
            v.k[k]->norm(&c.y, &c.how, KERNELS_BYTE, 0, 3);
            for (size_t i = 0; i < 37; i++) {
                CHECK(isnan(c.y.real[c.y.stride + i]));
                CHECK(isfinite(c.y.real[i]) && isfinite(c.y.real[2 * c.y.stride + i]));
            }
            CHECK(isfinite(c.y.scale[0]) && isnan(c.y.scale[1]));
            guarded_close();
        }
}

/* ---- embedding ---- */

static float want_embedded(const struct infer_layer *l, size_t k, int32_t id,
                           float signal, float scale)
{
    if (id < 0)
        return signal;
    volatile float x = linear_value(&l->w, k, (size_t)id);
    x = scale * x;
    return x + signal;
}

TEST(a_token_is_its_row_of_the_table_and_a_signal)
{
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("embed");

    for (size_t i = 0; i < N_WIDTHS; i++)
        for (enum linear_type type = LINEAR_FLOAT; type <= LINEAR_INT8; type++) {
            const size_t n = widths[i], n_round = linear_round(n, 16);
            const struct infer_layer l = infer_layer(type, n, 45, false, &r);
            float *signal = guarded_floats(n);
            for (size_t k = 0; k < n; k++)
                signal[k] = guarded_unit(&r);
            for (size_t k = 0; k < v.n; k++)
                for (int32_t id = -1; id < 45; id += 3) {
                    float x[160];
                    for (size_t c = 0; c < 160; c++)
                        x[c] = guarded_float();
                    v.k[k]->embed(x, &l.w, id, signal, 22.6f);
                    for (size_t c = 0; c < n; c++)
                        CHECK_BITS(x[c], want_embedded(&l, c, id, signal[c], 22.6f));
                    for (size_t c = n; c < 160; c++)
                        CHECK(c < n_round ? x[c] == 0 : guarded_is_fresh(x[c]));
                }
            guarded_close();
        }
}

TEST(a_damaged_row_of_the_table_is_not_a_number)
{
    const struct infer_variants v = infer_variants();
    const float signal[20] = {0};
    struct rng r = seeded("damaged row");

    for (enum linear_type type = LINEAR_FLOAT; type <= LINEAR_INT8; type++) {
        struct infer_layer l = infer_layer(type, 20, 40, false, &r);
        for (size_t k = 0; k < 20; k++)
            l.value[k * 40 + 33] = NAN;
        infer_pack(&l);
        for (size_t k = 0; k < v.n; k++) {
            float x[32];
            v.k[k]->embed(x, &l.w, 33, signal, 2);
            CHECK(isnan(x[0]) && isnan(x[19]));
            v.k[k]->embed(x, &l.w, 32, signal, 2);
            CHECK(isfinite(x[0]) && isfinite(x[19]));
        }
        guarded_close();
    }
}
