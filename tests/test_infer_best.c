/* Logits that pass by in blocks: the best of them, and what they add to the softmax. */
#include "infer_variants.h"

static struct rng seeded(const char *name)
{
    return rng_open(rng_key(test_seed(), name));
}

enum { MOST = 12 };

/* The best of a row by looking at all of it for each place of the list. */
static size_t want_best(float *top, int32_t *id, size_t n_max, const float *z, size_t n)
{
    bool is_taken[2048] = {0};
    size_t found = 0;

    for (; found < n_max; found++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!is_taken[i] &&
                (best == n || z[i] > z[best] || (isnan(z[i]) && !isnan(z[best]))))
                best = i;
        if (best == n)
            break;
        is_taken[best] = true;
        top[found] = z[best];
        id[found] = (int32_t)best;
    }
    return found;
}

/* z is entered in pieces of this length. */
static void check_best(const struct infer_kernels *k, const float *z, size_t n,
                       size_t n_max, size_t piece)
{
    float *top = guarded_floats(n_max), want[MOST];
    int32_t *id = guarded_bytes(n_max * sizeof *id), want_id[MOST];
    struct kernels_best b = {.top = top, .id = id, .n_max = n_max};
    const size_t n_want = want_best(want, want_id, n_max, z, n);

    for (size_t at = 0; at < n; at += piece) {
        const size_t end = at + piece < n ? at + piece : n;
        k->pick(&b, NULL, (float *)z + at, end - at, NULL, (int32_t)at);
    }
    CHECK(b.n == n_want);
    for (size_t i = 0; i < b.n; i++) {
        CHECK(b.id[i] == want_id[i]);
        CHECK_BITS(b.top[i], want[i]);
    }
}

TEST(the_best_of_a_row_come_sorted_and_of_equal_ones_the_lower_id)
{
    const size_t sizes[] = {1, 2, 16, 127, 128, 129, 511, 512, 513, 1100};
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("best");

    for (size_t k = 0; k < v.n; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t n_max = 1; n_max <= MOST; n_max += 3)
                for (size_t levels = 1; levels < 1000; levels *= 9) {
                    float *z = guarded_floats(sizes[s]);
                    for (size_t i = 0; i < sizes[s]; i++) /* few levels: many ties */
                        z[i] = (float)rng_below(&r, levels) - 3;
                    check_best(v.k[k], z, sizes[s], n_max, 512);
                    check_best(v.k[k], z, sizes[s], n_max, 1);
                    check_best(v.k[k], z, sizes[s], n_max, 130);
                    guarded_close();
                }
}

/* The last of a block, the first of the next one, and rising ones. */
TEST(a_best_token_is_found_at_every_place)
{
    const struct infer_variants v = infer_variants();

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 300; at++) {
            float *z = guarded_floats(300);
            for (size_t i = 0; i < 300; i++)
                z[i] = -1 - (float)i;
            z[at] = 5;
            check_best(v.k[k], z, 300, 4, 300);
            for (size_t i = 0; i < 300; i++)
                z[i] = (float)i - 1000;
            z[at] = -INFINITY;
            check_best(v.k[k], z, 300, 4, 300);
            guarded_close();
        }
}

TEST(ids_of_a_shortlist_are_entered_in_place_of_numbers)
{
    const struct infer_variants v = infer_variants();
    const uint16_t ids[] = {9, 11, 70, 65535};
    float z[] = {1, 3, 2, 3};

    for (size_t k = 0; k < v.n; k++) {
        float top[3];
        int32_t id[3];
        struct kernels_best b = {.top = top, .id = id, .n_max = 3};
        v.k[k]->pick(&b, NULL, z, 4, ids, 1000);
        CHECK(b.n == 3 && id[0] == 11 && id[1] == 65535 && id[2] == 70);
    }
}

/* Whoever takes the best token must see it, at whatever place it was. */
TEST(a_logit_that_is_no_number_comes_first)
{
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("nan");

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 600; at += 7) {
            float *z = guarded_floats(600);
            for (size_t i = 0; i < 600; i++)
                z[i] = guarded_unit(&r);
            z[at] = at % 2 ? NAN : -NAN;
            check_best(v.k[k], z, 600, 4, 512);
            check_best(v.k[k], z, 600, 1, 130);
            z[(at + 300) % 600] = NAN;
            z[(at + 100) % 600] = INFINITY;
            check_best(v.k[k], z, 600, 4, 512);
            guarded_close();
        }
}

TEST(the_mass_of_a_block_is_that_in_double_and_the_same_in_all_variants)
{
    const size_t sizes[] = {1, 2, 15, 16, 17, 511, 512, 513};
    const struct infer_variants v = infer_variants();

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (double spread = 0.1; spread < 200; spread *= 10) {
            struct kernels_mass first = {0};
            for (size_t k = 0; k < v.n; k++) {
                const size_t n = sizes[s], n_round = linear_round(n, 16);
                struct rng r = seeded("mass");
                float *z = guarded_floats(n_round + 16);
                struct kernels_mass m;
                double top = -INFINITY, sum = 0;
                for (size_t i = 0; i < n; i++) {
                    z[i] = (float)(spread * (rng_unit(&r) - 0.5)) - 3;
                    top = fmax(top, (double)z[i]);
                }
                for (size_t i = 0; i < n; i++)
                    sum += exp((double)z[i] - top);
                v.k[k]->pick(NULL, &m, z, n, NULL, 0);
                CHECK((double)m.max == top);
                CHECK_NEAR((double)m.sum, sum, 3e-7);
                CHECK(guarded_is_fresh(z[n_round]));
                first = k ? first : m;
                CHECK_BITS(m.sum, first.sum);
                guarded_close();
            }
        }
}

/* The checksum is one of x86-64; ARM64 is held to it. */
TEST(the_mass_has_the_same_bits_on_every_machine)
{
    const struct infer_variants v = infer_variants();

    for (size_t k = 0; k < v.n; k++) {
        uint64_t sum = 0;
        struct rng r = rng_open(3);
        for (size_t n = 1; n <= 512; n += 73) {
            float z[512];
            struct kernels_mass m;
            for (size_t i = 0; i < n; i++)
                z[i] = 20 * guarded_unit(&r);
            v.k[k]->pick(NULL, &m, z, n, NULL, 0);
            sum = guarded_sum(sum, &m, sizeof m);
        }
        if (sum != 0x73239ce7d61abe2d)
            test_fail(__FILE__, __LINE__, "%s: %#llx", v.k[k]->name,
                      (unsigned long long)sum);
    }
}

TEST(a_logit_that_is_no_number_shows_in_the_mass)
{
    const struct infer_variants v = infer_variants();
    const float bad[] = {NAN, -NAN, INFINITY};
    struct rng r = seeded("mass nan");

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 40; at++) {
            float z[48];
            struct kernels_mass m;
            for (size_t i = 0; i < 40; i++)
                z[i] = guarded_unit(&r);
            z[at] = bad[at % 3];
            v.k[k]->pick(NULL, &m, z, 40, NULL, 0);
            CHECK(isnan(m.sum));
        }
}
