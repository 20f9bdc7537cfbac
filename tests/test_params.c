#include "find_param.h"

#include <stdlib.h>

#include "recipe/model_config.h"
#include "test.h"

static struct err err;

static struct model_config base(void)
{
    struct model_config c;

    CHECK_OK(model_config_defaults(&c, &err), &err);
    c.vocab_size = 32768;
    return c;
}

static struct params opened(const struct model_config *c)
{
    struct params p;

    CHECK_OK(params_open(&p, c, &err), &err);
    return p;
}

TEST(base_and_big_have_the_sizes_of_the_reference)
{
    struct model_config c = base();
    struct params p = opened(&c);

    CHECK(p.n_elements == 60880896);
    CHECK(p.n_list == 185);
    params_close(&p);
    c.d_model = 1024;
    c.d_ff = 4096;
    c.heads = 16;
    p = opened(&c);
    CHECK(p.n_elements == 209842176);
    CHECK(p.n_list == 185);
    params_close(&p);
}

static void check_tensor(const struct params *p, const char *pattern, int layer,
                         size_t n_dims, const size_t shape[2])
{
    char name[256];
    const char *hole = strchr(pattern, '*');

    if (hole)
        snprintf(name, sizeof name, "%.*s%d%s", (int)(hole - pattern), pattern, layer,
                 hole + 1);
    else
        snprintf(name, sizeof name, "%s", pattern);
    const struct param *t = find_param(p, name);
    if (!t)
        test_fail(__FILE__, __LINE__, "no tensor %s", name);
    CHECK_STR(t->name, name);
    CHECK(t->n_dims == n_dims);
    CHECK(t->rows == (n_dims == 2 ? shape[0] : 1));
    CHECK(t->cols == shape[n_dims - 1]);
}

/* tests/data/base_tensors.txt: name and shape, '*' for layers 0 to 5. */
TEST(names_and_shapes_are_those_of_the_reference_checkpoint)
{
    const struct model_config c = base();
    struct params p = opened(&c);
    FILE *file = fopen(test_data("base_tensors.txt"), "r");
    char pattern[200];
    size_t shape[2], n = 0;
    char line[256];

    CHECK(file);
    while (fgets(line, sizeof line, file)) {
        const int got = sscanf(line, "%199s %zu %zu", pattern, &shape[0], &shape[1]);
        const int copies = strchr(pattern, '*') ? 6 : 1;
        CHECK(got >= 2);
        for (int layer = 0; layer < copies; layer++, n++)
            check_tensor(&p, pattern, layer, (size_t)got - 1, shape);
    }
    fclose(file);
    CHECK(n == p.n_list);
    params_close(&p);
}

TEST(no_two_tensors_share_an_element)
{
    struct model_config c = base();

    c.vocab_size = 1001; /* sizes that leave gaps */
    c.d_model = 10;
    c.d_ff = 7;
    c.heads = 5;
    c.encoder_layers = 3;
    c.decoder_layers = 2;
    struct params p = opened(&c);
    unsigned char *seen = calloc(p.n_flat, 1);
    size_t n = 0;
    for (size_t i = 0; i < p.n_list; i++)
        for (size_t r = 0; r < p.list[i].rows; r++)
            for (size_t col = 0; col < p.list[i].cols; col++, n++) {
                const size_t at = p.list[i].at + r * p.list[i].stride + col;
                CHECK(at < p.n_flat);
                CHECK(!seen[at]++);
            }
    CHECK(n == p.n_elements);
    CHECK(p.n_flat >= n && p.n_flat < n + 16 * p.n_list);
    free(seen);
    params_close(&p);
}

TEST(tensors_of_one_product_lie_side_by_side)
{
    const struct model_config c = base();
    struct params p = opened(&c);

    for (int layer = 0; layer < 6; layer++) {
        const struct param *q = params_get(&p, PARAM_dec_q, layer);
        const struct param *k = params_get(&p, PARAM_cross_k, layer);
        CHECK(q->at % 16 == 0);
        CHECK(q->stride == 1536);
        CHECK(params_get(&p, PARAM_dec_k, layer)->at == q->at + 512);
        CHECK(params_get(&p, PARAM_dec_v, layer)->at == q->at + 1024);
        CHECK(k->stride == 1024);
        CHECK(params_get(&p, PARAM_cross_v, layer)->at == k->at + 512);
    }
    params_close(&p);
}

