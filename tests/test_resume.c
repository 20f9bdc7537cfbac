/*
 * What survives a stop: 40 updates equal 20, a stop and 20 more, in every byte of the
 * checkpoint; a damaged checkpoint is named and the one before it is used.
 */
#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "corpus/checksum.h"
#include "format/tf/tensor_bundle.h"
#include "format/tf/tf_checkpoint.h"
#include "test.h"
#include "toy_run.h"
#include "train/save/state.h"
#include "train/trainer.h"

static const char *const files[] = {".data-00000-of-00001", ".index", ".meta"};

static const char *in_run(const char *run, const char *name)
{
    char part[300];

    snprintf(part, sizeof part, "%s/%s", run, name);
    return test_path(part);
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

/* Everything but the seconds in the state must agree. */
static void check_same_state(const char *a, const char *b)
{
    struct state x, y;
    struct err err = {0};

    CHECK_OK(state_read(&x, a, &err), &err);
    CHECK_OK(state_read(&y, b, &err), &err);
    x.t_trained = y.t_trained = 0;
    CHECK(x.step == y.step && x.cursor.epoch == y.cursor.epoch &&
          x.cursor.next == y.cursor.next);
    CHECK(x.loss.is_there == y.loss.is_there && x.loss.value == y.loss.value &&
          x.loss.step == y.loss.step);
    CHECK(x.evals_since_best == y.evals_since_best && x.n_source == y.n_source &&
          x.n_target == y.n_target);
}

static void check_same_checkpoint(const char *run_a, const char *run_b, const char *name)
{
    char path[100];

    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", name, files[i]);
        check_same_file(in_run(run_a, path), in_run(run_b, path));
    }
    snprintf(path, sizeof path, "%s.state", name);
    check_same_state(in_run(run_a, path), in_run(run_b, path));
}

static void check_resume(const char *threads, const char *const *more)
{
    const char *list[16] = {threads, NULL};
    size_t n = 1;

    while (more && *more)
        list[n++] = *more++;
    toy_data();
    list[n] = "max_steps=40";
    toy_train("whole", list);
    list[n] = "max_steps=20";
    toy_train("parts", list);
    list[n] = "max_steps=40";
    toy_train("parts", list);
    check_same_checkpoint("whole", "parts", "model.ckpt-40");
}

TEST(forty_updates_equal_twenty_and_twenty_on_one_thread)
{
    check_resume("threads=1", NULL);
}

TEST(forty_updates_equal_twenty_and_twenty_on_two_threads)
{
    check_resume("threads=2", NULL);
}

TEST(resume_keeps_average_accumulation_and_patience)
{
    check_resume("threads=2", TOY("moving_average=0.9", "micro_tokens=40",
                                  "eval_every=10", "patience=50"));
}

TEST(resume_keeps_novograd)
{
    check_resume("threads=1", TOY("optimizer=novograd", "lr_policy=fixed_lr",
                                  "learning_rate=0.01", "weight_decay=0.001"));
}

/* Stages end at 6 and 12 updates or so: the stop at 20 lies in the last. */
TEST(resume_keeps_the_place_in_a_mix)
{
    char also[300];

    toy_data();
    toy_data_as("bt", 2000, "data/vocab.model");
    snprintf(also, sizeof also, "also_data=%s", test_path("bt"));
    check_resume("threads=2",
                 TOY(also, "mix=bt:1 until 1; bt:2,data:1 until 2; data:1,bt:0.7"));
}

TEST(the_same_seed_gives_the_same_run_and_another_one_does_not)
{
    struct file_map a, b;
    struct err err = {0};

    toy_data();
    toy_train("a", TOY("max_steps=10"));
    toy_train("b", TOY("max_steps=10"));
    toy_train("c", TOY("max_steps=10", "seed=2"));
    check_same_checkpoint("a", "b", "model.ckpt-10");
    CHECK_OK(file_map_open(&a, in_run("a", "model.ckpt-10.index"), &err), &err);
    CHECK_OK(file_map_open(&b, in_run("c", "model.ckpt-10.index"), &err), &err);
    CHECK(memcmp(a.data, b.data, a.n_bytes) != 0);
    file_map_close(&a);
    file_map_close(&b);
}

