/*
 * Several validation sets: each is measured as if it were alone, and the best model and
 * patience follow the measure and the set that were chosen.
 */
#include <jansson.h>

#include "format/tf/tf_checkpoint.h"
#include "test.h"
#include "toy_run.h"
#include "train/eval/eval.h"
#include "train/eval/evaluate.h"
#include "train/save/state.h"

static const char *in_run(const char *run, const char *name)
{
    char part[300];

    snprintf(part, sizeof part, "%s/%s", run, name);
    return test_path(part);
}

/* "data" and "other", of one vocabulary; `also` becomes the option. */
static void two_sets(char also[300])
{
    toy_data();
    toy_data_as("other", 2000, "data/vocab.model");
    snprintf(also, 300, "also_valid=%s", test_path("other"));
}

/* The newest entry of a kind; to be released. */
static json_t *newest(const char *run, const char *kind)
{
    FILE *f = fopen(in_run(run, "run.jsonl"), "re");
    json_t *found = NULL;
    char line[16384];

    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        const char *event = json_string_value(json_object_get(o, "event"));
        if (event && strcmp(event, kind) == 0) {
            json_decref(found);
            found = json_incref(o);
        }
        json_decref(o);
    }
    fclose(f);
    CHECK(found);
    return found;
}

static double number(const json_t *o, const char *key)
{
    CHECK(json_is_number(json_object_get(o, key)));
    return json_number_value(json_object_get(o, key));
}

/* As `ferry eval` measures it. */
static void measure(const char *data, const char *tokenize, struct evaluate_result *r)
{
    struct eval_config c;
    struct err err = {0};

    CHECK_OK(opt_defaults(eval_options, &c, &err), &err);
    snprintf(c.data, sizeof c.data, "%s", test_path(data));
    snprintf(c.set, sizeof c.set, "valid");
    snprintf(c.checkpoint, sizeof c.checkpoint, "last");
    snprintf(c.score.score_tokenize, sizeof c.score.score_tokenize, "%s", tokenize);
    c.score.score_lowercase = strcmp(tokenize, "char") == 0;
    c.threads = 1;
    CHECK_OK(eval_measure(&c, test_path("run"), r, &err), &err);
}

TEST(each_set_is_measured_as_if_it_were_alone)
{
    static const char *const kinds[] = {"eval", "valid"}, *const sets[] = {"data",
                                                                           "other"};
    char also[300];

    two_sets(also);
    toy_train("run", TOY("max_steps=60", "eval_bleu=true", also));
    for (int i = 0; i < 2; i++) {
        struct evaluate_result r = {0};
        json_t *o = newest("run", kinds[i]);
        measure(sets[i], "13a", &r);
        CHECK_NEAR(number(o, "valid_loss"), r.valid_loss, 1e-6);
        CHECK_NEAR(number(o, "bleu"), r.score[METRIC_BLEU], 1e-6);
        CHECK_NEAR(number(o, "chrf"), r.score[METRIC_CHRF], 1e-6);
        CHECK_NEAR(number(o, "chrf_words"), r.score[METRIC_CHRF_WORDS], 1e-6);
        CHECK_NEAR(number(o, "ter"), r.score[METRIC_TER], 1e-6);
        CHECK_NEAR(number(o, "repeating"), r.repeating, 1e-9);
        CHECK_NEAR(number(o, "length_ratio"), r.length_ratio, 1e-9);
        json_decref(o);
    }
    json_t *o = newest("run", "valid");
    CHECK(strcmp(json_string_value(json_object_get(o, "name")), "other") == 0);
    CHECK(number(o, "sentences") == 12 && number(o, "step") == 60);
    json_decref(o);
}

TEST(text_is_compared_as_the_options_say)
{
    struct evaluate_result r = {0}, usual = {0};
    struct err err = {0};

    toy_data();
    toy_train("run", TOY("max_steps=60", "eval_bleu=true", "score_tokenize=char",
                         "score_lowercase=true"));
    json_t *o = newest("run", "eval");
    measure("data", "char", &r);
    measure("data", "13a", &usual);
    CHECK(strstr(r.signature[METRIC_BLEU], "|case:lc|eff:no|tok:char|"));
    CHECK(strstr(r.signature[METRIC_CHRF], "|case:lc|"));
    CHECK_STR(json_string_value(json_object_get(o, "bleu_signature")),
              r.signature[METRIC_BLEU]);
    CHECK_NEAR(number(o, "bleu"), r.score[METRIC_BLEU], 1e-6);
    CHECK(fabs(r.score[METRIC_BLEU] - usual.score[METRIC_BLEU]) > 0.01);
    CHECK(r.score[METRIC_TER] == usual.score[METRIC_TER]);
    json_decref(o);
    CHECK_FAILS(toy_try("run", TOY("max_steps=70", "score_tokenize=13a"), &err), &err,
                ERR_USAGE, "score_tokenize");
}

