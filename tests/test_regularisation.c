/*
 * Training with each means against overfitting: a stop in between changes no byte, nor do
 * threads and recomputed activations; any number of ranks and micro-batches makes the
 * same updates; and what is hidden from the model is what was asked for.
 *
 * ctest: slow
 */
#include <jansson.h>

#include "base/file.h"
#include "corpus/batch.h"
#include "corpus/dataset.h"
#include "corpus/order.h"
#include "reals.h"
#include "test.h"
#include "toy_ranks.h"
#include "train/run/unigram.h"
#include "train/trainer.h"
#include "train/update/inputs.h"
#include "train/update/layer_drop.h"

enum { OPTIONS = 8 };

/* Each of them, as options of a run. */
static const char *const means[][OPTIONS] = {
    {"simcut=3", "simcut_rate=0.2"},
    {"rdrop=5"},
    {"word_dropout=0.2"},
    {"smoothing=unigram", "label_smoothing=0.3"},
    {"layer_drop=0.4", "micro_tokens=40"},
    {"encoder_layers=4", "unique_encoder_layers=2", "layer_order=cycle_rev",
     "unique_decoder_layers=1", "micro_tokens=40"},
    {"simcut=3", "simcut_rate=0.1", "word_dropout=0.1", "moving_average=0.9"},
};
enum { N_MEANS = sizeof means / sizeof *means };

/* The options of one of the means, and more. */
static const char *const *with(const char *list[4 * OPTIONS], const char *const *mean,
                               const char *const *more)
{
    size_t n = 0;

    for (size_t i = 0; i < OPTIONS && mean[i]; i++)
        list[n++] = mean[i];
    while (*more)
        list[n++] = *more++;
    list[n] = NULL;
    return list;
}

TEST(a_stop_threads_and_recomputing_change_no_byte_with_any_of_them)
{
    const char *list[4 * OPTIONS];

    toy_data();
    toy_train("plain", TOY("max_steps=12"));
    for (size_t i = 0; i < N_MEANS; i++) {
        char run[4][16];
        for (int k = 0; k < 4; k++)
            snprintf(run[k], sizeof run[k], "run%zu-%d", i, k);
        toy_train(run[0], with(list, means[i], TOY("max_steps=12")));
        toy_train(run[1], with(list, means[i], TOY("max_steps=5")));
        toy_train(run[1], with(list, means[i], TOY("max_steps=12")));
        toy_train(run[2], with(list, means[i], TOY("max_steps=12", "threads=2")));
        toy_train(run[3], with(list, means[i], TOY("max_steps=12", "recompute=true")));
        for (int k = 1; k < 4; k++)
            CHECK(toy_same_weights(run[0], run[k], 12));
        CHECK(!toy_same_weights(run[0], "plain", 12));
    }
}

/* ---- ranks ---- */

/* A number of every step entry. */
static size_t numbers_of(const char *run, const char *key, double *x, size_t max)
{
    FILE *f = fopen(toy_in_run(run, "run.jsonl"), "re");
    char line[16384];
    size_t n = 0;

    CHECK(f);
    while (n < max && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        const json_t *value = json_object_get(o, key);
        if (event && strcmp(event, "step") == 0 && value)
            x[n++] = json_number_value(value);
        json_decref(o);
    }
    fclose(f);
    return n;
}

static void check_same_numbers(const char *run, const char *other, const char *key,
                               size_t n)
{
    double want[16], got[16];

    CHECK(numbers_of(run, key, want, 16) == n);
    CHECK(numbers_of(other, key, got, 16) == n);
    for (size_t i = 0; i < n; i++)
        CHECK(fabs(got[i] - want[i]) <= 1e-5 * (0.1 + fabs(want[i])));
}

#define EXACT  "wire=fp32", "log_every=1", "replica_check_every=5", "max_steps=10"
#define GENTLE "learning_rate=0.1", "warmup_steps=50"

TEST(ranks_and_micro_batches_make_the_same_updates_with_any_of_them)
{
    static const int two[] = {1, 1}, four[] = {2, 2};
    const char *list[4 * OPTIONS];

    toy_data();
    for (size_t i = 0; i < N_MEANS; i++) {
        char run[4][16];
        for (int k = 0; k < 4; k++)
            snprintf(run[k], sizeof run[k], "run%zu-%d", i, k);
        toy_train(run[0], with(list, means[i], TOY(EXACT, GENTLE)));
        toy_train(run[1], with(list, means[i], TOY(EXACT, GENTLE, "micro_tokens=30")));
        toy_train_on(two, 2, run[2],
                     with(list, means[i], TOY(EXACT, GENTLE, "bucket_mib=0.002")));
        toy_train_on(four, 2, run[3],
                     with(list, means[i], TOY(EXACT, GENTLE, "shard_optimizer=true")));
        for (int k = 1; k < 4; k++) {
            const size_t n_gaps = strstr(means[i][0], "dropout=") ||
                                          strstr(means[i][0], "layer") ||
                                          strstr(means[i][0], "smoothing")
                                      ? 0
                                      : 10;
            check_same_numbers(run[0], run[k], "loss", 10);
            check_same_numbers(run[0], run[k], "disagreement", n_gaps);
            check_same_numbers(run[0], run[k], "target_tokens", 10);
        }
    }
}

