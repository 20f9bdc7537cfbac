/*
 * Several ranks, simulated in one process, train as one rank does: the same updates, the
 * same evaluation, the same files, whatever their number, disks and interruptions.
 */
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "decode/model_dir.h"
#include "format/tf/tensor_bundle.h"
#include "format/tf/tf_checkpoint.h"
#include "recipe/params.h"
#include "sim/comm_sim.h"
#include "test.h"
#include "toy_varied.h"
#include "train/run/peers.h"
#include "train/save/state.h"
#include "train/update/local_sgd.h"

enum { MOST = 16 };

static const char *in_run(const char *run, const char *name)
{
    char part[300];

    snprintf(part, sizeof part, "%s/%s", run, name);
    return test_path(part);
}

/* What the ranks of one simulated job share. */
struct job {
    struct train_config *config[MOST]; /* of each rank */
    status result[MOST];
    bool is_agreed[MOST];
    struct err err[MOST];
};

static void run_rank(struct comm *c, void *ctx)
{
    struct job *j = ctx;
    struct train_host host = {.comm = c};

    j->result[c->rank] = train_run(j->config[c->rank], &host, &j->err[c->rank]);
    j->is_agreed[c->rank] = host.is_agreed;
}

/* Ranks on nodes of these sizes, each with the run directory `run`, or `run-N` of its
 * disk N. */
struct shape {
    int ranks[MOST], n_nodes;
    int disk[MOST];
};

static int size_of(const struct shape *s)
{
    int n = 0;

    for (int i = 0; i < s->n_nodes; i++)
        n += s->ranks[i];
    return n;
}

static void try_job(struct job *j, const char *run, struct shape s,
                    const char *const *more)
{
    const struct comm_sim_options o = {
        .ranks = s.ranks, .n_nodes = s.n_nodes, .seed = 5, .is_parallel = true};
    struct err err = {0};

    *j = (struct job){0};
    for (int r = 0; r < size_of(&s); r++) {
        char dir[64];
        snprintf(dir, sizeof dir, s.disk[r] ? "%s-%d" : "%s", run, s.disk[r]);
        j->config[r] = toy_config(dir, more);
    }
    CHECK_OK(comm_sim_run(&o, run_rank, j, &err), &err);
    for (int r = 0; r < size_of(&s); r++)
        free(j->config[r]);
}

static void train(const char *run, struct shape s, const char *const *more)
{
    struct job j;

    try_job(&j, run, s, more);
    for (int r = 0; r < size_of(&s); r++)
        CHECK_OK(j.result[r], &j.err[r]);
}

static const struct shape one = {.ranks = {1}, .n_nodes = 1},
                          four = {.ranks = {2, 2}, .n_nodes = 2},
                          three_on_one = {.ranks = {3}, .n_nodes = 1};

/* A number of every event of one kind, in order. */
static size_t numbers_of(const char *run, const char *kind, const char *key, double *x,
                         size_t max)
{
    FILE *f = fopen(in_run(run, "run.jsonl"), "re");
    char line[16384];
    size_t n = 0;

    CHECK(f);
    while (n < max && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, kind) == 0)
            x[n++] = json_number_value(json_object_get(o, key));
        json_decref(o);
    }
    fclose(f);
    return n;
}

static void check_same_file(const char *a, const char *b)
{
    struct file_map x, y;
    struct err err = {0};

    CHECK_OK(file_map_open(&x, a, &err), &err);
    CHECK_OK(file_map_open(&y, b, &err), &err);
    CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
    file_map_close(&x);
    file_map_close(&y);
}

#define EXACT "wire=fp32", "log_every=1", "replica_check_every=5"

/* A rate at which rounding is not amplified beyond what the test allows. */
#define GENTLE "learning_rate=0.1", "warmup_steps=50"

