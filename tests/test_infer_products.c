/* Products of inference, every variant and the emulated matrix unit: int8 to the last bit
 * of a sum in integers, floats against a sum in double. */
#include "infer_variants.h"

static struct rng seeded(const char *name)
{
    return rng_open(rng_key(test_seed(), name));
}

/* One call: rows [first, first + n) of a, panels [p0, p1), to c with this stride. */
struct call {
    size_t first, n, p0, p1, ldc;
    bool relu;
};

/* ---- int8 ---- */

/* The formula of infer/kernel/product.h; every step a float of its own, never fused. */
static float want_int8(const struct infer_layer *l, const struct kernels_input *a,
                       int offset, size_t row, size_t n, bool relu)
{
    int64_t sum = 0;

    for (size_t k = 0; k < l->w.n_in; k++)
        sum +=
            (int8_t)(a->byte[row * a->byte_stride + k] - offset) * infer_weight(l, k, n);
    volatile float x = (float)sum;
    x = x * l->scale[n];
    x = x * a->scale[row];
    if (l->w.bias)
        x = x + l->bias[n];
    return relu && x < 0 ? 0 : x;
}

static bool is_inside(const struct call *call, size_t r, size_t i)
{
    return r < call->n && i < (call->p1 - call->p0) * 16;
}

/* c holds what the call had to write, and beside it what it held before. */
static void check_int8(const struct infer_layer *l, const struct kernels_input *a,
                       int offset, const struct call *call, const float *c)
{
    for (size_t r = 0; r < call->n; r++)
        for (size_t i = 0; i < call->ldc; i++) {
            const float got = c[r * call->ldc + i];
            const size_t col = call->p0 * 16 + i;
            if (!is_inside(call, r, i))
                CHECK(guarded_is_fresh(got));
            else if (col < l->w.n_out)
                CHECK_BITS(got,
                           want_int8(l, a, offset, call->first + r, col, call->relu));
            else
                CHECK(got == 0);
        }
}

static void run_int8(const struct infer_layer *l, const struct kernels_input *a,
                     size_t n_rows, struct call call)
{
    const struct infer_variants v = infer_variants();

    for (size_t i = 0; i < v.n; i++) {
        float *c = guarded_floats(call.n * call.ldc);
        v.k[i]->quantise(a, 0, n_rows);
        v.k[i]->multiply(c, call.ldc, a, &l->w, call.relu, call.first, call.n, call.p0,
                         call.p1);
        check_int8(l, a, infer_offset(v.k[i]), &call, c);
    }
}

static struct call whole(const struct infer_layer *l, size_t n_rows)
{
    return (struct call){.n = n_rows, .p1 = l->n_round / 16, .ldc = l->n_round};
}

TEST(sums_of_int8_are_exact_at_every_number_of_inputs_and_outputs)
{
    const size_t n_ins[] = {1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 100, 128, 129};
    const size_t n_outs[] = {1, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 96, 130};
    struct rng r = seeded("shapes");

    for (size_t i = 0; i < sizeof n_ins / sizeof *n_ins; i++)
        for (size_t k = 0; k < sizeof n_outs / sizeof *n_outs; k++) {
            const struct infer_layer l =
                infer_layer(LINEAR_INT8, n_ins[i], n_outs[k], (i + k) % 2, &r);
            const struct kernels_input a = infer_input(19, n_ins[i], 0);
            infer_fill(&a, 19, &r);
            run_int8(&l, &a, 19, whole(&l, 2));
            run_int8(&l, &a, 19, whole(&l, 19));
            guarded_close();
        }
}

TEST(sums_of_int8_are_exact_for_every_number_of_rows)
{
    struct rng r = seeded("rows");

    for (size_t n_rows = 1; n_rows <= 68; n_rows += n_rows < 50 ? 1 : 9) {
        const struct infer_layer l = infer_layer(LINEAR_INT8, 70, 112, true, &r);
        const struct kernels_input a = infer_input(n_rows, 70, 0);
        struct call call = whole(&l, n_rows);
        infer_fill(&a, n_rows, &r);
        call.relu = n_rows % 2;
        run_int8(&l, &a, n_rows, call);
        guarded_close();
    }
}