TEST(nodes_that_train_alone_and_16_bits_take_two_views)
{
    static const int two[] = {2, 2};
    static const char *const run[] = {"local", "again", "again"};
    static const char *const steps[] = {"max_steps=6", "max_steps=3", "max_steps=6"};

    toy_data();
    for (int i = 0; i < 3; i++)
        toy_train_on(two, 2, run[i],
                     TOY(steps[i], "local_steps=3", "save_every=3", "simcut=3"));
    CHECK(toy_same_weights("local", "again", 6));
    toy_train("half",
              TOY("max_steps=6", "rdrop=5", "precision=fp16", "loss_scaling=backoff"));
}

/* Loss and gap of the first update of a run with these options, by the model alone. */
static void first_update(const struct train_config *c, struct views views,
                         struct inputs_rule rule, double mean[2])
{
    const struct order_rule how = {.seed = (uint64_t)c->seed,
                                   .max_length = (size_t)c->max_length,
                                   .batch_tokens = (size_t)c->batch_tokens};
    const struct model_run run = {.smooth = c->label_smoothing,
                                  .has_prior = strcmp(c->smoothing, "unigram") == 0,
                                  .views = views,
                                  .want_grad = true};
    struct model_config shape = c->model;
    struct order_cursor cursor = {0};
    struct inputs in = {0};
    struct batch b = {0};
    struct model_batch shown;
    struct dataset data;
    struct order order;
    struct device d;
    struct model m;
    struct err err;
    float flat[20000], loss[400];

    CHECK_OK(dataset_open(&data, test_path("data"), &err), &err);
    CHECK_OK(order_open(&order, &data.train, how, &err), &err);
    const struct order_update u = order_next(&order, &cursor);
    CHECK_OK(batch_gather(&b, &data.train, u.pair, u.n_pairs, how.max_length, &err),
             &err);
    rule.seed = (uint64_t)c->seed;
    rule.has_views = true;
    CHECK_OK(inputs_show(&in, &shown, &rule, &b, &err), &err);
    shape.vocab_size = data.n_target;
    reals_device(&d, "cpu", 1);
    CHECK_OK(model_open(&m, &d, &shape, true, &err), &err);
    CHECK(m.params.n_flat <= 20000 && shown.n_tgt <= 400);
    params_init(&m.params, rule.seed, flat);
    CHECK_OK(model_set_weights(&m, flat, &err), &err);
    if (run.has_prior)
        CHECK_OK(unigram_set(&m, &data.train, &err), &err);
    CHECK_OK(model_reserve(&m,
                           (struct model_shape){shown.n_sents, shown.n_src, shown.n_tgt,
                                                how.max_length, true},
                           &err),
             &err);
    model_forward(&m, &shown, &run);
    model_losses(&m, loss);
    mean[0] = mean[1] = 0;
    for (size_t i = 0; i < 2 * b.n_tgt; i++)
        mean[i >= b.n_tgt] += (double)loss[i] / (double)b.n_tgt;
    model_close(&m);
    device_close(&d);
    inputs_release(&in);
    batch_release(&b);
    order_close(&order);
    dataset_close(&data);
}

#define NO_DROPOUT "attention_dropout=0", "relu_dropout=0", "residual_dropout=0"

/* The factors that docs/quality.md has, each in its place. */
TEST(the_options_weigh_the_views_as_they_say)
{
    static const struct {
        const char *option[4];
        struct views views;
        struct inputs_rule rule;
    } all[] = {{{"simcut=3", "simcut_rate=0.3"}, {{1, 0}, {3, 0}}, {.cut = 0.3}},
               {{"rdrop=5", "word_dropout=0.2", "smoothing=unigram"},
                {{0.5, 0.5}, {1.25, 1.25}},
                {.word_dropout = 0.2}}};
    const char *list[4 * OPTIONS];

    toy_data();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *const run = i ? "rdrop" : "simcut";
        const char *const *options =
            with(list, all[i].option, TOY("max_steps=1", "log_every=1", NO_DROPOUT));
        struct train_config *c = toy_config(run, options);
        double want[2], loss[2], gap[2];
        toy_train(run, options);
        first_update(c, all[i].views, all[i].rule, want);
        CHECK(numbers_of(run, "loss", loss, 2) == 1);
        CHECK(numbers_of(run, "disagreement", gap, 2) == 1);
        CHECK_NEAR(loss[0], want[0], 1e-5 * want[0]);
        CHECK_NEAR(gap[0], want[1], 1e-5 * want[1]);
        free(c);
    }
}