TEST(one_two_and_four_ranks_make_the_same_updates)
{
    static const struct shape shapes[] = {{.ranks = {1, 1}, .n_nodes = 2},
                                          {.ranks = {2, 2}, .n_nodes = 2},
                                          {.ranks = {3}, .n_nodes = 1}};
    double want[100], got[100];

    toy_data();
    toy_train("one", TOY(EXACT, GENTLE, "max_steps=100", "max_grad_norm=0.5"));
    CHECK(numbers_of("one", "step", "loss", want, 100) == 100);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char run[16];
        snprintf(run, sizeof run, "many%zu", i);
        train(run, shapes[i], TOY(EXACT, GENTLE, "max_steps=100", "max_grad_norm=0.5"));
        CHECK(numbers_of(run, "step", "loss", got, 100) == 100);
        for (int s = 0; s < 10; s++)
            CHECK(fabs(got[s] / want[s] - 1) < 1e-5);
        for (int s = 10; s < 100; s++)
            CHECK(fabs(got[s] / want[s] - 1) < 1e-3);
        CHECK(numbers_of(run, "step", "target_tokens", got, 100) == 100);
        CHECK(numbers_of("one", "step", "target_tokens", want, 100) == 100);
        CHECK(memcmp(got, want, sizeof got) == 0);
        CHECK(numbers_of("one", "step", "loss", want, 100) == 100);
    }
    CHECK(want[99] < want[0]); /* it does learn */
}

/* Every pair in other words, of other lengths. */
#define AUGMENTED                                                                       \
    "augment_upper=0.2", "augment_title=0.2", "augment_lower=0.1", "augment_typos=0.3", \
        "augment_no_end=0.2", "augment_digits=0.2"
#define VARIED "max_length=64", "bpe_dropout=0.2", AUGMENTED
#define DRAWN  "max_length=64", "subword_alpha=0.2", AUGMENTED
#define LITTLE EXACT, GENTLE, "max_steps=40"

/* Of the data that is there; runs are called after `name`. */
static void check_varied(const char *name, const char *const *options)
{
    static const struct shape shapes[] = {{.ranks = {1, 1}, .n_nodes = 2},
                                          {.ranks = {2, 2}, .n_nodes = 2}};
    static const char *const same[] = {"target_tokens", "source_tokens"};
    double want[40], got[40];

    toy_train(name, options);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char run[32];
        snprintf(run, sizeof run, "%s-%zu", name, i);
        train(run, shapes[i], options);
        CHECK(numbers_of(name, "step", "loss", want, 40) == 40);
        CHECK(numbers_of(run, "step", "loss", got, 40) == 40);
        for (int s = 0; s < 40; s++)
            CHECK(fabs(got[s] / want[s] - 1) < 1e-4);
        for (size_t k = 0; k < sizeof same / sizeof *same; k++) {
            CHECK(numbers_of(name, "step", same[k], want, 40) == 40);
            CHECK(numbers_of(run, "step", same[k], got, 40) == 40);
            CHECK(memcmp(got, want, sizeof got) == 0);
        }
    }
}

TEST(one_two_and_four_ranks_train_on_the_same_other_words)
{
    toy_varied_data();
    check_varied("both", TOY(LITTLE, VARIED));
    check_varied("source", TOY(LITTLE, VARIED, "bpe_dropout_side=source"));
    check_varied("target", TOY(LITTLE, VARIED, "bpe_dropout_side=target"));
}

TEST(one_two_and_four_ranks_draw_the_same_pieces_of_a_unigram_model)
{
    toy_unigram_data();
    check_varied("drawn", TOY(LITTLE, DRAWN));
}

/* That all updates were of the same pairs, in the same order. */
static void check_same_pairs(const char *a, const char *b, const char *name)
{
    struct state x, y;
    struct err err = {0};

    CHECK_OK(state_read(&x, in_run(a, name), &err), &err);
    CHECK_OK(state_read(&y, in_run(b, name), &err), &err);
    CHECK(x.pairs_hash == y.pairs_hash && x.cursor.epoch == y.cursor.epoch &&
          x.cursor.next == y.cursor.next);
}

TEST(one_two_and_four_ranks_make_the_same_updates_of_a_mix)
{
    static const struct shape shapes[] = {{.ranks = {1, 1}, .n_nodes = 2},
                                          {.ranks = {2, 2}, .n_nodes = 2}};
    double want[100], got[100];
    char also[300];

    toy_data();
    toy_data_as("bt", 2000, "data/vocab.model");
    snprintf(also, sizeof also, "also_data=%s", test_path("bt"));
    const char *const *options =
        TOY(EXACT, GENTLE, "max_steps=30", also, "mix=bt:1 until 1; data:1,bt:0.5");
    toy_train("one", options);
    const size_t n = numbers_of("one", "step", "loss", want, 100);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char run[16];
        snprintf(run, sizeof run, "ranks-%zu", i);
        train(run, shapes[i], options);
        CHECK(n == 30 && numbers_of(run, "step", "loss", got, 100) == n);
        for (size_t s = 0; s < n; s++)
            CHECK(fabs(got[s] / want[s] - 1) < 1e-4);
        check_same_pairs("one", run, "model.ckpt-30.state");
    }
}