/* More than is copied at a time, of inputs and of rows. */
TEST(sums_of_int8_are_exact_over_many_inputs_of_many_rows)
{
    const size_t n_ins[] = {2048, 2100, 4160};
    struct rng r = seeded("many");

    for (size_t i = 0; i < sizeof n_ins / sizeof *n_ins; i++) {
        const struct infer_layer l = infer_layer(LINEAR_INT8, n_ins[i], 72, true, &r);
        const struct kernels_input a = infer_input(21, n_ins[i], 0);
        struct call call = whole(&l, 21);
        infer_fill(&a, 21, &r);
        call.relu = i == 1;
        run_int8(&l, &a, 21, call);
        guarded_close();
    }
}

/* Part of the rows and panels, wider rows than needed: nothing else is touched. */
TEST(a_product_of_int8_writes_its_rows_and_panels_alone)
{
    struct rng r = seeded("parts");
    const size_t n_rows[] = {1, 5, 7, 8, 13, 24, 33};

    for (size_t i = 0; i < sizeof n_rows / sizeof *n_rows; i++)
        for (size_t p0 = 0; p0 < 5; p0 += 2)
            for (size_t p1 = p0 + 1; p1 <= 9; p1 += 2) {
                const struct infer_layer l = infer_layer(LINEAR_INT8, 40, 136, true, &r);
                const struct kernels_input a = infer_input(n_rows[i] + 5, 40, 48);
                infer_fill(&a, n_rows[i] + 5, &r);
                run_int8(&l, &a, n_rows[i] + 5,
                         (struct call){.first = 3,
                                       .n = n_rows[i],
                                       .p0 = p0,
                                       .p1 = p1,
                                       .ldc = (p1 - p0) * 16 + 7});
                guarded_close();
            }
}

TEST(no_row_at_all_is_no_work)
{
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("nothing");
    const struct infer_layer l = infer_layer(LINEAR_INT8, 20, 20, true, &r);
    const struct infer_layer f = infer_layer(LINEAR_FLOAT, 20, 20, true, &r);
    const struct kernels_input a = infer_input(1, 20, 0);
    float *c = guarded_floats(32);

    for (size_t i = 0; i < v.n; i++) {
        v.k[i]->multiply(c, 32, &a, &l.w, false, 0, 0, 0, 2);
        v.k[i]->multiply(c, 32, &a, &f.w, false, 0, 0, 0, 2);
    }
    for (size_t i = 0; i < 32; i++)
        CHECK(guarded_is_fresh(c[i]));
    guarded_close();
}

/* Every pair of signs at the largest magnitude, many inputs deep: sums of +-4096 * 127^2,
 * which no intermediate number of 16 bits may cut. */
TEST(the_largest_bytes_do_not_saturate)
{
    enum { N_IN = 4096, N_OUT = 80, N_ROWS = 18 };
    struct rng r = seeded("extremes");
    struct infer_layer l = infer_layer(LINEAR_INT8, N_IN, N_OUT, false, &r);
    const struct kernels_input a = infer_input(N_ROWS, N_IN, 0);

    for (size_t n = 0; n < N_OUT; n++)
        for (size_t k = 0; k < N_IN; k++)
            l.value[k * N_OUT + n] = n % 3 == 0 || (n % 3 == 1 && k % 2) ? 1 : -1;
    infer_pack(&l);
    for (size_t row = 0; row < N_ROWS; row++)
        for (size_t k = 0; k < N_IN; k++)
            a.real[row * a.stride + k] = row % 3 == 0 || (row % 3 == 1 && k % 2) ? 1 : -1;
    for (size_t n = 0; n < N_OUT; n++)
        CHECK(abs(infer_weight(&l, 17, n)) == 127);
    run_int8(&l, &a, N_ROWS, whole(&l, 1));
    run_int8(&l, &a, N_ROWS, whole(&l, N_ROWS));
    guarded_close();
}