/* The arithmetic tells the updates that had all layers. */
TEST(each_update_goes_without_layers_of_its_own)
{
    double whole[16], less[16], t_whole[16], t_less[16];
    int n_whole = 0;

    toy_data();
    toy_train("whole", TOY(EXACT));
    toy_train("less", TOY(EXACT, "layer_drop=0.3"));
    CHECK(numbers_of("whole", "gflops", whole, 16) == 10);
    CHECK(numbers_of("less", "gflops", less, 16) == 10);
    CHECK(numbers_of("whole", "t_step", t_whole, 16) == 10);
    CHECK(numbers_of("less", "t_step", t_less, 16) == 10);
    for (uint64_t i = 0; i < 10; i++) {
        const struct layer_drop drop = {1, i, 0.3};
        const bool is_whole =
            !layer_drop_mask(drop, "encoder", 2) && !layer_drop_mask(drop, "decoder", 2);
        const double share = less[i] * t_less[i] / (whole[i] * t_whole[i]);
        CHECK(is_whole ? fabs(share - 1) < 1e-9 : share < 0.9);
        n_whole += is_whole;
    }
    CHECK(n_whole > 0 && n_whole < 10);
}

TEST(two_views_count_tokens_once_and_arithmetic_twice)
{
    double one[16], two[16], t_one[16], t_two[16];

    toy_data();
    toy_train("one", TOY("max_steps=2", "log_every=1"));
    toy_train("two", TOY("max_steps=2", "log_every=1", "simcut=1"));
    check_same_numbers("one", "two", "source_tokens", 2);
    check_same_numbers("one", "two", "target_tokens", 2);
    CHECK(numbers_of("one", "gflops", one, 16) == 2);
    CHECK(numbers_of("two", "gflops", two, 16) == 2);
    CHECK(numbers_of("one", "t_step", t_one, 16) == 2);
    CHECK(numbers_of("two", "t_step", t_two, 16) == 2);
    for (int i = 0; i < 2; i++)
        CHECK_NEAR(two[i] * t_two[i] / (one[i] * t_one[i]), 2, 1e-9);
}

TEST(what_excludes_each_other_is_said)
{
    struct err err = {0};

    toy_data();
    CHECK_FAILS(toy_try("a", TOY("simcut=3", "rdrop=5"), &err), &err, ERR_USAGE,
                "simcut = 3 and rdrop = 5 exclude each other");
    CHECK_FAILS(toy_try("b",
                        TOY("rdrop=5", "attention_dropout=0", "relu_dropout=0",
                            "residual_dropout=0"),
                        &err),
                &err, ERR_USAGE, "every dropout is 0");
    CHECK_FAILS(toy_try("b",
                        TOY("simcut=3", "simcut_rate=0", "attention_dropout=0",
                            "relu_dropout=0", "residual_dropout=0"),
                        &err),
                &err, ERR_USAGE, "simcut_rate and every dropout are 0");
    CHECK_FAILS(toy_try("b", TOY("smoothing=unigram", "label_smoothing=0"), &err), &err,
                ERR_USAGE, "smoothing = unigram has no effect");
    toy_train("c", TOY("max_steps=1", "simcut=3"));
    CHECK_FAILS(toy_try("c", TOY("max_steps=2", "simcut=2"), &err), &err, ERR_USAGE,
                "simcut = 2");
}

/* ---- what is spread ---- */

TEST(the_prior_is_the_share_of_each_piece_among_the_labels)
{
    const struct model_config config = {.vocab_size = 9,
                                        .d_model = 4,
                                        .d_ff = 4,
                                        .heads = 1,
                                        .encoder_layers = 1,
                                        .decoder_layers = 1,
                                        .norm_epsilon = 1e-6};
    static const uint16_t token[] = {8, 8, 5, 6, 7, 5, 5, 60};
    static const uint64_t start[] = {0, 2, 5, 7,
                                     8, 8, 8}; /* a damaged token, an empty side */
    const struct corpus c = {.start = start, .token = token, .n_tokens = 8, .n_pairs = 3};
    const double want[9] = {0, 3, 3, 1, 0, 1, 1, 1, 0};
    double got[9];
    struct device d;
    struct model m;
    struct err err;

    reals_device(&d, "double", 1);
    CHECK_OK(model_open(&m, &d, &config, false, &err), &err);
    CHECK_OK(unigram_set(&m, &c, &err), &err);
    reals_read(&d, got, m.prior);
    for (int v = 0; v < 9; v++)
        CHECK_NEAR(got[v], want[v] / 10, 1e-15);
    CHECK_NEAR(m.prior_entropy, -0.6 * log(0.3) - 0.4 * log(0.1), 1e-12);
    model_close(&m);
    device_close(&d);
}

