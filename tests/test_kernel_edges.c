/*
 * Kernels at the edges: the exponential over its whole range, logits that are huge, equal
 * or not numbers, a single key, ties, constant rows, scratch memory to its last byte.
 */
#include <float.h>
#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "reals.h"
#include "test.h"

static const char *const kinds[] = {"cpu", "cpu-avx512", "cpu-avx2", "cpu-plain",
                                    "double"};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static struct err err;

/*
 * e^x through attention_backward: with one query q = 1, keys x, lse 0 and dout = 1 the
 * gradient of value j is p_j = vexp(x_j), untouched by other arithmetic.
 */
static void exponentials(struct device *d, double *y, const double *x, size_t n)
{
    const double one = 1;
    const int32_t q_at[2] = {0, 1}, k_at[2] = {0, (int32_t)n};
    const struct mat unit = reals_mat(d, 1, 1, &one), zero = reals_mat(d, 1, 1, NULL);
    const struct mat k = reals_mat(d, n, 1, x), v = reals_mat(d, n, 1, NULL);
    const struct mat dq = reals_mat(d, 1, 1, NULL), dk = reals_mat(d, n, 1, NULL);
    const struct mat dv = reals_mat(d, n, 1, NULL);
    const struct attend a = {.q_at = reals_ids(d, 2, q_at),
                             .k_at = reals_ids(d, 2, k_at),
                             .n_sents = 1,
                             .heads = 1,
                             .max_q = 1,
                             .max_k = n};
    void *const mem[] = {unit.mem, zero.mem, k.mem,      v.mem,     dq.mem,
                         dk.mem,   dv.mem,   a.q_at.mem, a.k_at.mem};

    CHECK_OK(device_reserve_attention(d, 1, n, &err), &err);
    d->k->attention_backward(d, dq, dk, dv, unit, zero, zero, unit, k, v, a);
    reals_read(d, y, dv);
    for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
        device_free(d, mem[i]);
}

TEST(exponential_is_within_2_5_units_in_the_last_place)
{
    enum { N = 20000, ROUNDS = 8 };
    double *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);

    for (size_t kind = 0; kind < 3; kind++) {
        struct rng r = rng_open(rng_key(test_seed(), "exponential"));
        struct device d;
        double worst = 0;
        reals_device(&d, kinds[kind], 1);
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < N; i++)
                x[i] = (double)(float)(i % 4 ? 175 * rng_unit(&r) - 87
                                             : -ldexp(rng_unit(&r), -(int)(i % 30)));
            exponentials(&d, y, x, N);
            for (size_t i = 0; i < N; i++) {
                const double want = exp(x[i]), unit = ldexp(1, ilogb(want) - 23);
                worst = fmax(worst, fabs(y[i] - want) / unit);
            }
        }
        if (!(worst <= 2.5))
            test_fail(__FILE__, __LINE__, "%s is off by %.2f units", d.name, worst);
        device_close(&d);
    }
    free(x);
    free(y);
}

TEST(exponential_never_overflows_or_becomes_a_denormal)
{
    const double x[] = {0, -87, -88, -104, -1e4, -3e38, 88, 89, 1e4, (double)NAN};
    double y[10];

    for (size_t kind = 0; kind < 3; kind++) {
        struct device d;
        reals_device(&d, kinds[kind], 1);
        exponentials(&d, y, x, 10);
        CHECK(y[0] == 1);
        for (int i = 1; i <= 5; i++)
            CHECK(y[i] >= (double)FLT_MIN && y[i] < 2e-38);
        for (int i = 6; i <= 8; i++)
            CHECK(y[i] > 1.6e38 && y[i] <= (double)FLT_MAX);
        CHECK(isnan(y[9]));
        device_close(&d);
    }
}

enum { VOCAB = 9 };

/* One row of cross-entropy: z becomes its gradient. */
static double row_loss(struct device *d, double *z, int32_t label, double smooth,
                       int32_t *best)
{
    const int32_t none = -7;
    const struct mat logits = reals_mat(d, 1, VOCAB, z), loss = reals_mat(d, 1, 1, NULL);
    const struct ids l = reals_ids(d, 1, &label), b = reals_ids(d, 1, &none);
    double value;

    d->k->xent(d, loss, b, logits, l, (struct smoothing){.rate = smooth}, 1);
    reals_read(d, z, logits);
    reals_read(d, &value, loss);
    device_download_ids(d, best, b);
    device_free(d, logits.mem);
    device_free(d, loss.mem);
    device_free(d, l.mem);
    device_free(d, b.mem);
    return value;
}

