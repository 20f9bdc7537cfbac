/* Attention of inference, every variant that runs here, against sums in double; and the
 * same bits in all variants. */
#include "infer_variants.h"

static struct rng seeded(const char *name)
{
    return rng_open(rng_key(test_seed(), name));
}

static void fill(float *x, size_t n, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        x[i] = guarded_unit(r);
}

/* out = softmax(q k' scale) v over the first n keys; key and value j at k[j], v[j]. */
static void attend_in_double(double *out, double *weight, const float *q, const float **k,
                             const float **v, size_t n, size_t d, double scale)
{
    double top = -INFINITY, sum = 0;

    for (size_t j = 0; j < n; j++) {
        weight[j] = 0;
        for (size_t c = 0; c < d; c++)
            weight[j] += (double)q[c] * (double)k[j][c] * scale;
        top = fmax(top, weight[j]);
    }
    for (size_t j = 0; j < n; j++)
        sum += weight[j] = exp(weight[j] - top);
    for (size_t c = 0; c < d; c++)
        out[c] = 0;
    for (size_t j = 0; j < n; j++) {
        weight[j] /= sum;
        for (size_t c = 0; c < d; c++)
            out[c] += weight[j] * (double)v[j][c];
    }
}

enum { KEYS = 80, WIDTH = 1100 };

/* ---- queries that share their keys ---- */

TEST(keys_become_columns_with_zeros_behind_them)
{
    const struct infer_variants v = infer_variants();
    struct rng r = seeded("transpose");

    for (size_t i = 0; i < v.n; i++)
        for (size_t n = 1; n < 40; n += 5)
            for (size_t d = 1; d < 40; d += 6) {
                const size_t stride = d + 3, n_round = linear_round(n, 16);
                float *k = guarded_floats(n * stride), *kt = guarded_floats(d * n_round);
                fill(k, n * stride, &r);
                v.k[i]->transpose(kt, n_round, k, stride, n, d);
                for (size_t c = 0; c < d; c++)
                    for (size_t j = 0; j < n_round; j++)
                        CHECK_BITS(kt[c * n_round + j], j < n ? k[j * stride + c] : 0);
                guarded_close();
            }
}

/* A head among others: what stands behind it in q, v and out is the next one's. */
struct shared {
    size_t n, d, n_rows;
    struct kernels_attend a;
    float *k, *kt, *v, *q, *out, *weights;
    size_t stride, seen[KERNELS_ROWS];
};

static struct shared shared_case(const struct infer_kernels *kernels, size_t n, size_t d,
                                 size_t n_rows, uint64_t key)
{
    struct shared s = {.n = n, .d = d, .n_rows = n_rows};
    const size_t n_round = linear_round(n, 16);
    struct rng r = rng_open(key);

    s.stride = d + 19; /* the values of a head are read a little further */
    s.k = guarded_floats(n * s.stride);
    s.v = guarded_floats(n * s.stride);
    s.q = guarded_floats(KERNELS_ROWS * s.stride);
    s.kt = guarded_floats(d * n_round);
    s.out = guarded_floats(KERNELS_ROWS * s.stride);
    s.weights = guarded_floats(n_rows * n_round);
    fill(s.k, n * s.stride, &r);
    fill(s.v, n * s.stride, &r);
    fill(s.q, KERNELS_ROWS * s.stride, &r);
    for (size_t i = 0; i < n_rows; i++)
        s.seen[i] = i % 2 ? 1 + rng_below(&r, n) : n;
    kernels->transpose(s.kt, n_round, s.k, s.stride, n, d);
    s.a = (struct kernels_attend){
        d, (float)(3 / sqrt((double)d)), s.kt, n, n_round, s.v, s.stride};
    return s;
}

static void run_shared(const struct infer_kernels *kernels, const struct shared *s)
{
    float *out[KERNELS_ROWS];
    const float *q[KERNELS_ROWS];

    for (size_t i = 0; i < KERNELS_ROWS; i++) {
        out[i] = s->out + i * s->stride;
        q[i] = s->q + i * s->stride;
    }
    kernels->attend(out, q, s->n_rows, &s->a, s->seen, s->weights);
}