/* Those of a foreign file may be anything; what comes of them is a number. */
TEST(sums_that_no_weights_have_do_no_harm)
{
    static const int32_t sums[] = {INT32_MIN, INT32_MAX, 137503280, -1};
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("foreign sums");
    const struct infer_layer l = infer_layer(LINEAR_INT8, 70, 48, true, &r);
    const struct kernels_input a = infer_input(9, 70, 0);

    infer_fill(&a, 9, &r);
    for (size_t i = 0; i < l.n_round; i++)
        l.sum[i] = sums[i % 4];
    for (size_t i = 0; i < v.n; i++)
        for (size_t n = 1; n <= 9; n += 4) {
            float *c = guarded_floats(9 * l.n_round);
            v.k[i]->quantise(&a, 0, 9);
            v.k[i]->multiply(c, l.n_round, &a, &l.w, false, 0, n, 0, l.n_round / 16);
            for (size_t k = 0; k < n * l.n_round; k++)
                CHECK(isfinite(c[k]));
        }
    guarded_close();
}

TEST(numbers_that_are_none_show_in_products_of_int8)
{
    enum { N_IN = 70, N_OUT = 40, N_ROWS = 20 };
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("not a number");

    for (size_t i = 0; i < v.n; i++)
        for (size_t b = 0; b < 3; b++)
            for (int relu = 0; relu < 2; relu++) {
                struct infer_layer l = infer_layer(LINEAR_INT8, N_IN, N_OUT, true, &r);
                const struct kernels_input a = infer_input(N_ROWS, N_IN, 0);
                float *c = guarded_floats(N_ROWS * l.n_round);
                infer_fill(&a, N_ROWS, &r);
                a.real[11 * a.stride + 69] = bad[b];
                l.value[3 * N_OUT + 36] = bad[b];
                l.bias[5] = bad[0];
                infer_pack(&l);
                v.k[i]->quantise(&a, 0, N_ROWS);
                v.k[i]->multiply(c, l.n_round, &a, &l.w, relu, 0, N_ROWS, 0,
                                 l.n_round / 16);
                for (size_t row = 0; row < N_ROWS; row++)
                    for (size_t n = 0; n < N_OUT; n++)
                        CHECK(isfinite(c[row * l.n_round + n]) ==
                              (row != 11 && n != 36 && n != 5));
                guarded_close();
            }
}

/* ---- floats ---- */

static void check_float(const struct infer_layer *l, const struct kernels_input *a,
                        const struct call *call, const float *c)
{
    for (size_t r = 0; r < call->n; r++)
        for (size_t i = 0; i < call->ldc; i++) {
            const float got = c[r * call->ldc + i];
            const float *x = a->real + (call->first + r) * a->stride;
            const size_t col = call->p0 * 16 + i;
            double want = 0, size = 0;
            if (!is_inside(call, r, i)) {
                CHECK(guarded_is_fresh(got));
                continue;
            }
            for (size_t k = 0; k < l->w.n_in && col < l->w.n_out; k++) {
                const double term = (double)x[k] * (double)l->value[k * l->w.n_out + col];
                want += term;
                size += fabs(term);
            }
            if (l->w.bias)
                want += (double)l->bias[col];
            want = call->relu && want < 0 ? 0 : want;
            /* half of a rounding a term would be too strict, all of them too lax */
            CHECK(fabs((double)got - want) <= 1e-6 * (size + fabs(want)));
        }
}

static void run_float(const struct infer_layer *l, const struct kernels_input *a,
                      struct call call)
{
    const struct infer_variants v = infer_variants();

    for (size_t i = 0; i < v.n; i++) {
        float *c = guarded_floats(call.n * call.ldc);
        v.k[i]->multiply(c, call.ldc, a, &l->w, call.relu, call.first, call.n, call.p0,
                         call.p1);
        check_float(l, a, &call, c);
    }
}