TEST(loss_of_huge_logits_is_finite_and_right)
{
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        int32_t best;
        reals_device(&d, kinds[kind], 1);
        for (int32_t label = 0; label < VOCAB; label++) {
            double z[VOCAB] = {[3] = 1e4, [5] = -1e4};
            const double want = 1e4 - z[label];
            CHECK_NEAR(row_loss(&d, z, label, 0, &best), want, 1e-6);
            CHECK(best == 3);
            for (int v = 0; v < VOCAB; v++)
                CHECK_NEAR(z[v], (v == 3) - (v == label), 1e-6);
        }
        device_close(&d);
    }
}

TEST(loss_of_equal_logits_is_that_of_a_guess)
{
    const double s = 0.1, low = s / (VOCAB - 1);
    const double least = -(1 - s) * log(1 - s) - s * log(low);

    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        int32_t best;
        reals_device(&d, kinds[kind], 1);
        for (int level = -2; level <= 2; level++) {
            double z[VOCAB];
            for (int v = 0; v < VOCAB; v++)
                z[v] = 25 * level;
            CHECK_NEAR(row_loss(&d, z, VOCAB - 1, s, &best), log(VOCAB) - least, 1e-5);
            CHECK(best == 0);
            for (int v = 0; v < VOCAB - 1; v++)
                CHECK_NEAR(z[v], 1.0 / VOCAB - low, 1e-7);
            CHECK_NEAR(z[VOCAB - 1], 1.0 / VOCAB - (1 - s), 1e-7);
        }
        device_close(&d);
    }
}

TEST(loss_is_not_a_number_when_any_logit_is_not)
{
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        int32_t best;
        reals_device(&d, kinds[kind], 1);
        for (int at = 0; at < VOCAB; at++)
            for (int32_t label = 0; label < VOCAB; label++) {
                double z[VOCAB] = {1, 2, 3};
                z[at] = (double)NAN;
                CHECK(isnan(row_loss(&d, z, label, label % 2 * 0.1, &best)));
                CHECK(best >= 0 && best < VOCAB);
            }
        device_close(&d);
    }
}

/* The K best of one row of VOCAB logits. */
static void row_top(struct device *d, double *top, int32_t *id, size_t K, const double *z)
{
    int32_t none[2 * VOCAB] = {0};
    const struct mat logits = reals_mat(d, 1, VOCAB, z), t = reals_mat(d, 1, K, NULL);
    const struct ids i = reals_ids(d, K, none);

    d->k->topk(d, t, i, logits);
    reals_read(d, top, t);
    device_download_ids(d, id, i);
    device_free(d, logits.mem);
    device_free(d, t.mem);
    device_free(d, i.mem);
}

TEST(of_equal_logits_the_lower_id_comes_first)
{
    const double z[VOCAB] = {1, 4, 4, 0, 4, 7, 1, 7, 4};
    const int32_t want[VOCAB] = {5, 7, 1, 2, 4, 8, 0, 6, 3};

    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        double top[VOCAB];
        int32_t id[VOCAB];
        reals_device(&d, kinds[kind], 1);
        for (size_t K = 1; K <= VOCAB; K++) {
            row_top(&d, top, id, K, z);
            for (size_t i = 0; i < K; i++)
                CHECK(id[i] == want[i]);
        }
        device_close(&d);
    }
}

TEST(top_of_a_row_with_a_nan_is_distinct_ids_without_a_probability)
{
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        double top[VOCAB];
        int32_t id[VOCAB];
        reals_device(&d, kinds[kind], 1);
        for (int at = 0; at < VOCAB; at++) {
            double z[VOCAB] = {1, 4, 4, 0, 4, 7, 1, 7, 4};
            unsigned seen = 0;
            z[at] = (double)NAN;
            row_top(&d, top, id, 4, z);
            for (int i = 0; i < 4; i++) {
                CHECK(isnan(top[i]));
                CHECK(id[i] >= 0 && id[i] < VOCAB && !(seen & 1u << id[i]));
                seen |= 1u << id[i];
            }
        }
        device_close(&d);
    }
}