static void check_shared(const struct shared *s)
{
    const float *k[KEYS], *v[KEYS];
    double want[WIDTH], weight[KEYS];

    for (size_t j = 0; j < s->n; j++) {
        k[j] = s->k + j * s->stride;
        v[j] = s->v + j * s->stride;
    }
    for (size_t i = 0; i < KERNELS_ROWS; i++) {
        const float *out = s->out + i * s->stride, *w = s->weights + i * s->a.n_round;
        if (i < s->n_rows)
            attend_in_double(want, weight, s->q + i * s->stride, k, v, s->seen[i], s->d,
                             (double)s->a.scale);
        for (size_t c = 0; c < s->stride; c++)
            if (i < s->n_rows && c < s->d)
                CHECK_NEAR((double)out[c], want[c], 2e-6);
            else
                CHECK(guarded_is_fresh(out[c]));
        for (size_t j = 0; i < s->n_rows && j < s->a.n_round; j++)
            CHECK_NEAR((double)w[j], j < s->seen[i] ? weight[j] : 0, 2e-6);
    }
}

static const size_t counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 50};
static const size_t heads[] = {1, 4, 8, 15, 16, 17, 20, 32, 40, 48, 64, 72, 100, 520};

TEST(queries_attend_to_the_keys_that_they_see)
{
    const struct infer_variants v = infer_variants();

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
            for (size_t n_rows = 1; n_rows <= KERNELS_ROWS; n_rows++) {
                struct shared first = {0};
                for (size_t k = 0; k < v.n; k++) {
                    const struct shared s =
                        shared_case(v.k[k], counts[i], heads[h], n_rows, i * 100 + h);
                    run_shared(v.k[k], &s);
                    check_shared(&s);
                    first = k ? first : s;
                    CHECK(memcmp(first.out, s.out,
                                 KERNELS_ROWS * s.stride * sizeof *s.out) == 0);
                }
                guarded_close();
            }
}

/* One key has all the weight, and numbers far apart do not overflow. */
TEST(attention_to_one_key_is_its_value)
{
    const struct infer_variants v = infer_variants();

    for (size_t k = 0; k < v.n; k++)
        for (size_t n = 1; n <= 33; n += 16) {
            struct shared s = shared_case(v.k[k], n, 24, 2, 9);
            for (size_t c = 0; c < 24; c++)
                for (size_t j = 0; j < n; j++)
                    s.kt[c * s.a.n_round + j] = j == n / 2 ? s.q[c] * 1e4f : 0;
            s.seen[1] = n;
            run_shared(v.k[k], &s);
            for (size_t c = 0; c < 24; c++)
                CHECK_BITS(s.out[c], s.v[n / 2 * s.stride + c]);
            guarded_close();
        }
}

TEST(a_query_key_or_value_that_is_no_number_shows_in_what_sees_it)
{
    const struct infer_variants v = infer_variants();
    const float bad[] = {NAN, INFINITY, -NAN};

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 21; at++) {
            struct shared s = shared_case(v.k[k], 21, 24, 4, at);
            for (size_t i = 0; i < 4; i++)
                s.seen[i] = 21;
            s.q[2 * s.stride + at] = bad[at % 3];
            run_shared(v.k[k], &s);
            for (size_t i = 0; i < 4; i++)
                CHECK(isfinite(s.out[i * s.stride + 5]) == (i != 2));
            guarded_close();

            s = shared_case(v.k[k], 21, 24, 2, at);
            s.seen[0] = s.seen[1] = 21;
            s.kt[3 * s.a.n_round + at] = bad[at % 3 / 2 * 2]; /* infinite: may weigh 0 */
            run_shared(v.k[k], &s);
            CHECK(isnan(s.out[0]) && isnan(s.out[s.stride + 23]));
            guarded_close();

            s = shared_case(v.k[k], 21, 24, 2, at);
            s.seen[0] = s.seen[1] = 21;
            s.v[at * s.stride + 7] = bad[at % 3];
            run_shared(v.k[k], &s);
            CHECK(isfinite(s.out[6]) && !isfinite(s.out[7]) &&
                  !isfinite(s.out[s.stride + 7]));
            guarded_close();
        }
}