/* ---- what is hidden ---- */

enum { SENTS = 40, LEN = 25, TOKENS = SENTS * LEN };

static struct batch made_batch(void)
{
    static int32_t at[SENTS + 1], id[TOKENS], in[TOKENS], pos[TOKENS], pair[TOKENS];

    for (int i = 0; i < TOKENS; i++) {
        id[i] = i;
        in[i] = i % LEN ? i : -1;
        pos[i] = i % LEN;
        pair[i] = 3 * (i / LEN);
    }
    for (int s = 0; s <= SENTS; s++)
        at[s] = s * LEN;
    return (struct batch){SENTS, TOKENS, TOKENS, LEN, LEN, NULL, at,  at,
                          id,    pos,    pair,   in,  id,  pos,  pair};
}

static size_t n_hidden(const int32_t *id, size_t from, size_t n)
{
    size_t k = 0;

    for (size_t i = from; i < from + n; i++)
        k += id[i] < 0;
    return k;
}

static struct model_batch show(struct inputs *in, struct inputs_rule rule)
{
    static struct batch b;
    struct model_batch out;
    struct err err;

    b = made_batch();
    CHECK_OK(inputs_show(in, &out, &rule, &b, &err), &err);
    return out;
}

TEST(the_second_view_stands_behind_the_first_with_masks_of_its_own)
{
    struct inputs in = {0};
    const struct model_batch b =
        show(&in, (struct inputs_rule){.cut = 0.2, .has_views = true, .seed = 1});

    CHECK(b.n_sents == 2 * SENTS && b.n_src == 2 * TOKENS && b.n_tgt == 2 * TOKENS);
    CHECK(b.src_at[SENTS] == TOKENS && b.tgt_at[2 * SENTS] == 2 * TOKENS);
    CHECK(n_hidden(b.src_id, 0, TOKENS) == 0);
    CHECK(n_hidden(b.tgt_in, 0, TOKENS) == SENTS);
    CHECK_NEAR((double)n_hidden(b.src_id, TOKENS, TOKENS) / TOKENS, 0.2, 0.04);
    CHECK_NEAR((double)n_hidden(b.tgt_in, TOKENS, TOKENS) / TOKENS, 0.23, 0.04);
    for (int i = 0; i < TOKENS; i++) {
        const int32_t x = b.src_id[TOKENS + i];
        CHECK((x == i || x == -1) && b.src_id[i] == i);
        CHECK(b.src_pos[TOKENS + i] == i % LEN && b.src_pair[TOKENS + i] < 0);
        CHECK(b.tgt_label[i] == i && b.tgt_label[TOKENS + i] == i);
    }
    inputs_release(&in);
}

TEST(hidden_words_change_with_step_seed_side_and_view_and_nothing_else)
{
    const struct inputs_rule rule = {
        .word_dropout = 0.3, .has_views = true, .seed = 1, .step = 9};
    struct inputs_rule other[3] = {rule, rule, rule};
    struct inputs one = {0}, two = {0};
    const size_t bytes = TOKENS * sizeof(int32_t);
    const struct model_batch a = show(&one, rule);

    CHECK_NEAR((double)n_hidden(a.src_id, 0, TOKENS) / TOKENS, 0.3, 0.05);
    CHECK(memcmp(a.src_id, a.src_id + TOKENS, bytes) != 0);
    CHECK(memcmp(a.src_id + 1, a.tgt_in + 1, bytes - sizeof(int32_t)) != 0);
    other[1].step = 10;
    other[2].seed = 2;
    for (int i = 0; i < 3; i++) {
        const struct model_batch b = show(&two, other[i]);
        CHECK((memcmp(a.src_id, b.src_id, bytes) == 0) == (i == 0));
        CHECK((memcmp(a.tgt_in, b.tgt_in, bytes) == 0) == (i == 0));
    }
    inputs_release(&one);
    inputs_release(&two);
}

TEST(a_batch_of_which_nothing_is_hidden_is_not_copied)
{
    struct inputs in = {0};
    const struct model_batch b = show(&in, (struct inputs_rule){.cut = 0.5});

    CHECK(!in.block && b.n_sents == SENTS && b.src_id[7] == 7);
}
