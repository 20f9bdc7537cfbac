/*
 * Training on pairs that count otherwise than once: an update divides by the target
 * tokens, each counted as often as its pair counts, whatever the ranks, micro-batches and
 * stops; and weights of 1 change no byte.
 *
 * ctest: slow
 */
#include <jansson.h>

#include "test.h"
#include "toy_ranks.h"
#include "train/trainer.h"
#include "weighed.h"

/* ---- training ---- */

/* A number of every step entry; NAN where it says none. */
static size_t numbers_of(const char *name, const char *key, double *x, size_t max)
{
    FILE *f = fopen(toy_in_run(name, "run.jsonl"), "re");
    char line[16384];
    size_t n = 0;

    CHECK(f);
    while (n < max && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        const json_t *value = json_object_get(o, key);
        if (event && strcmp(event, "step") == 0)
            x[n++] = value ? json_number_value(value) : NAN;
        json_decref(o);
    }
    fclose(f);
    return n;
}

static void check_same_numbers(const char *a, const char *b, const char *key, size_t n)
{
    double want[16], got[16];

    CHECK(numbers_of(a, key, want, 16) == n);
    CHECK(numbers_of(b, key, got, 16) == n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= 1e-5 * (0.1 + fabs(want[i]))))
            test_fail(__FILE__, __LINE__, "%s of %s: %.9g, want %.9g", key, b, got[i],
                      want[i]);
}

#define STEPS "max_steps=12", "log_every=1"
#define GENTLE \
    "learning_rate=0.1", "warmup_steps=50", "replica_check_every=5", "wire=fp32"

/* Each of the ways to a batch. */
static const char *const ways[] = {"max_grad_norm=0.5", "simcut=2", "rdrop=2",
                                   "word_dropout=0.2", "bpe_dropout=0.2"};
enum { N_WAYS = sizeof ways / sizeof *ways };

/* A step whose size depends on that of the gradient. */
#define SIZED "epsilon=0.01"

static void train_ways(const char *name)
{
    for (int i = 0; i < N_WAYS; i++) {
        char run[64];
        snprintf(run, sizeof run, "%s%d", name, i);
        toy_train(run, TOY(STEPS, SIZED, ways[i]));
    }
}

/* Twice of everything is divided by twice as much: a power of two, so to the byte. */
TEST(weights_that_are_all_alike_train_as_none_to_the_byte)
{
    double n[16], ones[16], twos[16];

    toy_data();
    train_ways("plain");
    weighed_make(weighed_one, false);
    train_ways("ones");
    weighed_make(weighed_two, false);
    train_ways("twos");
    weighed_make(weighed_unlike, false);
    train_ways("others");
    for (int i = 0; i < N_WAYS; i++) {
        char run[4][64];
        static const char *const names[] = {"plain", "ones", "twos", "others"};
        for (int k = 0; k < 4; k++)
            snprintf(run[k], sizeof run[k], "%s%d", names[k], i);
        CHECK(toy_same_weights(run[0], run[1], 12) &&
              toy_same_weights(run[0], run[2], 12));
        CHECK(!toy_same_weights(run[0], run[3], 12));
        check_same_numbers(run[0], run[2], "loss", 12);
        CHECK(numbers_of(run[0], "target_tokens", n, 16) == 12);
        CHECK(numbers_of(run[0], "target_weight", ones, 16) == 12 && isnan(ones[0]));
        CHECK(numbers_of(run[1], "target_weight", ones, 16) == 12);
        CHECK(numbers_of(run[2], "target_weight", twos, 16) == 12);
        for (int k = 0; k < 12; k++)
            CHECK(ones[k] == n[k] && twos[k] == 2 * n[k]);
    }
}

static float whole_of(uint32_t pair)
{
    return (float)(1 + pair % 3);
}

/* All pairs in one update, without dropout, which would hide other channels of a copy. */
TEST(a_weight_is_how_often_a_pair_stands_in_an_update)
{
    double often[16], weighed[16];

#define WHOLE                                                                   \
    TOY("max_steps=3", "log_every=1", "batch_tokens=0", "batch_sentences=1000", \
        "residual_dropout=0", "attention_dropout=0", "relu_dropout=0",          \
        "optimizer=novograd", "learning_rate=0.01")
    toy_data();
    weighed_make(whole_of, true);
    toy_train("often", WHOLE);
    toy_data();
    weighed_make(whole_of, false);
    toy_train("weighed", WHOLE);
    check_same_numbers("often", "weighed", "grad_norm", 3);
    CHECK(numbers_of("often", "target_tokens", often, 16) == 3);
    CHECK(numbers_of("weighed", "target_weight", weighed, 16) == 3);
    CHECK(often[0] == weighed[0]);
}

/* A run of pairs that count unlike with this option, and the same otherwise cut. */
static void check_cuts(const char *option)
{
    static const char *const keys[] = {"loss", "grad_norm", "target_weight"};
    static const int two[] = {1, 1}, four[] = {2, 2};
    char run[5][64];

    for (int k = 0; k < 5; k++)
        snprintf(run[k], sizeof run[k], "%.40s-%d", option, k);
    toy_train(run[0], TOY(option, STEPS, GENTLE));
    toy_train(run[1], TOY(option, STEPS, GENTLE, "micro_tokens=30", "threads=2"));
    toy_train_on(two, 2, run[2], TOY(option, STEPS, GENTLE, "bucket_mib=0.002"));
    toy_train_on(four, 2, run[3], TOY(option, STEPS, GENTLE, "shard_optimizer=true"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        for (int k = 1; k < 4; k++)
            check_same_numbers(run[0], run[k], keys[i], 12);
    toy_train(run[4], TOY(option, "log_every=1", GENTLE, "max_steps=5"));
    toy_train(run[4], TOY(option, STEPS, GENTLE));
    CHECK(toy_same_weights(run[0], run[4], 12));
}

TEST(ranks_micro_batches_and_stops_make_the_same_updates_of_pairs_that_count_unlike)
{
    toy_data();
    weighed_make(weighed_unlike, false);
    for (int i = 0; i < N_WAYS; i++)
        check_cuts(ways[i]);
}

/* Nodes that train alone divide by what their own pairs count. */
TEST(local_updates_divide_by_the_weights_of_their_node)
{
    static const int nodes[] = {2, 2};
    static const char *const runs[][2] = {{"plain", "twos"}, {"cut", "cut-twos"}};
    static const char *const vary[] = {"bpe_dropout=0", "bpe_dropout=0.2"};

    toy_data();
    for (int i = 0; i < 2; i++)
        toy_train_on(nodes, 2, runs[i][0],
                     TOY(STEPS, vary[i], "local_steps=3", SIZED, "wire=fp32"));
    weighed_make(weighed_two, false);
    for (int i = 0; i < 2; i++) {
        toy_train_on(nodes, 2, runs[i][1],
                     TOY(STEPS, vary[i], "local_steps=3", SIZED, "wire=fp32"));
        CHECK(toy_same_weights(runs[i][0], runs[i][1], 12));
    }
    weighed_make(weighed_unlike, false);
    toy_train_on(nodes, 2, "again", TOY(STEPS, "local_steps=3", "max_steps=6"));
    toy_train_on(nodes, 2, "again", TOY(STEPS, "local_steps=3", "max_steps=12"));
    toy_train_on(nodes, 2, "whole", TOY(STEPS, "local_steps=3", "save_every=6"));
    CHECK(toy_same_weights("again", "whole", 12));
}