TEST(the_best_model_follows_the_measure_of_the_set_that_was_chosen)
{
    struct tf_checkpoint c;
    struct state s;
    struct err err = {0};
    char also[300];

    two_sets(also);
    toy_train("run", TOY("max_steps=60", "eval_every=10", "eval_bleu=true", "patience=0",
                         "best_metric=chrf", "best_set=other", also));
    CHECK_OK(state_read(&s, in_run("run", "model.ckpt-60.state"), &err), &err);
    json_t *o = newest("run", "best");
    const char *path = json_string_value(json_object_get(o, "path"));
    CHECK_OK(tf_checkpoint_read(&c, in_run("run", "best_models/checkpoint"), &err), &err);
    CHECK(strncmp(c.latest, "best=", 5) == 0);
    CHECK(s.chosen.is_there && s.loss.is_there && s.bleu.is_there);
    CHECK(s.evals_since_best == (60 - s.chosen.step) / 10);
    if (strncmp(path, "best=", 5) == 0) {
        CHECK(strcmp(json_string_value(json_object_get(o, "measure")), "chrf") == 0);
        CHECK(strcmp(json_string_value(json_object_get(o, "set")), "other") == 0);
        CHECK_NEAR(number(o, "value"), s.chosen.value, 1e-9);
    }
    tf_checkpoint_release(&c);
    json_decref(o);
    if (s.chosen.step == 60) { /* of the other set, not of the data's own */
        o = newest("run", "valid");
        CHECK_NEAR(number(o, "chrf"), s.chosen.value, 1e-9);
        json_decref(o);
    }
    CHECK(s.chosen.value > 0);
}

/* Nothing improves at a learning rate of 0: the counts of patience survive a stop. */
TEST(patience_follows_the_measure_that_was_chosen_over_a_stop)
{
    static const char *const metrics[] = {"best_metric=chrf", "best_metric=chrf++",
                                          "best_metric=ter"};
    static const char *const runs[] = {"chars", "words", "edits"};
    struct state s;
    struct err err = {0};

    toy_data();
    for (int i = 0; i < 3; i++) {
        const char *run = runs[i];
        for (int steps = 4; steps <= 50; steps += 46) {
            char most[32];
            snprintf(most, sizeof most, "max_steps=%d", steps);
            toy_train(run,
                      TOY(most, "lr_policy=fixed_lr", "learning_rate=0", "eval_every=2",
                          "patience=2", "eval_bleu=true", metrics[i]));
        }
        CHECK_OK(state_read(&s, in_run(run, "model.ckpt-6.state"), &err), &err);
        CHECK(s.chosen.is_there && s.chosen.step == 2 && s.evals_since_best == 2);
        CHECK(!file_exists(in_run(run, "model.ckpt-8.state")));
    }
}

TEST(sets_that_cannot_be_are_refused)
{
    struct err err = {0};
    char also[300], twice[700], none[300], gap[400];

    two_sets(also);
    snprintf(twice, sizeof twice, "%s,%s", also, test_path("other"));
    snprintf(none, sizeof none, "also_valid=%s", test_path("nowhere"));
    snprintf(gap, sizeof gap, "%s,", also);
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", twice), &err), &err, ERR_USAGE,
                "both called other");
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", none), &err), &err, ERR_IO,
                "no such directory");
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", gap), &err), &err, ERR_USAGE,
                "a comma has no directory");
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", also, "best_set=others"), &err), &err,
                ERR_USAGE, "best_set = others is none of also_valid");
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", "best_metric=chrf"), &err), &err,
                ERR_USAGE, "needs eval_bleu = true");
    toy_data_as("other", 2000, NULL); /* with a vocabulary of its own */
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", also), &err), &err, ERR_USAGE,
                "is not that of");
    CHECK(remove(in_run("other", "valid.bin")) == 0);
    toy_data_as("data", 0, "other/vocab.model");
    CHECK_FAILS(toy_try("run", TOY("max_steps=1", also), &err), &err, ERR_USAGE,
                "has no validation set");
}