/* The mean loss of each logged step of a run, in order. */
static size_t losses_of(const char *run, double *loss, size_t max)
{
    FILE *f = fopen(in_run(run, "run.jsonl"), "re");
    char line[8192];
    size_t n = 0;

    CHECK(f);
    while (n < max && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, "step") == 0)
            loss[n++] = json_number_value(json_object_get(o, "loss"));
        json_decref(o);
    }
    fclose(f);
    return n;
}

TEST(loss_does_not_depend_on_micro_batches_nor_any_bit_on_threads)
{
    double whole[20], cut[20];

    toy_data();
    toy_train("whole", TOY("max_steps=10", "log_every=1"));
    toy_train("cut", TOY("max_steps=10", "log_every=1", "micro_tokens=30"));
    toy_train("threads", TOY("max_steps=10", "log_every=1", "threads=3"));
    check_same_checkpoint("whole", "threads", "model.ckpt-10");
    CHECK(losses_of("whole", whole, 20) == 10 && losses_of("cut", cut, 20) == 10);
    for (int i = 0; i < 10; i++)
        CHECK_NEAR(cut[i], whole[i], 1e-5);
    CHECK(whole[9] < whole[0]); /* it does learn */
}

/* Large enough that every product, the output layer's too, is shared between threads. */
TEST(no_bit_depends_on_threads_that_share_every_product)
{
    static const char *const n_threads[] = {"threads=1", "threads=2", "threads=3"};
    static const char *const run[] = {"one", "two", "three"};

    toy_data();
    for (int i = 0; i < 3; i++)
        toy_train(run[i], TOY("max_steps=10", "d_model=128", "d_ff=512", "heads=4",
                              "vocab_size=2048", "batch_tokens=500", n_threads[i]));
    check_same_checkpoint("one", "two", "model.ckpt-10");
    check_same_checkpoint("one", "three", "model.ckpt-10");
}

TEST(recomputed_activations_give_the_same_bytes)
{
    toy_data();
    toy_train("kept", TOY("max_steps=10"));
    toy_train("again", TOY("max_steps=10", "recompute=true"));
    check_same_checkpoint("kept", "again", "model.ckpt-10");
    toy_train("half", TOY("max_steps=10", "precision=bf16"));
    toy_train("again half", TOY("max_steps=10", "precision=bf16", "recompute=true"));
    check_same_checkpoint("half", "again half", "model.ckpt-10");
}

TEST(max_steps_0_writes_the_first_checkpoint_and_stops)
{
    toy_data();
    toy_train("run", TOY("max_steps=0"));
    CHECK(file_exists(in_run("run", "model.ckpt-0.index")));
    CHECK(file_exists(in_run("run", "config.yaml")));
    CHECK(file_exists(in_run("run", "vocab.model")));
}

TEST(the_last_checkpoints_are_kept_and_named)
{
    struct tf_checkpoint c;
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=10", "save_every=2", "keep_last=2"));
    CHECK_OK(tf_checkpoint_read(&c, in_run("run", "checkpoint"), &err), &err);
    CHECK(c.n == 2);
    CHECK_STR(c.latest, "model.ckpt-10");
    CHECK_STR(c.all[0], "model.ckpt-8");
    tf_checkpoint_release(&c);
    CHECK(!file_exists(in_run("run", "model.ckpt-6.index")));
    CHECK(!file_exists(in_run("run", "model.ckpt-6.data-00000-of-00001")));
    CHECK(file_exists(in_run("run", "model.ckpt-8.state")));
}

TEST(the_resolved_config_reproduces_the_run)
{
    struct train_config *c = calloc(1, sizeof *c);
    struct err err = {0};

    toy_data();
    toy_train("a", TOY("max_steps=10", "optimizer=adamw", "weight_decay=0.01"));
    CHECK_OK(train_config_defaults(c, &err), &err);
    CHECK_OK(opt_file(train_config_table, c, in_run("a", "config.yaml"),
                      OPT_REFUSE_UNKNOWN, &err),
             &err);
    CHECK_OK(opt_set(train_config_table, c, "run", test_path("b"), &err), &err);
    CHECK_OK(toy_run_config(c, &err), &err);
    check_same_checkpoint("a", "b", "model.ckpt-10");
    free(c);
}

