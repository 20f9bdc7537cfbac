/*
 * Dropout masks: kept at the right rate, independent over keys, pairs, positions and
 * channels, the same bits on every device and in every kernel. Keys are fixed, so that
 * bounds of four standard deviations hold or fail for ever.
 */
#include <stdlib.h>

#include "base/rng.h"
#include "device/device.h"
#include "kernel_cases/mask.h"
#include "reals.h"
#include "test.h"

static const char *const kinds[] = {"cpu", "cpu-avx512", "cpu-avx2", "cpu-plain",
                                    "double"};
enum { N_KINDS = sizeof kinds / sizeof *kinds, ROWS_N = 120, COLS_N = 300 };
static const size_t n_elements = (size_t)ROWS_N * COLS_N;

/* Token r of 120: pair r / 8, position r % 8. */
static void tokens(int32_t *pair, int32_t *pos)
{
    for (int r = 0; r < ROWS_N; r++) {
        pair[r] = r / 8;
        pos[r] = r % 8;
    }
}

/* The mask of all tokens, as relu_forward shows it on ones. */
static void masks(double *mask_out, const char *kind, uint64_t key, double rate)
{
    int32_t pair[ROWS_N], pos[ROWS_N];
    struct device d;

    tokens(pair, pos);
    reals_device(&d, kind, 2);
    const struct mat h = reals_filled(&d, ROWS_N, COLS_N, 1);
    const struct mat bias = reals_mat(&d, 1, COLS_N, NULL);
    const struct drop drop = {.key = key,
                              .rate = rate,
                              .pair = reals_ids(&d, ROWS_N, pair),
                              .pos = reals_ids(&d, ROWS_N, pos)};
    d.k->relu_forward(&d, h, bias, drop);
    reals_read(&d, mask_out, h);
    device_free(&d, h.mem);
    device_free(&d, bias.mem);
    device_free(&d, drop.pair.mem);
    device_free(&d, drop.pos.mem);
    device_close(&d);
}

static void check_rate(const char *what, size_t hits, size_t n, double p, double sigmas)
{
    const double sigma = sqrt(p * (1 - p) / (double)n);

    if (!(fabs((double)hits / (double)n - p) <= sigmas * sigma))
        test_fail(__FILE__, __LINE__, "%s: %zu of %zu, want %.4f +- %.4f", what, hits, n,
                  p, sigmas * sigma);
}

TEST(channels_are_kept_at_the_asked_rate_and_scaled_by_it)
{
    const double rates[] = {0.05, 0.1, 0.3, 0.5, 0.9};
    double *m = malloc(n_elements * sizeof *m);

    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        for (uint64_t key = 1; key <= 3; key++) {
            size_t kept = 0;
            masks(m, "double", rng_hash(key, i), rates[i]);
            for (size_t e = 0; e < n_elements; e++) {
                CHECK(m[e] == 0 || m[e] == 1 / (1 - rates[i]));
                kept += m[e] > 0;
            }
            check_rate("kept", kept, n_elements, 1 - rates[i], 4);
        }
    free(m);
}

TEST(every_row_and_every_channel_is_kept_at_that_rate)
{
    double *m = malloc(n_elements * sizeof *m);
    size_t row[ROWS_N] = {0}, col[COLS_N] = {0};

    masks(m, "double", 77, 0.3);
    for (size_t e = 0; e < n_elements; e++) {
        row[e / COLS_N] += m[e] > 0;
        col[e % COLS_N] += m[e] > 0;
    }
    for (size_t r = 0; r < ROWS_N; r++)
        check_rate("a row", row[r], COLS_N, 0.7, 4.5);
    for (size_t c = 0; c < COLS_N; c++)
        check_rate("a channel", col[c], ROWS_N, 0.7, 4.5);
    free(m);
}

/* Two independent masks agree at p^2 + (1 - p)^2 of their elements. */
static void check_independent(const char *what, const double *a, const double *b,
                              size_t n)
{
    size_t same = 0;

    for (size_t e = 0; e < n; e++)
        same += (a[e] > 0) == (b[e] > 0);
    check_rate(what, same, n, 0.7 * 0.7 + 0.3 * 0.3, 4);
}

TEST(masks_of_different_keys_pairs_positions_and_channels_are_independent)
{
    const size_t n = n_elements, pair = (size_t)8 * COLS_N;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);

    masks(a, "double", 1000, 0.3);
    for (int bit = 0; bit < 64; bit += 7) {
        masks(b, "double", 1000 ^ (uint64_t)1 << bit, 0.3);
        check_independent("keys one bit apart", a, b, n);
    }
    check_independent("next position", a, a + COLS_N, n - COLS_N);
    check_independent("next pair", a, a + pair, n - pair);
    check_independent("next channel", a, a + 1, n - 1);
    check_independent("channel after that", a, a + 2, n - 2);
    check_independent("channel sixteen on", a, a + 16, n - 16);
    free(a);
    free(b);
}