/* Small ones give the embedding buckets of its own: it goes out in two parts. */
TEST(buckets_and_parts_of_the_embedding_leave_every_bit_of_two_nodes)
{
    static const struct shape shapes[] = {{.ranks = {1, 1}, .n_nodes = 2},
                                          {.ranks = {2, 1}, .n_nodes = 2}};
    static const char name[] = "model.ckpt-12.data-00000-of-00001";

    toy_data();
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const char *whole = i ? "whole1" : "whole0", *parts = i ? "parts1" : "parts0";
        train(whole, shapes[i], TOY(EXACT, "max_steps=12", "micro_tokens=60"));
        train(parts, shapes[i],
              TOY(EXACT, "max_steps=12", "micro_tokens=60", "bucket_mib=0.002"));
        check_same_file(in_run(whole, name), in_run(parts, name));
    }
}

TEST(more_ranks_than_pairs_in_an_update_train_the_same)
{
    double want[10], got[10];

    toy_data();
    toy_train("one", TOY(EXACT, "max_steps=10", "batch_tokens=0", "batch_sentences=3"));
    train("many", (struct shape){.ranks = {3, 2}, .n_nodes = 2},
          TOY(EXACT, "max_steps=10", "batch_tokens=0", "batch_sentences=3",
              "bucket_mib=0.002"));
    CHECK(numbers_of("one", "step", "loss", want, 10) == 10);
    CHECK(numbers_of("many", "step", "loss", got, 10) == 10);
    for (int s = 0; s < 10; s++)
        CHECK(fabs(got[s] / want[s] - 1) < 1e-5);
}

TEST(nodes_in_a_grid_make_the_same_updates)
{
    static const struct shape shape = {.ranks = {1, 2, 1, 1, 1}, .n_nodes = 5};
    double want[10], got[10];

    toy_data();
    toy_train("one", TOY(EXACT, GENTLE, "max_steps=10"));
    CHECK(numbers_of("one", "step", "loss", want, 10) == 10);
    for (int i = 0; i < 2; i++) {
        const char *run = i ? "sharded" : "grid";
        train(run, shape,
              TOY(EXACT, GENTLE, "max_steps=10", "exchange=grid", "bucket_mib=0.02",
                  i ? "shard_optimizer=true" : "wire_check=true"));
        CHECK(numbers_of(run, "step", "loss", got, 10) == 10);
        for (int s = 0; s < 10; s++)
            CHECK(fabs(got[s] / want[s] - 1) < 1e-5);
    }
}

static bool config_says(const char *run, const char *text)
{
    struct file_map f;
    struct err err = {0};

    CHECK_OK(file_map_open(&f, in_run(run, "config.yaml"), &err), &err);
    const bool is_there = memmem(f.data, f.n_bytes, text, strlen(text));
    file_map_close(&f);
    return is_there;
}

/* What is measured may change from start to start, and with it the order of sums. */
TEST(a_resumed_run_exchanges_as_it_began)
{
    struct shape shape = {.n_nodes = 16};

    for (int node = 0; node < shape.n_nodes; node++)
        shape.ranks[node] = 1;
    toy_data();
    for (int i = 0; i < 2; i++) {
        const char *run = i ? "grid" : "direct";
        const char *want = i ? "exchange: grid" : "exchange: direct";
        train(run, shape, TOY("max_steps=1", i ? "exchange=grid" : "exchange=direct"));
        train(run, shape, TOY("max_steps=2"));
        CHECK(config_says(run, want));
    }
    train("measured", shape, TOY("max_steps=1"));
    CHECK(!config_says("measured", "exchange: auto"));
}

TEST(the_same_ranks_give_the_same_bytes_also_after_a_stop)
{
    toy_data();
    train("a", four, TOY("max_steps=20", "moving_average=0.9", "eval_every=10"));
    train("b", four, TOY("max_steps=8", "moving_average=0.9", "eval_every=10"));
    train("b", four, TOY("max_steps=20", "moving_average=0.9", "eval_every=10"));
    check_same_file(in_run("a", "model.ckpt-20.data-00000-of-00001"),
                    in_run("b", "model.ckpt-20.data-00000-of-00001"));
    check_same_file(in_run("a", "model.ckpt-20.index"),
                    in_run("b", "model.ckpt-20.index"));
}