/* Queries of one sentence over one key, without dropout; gradients too. */
TEST(attention_to_one_key_is_its_value_and_has_no_gradient_in_the_scores)
{
    enum { Q = 3, D = 10 };
    const int32_t q_at[2] = {0, Q}, k_at[2] = {0, 1};
    struct rng r = rng_open(rng_key(test_seed(), "one key"));
    double x[4][Q * D], got[Q * D];

    for (int i = 0; i < 4 * Q * D; i++)
        x[i / (Q * D)][i % (Q * D)] = (double)(float)rng_normal(&r);
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        reals_device(&d, kinds[kind], 1);
        const struct mat q = reals_mat(&d, Q, D, x[0]), k = reals_mat(&d, 1, D, x[1]);
        const struct mat v = reals_mat(&d, 1, D, x[2]), dout = reals_mat(&d, Q, D, x[3]);
        const struct mat out = reals_mat(&d, Q, D, NULL), lse = reals_mat(&d, Q, 2, NULL);
        const struct mat dq = reals_filled(&d, Q, D, 9), dk = reals_filled(&d, 1, D, 9);
        const struct mat dv = reals_filled(&d, 1, D, 9);
        const struct attend a = {.q_at = reals_ids(&d, 2, q_at),
                                 .k_at = reals_ids(&d, 2, k_at),
                                 .n_sents = 1,
                                 .heads = 2,
                                 .max_q = Q,
                                 .max_k = 1};
        void *const mem[] = {q.mem,  k.mem,  v.mem,  dout.mem,   out.mem,   lse.mem,
                             dq.mem, dk.mem, dv.mem, a.q_at.mem, a.k_at.mem};

        d.k->attention_forward(&d, out, lse, q, k, v, a);
        reals_read(&d, got, out);
        for (int i = 0; i < Q * D; i++)
            CHECK(got[i] == x[2][i % D]);
        d.k->attention_backward(&d, dq, dk, dv, dout, out, lse, q, k, v, a);
        reals_read(&d, got, dq);
        for (int i = 0; i < Q * D; i++)
            CHECK_NEAR(got[i], 0, 1e-5);
        reals_read(&d, got, dk);
        for (int c = 0; c < D; c++)
            CHECK_NEAR(got[c], 0, 1e-5);
        reals_read(&d, got, dv);
        for (int c = 0; c < D; c++)
            CHECK_NEAR(got[c], x[3][c] + x[3][D + c] + x[3][2 * D + c], 1e-5);
        for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
            device_free(&d, mem[i]);
        device_close(&d);
    }
}

/* One query over keys with scores of 0, 1e4 and -1e4: the largest takes it all. */
TEST(attention_with_huge_scores_is_finite_and_right)
{
    enum { KEYS = 21, BEST = 13 };
    const int32_t q_at[2] = {0, 1}, k_at[2] = {0, KEYS};
    double k[KEYS] = {[3] = -1e4, [BEST] = 1e4}, v[KEYS], out, lse;

    for (int i = 0; i < KEYS; i++)
        v[i] = i;
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        reals_device(&d, kinds[kind], 1);
        const struct mat q = reals_filled(&d, 1, 1, 1), o = reals_mat(&d, 1, 1, NULL);
        const struct mat K = reals_mat(&d, KEYS, 1, k), V = reals_mat(&d, KEYS, 1, v);
        const struct mat l = reals_mat(&d, 1, 1, NULL);
        const struct attend a = {.q_at = reals_ids(&d, 2, q_at),
                                 .k_at = reals_ids(&d, 2, k_at),
                                 .n_sents = 1,
                                 .heads = 1,
                                 .max_q = 1,
                                 .max_k = KEYS};
        void *const mem[] = {q.mem, o.mem, K.mem, V.mem, l.mem, a.q_at.mem, a.k_at.mem};

        d.k->attention_forward(&d, o, l, q, K, V, a);
        reals_read(&d, &out, o);
        reals_read(&d, &lse, l);
        CHECK_NEAR(out, BEST, 1e-7);
        CHECK_NEAR(lse, 1e4, 1e-7);
        for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
            device_free(&d, mem[i]);
        device_close(&d);
    }
}

