/*
 * Pairs that count otherwise than once. The gradient of a batch is the sum of those of
 * its sentences, each times its weight; an update divides by the target tokens, each
 * counted as often as its pair counts, whatever the ranks, micro-batches and stops; and
 * weights of 1 change no byte.
 */
#include "base/rng.h"
#include "corpus/batch.h"
#include "golden_model.h"
#include "model/activations.h"
#include "model/model.h"
#include "reals.h"
#include "test.h"
#include "weighed.h"

static struct err err;

/* ---- the model ---- */

enum { SENTS = 36, MOST = 1 << 13 };

static void open_model(struct model *m, struct device *d)
{
    const struct model_config c = {.vocab_size = 13,
                                   .d_model = 8,
                                   .d_ff = 10,
                                   .heads = 2,
                                   .encoder_layers = 1,
                                   .decoder_layers = 2,
                                   .norm_epsilon = 1e-6,
                                   .arch = {.has_output_bias = true}};

    CHECK_OK(model_open(m, d, &c, true, &err), &err);
    golden_weights(m, test_seed());
    CHECK(m->params.n_flat <= MOST);
}

/* Sentence `pair`: some are so long that a chunk of logits ends within them. */
static void add_pair(struct packed *p, int32_t pair)
{
    struct rng r = rng_open(rng_hash(rng_key(test_seed(), "ids"), (uint64_t)pair));
    int32_t src[8], tgt[60];
    const size_t n_src = 1 + rng_below(&r, 7), n_tgt = 1 + rng_below(&r, 59);

    for (size_t i = 0; i < n_src; i++)
        src[i] = (int32_t)rng_below(&r, 13);
    for (size_t i = 0; i < n_tgt; i++)
        tgt[i] = (int32_t)rng_below(&r, 13);
    packed_add(p, pair, src, n_src, tgt, n_tgt);
}

/* The pairs of a list; with views all of them again, as others. */
static void pack(struct packed *p, const int32_t *pair, size_t n, bool has_views)
{
    packed_begin(p);
    for (size_t i = 0; i < n; i++)
        add_pair(p, pair[i]);
    for (size_t i = 0; i < n && has_views; i++) {
        const size_t first = p->batch.n_src, last = p->batch.n_tgt;
        add_pair(p, pair[i]);
        for (size_t k = first; k < p->batch.n_src; k++)
            p->src_pair[k] = ~pair[i];
        for (size_t k = last; k < p->batch.n_tgt; k++)
            p->tgt_pair[k] = ~pair[i];
    }
}

static void run(struct model *m, struct packed *p, const float *weight,
                struct views views, double *loss, double *gradient)
{
    const struct model_run how = {.smooth = 0.1,
                                  .drop_attention = 0.2,
                                  .drop_relu = 0.1,
                                  .drop_residual = 0.2,
                                  .drop_key = 99,
                                  .views = views,
                                  .want_grad = true};

    p->batch.weight = weight;
    CHECK_OK(model_reserve(m, packed_shape(p, true), &err), &err);
    model_zero_grads(m);
    model_forward(m, &p->batch, &how);
    model_backward(m, NULL);
    model_losses(m, loss);
    reals_read(m->device, gradient, m->grad);
}

static void check_sum(struct views views)
{
    static double loss[2][PACKED_MAX_TOKENS], got[MOST], want[MOST], one[MOST];
    const bool has_views = views.xent[0] > 0;
    const size_t n = has_views ? SENTS / 2 : SENTS;
    int32_t pair[SENTS];
    float weight[SENTS];
    struct model m;
    struct packed p;
    struct device d;
    double most = 0;

    reals_device(&d, "double", 2);
    open_model(&m, &d);
    for (size_t i = 0; i < n; i++) {
        pair[i] = (int32_t)i;
        weight[i] = (float[]){0.25F, 0.25F, 3, 1, 1e-3F, 1, 7.5F}[i % 7];
    }
    pack(&p, pair, n, has_views);
    CHECK(p.batch.n_tgt > ACT_CHUNK + 100);
    run(&m, &p, NULL, views, loss[0], got);
    run(&m, &p, weight, views, loss[1], got);
    for (size_t i = 0; i < p.batch.n_tgt; i++) /* losses are plain */
        CHECK(loss[0][i] == loss[1][i]);
    memset(want, 0, sizeof want);
    for (size_t i = 0; i < n; i++) {
        pack(&p, &pair[i], 1, has_views);
        run(&m, &p, NULL, views, loss[0], one);
        for (size_t k = 0; k < m.params.n_flat; k++)
            want[k] += (double)weight[i] * one[k];
    }
    for (size_t k = 0; k < m.params.n_flat; k++)
        most = fmax(most, fabs(want[k]));
    for (size_t k = 0; k < m.params.n_flat; k++)
        CHECK(fabs(got[k] - want[k]) <= 1e-12 * (1 + most));
    model_close(&m);
    device_close(&d);
}

TEST(a_gradient_is_the_sum_of_those_of_sentences_times_their_weights)
{
    check_sum((struct views){{0, 0}, {0, 0}});
    check_sum((struct views){{1, 0}, {3, 0}});
    check_sum((struct views){{0.5, 0.5}, {1.25, 1.25}});
}