static void check_places(const char *a, const char *b, const char *name)
{
    struct state x, y;
    struct err err = {0};

    CHECK_OK(state_read(&x, in_run(a, name), &err), &err);
    CHECK_OK(state_read(&y, in_run(b, name), &err), &err);
    CHECK(x.step == y.step && x.cursor.epoch == y.cursor.epoch &&
          x.cursor.next == y.cursor.next && x.n_target == y.n_target &&
          x.n_source == y.n_source);
}

TEST(a_run_goes_on_with_another_number_of_ranks_in_the_same_order)
{
    double want[40], got[40];

    toy_data();
    toy_train("one", TOY(EXACT, "max_steps=40"));
    train("varied", four, TOY(EXACT, "max_steps=13"));
    train("varied", one, TOY(EXACT, "max_steps=21"));
    train("varied", three_on_one, TOY(EXACT, "max_steps=40"));
    check_places("one", "varied", "model.ckpt-40.state");
    CHECK(numbers_of("one", "step", "loss", want, 40) == 40);
    CHECK(numbers_of("varied", "step", "loss", got, 40) == 40);
    for (int s = 0; s < 40; s++)
        CHECK(fabs(got[s] / want[s] - 1) < 1e-3);
}

TEST(ranks_share_an_evaluation_and_find_what_one_rank_finds)
{
    static const char *const keys[] = {"valid_loss", "eval_loss", "forced_bleu",
                                       "bleu",       "chrf",      "chrf_words",
                                       "ter",        "repeating", "length_ratio"};
    char also[300];
    const char *const *options =
        TOY(EXACT, "max_steps=3", "eval_every=3", "eval_bleu=true", "eval_group=5", also);
    double want[1], got[1];

    toy_data_as("other", 2000, NULL);
    toy_data_as("data", 0, "other/vocab.model");
    snprintf(also, sizeof also, "also_valid=%s", test_path("other"));
    toy_train("one", options);
    train("many", (struct shape){.ranks = {3, 2}, .n_nodes = 2}, options);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CHECK(numbers_of("one", "eval", keys[i], want, 1) == 1);
        CHECK(numbers_of("many", "eval", keys[i], got, 1) == 1);
        CHECK_NEAR(got[0], want[0], 1e-5);
        const size_t n = numbers_of("one", "valid", keys[i], want, 1);
        CHECK(n == 1 && numbers_of("many", "valid", keys[i], got, 1) == 1);
        CHECK_NEAR(got[0], want[0], 1e-5);
    }
    CHECK(file_exists(in_run("many", "rank-4.log")));
    CHECK(!file_exists(in_run("many", "rank-0.log")));
}

TEST(every_wire_learns)
{
    static const char *const ways[] = {"wire=bf16", "wire=fp16", "wire=int8"};
    double loss[40];

    toy_data();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char run[16];
        snprintf(run, sizeof run, "w%zu", i);
        train(run, four,
              TOY(ways[i], "max_steps=40", "log_every=1", "save_every=20",
                  "replica_check_every=1"));
        CHECK(numbers_of(run, "step", "loss", loss, 40) == 40);
        CHECK(loss[39] < 0.9 * loss[0]);
    }
}

TEST(a_sharded_optimizer_makes_the_same_run_and_resumes)
{
    double want[30], got[30];

    toy_data();
    toy_train("one", TOY(EXACT, "max_steps=30"));
    train("parts", four, TOY(EXACT, "max_steps=30", "shard_optimizer=true"));
    train("stop", four, TOY(EXACT, "max_steps=12", "shard_optimizer=true"));
    train("stop", four, TOY(EXACT, "max_steps=30", "shard_optimizer=true"));
    check_same_file(in_run("parts", "model.ckpt-30.data-00000-of-00001"),
                    in_run("stop", "model.ckpt-30.data-00000-of-00001"));
    train("stop", one, TOY(EXACT, "max_steps=31")); /* and by one rank, unsharded */
    CHECK(numbers_of("one", "step", "loss", want, 30) == 30);
    CHECK(numbers_of("parts", "step", "loss", got, 30) == 30);
    for (int s = 0; s < 30; s++)
        CHECK(fabs(got[s] / want[s] - 1) < 1e-3);
}