/* Scratch memory is exactly what model_reserve asks for; a sanitizer sees one byte more.
 */
TEST(attention_over_a_very_long_sentence_stays_inside_its_scratch)
{
    const size_t KEYS = 1500, WIDTH = 64;
    const int32_t q_at[2] = {0, 1}, k_at[2] = {0, (int32_t)KEYS};
    double *x = malloc(sizeof *x * KEYS * WIDTH), sum = 0;
    struct device d;

    reals_device(&d, "double", 1);
    CHECK_OK(device_reserve_attention(&d, WIDTH, KEYS, &err), &err);
    const struct mat q = reals_filled(&d, 1, WIDTH, 0.1);
    const struct mat k = reals_filled(&d, KEYS, WIDTH, 0.3);
    const struct mat v = reals_filled(&d, KEYS, WIDTH, 0.7);
    const struct mat out = reals_mat(&d, 1, WIDTH, NULL), lse = reals_mat(&d, 1, 1, NULL);
    const struct mat dq = reals_mat(&d, 1, WIDTH, NULL);
    const struct mat dk = reals_mat(&d, KEYS, WIDTH, NULL);
    const struct mat dv = reals_mat(&d, KEYS, WIDTH, NULL);
    const struct attend a = {.q_at = reals_ids(&d, 2, q_at),
                             .k_at = reals_ids(&d, 2, k_at),
                             .n_sents = 1,
                             .heads = 1,
                             .max_q = 1,
                             .max_k = KEYS};
    void *const mem[] = {q.mem,  k.mem,  v.mem,  out.mem,    lse.mem,
                         dq.mem, dk.mem, dv.mem, a.q_at.mem, a.k_at.mem};

    d.k->attention_forward(&d, out, lse, q, k, v, a);
    reals_read(&d, x, out);
    for (size_t c = 0; c < WIDTH; c++)
        CHECK_NEAR(x[c], 0.7, 1e-12);
    d.k->attention_backward(&d, dq, dk, dv, q, out, lse, q, k, v, a);
    reals_read(&d, x, dv);
    for (size_t i = 0; i < KEYS; i++)
        sum += x[i * WIDTH];
    CHECK_NEAR(sum, 0.1, 1e-12);
    for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
        device_free(&d, mem[i]);
    free(x);
    device_close(&d);
}

TEST(relu_lets_a_nan_pass)
{
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        double h[19];
        struct device d;
        reals_device(&d, kinds[kind], 1);
        for (int i = 0; i < 19; i++)
            h[i] = i % 3 == 0 ? (double)NAN : i - 9;
        const struct mat m = reals_mat(&d, 1, 19, h), bias = reals_mat(&d, 1, 19, NULL);
        d.k->relu_forward(&d, m, bias, (struct drop){0});
        reals_read(&d, h, m);
        for (int i = 0; i < 19; i++)
            CHECK(i % 3 == 0 ? isnan(h[i]) : h[i] == fmax(0, i - 9));
        device_free(&d, m.mem);
        device_free(&d, bias.mem);
        device_close(&d);
    }
}

TEST(norm_of_a_constant_row_is_its_bias)
{
    enum { D = 21 };

    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        double got[D] = {0};
        const struct mat none = {0};
        reals_device(&d, kinds[kind], 1);
        const struct mat x = reals_filled(&d, 1, D, 0.7), y = reals_mat(&d, 1, D, NULL);
        const struct mat gain = reals_filled(&d, 1, D, 2),
                         stats = reals_mat(&d, 1, 2, NULL);
        const struct mat bias = reals_filled(&d, 1, D, 0.25);
        void *const mem[] = {x.mem, y.mem, gain.mem, stats.mem, bias.mem};

        d.k->norm_forward(&d, x, y, stats, x, none, none, gain, bias, 1e-6,
                          (struct drop){0});
        reals_read(&d, got, y);
        for (int c = 0; c < D; c++)
            CHECK_NEAR(got[c], 0.25, 1e-3); /* the mean's last bit times 1/sqrt(1e-6) */
        for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
            device_free(&d, mem[i]);
        device_close(&d);
    }
}