TEST(a_mask_is_the_documented_function_on_every_device)
{
    const uint64_t key = 0xfedcba9876543210u;
    double *m = malloc(n_elements * sizeof *m);
    int32_t pair[ROWS_N], pos[ROWS_N];

    tokens(pair, pos);
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        masks(m, kinds[kind], key, 0.37);
        for (size_t r = 0; r < ROWS_N; r++)
            for (size_t c = 0; c < COLS_N; c++)
                CHECK((m[r * COLS_N + c] > 0) ==
                      mask_keeps(key, 0.37, pair[r], pos[r], c));
    }
    free(m);
}

/* x = base + drop(f): where f was dropped, df is 0, and nowhere else. */
TEST(backward_drops_the_channels_that_forward_dropped)
{
    enum { N = 40, D = 37 };
    int32_t pair[N], pos[N];
    double x[N * D], df[N * D], y[N * D], dtable[N * D];

    for (int r = 0; r < N; r++) {
        pair[r] = r * 1000003;
        pos[r] = r;
    }
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        const struct mat none = {0};
        reals_device(&d, kinds[kind], 2);
        const struct mat zero = reals_mat(&d, N, D, NULL), X = reals_mat(&d, N, D, NULL);
        const struct mat ones = reals_filled(&d, N, D, 1), Y = reals_mat(&d, N, D, NULL);
        const struct mat stats = reals_filled(&d, N, 2, 1);
        const struct mat dx = reals_mat(&d, N, D, NULL), f = reals_mat(&d, N, D, NULL);
        const struct mat sums = reals_mat(&d, 3, D, NULL);
        const struct ids rows = reals_ids(&d, N, pos);
        const struct drop drop = {
            .key = 5, .rate = 0.4, .pair = reals_ids(&d, N, pair), .pos = rows};
        void *const mem[] = {zero.mem, X.mem, ones.mem, Y.mem,    stats.mem,
                             dx.mem,   f.mem, sums.mem, rows.mem, drop.pair.mem};

        d.k->norm_forward(&d, X, Y, stats, zero, ones, none, mat_rows(ones, 0, 1),
                          mat_rows(zero, 0, 1), 1e-6, drop);
        reals_read(&d, x, X);
        d.k->norm_backward(&d, dx, f, mat_rows(sums, 0, 1), mat_rows(sums, 1, 1), none,
                           zero, ones, X, stats, mat_rows(ones, 0, 1), drop);
        reals_read(&d, df, f);
        d.k->embed_forward(&d, Y, ones, ones, rows, 1, drop);
        reals_read(&d, y, Y);
        d.k->fill(&d, dx, 0);
        d.k->embed_backward(&d, dx, ones, rows, 1, drop);
        reals_read(&d, dtable, dx);
        for (int e = 0; e < N * D; e++) {
            CHECK((x[e] > 0) == (df[e] > 0));
            CHECK((x[e] > 0) == (y[e] > 0));
            CHECK((x[e] > 0) == (dtable[e] > 0));
        }
        for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
            device_free(&d, mem[i]);
        device_close(&d);
    }
}

TEST(without_dropout_no_kernel_asks_which_pair_a_row_belongs_to)
{
    enum { N = 3, D = 5 };
    const int32_t pos[N] = {0, 1, 2}, at[2] = {0, N};
    const struct mat none = {0};
    const struct drop quiet = {.rate = 0};

    for (size_t kind = 0; kind < N_KINDS; kind++) {
        struct device d;
        double got[N * D] = {0};
        reals_device(&d, kinds[kind], 1);
        const struct mat a = reals_filled(&d, N, D, 1), b = reals_filled(&d, N, D, 2);
        const struct mat c = reals_mat(&d, N, D, NULL), e = reals_mat(&d, N, D, NULL);
        const struct mat stats = reals_mat(&d, N, 2, NULL),
                         row = reals_mat(&d, 3, D, NULL);
        const struct ids id = reals_ids(&d, N, pos), sent = reals_ids(&d, 2, at);
        const struct drop placed = {.pos = id};
        const struct attend how = {
            .q_at = sent, .k_at = sent, .n_sents = 1, .heads = 1, .max_q = N, .max_k = N};
        void *const mem[] = {a.mem,     b.mem,   c.mem,  e.mem,
                             stats.mem, row.mem, id.mem, sent.mem};

        d.k->embed_forward(&d, c, a, b, id, 3, placed);
        reals_read(&d, got, c);
        CHECK(got[0] == 5);
        d.k->embed_backward(&d, c, a, id, 3, placed);
        reals_read(&d, got, c);
        CHECK(got[0] == 8);
        d.k->norm_forward(&d, c, e, stats, a, b, none, mat_rows(a, 0, 1),
                          mat_rows(a, 0, 1), 1, quiet);
        d.k->norm_backward(&d, e, c, mat_rows(row, 0, 1), mat_rows(row, 1, 1), none, a, b,
                           b, stats, mat_rows(a, 0, 1), quiet);
        d.k->relu_forward(&d, a, mat_rows(b, 0, 1), quiet);
        d.k->attention_forward(&d, c, mat_cols(stats, 0, 1), a, b, b, how);
        reals_read(&d, got, c);
        CHECK_NEAR(got[0], 2, 1e-6);
        for (size_t i = 0; i < sizeof mem / sizeof *mem; i++)
            device_free(&d, mem[i]);
        device_close(&d);
    }
}