TEST(nodes_that_train_alone_for_a_while_learn_and_resume_exactly)
{
    const char *const *whole = TOY("local_steps=4", "max_steps=60", "log_every=4",
                                   "save_every=22", "replica_check_every=2");
    double loss[20];

    toy_data();
    train("a", four, whole);
    CHECK(numbers_of("a", "step", "loss", loss, 20) == 15);
    CHECK(loss[14] < 0.9 * loss[0]);
    train("b", four,
          TOY("local_steps=4", "max_steps=22", "log_every=4", "save_every=22"));
    train("b", four, whole);
    check_same_file(in_run("a", "model.ckpt-60.data-00000-of-00001"),
                    in_run("b", "model.ckpt-60.data-00000-of-00001"));
    check_places("a", "b", "model.ckpt-60.state");
}

/* A node divides by the tokens that the pairs of all its ranks have in other words. */
TEST(nodes_that_train_alone_learn_from_other_words)
{
    const char *const *whole = TOY("local_steps=4", "max_steps=60", "log_every=4",
                                   "save_every=22", "batch_tokens=300", VARIED);
    double loss[20];

    toy_varied_data();
    train("a", four, whole);
    train("b", four,
          TOY("local_steps=4", "max_steps=22", "log_every=4", "save_every=22",
              "batch_tokens=300", VARIED));
    train("b", four, whole);
    check_same_file(in_run("a", "model.ckpt-60.data-00000-of-00001"),
                    in_run("b", "model.ckpt-60.data-00000-of-00001"));
    CHECK(numbers_of("a", "step", "loss", loss, 20) == 15);
    CHECK(loss[14] < 0.9 * loss[0]);
}

/* Each node's scale follows its own gradients. */
TEST(nodes_that_train_alone_in_16_bits_resume_exactly_from_any_disk)
{
    const struct shape apart = {.ranks = {1, 1}, .n_nodes = 2, .disk = {0, 1}};
#define HALVES "local_steps=4", "save_every=10", "precision=fp16", "loss_scaling=logmax"

    toy_data();
    train("a", apart, TOY(HALVES, "max_steps=24"));
    train("b", apart, TOY(HALVES, "max_steps=10"));
    train("b", apart, TOY(HALVES, "max_steps=24"));
    check_same_file(in_run("a", "model.ckpt-24.data-00000-of-00001"),
                    in_run("b", "model.ckpt-24.data-00000-of-00001"));
    check_same_file(in_run("a", "model.ckpt-24.data-00000-of-00001"),
                    in_run("a-1", "model.ckpt-24.data-00000-of-00001"));
#undef HALVES
}

/* Nothing can be published: the pointer file's place is taken. */
static void take_pointer(const char *run)
{
    CHECK(unlink(in_run(run, "checkpoint")) == 0);
    CHECK(mkdir(in_run(run, "checkpoint"), 0700) == 0);
}

TEST(a_last_checkpoint_that_is_not_published_is_not_called_saved)
{
    const struct shape two = {.ranks = {2}, .n_nodes = 1};
    struct job j;

    toy_data();
    train("run", two, TOY("max_steps=2"));
    take_pointer("run");
    try_job(&j, "run", two, TOY("max_steps=8", "save_every=4"));
    CHECK(j.result[0] == ERR_IO && j.result[1] != OK);
    CHECK(rmdir(in_run("run", "checkpoint")) == 0);
    train("run", two, TOY("max_steps=8", "save_every=4"));
    CHECK(file_exists(in_run("run", "model.ckpt-8.index")));
}

/* A signal to this process once the run's log holds some steps. */
static void *stop_soon(void *run)
{
    const char *path = run;
    struct file_map map;
    struct err err;

    for (int i = 0; i < 60000; i++) {
        usleep(1000);
        if (file_map_open(&map, path, &err) != OK)
            continue;
        const bool is_time =
            map.n_bytes && memmem(map.data, map.n_bytes, "\"step\":12,", 10);
        file_map_close(&map);
        if (is_time)
            break;
    }
    kill(getpid(), SIGTERM);
    return NULL;
}