TEST(weights_of_one_change_no_bit_and_two_is_twice_the_sentence)
{
    static double loss[PACKED_MAX_TOKENS], plain[MOST], ones[MOST], twice[MOST];
    const int32_t pair[] = {3, 4, 5}, again[] = {3, 4, 4, 5};
    const float one[] = {1, 1, 1}, two[] = {1, 2, 1};
    const struct views none = {{0, 0}, {0, 0}};
    struct model m;
    struct packed p;
    struct device d;

    reals_device(&d, "double", 1);
    open_model(&m, &d);
    pack(&p, pair, 3, false);
    run(&m, &p, NULL, none, loss, plain);
    run(&m, &p, one, none, loss, ones);
    CHECK(memcmp(plain, ones, m.params.n_flat * sizeof *plain) == 0);
    run(&m, &p, two, none, loss, ones);
    pack(&p, again, 4, false);
    run(&m, &p, NULL, none, loss, twice);
    for (size_t k = 0; k < m.params.n_flat; k++)
        CHECK_NEAR(ones[k], twice[k], 1e-11);
    model_close(&m);
    device_close(&d);
}

/* ---- corpora ---- */

TEST(several_corpora_with_and_without_weights_are_one)
{
    struct corpus all, more;
    struct batch b = {0};
    const uint32_t pair[] = {0, 121, 3, 240};

    toy_data();
    weighed_make(weighed_unlike, false);
    CHECK_OK(corpus_open(&all, test_path("data/train.bin"), &err), &err);
    toy_data();
    CHECK_OK(corpus_open(&more, test_path("data/train.bin"), &err), &err);
    CHECK(corpus_has_weights(&all) && !corpus_has_weights(&more));
    CHECK_OK(batch_gather(&b, &more, pair, 1, 30, &err), &err);
    CHECK(!b.weight);
    CHECK_OK(corpus_append(&all, &more, &err), &err);
    toy_data();
    weighed_make(weighed_unlike, false);
    CHECK_OK(corpus_open(&more, test_path("data/train.bin"), &err), &err);
    CHECK_OK(corpus_append(&all, &more, &err), &err);
    CHECK_OK(batch_gather(&b, &all, pair, 4, 30, &err), &err);
    CHECK(b.weight && b.weight[0] == weighed_unlike(0) && b.weight[1] == 1);
    CHECK(b.weight[2] == weighed_unlike(3) && b.weight[3] == weighed_unlike(0));
    batch_release(&b);
    corpus_close(&all);
}

/* A number in the file, and what is said of it then. */
static void spoil(size_t from_end, float value, const char *message)
{
    struct file_map map;
    struct corpus c;
    size_t n;

    toy_data();
    weighed_make(weighed_unlike, false);
    CHECK_OK(file_map_open(&map, test_path("data/train.bin"), &err), &err);
    unsigned char *data = malloc(map.n_bytes);
    n = map.n_bytes;
    memcpy(data, map.data, n);
    file_map_close(&map);
    memcpy(data + n - CORPUS_FILE_FOOT - from_end, &value, sizeof value);
    const uint64_t sum = checksum_of(data, n - 24);
    struct checksum ends = checksum_start();
    memcpy(data + n - 24, &sum, 8);
    checksum_add(&ends, data, CORPUS_FILE_HEAD);
    checksum_add(&ends, data + n - CORPUS_FILE_FOOT, 24);
    const uint64_t both = checksum_value(&ends);
    memcpy(data + n - 16, &both, 8);
    CHECK_OK(corpus_file_parse(&c, data, n, &err), &err);
    CHECK_FAILS(corpus_file_verify(&c, &err), &err, ERR_FORMAT, message);
    CHECK(corpus_has_pair(&c, 0) && !corpus_has_pair(&c, c.n_pairs - 1));
    struct batch b = {0};
    const uint32_t last = c.n_pairs - 1;
    CHECK_FAILS(batch_gather(&b, &c, &last, 1, 30, &err), &err, ERR_FORMAT,
                "the packed corpus is damaged at pair 119");
    batch_release(&b);
    free(data);
}

TEST(a_weight_that_cannot_be_is_damage)
{
    spoil(4, -1, "pair 119 has the weight -1");
    spoil(4, 0, "pair 119 has the weight 0");
    spoil(4, NAN, "pair 119 has the weight");
    spoil(4, INFINITY, "pair 119 has the weight inf");
    spoil(4, 2e6F, "pair 119 has the weight 2e+06");
}

TEST(a_file_with_weights_is_of_the_next_version_and_one_without_of_the_old)
{
    struct corpus c;

    toy_data();
    CHECK_OK(corpus_open(&c, test_path("data/train.bin"), &err), &err);
    CHECK(c.data[8] == CORPUS_FILE_PLAIN && !c.weight);
    corpus_close(&c);
    weighed_make(weighed_unlike, false);
    CHECK_OK(corpus_open(&c, test_path("data/train.bin"), &err), &err);
    CHECK(c.data[8] == CORPUS_FILE_VERSION && corpus_weight(&c, 4) == 3);
    CHECK_OK(corpus_file_verify(&c, &err), &err);
    corpus_close(&c);
}

TEST(an_odd_number_of_weights_is_padded)
{
    const int32_t id[] = {7, 8};
    const struct corpus_file_side side = {id, 2};
    struct corpus_file_writer w;
    struct corpus c;

    for (uint32_t n = 0; n < 4; n++) {
        const char *path = test_path("small.bin");
        CHECK_OK(corpus_file_create_weighted(&w, path, 10, 0, &err), &err);
        for (uint32_t i = 0; i < n; i++)
            CHECK_OK(corpus_file_add_weighted(&w, side, side, 2 + (float)i, &err), &err);
        CHECK_OK(corpus_file_commit(&w, &err), &err);
        CHECK_OK(corpus_open(&c, path, &err), &err);
        CHECK_OK(corpus_file_verify(&c, &err), &err);
        CHECK(c.n_bytes % 8 == 0 && c.n_pairs == n);
        for (uint32_t i = 0; i < n; i++)
            CHECK(corpus_weight(&c, i) == 2 + (float)i);
        corpus_close(&c);
    }
}