TEST(changed_options_are_refused_by_name_except_the_free_ones)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=4"));
    CHECK_FAILS(toy_try("run", TOY("max_steps=8", "d_model=32"), &err), &err, ERR_USAGE,
                "d_model = 32");
    CHECK_FAILS(toy_try("run", TOY("max_steps=8", "seed=5"), &err), &err, ERR_USAGE,
                "seed = 5");
    CHECK_FAILS(toy_try("run", TOY("max_steps=8", "beta2=0.98"), &err), &err, ERR_USAGE,
                "beta2 = 0.98");
    toy_train("run", TOY("max_steps=8", "log_every=1", "save_every=3", "threads=2",
                         "keep_last=3", "eval_every=4"));
    CHECK(file_exists(in_run("run", "model.ckpt-8.index")));
}

static void cut_file(const char *path, off_t n)
{
    CHECK(truncate(path, n) == 0);
}

TEST(a_truncated_checkpoint_is_refused_and_the_one_before_used)
{
    static const char *const parts[] = {".data-00000-of-00001", ".index", ".meta",
                                        ".state"};

    toy_data();
    for (int f = 0; f < 4; f++)
        for (int at = 0; at < 3; at++) {
            char run[32], name[64];
            struct err err = {0};
            snprintf(run, sizeof run, "run%d%d", f, at);
            toy_train(run, TOY("max_steps=6", "save_every=3"));
            snprintf(name, sizeof name, "model.ckpt-6%s", parts[f]);
            const int64_t n = file_bytes(in_run(run, name));
            cut_file(in_run(run, name), at == 0 ? 0 : at == 1 ? n / 2 : n - 1);
            CHECK_OK(toy_try(run, TOY("max_steps=9", "save_every=3"), &err), &err);
            CHECK(file_exists(in_run(run, "model.ckpt-9.index")));
        }
}

/* The text of a file with the first `from` replaced by `to`. */
static void edit(const char *path, const char *from, const char *to)
{
    struct file_map map;
    struct str text = str_new(0);
    struct err err = {0};

    CHECK_OK(file_map_open(&map, path, &err), &err);
    const char *all = (const char *)map.data;
    const char *at = memmem(all, map.n_bytes, from, strlen(from));
    CHECK(at);
    const size_t before = (size_t)(at - all), behind = before + strlen(from);
    str_add(&text, all, before);
    str_puts(&text, to);
    str_add(&text, all + behind, map.n_bytes - behind);
    file_map_close(&map);
    CHECK_OK(file_write_str(path, &text, &err), &err);
    str_release(&text);
}

TEST(a_state_with_one_changed_digit_is_not_believed)
{
    struct state s;
    struct err err = {0};

    toy_data();
    toy_train("whole", TOY("max_steps=9", "save_every=3"));
    toy_train("run", TOY("max_steps=6", "save_every=3", "keep_last=2"));
    CHECK_OK(state_read(&s, in_run("run", "model.ckpt-6.state"), &err), &err);
    edit(in_run("run", "model.ckpt-6.state"), "\"skipped\": 0", "\"skipped\": 1");
    toy_train("run", TOY("max_steps=9", "save_every=3", "keep_last=2"));
    check_same_checkpoint("whole", "run", "model.ckpt-9");
    for (int i = 0; i < 2; i++)
        edit(in_run("run", i ? "model.ckpt-9.state" : "model.ckpt-6.state"),
             "\"skipped\": 0", "\"skipped\": 1");
    CHECK_FAILS(toy_try("run", TOY("max_steps=12"), &err), &err, ERR_FORMAT,
                "no whole checkpoint");
}