/* The step after which the job of the usual options stopped. */
static int64_t stop_job(const char *run, struct shape s, const char *const *more)
{
    struct tf_checkpoint c;
    struct err err = {0};
    char path[400];
    pthread_t thread;

    snprintf(path, sizeof path, "%s", in_run(run, "run.jsonl"));
    CHECK(pthread_create(&thread, NULL, stop_soon, path) == 0);
    train(run, s, more);
    pthread_join(thread, NULL);
    CHECK_OK(tf_checkpoint_read(&c, in_run(run, "checkpoint"), &err), &err);
    const int64_t step = strtoll(strrchr(c.latest, '-') + 1, NULL, 10);
    tf_checkpoint_release(&c);
    CHECK(step >= 12 && step < 1000000);
    return step;
}

/* Of ranks with something of their own: a stop by a signal leaves no trace. */
static void check_stop(struct shape s, const char *const *own)
{
    const char *list[16] = {"max_steps=1000000", "log_every=1"};
    char end[40], name[100];
    struct err err = {0};
    size_t n = 2;

    while (*own)
        list[n++] = *own++;
    toy_data();
    const int64_t step = stop_job("parts", s, list);
    CHECK(file_exists(in_run("parts", "rest")));
    CHECK_OK(file_write(in_run("parts", "rest/999-rank-0.index"), "", 0, &err), &err);
    CHECK_OK(file_write(in_run("parts", "rest/9-rank-1.index.tmp-ferry-999999999-0"), "",
                        0, &err),
             &err);
    snprintf(end, sizeof end, "max_steps=%lld", (long long)step + 9);
    list[0] = end;
    train("parts", s, list);
    CHECK(!file_exists(in_run("parts", "rest"))); /* saved since */
    train("whole", s, list);
    snprintf(name, sizeof name, "model.ckpt-%lld.data-00000-of-00001",
             (long long)step + 9);
    check_same_file(in_run("parts", name), in_run("whole", name));
    snprintf(name, sizeof name, "model.ckpt-%lld.state", (long long)step + 9);
    check_places("parts", "whole", name);
}

TEST(what_int8_has_rounded_off_survives_a_stop_by_a_signal)
{
    check_stop(four, TOY("wire=int8", "save_every=50", "eval_every=70"));
}

TEST(moments_of_nodes_that_train_alone_survive_a_stop_by_a_signal)
{
    check_stop(four, TOY("local_steps=4", "wire=int8", "save_every=50"));
}

TEST(norms_and_scales_of_nodes_that_train_alone_survive_a_stop_by_a_signal)
{
    const struct shape apart = {.ranks = {1, 1}, .n_nodes = 2, .disk = {0, 1}};

    check_stop(apart, TOY("local_steps=3", "optimizer=novograd", "lr_policy=fixed_lr",
                          "learning_rate=0.01", "precision=fp16", "loss_scaling=logmax"));
}

TEST(what_ranks_have_of_their_own_goes_where_the_checkpoint_cannot_be_saved)
{
    struct job j;
    char path[400];
    pthread_t thread;

    toy_data();
    train("run", four, TOY("max_steps=2", "wire=int8", "log_every=1"));
    take_pointer("run");
    snprintf(path, sizeof path, "%s", in_run("run", "run.jsonl"));
    CHECK(pthread_create(&thread, NULL, stop_soon, path) == 0);
    try_job(&j, "run", four, TOY("max_steps=1000000", "wire=int8", "log_every=1"));
    pthread_join(thread, NULL);
    CHECK(j.result[0] == ERR_IO);
    CHECK(!file_exists(in_run("run", "rest")));
}

TEST(a_run_goes_on_without_what_other_ranks_had_of_their_own)
{
    const char *list[] = {"max_steps=1000000", "log_every=1", "wire=int8",
                          "local_steps=4", NULL};
    char end[40], name[100];

    toy_data();
    const int64_t step = stop_job("run", four, list);
    snprintf(end, sizeof end, "max_steps=%lld", (long long)step + 4);
    list[0] = end;
    train("run", (struct shape){.ranks = {1, 1}, .n_nodes = 2}, list);
    snprintf(name, sizeof name, "model.ckpt-%lld.index", (long long)step + 4);
    CHECK(file_exists(in_run("run", name)));
    CHECK(!file_exists(in_run("run", "rest")));
}