TEST(products_of_floats_are_those_in_double)
{
    const size_t n_ins[] = {1, 2, 17, 64, 511, 512, 513, 1030};
    const size_t n_outs[] = {1, 16, 17, 63, 64, 65, 100};
    struct rng r = seeded("floats");

    for (size_t i = 0; i < sizeof n_ins / sizeof *n_ins; i++)
        for (size_t k = 0; k < sizeof n_outs / sizeof *n_outs; k++) {
            const struct infer_layer l =
                infer_layer(LINEAR_FLOAT, n_ins[i], n_outs[k], (i + k) % 2, &r);
            const struct kernels_input a = infer_input(8, n_ins[i], 0);
            struct call call = whole(&l, 8);
            infer_fill(&a, 8, &r);
            call.relu = i % 2;
            run_float(&l, &a, call);
            guarded_close();
        }
}

TEST(products_of_floats_have_every_number_of_rows_and_write_them_alone)
{
    struct rng r = seeded("float rows");

    for (size_t n_rows = 1; n_rows <= 14; n_rows++)
        for (size_t p0 = 0; p0 < 3; p0++) {
            const struct infer_layer l = infer_layer(LINEAR_FLOAT, 530, 136, true, &r);
            const struct kernels_input a = infer_input(n_rows + 3, 530, 32);
            infer_fill(&a, n_rows + 3, &r);
            run_float(&l, &a,
                      (struct call){.first = 2,
                                    .n = n_rows,
                                    .p0 = p0,
                                    .p1 = 9 - p0,
                                    .ldc = (9 - 2 * p0) * 16 + 5,
                                    .relu = n_rows % 2});
            guarded_close();
        }
}

TEST(numbers_that_are_none_show_in_products_of_floats)
{
    enum { N_IN = 600, N_OUT = 40, N_ROWS = 9 };
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("not a float");

    for (size_t i = 0; i < v.n; i++)
        for (size_t b = 0; b < 3; b++) {
            struct infer_layer l = infer_layer(LINEAR_FLOAT, N_IN, N_OUT, false, &r);
            const struct kernels_input a = infer_input(N_ROWS, N_IN, 0);
            float *c = guarded_floats(N_ROWS * l.n_round);
            infer_fill(&a, N_ROWS, &r);
            a.real[7 * a.stride + 555] = bad[b];
            l.value[3 * N_OUT + 36] = bad[b];
            infer_pack(&l);
            v.k[i]->multiply(c, l.n_round, &a, &l.w, false, 0, N_ROWS, 0, l.n_round / 16);
            for (size_t row = 0; row < N_ROWS; row++)
                for (size_t n = 0; n < N_OUT; n++)
                    CHECK(isfinite(c[row * l.n_round + n]) == (row != 7 && n != 36));
            v.k[i]->multiply(c, l.n_round, &a, &l.w, true, 0, N_ROWS, 0, l.n_round / 16);
            CHECK(b != 0 || isnan(c[7 * l.n_round]));
            guarded_close();
        }
}

/* ---- the matrix unit ---- */

TEST(a_real_matrix_unit_is_among_the_variants)
{
    const struct infer_variants v = infer_variants();

    if (!processor_has_amx_int8())
        test_skip("no matrix unit for bytes (AMX) here; its loops ran over an emulated "
                  "one where there is AVX-512 VNNI");
    CHECK_STR(v.k[0]->name, "amx");
    CHECK(kernels_choose("cpu") == v.k[0]);
    CHECK(kernels_choose("cpu-avx512") != v.k[0]);
}

TEST(a_peak_counts_operations_by_the_times_of_its_instruction)
{
    const struct infer_variants v = infer_variants();
    const enum linear_type types[] = {LINEAR_FLOAT, LINEAR_INT8};

    for (size_t i = 0; i < v.n; i++)
        for (size_t t = 0; t < 2; t++) {
            double once, thrice;
            v.k[i]->peak(types[t], 1, &once);
            v.k[i]->peak(types[t], 3, &thrice);
            CHECK(once >= 2 * 12 * 4 && thrice == 3 * once);
        }
}