/* ---- a row's own history ---- */

struct own {
    size_t n, d, n_heads, D;
    float *cache, *q, *out, *scratch;
    int32_t *entry;
    struct kernels_history h;
};

/* n entries somewhere in a cache whose others are not numbers. */
static struct own own_case(size_t n, size_t d, size_t n_heads, uint64_t key)
{
    enum { ENTRIES = 2 * KEYS };
    struct own o = {.n = n, .d = d, .n_heads = n_heads, .D = d * n_heads};
    const size_t stride = linear_round(2 * o.D, 16);
    struct rng r = rng_open(key);

    o.cache = guarded_floats((ENTRIES + 1) * stride + 32);
    o.q = guarded_floats(o.D);
    o.out = guarded_floats(o.D + 5);
    o.scratch = guarded_floats(linear_round(n, 16));
    o.entry = guarded_bytes(n * sizeof *o.entry);
    fill(o.q, o.D, &r);
    for (size_t t = 0; t < n; t++) {
        o.entry[t] = (int32_t)((t * 37 + 5) % ENTRIES);
        fill(o.cache + (size_t)o.entry[t] * stride, stride, &r);
    }
    o.h = (struct kernels_history){o.cache, stride, o.D, o.entry, n};
    return o;
}

static void check_own(const struct own *o, double scale)
{
    const float *k[KEYS], *v[KEYS];
    double want[WIDTH], weight[KEYS];

    for (size_t head = 0; head < o->n_heads; head++) {
        for (size_t t = 0; t < o->n; t++) {
            k[t] = o->cache + (size_t)o->entry[t] * o->h.stride + head * o->d;
            v[t] = k[t] + o->D;
        }
        attend_in_double(want, weight, o->q + head * o->d, k, v, o->n, o->d, scale);
        for (size_t c = 0; c < o->d; c++)
            CHECK_NEAR((double)o->out[head * o->d + c], want[c], 2e-6);
    }
    for (size_t c = o->D; c < o->D + 5; c++)
        CHECK(guarded_is_fresh(o->out[c]));
}

TEST(a_row_attends_to_its_own_history)
{
    const struct infer_variants v = infer_variants();

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t h = 0; h < sizeof heads / sizeof *heads; h++)
            for (size_t n_heads = 1; n_heads <= 3; n_heads += 2) {
                struct own first = {0};
                for (size_t k = 0; k < v.n; k++) {
                    const struct own o = own_case(counts[i], heads[h], n_heads, i + h);
                    const float scale = (float)(3 / sqrt((double)heads[h]));
                    v.k[k]->attend_history(o.out, o.q, n_heads, o.d, scale, &o.h,
                                           o.scratch);
                    check_own(&o, (double)scale);
                    first = k ? first : o;
                    CHECK(memcmp(first.out, o.out, o.D * sizeof *o.out) == 0);
                }
                guarded_close();
            }
}

TEST(a_history_that_holds_no_number_shows)
{
    const struct infer_variants v = infer_variants();

    for (size_t k = 0; k < v.n; k++)
        for (size_t at = 0; at < 20; at++)
            for (int is_value = 0; is_value < 2; is_value++) {
                struct own o = own_case(20, 32, 2, at);
                o.cache[(size_t)o.entry[at] * o.h.stride + (is_value ? 64 : 0) + 5] = NAN;
                v.k[k]->attend_history(o.out, o.q, 2, 32, 0.2f, &o.h, o.scratch);
                CHECK(isnan(o.out[5]));
                CHECK(isnan(o.out[6]) == !is_value);
                CHECK(isfinite(o.out[32]) && isfinite(o.out[63]));
                guarded_close();
            }
}