/* One number of the embedding in a checkpoint, or of its moving average. */
static double embedded(const char *run, const char *name, bool averaged)
{
    char tensor[200];
    struct tensor_bundle b;
    struct err err = {0};
    const unsigned char *bytes;
    float x;

    snprintf(tensor, sizeof tensor,
             PARAM_ENC "/embedding_shared_weights/embedding_and_softmax/weights%s",
             averaged ? MODEL_DIR_AVERAGE : "");
    CHECK_OK(tensor_bundle_open(&b, in_run(run, name), &err), &err);
    CHECK_OK(tensor_bundle_read(&b, tensor_bundle_find(&b, tensor), &bytes, &err), &err);
    memcpy(&x, bytes + 100 * sizeof x, sizeof x);
    tensor_bundle_close(&b);
    return (double)x;
}

TEST(the_moving_average_of_nodes_that_train_alone_decays_with_every_update)
{
    toy_data();
    train("run", four,
          TOY("local_steps=4", "max_steps=24", "save_every=12", "moving_average=0.5"));
    train("run", four, /* 24 to 27: a meeting of three updates, by a resumed run */
          TOY("local_steps=4", "max_steps=27", "save_every=12", "moving_average=0.5"));
    const double before = embedded("run", "model.ckpt-24", true);
    const double met = embedded("run", "model.ckpt-27", false);
    CHECK(fabs(met - before) > 1e-4);
    CHECK_NEAR(embedded("run", "model.ckpt-27", true), met + 0.125 * (before - met),
               1e-6);
}

TEST(a_node_without_a_pair_in_an_update_makes_none_and_is_not_blamed)
{
    struct state s;
    struct err err = {0};

    toy_data();
    train("run", four,
          TOY("local_steps=4", "batch_tokens=0", "batch_sentences=1", "max_steps=12",
              "skip_limit=1"));
    CHECK_OK(state_read(&s, in_run("run", "model.ckpt-12.state"), &err), &err);
    CHECK(s.step == 12 && s.n_skipped == 0);
}

TEST(nodes_that_meet_after_every_update_are_moved_by_outer_momentum)
{
    struct local_sgd o = {.steps = 2};
    struct device d;
    struct err err = {0};
    float w[3] = {1, 2, 3}, change[3];
    const struct mat weights = {w, 0, 1, 3, 3}, sum = {change, 0, 1, 3, 3};

    CHECK_OK(device_open(&d, "cpu", (struct device_options){.threads = 1}, &err), &err);
    CHECK_OK(local_sgd_open(&o, &d, 3, 0.5, 0.9, &err), &err);
    CHECK_OK(local_sgd_begin(&o, weights, 0, &err), &err);
    w[0] = 0.5F; /* the node went 0.5 down; another one went 1.5 down */
    CHECK_OK(local_sgd_change(&o, sum, weights, true, &err), &err);
    CHECK(change[0] == 0.5F && change[1] == 0 && change[2] == 0);
    change[0] += 1.5F;
    CHECK_OK(local_sgd_step(&o, weights, sum, 2, &err), &err);
    CHECK_NEAR(w[0], 1 - 0.5 * (1 + 0.9), 1e-6); /* v = 1 */
    change[0] = 2;
    CHECK_OK(local_sgd_step(&o, weights, sum, 2, &err), &err);
    CHECK_NEAR(w[0], 0.05 - 0.5 * (1 + 0.9 * 1.9), 1e-6); /* v = 1.9 */
    CHECK(w[1] == 2 && w[2] == 3);
    CHECK_OK(local_sgd_change(&o, sum, weights, false, &err), &err);
    CHECK(change[0] == 0);
    local_sgd_close(&o);
    device_close(&d);
}

TEST(each_disk_keeps_a_copy_and_any_of_them_is_enough_to_go_on)
{
    const struct shape apart = {.ranks = {1, 2}, .n_nodes = 2, .disk = {0, 1, 2}};
    const char *const *first = TOY(EXACT, "max_steps=6", "save_every=2");
    const char *const *then = TOY(EXACT, "max_steps=9", "save_every=2");

    toy_data();
    train("run", apart, first);
    check_same_file(in_run("run", "model.ckpt-6.data-00000-of-00001"),
                    in_run("run-1", "model.ckpt-6.data-00000-of-00001"));
    CHECK(!file_exists(in_run("run-2", "checkpoint"))); /* rank 1 writes for its node */
    CHECK(file_exists(in_run("run-2", "rank-2.log")));

    CHECK(unlink(in_run("run", "model.ckpt-6.index")) == 0); /* damaged on one disk */
    train("run", apart, then);
    CHECK(unlink(in_run("run", "checkpoint")) == 0); /* and a disk that lost it all */
    train("run", apart, TOY(EXACT, "max_steps=12", "save_every=2"));
    train("whole", three_on_one, TOY(EXACT, "max_steps=12"));
    check_places("run", "whole", "model.ckpt-12.state");
    check_places("run-1", "whole", "model.ckpt-12.state");
}