TEST(a_newer_programs_state_is_refused_and_nothing_is_overwritten)
{
    struct err err = {0};
    char path[400];

    toy_data();
    toy_train("run", TOY("max_steps=6", "save_every=3"));
    snprintf(path, sizeof path, "%s", in_run("run", "model.ckpt-6.state"));
    edit(path, "\"version\": 2", "\"version\": 7");
    struct file_map map;
    CHECK_OK(file_map_open(&map, path, &err), &err);
    const char *all = (const char *)map.data;
    const char *at = memmem(all, map.n_bytes, "\"checksum\"", 10);
    CHECK(at);
    char was[40], sum[40];
    snprintf(was, sizeof was, "%.30s", at);
    snprintf(sum, sizeof sum, "\"checksum\": \"%016llx\"",
             (unsigned long long)checksum_of(all, (size_t)(at - all)));
    file_map_close(&map);
    edit(path, was, sum);
    CHECK_FAILS(toy_try("run", TOY("max_steps=9", "save_every=3"), &err), &err, ERR_USAGE,
                "newer ferry (version 7");
    CHECK(!file_exists(in_run("run", "model.ckpt-9.index")));
    CHECK(state_read(&(struct state){0}, path, &err) == ERR_USAGE);
}

/* As the first states were: without version, checksum and what came later. */
static void make_old(const char *path)
{
    struct file_map map;
    struct err err = {0};

    edit(path, "\"version\": 2,\n ", "");
    CHECK_OK(file_map_open(&map, path, &err), &err);
    const char *all = (const char *)map.data;
    const char *at = memmem(all, map.n_bytes, ",\n \"pairs_hash\"", 15);
    CHECK(at);
    char rest[2048];
    snprintf(rest, sizeof rest, "%.*s", (int)(all + map.n_bytes - at), at);
    file_map_close(&map);
    edit(path, rest, "\n}");
}

TEST(a_run_of_the_first_states_goes_on_where_it_was)
{
    struct state s;
    struct err err = {0};

    toy_data();
    toy_train("whole", TOY("max_steps=9", "save_every=3"));
    toy_train("run", TOY("max_steps=6", "save_every=3"));
    make_old(in_run("run", "model.ckpt-6.state"));
    toy_train("run", TOY("max_steps=9", "save_every=3"));
    check_same_checkpoint("whole", "run", "model.ckpt-9");
    CHECK_OK(state_read(&s, in_run("run", "model.ckpt-9.state"), &err), &err);
    CHECK(s.train_hash && s.micro_tokens == 100);
}

TEST(another_corpus_is_refused_by_the_way_to_take_the_weights_there)
{
    struct err err = {0};
    char from[400];

    toy_data();
    toy_train("run", TOY("max_steps=3"));
    CHECK(rename(test_path("data"), test_path("first")) == 0);
    toy_data_as("data", 200, "first/vocab.model");
    CHECK_FAILS(toy_try("run", TOY("max_steps=6"), &err), &err, ERR_USAGE,
                "data/train.bin is not the corpus that this run is trained on: checksum");
    CHECK(strstr(err.msg, "init_from="));
    CHECK(!file_exists(in_run("run", "model.ckpt-6.index")));
    snprintf(from, sizeof from, "init_from=%s", test_path("run"));
    toy_train("other", TOY("max_steps=3", from));
    toy_data_as("data", 0, "first/vocab.model"); /* made again, it is the same */
    toy_train("run", TOY("max_steps=6"));
}

TEST(another_vocabulary_is_refused_by_the_data_it_comes_from)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=3"));
    toy_data_as("data", 200, NULL);
    CHECK_FAILS(toy_try("run", TOY("max_steps=6", "vocab_size=80"), &err), &err,
                ERR_USAGE, "the vocabulary of ");
    edit(in_run("run", "config.yaml"), "/data", "/before");
    edit(in_run("run", "config.yaml"), "# checksum", "# edited, was");
    CHECK_FAILS(toy_try("run", TOY("max_steps=6", "vocab_size=20"), &err), &err,
                ERR_USAGE, "/before); resume with that data");
}

