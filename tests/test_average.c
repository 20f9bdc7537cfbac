#include "decode/average.h"

#include <stdlib.h>

#include "toy_model.h"

static struct err err;

struct setup {
    struct spm *spm;
    struct model_config config;
    struct params params;
    struct model_dir model;
    struct average list;
};

/* A run of four checkpoints in "run". */
static void open_setup(struct setup *s)
{
    *s = (struct setup){.spm = toy_model_spm()};
    s->config = toy_model_config(spm_size(s->spm));
    CHECK_OK(params_open(&s->params, &s->config, &err), &err);
    toy_model_run(test_path("run"), &s->config, s->spm, 4);
    CHECK_OK(model_dir_open(&s->model, test_path("run"), "last", &err), &err);
}

static void close_setup(struct setup *s)
{
    spm_free(s->spm);
    params_close(&s->params);
    model_dir_close(&s->model);
    average_release(&s->list);
}

/* The mean of the weights of seeds first .. last, in double. */
static void check_mean(const struct setup *s, const char *prefix, uint64_t first,
                       uint64_t last)
{
    double *sum = calloc(s->params.n_flat, sizeof *sum);
    float *got = calloc(s->params.n_flat, sizeof *got);
    struct tensor_bundle b;

    CHECK(sum && got);
    for (uint64_t seed = first; seed <= last; seed++) {
        float *flat = toy_model_weights(&s->params, seed);
        for (size_t i = 0; i < s->params.n_flat; i++)
            sum[i] += (double)flat[i];
        free(flat);
    }
    CHECK_OK(tensor_bundle_open(&b, prefix, &err), &err);
    CHECK_OK(model_dir_read_flat(&b, &s->params, "", "", got, &err), &err);
    CHECK(b.index.n == s->params.n_list + 1); /* weights and step, no moments */
    for (size_t i = 0; i < s->params.n_flat; i++)
        CHECK((double)got[i] == (double)(float)(sum[i] / (double)(last - first + 1)));
    tensor_bundle_close(&b);
    free(sum);
    free(got);
}

TEST(the_mean_of_the_newest_is_a_model_directory)
{
    struct setup s;
    struct model_dir d;

    open_setup(&s);
    CHECK_OK(average_add_newest(&s.list, test_path("run"), 3, &err), &err);
    CHECK(s.list.n == 3);
    CHECK_OK(average_write(&s.list, &s.model, test_path("deep/mean"), &err), &err);
    CHECK_OK(model_dir_open(&d, test_path("deep/mean"), "last", &err), &err);
    CHECK(d.step == 4);
    CHECK(spm_size(d.spm) == spm_size(s.spm));
    CHECK(file_exists(test_path("deep/mean/model.ckpt-4.meta")));
    check_mean(&s, d.prefix, 2, 4);
    model_dir_close(&d);
    close_setup(&s);
}

TEST(more_than_there_are_means_all)
{
    struct setup s;

    open_setup(&s);
    CHECK_OK(average_add_newest(&s.list, test_path("run"), 100, &err), &err);
    CHECK(s.list.n == 4);
    CHECK_STR(s.list.prefix[0], test_path("run/model.ckpt-1"));
    close_setup(&s);
}

TEST(checkpoints_are_chosen_by_step_and_by_name)
{
    struct setup s;

    open_setup(&s);
    CHECK_OK(average_add_steps(&s.list, test_path("run"), "3,1", &err), &err);
    CHECK_OK(average_add(&s.list, test_path("run"), "model.ckpt-2.index", &err), &err);
    CHECK(s.list.n == 3);
    CHECK_OK(average_write(&s.list, &s.model, test_path("mean"), &err), &err);
    check_mean(&s, test_path("mean/model.ckpt-3"), 1, 3);
    close_setup(&s);
}

TEST(the_mean_of_one_is_itself)
{
    struct setup s;

    open_setup(&s);
    CHECK_OK(average_add_steps(&s.list, test_path("run"), "2", &err), &err);
    CHECK_OK(average_write(&s.list, &s.model, test_path("mean"), &err), &err);
    check_mean(&s, test_path("mean/model.ckpt-2"), 2, 2);
    close_setup(&s);
}

TEST(mistakes_are_refused_by_name)
{
    static const char *const bad[] = {
        "", ",", "1,", ",1", "1,,2", "-1", "1 ,2", "1, 2", "one", "99999999999999999999"};
    struct setup s;

    open_setup(&s);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_FAILS(average_add_steps(&s.list, test_path("run"), bad[i], &err), &err,
                    ERR_USAGE, "steps = ");
    CHECK_FAILS(average_add_steps(&s.list, test_path("run"), "1,77", &err), &err, ERR_IO,
                "model.ckpt-77");
    CHECK_FAILS(average_add_newest(&s.list, test_path("none"), 2, &err), &err, ERR_IO,
                "none/checkpoint");
    close_setup(&s);
}

TEST(a_directory_that_holds_a_model_is_left_alone)
{
    struct setup s;

    open_setup(&s);
    CHECK_OK(average_add_newest(&s.list, test_path("run"), 2, &err), &err);
    CHECK_FAILS(average_write(&s.list, &s.model, test_path("run"), &err), &err, ERR_USAGE,
                "is there already");
    check_mean(&s, test_path("run/model.ckpt-4"), 4, 4);
    close_setup(&s);
}

TEST(a_checkpoint_of_another_model_leaves_nothing_behind)
{
    struct setup s;
    struct model_config wide;

    open_setup(&s);
    wide = s.config;
    wide.d_ff = 48;
    toy_model_run(test_path("other"), &wide, s.spm, 1);
    CHECK_OK(average_add_newest(&s.list, test_path("run"), 2, &err), &err);
    CHECK_OK(average_add(&s.list, test_path("other"), "model.ckpt-1", &err), &err);
    CHECK_FAILS(average_write(&s.list, &s.model, test_path("mean"), &err), &err,
                ERR_FORMAT, "shape");
    CHECK(strstr(err.msg, "other/model.ckpt-1"));
    CHECK(!file_exists(test_path("mean/checkpoint")));
    CHECK(!file_exists(test_path("mean/model.ckpt-4.index")));
    close_setup(&s);
}