TEST(of_nodes_that_share_another_disk_than_the_first_one_writes)
{
    const struct shape pair = {
        .ranks = {1, 1, 2, 1}, .n_nodes = 4, .disk = {0, 1, 1, 1, 2}};

    toy_data();
    train("run", pair, TOY(EXACT, "max_steps=4"));
    for (int disk = 0; disk < 3; disk++) {
        char run[16];
        snprintf(run, sizeof run, disk ? "run-%d" : "run", disk);
        check_same_file(in_run("run", "model.ckpt-4.data-00000-of-00001"),
                        in_run(run, "model.ckpt-4.data-00000-of-00001"));
    }
    train("run", pair, TOY(EXACT, "max_steps=6"));
}

TEST(a_rank_that_differs_is_named)
{
    const struct comm_peer peer[] = {{"a", 0, 0}, {"a", 0, 1}, {"b", 1, 0}, {"b", 1, 1}};
    const struct comm c = {.size = 4, .peer = peer};
    struct ranks_own all[] = {{2, 1.0, 10}, {2, 1.1, 10}, {2, 0.9, 10}, {2, 1.2, 10}};
    char text[256];

    CHECK(!ranks_find_odd(&c, all, text, sizeof text));
    all[2].grad_norm = 50;
    CHECK(ranks_find_odd(&c, all, text, sizeof text));
    CHECK(strstr(text, "rank 2 on host b") && strstr(text, "50"));
    all[2] = (struct ranks_own){21, 1.0, 10};
    CHECK(ranks_find_odd(&c, all, text, sizeof text));
    CHECK(strstr(text, "rank 2 on host b: loss 21, the ranks' median is 2"));
    all[2] = (struct ranks_own){0}; /* no pairs in this update: nothing to compare */
    CHECK(!ranks_find_odd(&c, all, text, sizeof text));
    all[3].mean_loss = NAN;
    CHECK(ranks_find_odd(&c, all, text, sizeof text) && strstr(text, "rank 3"));
    all[3].mean_loss = 2;
}

/* The largest over these ranks, as it would arrive. */
static struct ranks_most most_of(const struct ranks_own *all, int n)
{
    struct ranks_most most = {0};

    for (int r = 0; r < n; r++) {
        const struct comm c = {.size = n, .rank = r};
        const struct ranks_most own = ranks_most_of(&c, &all[r]);
        const double *x = &own.loss;
        double *y = &most.loss;
        for (size_t i = 0; i < RANKS_N_MOST; i++)
            if (r == 0 || x[i] > y[i] || isnan(x[i]))
                y[i] = x[i];
    }
    return most;
}

TEST(the_largest_numbers_tell_whether_to_ask_every_rank)
{
    const struct ranks_own sound[] = {
        {2, 1.0, 10}, {2, 1.1, 10}, {0, 0, 0}, {2, 1.2, 10}};
    const struct ranks_own bad[] = {
        {NAN, 1, 10}, {2, INFINITY, 10}, {2, 10.1, 10}, {20.1, 1, 10}};
    const struct comm c = {.size = 4};
    struct ranks_own all[4];
    struct ranks_most most = most_of(sound, 4);
    int64_t n_skipped;

    CHECK(!ranks_may_be_odd(&most) && ranks_failed_save(&most) == -1);
    CHECK(ranks_most_skipped(&c, &most, &n_skipped) == 0 && n_skipped == 0);
    for (int i = 0; i < 4; i++) {
        memcpy(all, sound, sizeof all);
        all[1] = bad[i];
        most = most_of(all, 4);
        CHECK(ranks_may_be_odd(&most));
    }
    memset(all, 0, sizeof all); /* nobody has a token */
    all[1].save_failed = all[3].save_failed = 1;
    all[2].n_skipped = all[3].n_skipped = 7;
    most = most_of(all, 4);
    CHECK(!ranks_may_be_odd(&most) && ranks_failed_save(&most) == 1);
    CHECK(ranks_most_skipped(&c, &most, &n_skipped) == 2 && n_skipped == 7);
}