TEST(a_resumed_run_cuts_its_updates_as_before_as_long_as_that_fits)
{
    static const char *const usual[] = {"batch_tokens=3000", "save_every=2"};
    struct state s;
    struct err err = {0};

    toy_data();
    toy_train("whole", TOY("max_steps=4", usual[0], usual[1], "memory_mib=2"));
    CHECK_OK(state_read(&s, in_run("whole", "model.ckpt-4.state"), &err), &err);
    const int64_t cut = s.micro_tokens;
    CHECK(cut > 100 && cut < 3000);
    toy_train("more", TOY("max_steps=2", usual[0], usual[1], "memory_mib=2"));
    toy_train("more", TOY("max_steps=4", usual[0], usual[1]));
    check_same_checkpoint("whole", "more", "model.ckpt-4");
    toy_train("less", TOY("max_steps=2", usual[0], usual[1], "memory_mib=2"));
    toy_train("less", TOY("max_steps=4", usual[0], usual[1], "memory_mib=1"));
    CHECK_OK(state_read(&s, in_run("less", "model.ckpt-4.state"), &err), &err);
    CHECK(s.micro_tokens < cut);
    toy_train("set", TOY("max_steps=2", usual[0], usual[1], "memory_mib=2"));
    toy_train("set", TOY("max_steps=4", usual[0], usual[1], "micro_tokens=3000"));
    CHECK_OK(state_read(&s, in_run("set", "model.ckpt-4.state"), &err), &err);
    CHECK(s.micro_tokens == 3000);
}

TEST(without_any_whole_checkpoint_the_run_is_refused)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=2", "keep_last=1"));
    cut_file(in_run("run", "model.ckpt-2.data-00000-of-00001"), 100);
    CHECK_FAILS(toy_try("run", TOY("max_steps=4", "keep_last=1"), &err), &err, ERR_FORMAT,
                "no whole checkpoint");
}

/* The step that the newest session of a run began with. */
static int64_t began_at(const char *run)
{
    FILE *f = fopen(in_run(run, "run.jsonl"), "re");
    char line[8192];
    int64_t step = -1;

    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, "start") == 0)
            step = json_integer_value(json_object_get(o, "step"));
        json_decref(o);
    }
    fclose(f);
    return step;
}

static void point(const char *run, const char *text)
{
    struct err err = {0};

    CHECK_OK(file_write(in_run(run, "checkpoint"), text, strlen(text), &err), &err);
}

TEST(a_run_whose_pointer_file_is_lost_goes_on)
{
    static const char *const texts[] = {"", "garbage\n", NULL};

    toy_data();
    for (size_t i = 0; i < 3; i++) {
        char run[8];
        snprintf(run, sizeof run, "run%zu", i);
        toy_train(run, TOY("max_steps=6", "save_every=3"));
        if (texts[i])
            point(run, texts[i]);
        else
            CHECK(unlink(in_run(run, "checkpoint")) == 0);
        toy_train(run, TOY("max_steps=9", "save_every=3"));
        CHECK(began_at(run) == 6);
        CHECK(file_exists(in_run(run, "model.ckpt-3.index")));
        toy_train(run, TOY("max_steps=10", "save_every=3", "keep_last=2"));
        CHECK(!file_exists(in_run(run, "model.ckpt-3.index"))); /* listed again */
    }
}

TEST(a_run_killed_inside_its_first_save_begins_anew)
{
    toy_data();
    toy_train("run", TOY("max_steps=0"));
    CHECK(unlink(in_run("run", "checkpoint")) == 0);
    CHECK(unlink(in_run("run", "model.ckpt-0.meta")) == 0);
    toy_train("run", TOY("max_steps=2"));
    CHECK(file_exists(in_run("run", "model.ckpt-0.meta")));
    CHECK(unlink(in_run("run", "checkpoint")) == 0); /* the one of step 2 goes on */
    CHECK(unlink(in_run("run", "model.ckpt-0.meta")) == 0);
    toy_train("run", TOY("max_steps=3"));
    CHECK(began_at("run") == 2);
}