TEST(a_tensor_is_found_by_id_and_layer)
{
    const struct model_config c = base();
    struct params p = opened(&c);

    for (size_t i = 0; i < p.n_list; i++)
        CHECK(params_get(&p, p.list[i].id, p.list[i].layer) == &p.list[i]);

    params_close(&p);
}

struct moments {
    double mean, deviation, kurtosis, low, high;
};

static struct moments measure(const float *flat, const struct param *t)
{
    struct moments m = {.low = INFINITY, .high = -INFINITY};
    double sum[4] = {0};
    const double n = (double)(t->rows * t->cols);

    for (size_t r = 0; r < t->rows; r++)
        for (size_t col = 0; col < t->cols; col++) {
            const double x = (double)flat[t->at + r * t->stride + col];
            sum[0] += x;
            sum[1] += x * x;
            sum[3] += x * x * x * x;
            m.low = fmin(m.low, x);
            m.high = fmax(m.high, x);
        }
    m.mean = sum[0] / n;
    m.deviation = sqrt(sum[1] / n - m.mean * m.mean);
    m.kurtosis = sum[3] / n / pow(m.deviation, 4);
    return m;
}

static void check_glorot(const struct moments *m, const struct param *t)
{
    const double bound = sqrt(6.0 / (double)(t->rows + t->cols));
    const double n = (double)(t->rows * t->cols);

    CHECK(m->low >= -bound && m->low < -0.999 * bound);
    CHECK(m->high <= bound && m->high > 0.999 * bound);
    CHECK(fabs(m->mean) < 5 * bound / sqrt(3 * n));
    CHECK_NEAR(m->deviation / bound, 1 / sqrt(3.0), 0.005);
    CHECK_NEAR(m->kurtosis, 1.8, 0.01); /* of a uniform distribution */
}

TEST(initial_values_have_the_distributions_of_the_reference)
{
    struct model_config c = base();

    c.encoder_layers = c.decoder_layers = 1;
    struct params p = opened(&c);
    float *flat = malloc(p.n_flat * sizeof *flat);
    params_init(&p, 3, flat);
    for (size_t i = 0; i < p.n_list; i++) {
        const struct param *t = &p.list[i];
        const struct moments m = measure(flat, t);
        if (t->id == PARAM_embed) {
            CHECK(fabs(m.mean) < 5 * 0.0441942 / sqrt(32768.0 * 512));
            CHECK_NEAR(m.deviation / 0.0441942, 1, 0.001);
            CHECK_NEAR(m.kurtosis, 3, 0.01); /* of a normal distribution */
            CHECK(m.high > 4.5 * 0.0441942); /* not truncated */
        } else if (t->n_dims == 2) {
            check_glorot(&m, t);
        } else {
            const double want = strstr(t->name, "layer_norm_scale") != NULL;
            CHECK(m.low == want && m.high == want);
        }
    }
    free(flat);
    params_close(&p);
}

TEST(initial_values_follow_the_seed_and_gaps_are_zero)
{
    struct model_config c = base();

    c.vocab_size = 11;
    c.d_model = 6;
    c.d_ff = 5;
    c.heads = 2;
    struct params p = opened(&c);
    const size_t n_bytes = p.n_flat * sizeof(float);
    float *a = malloc(n_bytes), *b = malloc(n_bytes);
    memset(a, 0xff, n_bytes);
    params_init(&p, 3, a);
    params_init(&p, 3, b);
    CHECK(memcmp(a, b, n_bytes) == 0);
    params_init(&p, 4, b);
    for (size_t i = 0; i < p.n_list; i++)
        if (p.list[i].n_dims == 2)
            CHECK(a[p.list[i].at] != b[p.list[i].at]);
    CHECK(a[66] == 0 && a[79] == 0); /* 11 x 6 elements of the embedding end at 66 */
    CHECK(a[params_get(&p, PARAM_enc_q, 0)->at] != a[params_get(&p, PARAM_enc_q, 1)->at]);
    free(a);
    free(b);
    params_close(&p);
}
