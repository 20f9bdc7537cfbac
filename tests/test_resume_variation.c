/* Training text that is varied: a stop, threads and micro-batches change nothing of it.
 */
#include <jansson.h>

#include "test.h"
#include "toy_varied.h"

#define AUGMENTED                                                                       \
    "augment_upper=0.2", "augment_title=0.2", "augment_lower=0.1", "augment_typos=0.3", \
        "augment_no_end=0.2", "augment_digits=0.2"

/* Every pair in other words. */
#define VARIED "max_length=64", "bpe_dropout=0.2", AUGMENTED

/* Of a unigram tokenizer. */
#define DRAWN "max_length=64", "subword_alpha=0.2", AUGMENTED

static bool has_same(const char *run, const char *other, const char *name)
{
    struct file_map x, y;
    struct err err = {0};
    char path[2][100];

    snprintf(path[0], sizeof path[0], "%s/%s", run, name);
    snprintf(path[1], sizeof path[1], "%s/%s", other, name);
    CHECK_OK(file_map_open(&x, test_path(path[0]), &err), &err);
    CHECK_OK(file_map_open(&y, test_path(path[1]), &err), &err);
    const bool is_same = x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0;
    file_map_close(&x);
    file_map_close(&y);
    return is_same;
}

static void check_same(const char *run, const char *other, const char *name)
{
    CHECK(has_same(run, other, name));
}

/* Of the data that is there; its runs are called after `name`. */
static void check_resume(const char *name, const char *const *whole,
                         const char *const *part)
{
    char once[64], twice[64];

    snprintf(once, sizeof once, "whole-%s", name);
    snprintf(twice, sizeof twice, "parts-%s", name);
    toy_train(once, whole);
    toy_train(twice, part);
    toy_train(twice, whole);
    check_same(once, twice, "model.ckpt-40.data-00000-of-00001");
    check_same(once, twice, "model.ckpt-40.index");
}

TEST(resume_goes_on_with_the_same_other_words)
{
    toy_varied_data();
    check_resume("both", TOY(VARIED, "max_steps=40"), TOY(VARIED, "max_steps=20"));
    check_resume("source", TOY(VARIED, "bpe_dropout_side=source", "max_steps=40"),
                 TOY(VARIED, "bpe_dropout_side=source", "max_steps=21"));
    check_resume("target", TOY(VARIED, "bpe_dropout_side=target", "max_steps=40"),
                 TOY(VARIED, "bpe_dropout_side=target", "max_steps=22"));
}

TEST(resume_goes_on_with_the_same_other_words_in_micro_batches)
{
    toy_varied_data();
    check_resume("cut", TOY(VARIED, "threads=2", "micro_tokens=70", "max_steps=40"),
                 TOY(VARIED, "threads=2", "micro_tokens=70", "max_steps=17"));
}

TEST(resume_goes_on_with_the_same_draws_of_a_unigram_model)
{
    toy_unigram_data();
    check_resume("both", TOY(DRAWN, "max_steps=40"), TOY(DRAWN, "max_steps=19"));
    check_resume("target",
                 TOY(DRAWN, "bpe_dropout_side=target", "threads=2", "micro_tokens=70",
                     "max_steps=40"),
                 TOY(DRAWN, "bpe_dropout_side=target", "threads=2", "micro_tokens=70",
                     "max_steps=23"));
}

/* The tests above would say little of an option that does nothing to this text. */
static void check_changes(const char *const *options, size_t n)
{
    toy_train("plain", TOY("max_steps=3", "max_length=64"));
    for (size_t i = 0; i < n; i++) {
        toy_train(options[i], TOY("max_steps=3", "max_length=64", options[i]));
        CHECK(!has_same("plain", options[i], "model.ckpt-3.data-00000-of-00001"));
    }
}

TEST(each_kind_of_variation_changes_what_is_trained)
{
    static const char *const kinds[] = {"bpe_dropout=0.2",   "augment_upper=0.2",
                                        "augment_title=0.2", "augment_lower=0.2",
                                        "augment_typos=0.2", "augment_no_end=0.2",
                                        "augment_digits=0.2"};

    toy_varied_data();
    check_changes(kinds, sizeof kinds / sizeof *kinds);
}

TEST(drawing_the_pieces_of_a_unigram_model_changes_what_is_trained)
{
    static const char *const kinds[] = {"subword_alpha=0.2"};

    toy_unigram_data();
    check_changes(kinds, 1);
}

/* A number of every event of one kind, in order. */
static size_t numbers_of(const char *run, const char *kind, const char *key, double *x,
                         size_t max)
{
    char path[100], line[8192];
    size_t n = 0;

    snprintf(path, sizeof path, "%s/run.jsonl", run);
    FILE *f = fopen(test_path(path), "re");
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

TEST(other_words_do_not_depend_on_micro_batches_nor_on_threads)
{
    enum { STEPS = 10 };
    double whole[STEPS], cut[STEPS], plain[STEPS];

    toy_varied_data();
    toy_train("whole", TOY("max_steps=10", "log_every=1", VARIED));
    toy_train("cut", TOY("max_steps=10", "log_every=1", "micro_tokens=70", VARIED));
    toy_train("threads", TOY("max_steps=10", "log_every=1", "threads=3", VARIED));
    toy_train("plain", TOY("max_steps=10", "log_every=1", "max_length=64"));
    check_same("whole", "threads", "model.ckpt-10.data-00000-of-00001");
    CHECK(numbers_of("whole", "step", "loss", whole, STEPS) == STEPS &&
          numbers_of("cut", "step", "loss", cut, STEPS) == STEPS);
    for (int i = 0; i < STEPS; i++)
        CHECK_NEAR(cut[i], whole[i], 1e-5);
    CHECK(numbers_of("whole", "step", "target_tokens", whole, STEPS) == STEPS &&
          numbers_of("plain", "step", "target_tokens", plain, STEPS) == STEPS);
    for (int i = 0; i < STEPS; i++)
        CHECK(whole[i] > plain[i]); /* the same pairs in more pieces */
    CHECK(numbers_of("whole", "start", "micro_tokens", whole, 1) == 1 &&
          numbers_of("plain", "start", "micro_tokens", plain, 1) == 1);
    CHECK(plain[0] == 100 && whole[0] == 150); /* room for them at once */
}

TEST(a_run_does_not_go_on_with_another_variation)
{
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=5", "bpe_dropout=0.1"));
    CHECK_FAILS(toy_try("run", TOY("max_steps=10"), &err), &err, ERR_USAGE,
                "bpe_dropout = 0, but this run began with bpe_dropout = 0.1");
}