TEST(checkpoints_of_no_use_without_a_pointer_file_are_not_overwritten)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=2", "keep_last=1"));
    CHECK(unlink(in_run("run", "checkpoint")) == 0);
    cut_file(in_run("run", "model.ckpt-2.data-00000-of-00001"), 100);
    CHECK_FAILS(toy_try("run", TOY("max_steps=4", "keep_last=1"), &err), &err, ERR_FORMAT,
                "no whole checkpoint");
    CHECK(file_bytes(in_run("run", "model.ckpt-2.data-00000-of-00001")) == 100);
}

TEST(a_pointer_file_of_one_line_resumes)
{
    toy_data();
    toy_train("run", TOY("max_steps=6", "save_every=3"));
    point("run", "model_checkpoint_path: \"model.ckpt-6\"\n");
    toy_train("run", TOY("max_steps=9", "save_every=3"));
    CHECK(began_at("run") == 6);
    CHECK(!file_exists(in_run("run", "newer-than-6")));
}

/* As TensorFlow takes it; what was trained beyond that checkpoint is kept aside. */
TEST(a_pointer_file_that_names_an_older_checkpoint_goes_back_to_it)
{
    static const char *const texts[] = {"model_checkpoint_path: \"model.ckpt-3\"\n",
                                        "model_checkpoint_path: \"model.ckpt-3\"\n"
                                        "all_model_checkpoint_paths: \"model.ckpt-3\"\n"
                                        "all_model_checkpoint_paths: \"model.ckpt-6\"\n"
                                        "all_model_checkpoint_paths: \"model.ckpt-9\"\n"};

    toy_data();
    toy_train("whole", TOY("max_steps=9", "save_every=3", "eval_every=3", "keep_best=2"));
    for (size_t i = 0; i < 2; i++) {
        char run[8];
        snprintf(run, sizeof run, "run%zu", i);
        toy_train(run, TOY("max_steps=9", "save_every=3", "eval_every=3", "keep_best=2"));
        point(run, texts[i]);
        toy_train(run, TOY("max_steps=4", "save_every=3", "eval_every=3", "keep_best=2"));
        CHECK(began_at(run) == 3);
        CHECK(file_exists(in_run(run, "model.ckpt-4.index")));
        CHECK(!file_exists(in_run(run, "model.ckpt-9.index")));
        check_same_file(in_run(run, "newer-than-3/model.ckpt-9.index"),
                        in_run("whole", "model.ckpt-9.index"));
        CHECK(file_exists(in_run(run, "newer-than-3/model.ckpt-6.state")));
        CHECK(file_is_dir(in_run(run, "newer-than-3/best_models")));
    }
}

TEST(a_path_out_of_the_run_directory_is_refused_and_nothing_lost)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=6", "save_every=3"));
    toy_train("other", TOY("max_steps=2"));
    point("run", "model_checkpoint_path: \"../other/model.ckpt-2\"\n"
                 "all_model_checkpoint_paths: \"../other/model.ckpt-2\"\n");
    CHECK_FAILS(toy_try("run", TOY("max_steps=9"), &err), &err, ERR_FORMAT,
                "not in that directory");
    CHECK(file_exists(in_run("other", "model.ckpt-2.index")));
    CHECK(file_exists(in_run("run", "model.ckpt-6.index")));
}

/* A run directory from elsewhere: what its links point at is nobody's business. */
TEST(links_in_a_run_directory_do_not_let_training_write_outside)
{
    static const char *const names[] = {"checkpoint", "model.ckpt-6.index",
                                        "model.ckpt-6.state", ".pulse"};
    static const char *const refused[] = {".lock", "run.jsonl"};
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=3", "keep_last=1"));
    CHECK_OK(file_write(test_path("victim"), "mine", 4, &err), &err);
    CHECK(unlink(in_run("run", "checkpoint")) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK(symlink("../victim", in_run("run", names[i])) == 0);
    toy_train("run", TOY("max_steps=6", "keep_last=1"));
    CHECK(file_bytes(test_path("victim")) == 4);
    CHECK(began_at("run") == 3);
    for (size_t i = 0; i < 2; i++) {
        CHECK(rename(in_run("run", refused[i]), in_run("run", "kept")) == 0);
        CHECK(symlink("../victim", in_run("run", refused[i])) == 0);
        CHECK_FAILS(toy_try("run", TOY("max_steps=9", "keep_last=1"), &err), &err, ERR_IO,
                    "symbolic link");
        CHECK(file_bytes(test_path("victim")) == 4);
        CHECK(rename(in_run("run", "kept"), in_run("run", refused[i])) == 0);
    }
}

/* The first sentence becomes 1,200 bytes of two-byte letters. */
TEST(a_sample_is_cut_between_letters)
{
    FILE *f;
    char line[8192];
    size_t n = 0;

    toy_data();
    f = fopen(test_path("data/valid.source"), "we");
    for (int i = 0; i < 12 * 600; i++)
        fprintf(f, i % 600 < 599 ? "ü" : "ü\n");
    CHECK(f && fclose(f) == 0);
    toy_train("run", TOY("max_steps=1", "eval_bleu=true", "eval_samples=1"));
    f = fopen(in_run("run", "run.jsonl"), "re");
    while (f && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, "sample") == 0)
            n = json_string_length(json_object_get(o, "source"));
        json_decref(o);
    }
    CHECK(f && fclose(f) == 0);
    CHECK(n == 1022);
}

TEST(a_checkpoint_without_our_state_begins_a_new_epoch)
{
    toy_data();
    toy_train("run", TOY("max_steps=6"));
    CHECK(unlink(in_run("run", "model.ckpt-6.state")) == 0);
    toy_train("run", TOY("max_steps=9"));
    struct state s;
    struct err err = {0};
    CHECK_OK(state_read(&s, in_run("run", "model.ckpt-9.state"), &err), &err);
    CHECK(s.step == 9 && s.cursor.epoch == 0);
}

TEST(patience_ends_a_run_that_does_not_improve)
{
    struct state s;
    struct err err = {0};

    toy_data();
    /* a learning rate of 0 cannot improve anything: evaluations at 2, 4, 6 */
    toy_train("run", TOY("max_steps=50", "lr_policy=fixed_lr", "learning_rate=0",
                         "eval_every=2", "patience=2"));
    CHECK_OK(state_read(&s, in_run("run", "model.ckpt-6.state"), &err), &err);
    CHECK(s.step == 6 && s.evals_since_best == 2 && s.loss.step == 2);
    /* it stays ended until it is given more */
    toy_train("run", TOY("max_steps=50", "lr_policy=fixed_lr", "learning_rate=0",
                         "eval_every=2", "patience=2"));
    CHECK(!file_exists(in_run("run", "model.ckpt-8.state")));
    toy_train("run", TOY("max_steps=8", "lr_policy=fixed_lr", "learning_rate=0",
                         "eval_every=2", "patience=0"));
    CHECK(file_exists(in_run("run", "model.ckpt-8.state")));
}

TEST(best_models_follow_the_validation_loss)
{
    struct tf_checkpoint c;
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=20", "eval_every=5", "keep_best=2"));
    CHECK_OK(tf_checkpoint_read(&c, in_run("run", "best_models/checkpoint"), &err), &err);
    CHECK(c.n == 2 && strncmp(c.latest, "val_loss=", 9) == 0);
    CHECK(strstr(c.latest, "-step-20"));
    tf_checkpoint_release(&c);
}

static size_t count_of_kind(const struct tf_checkpoint *c, const char *kind)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += strncmp(c->all[i], kind, strlen(kind)) == 0;
    return n;
}

TEST(best_models_by_loss_and_by_bleu_are_kept_and_one_is_pointed_at)
{
    static const char *const metrics[][2] = {{"best_metric=loss", "val_loss="},
                                             {"best_metric=bleu", "bleu="}};

    toy_data();
    for (int i = 0; i < 2; i++) {
        struct tf_checkpoint c;
        struct err err = {0};
        toy_train(metrics[i][1], TOY("max_steps=20", "eval_every=5", "keep_best=2",
                                     "eval_bleu=true", metrics[i][0]));
        CHECK_OK(
            tf_checkpoint_read(&c, in_run(metrics[i][1], "best_models/checkpoint"), &err),
            &err);
        CHECK(strncmp(c.latest, metrics[i][1], strlen(metrics[i][1])) == 0);
        CHECK(count_of_kind(&c, "val_loss=") == 2);
        CHECK(count_of_kind(&c, "bleu=") >= 1 && count_of_kind(&c, "bleu=") <= 2);
        tf_checkpoint_release(&c);
    }
}

TEST(without_memory_for_a_copy_saving_still_works)
{
    toy_data();
    toy_train("whole", TOY("max_steps=10", "save_every=3"));
    toy_train("tight", TOY("max_steps=10", "save_every=3", "memory_mib=1"));
    check_same_checkpoint("whole", "tight", "model.ckpt-10");
}

TEST(a_micro_batch_that_does_not_fit_is_refused_with_the_one_that_does)
{
    struct err err = {0};
    char option[64];

    toy_data();
    CHECK_FAILS(toy_try("run",
                        TOY("max_steps=2", "batch_tokens=9000", "micro_tokens=8000",
                            "memory_mib=2"),
                        &err),
                &err, ERR_MEMORY, "micro_tokens = 8000 need");
    CHECK(strstr(err.msg, "2 MiB are allowed: "));
    const long fits = strtol(strrchr(err.msg, ':') + 1, NULL, 10);
    CHECK(fits > 100);
    snprintf(option, sizeof option, "micro_tokens=%ld", fits);
    toy_train("run", TOY("max_steps=2", "batch_tokens=9000", option, "memory_mib=2"));
}

TEST(not_finite_gradients_are_skipped_counted_and_end_the_run)
{
    struct err err = {0};

    toy_data();
    CHECK_FAILS(toy_try("run",
                        TOY("max_steps=50", "learning_rate=1e6", "coefficient=1e6",
                            "warmup_steps=1", "skip_limit=3"),
                        &err),
                &err, ERR_NUMERIC, "in a row");
}

TEST(a_full_disk_stops_the_write_and_not_the_run)
{
    struct rlimit old, small;

    toy_data();
    toy_train("run", TOY("max_steps=2"));
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = old;
    small.rlim_cur = 20000; /* less than one .data file, more than the logs */
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    struct err err = {0};
    const status result =
        toy_try("run", TOY("max_steps=6", "save_every=1", "eval_every=2"), &err);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(result == ERR_IO); /* the last checkpoint is owed and could not be written */
    toy_train("run", TOY("max_steps=6", "save_every=1"));
    CHECK(file_exists(in_run("run", "model.ckpt-6.index")));
}

TEST(a_second_training_in_the_same_directory_is_refused)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=1"));
    const int other = open(in_run("run", ".lock"), O_RDWR);
    CHECK(other >= 0 && flock(other, LOCK_EX) == 0);
    CHECK_FAILS(toy_try("run", TOY("max_steps=2"), &err), &err, ERR_IO,
                "another process");
    close(other);
}

TEST(weights_of_another_model_are_taken_by_init_from)
{
    char from[400];

    toy_data();
    toy_train("a", TOY("max_steps=5"));
    snprintf(from, sizeof from, "init_from=%s", test_path("a"));
    toy_train("b", TOY("max_steps=0", from));
    struct tensor_bundle x, y;
    struct err err = {0};
    const unsigned char *p, *q;
    CHECK_OK(tensor_bundle_open(&x, in_run("a", "model.ckpt-5"), &err), &err);
    CHECK_OK(tensor_bundle_open(&y, in_run("b", "model.ckpt-0"), &err), &err);
    const struct tensor_entry *e = &x.index.entry[0], *f = &y.index.entry[0];
    CHECK_OK(tensor_bundle_read(&x, e, &p, &err), &err);
    CHECK_OK(tensor_bundle_read(&y, f, &q, &err), &err);
    CHECK(e->n_bytes == f->n_bytes && memcmp(p, q, e->n_bytes) == 0);
    tensor_bundle_close(&x);
    tensor_bundle_close(&y);
}
