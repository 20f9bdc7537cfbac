/* What is written in the background is the run as it stood when it was asked for. */
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "format/tf/tf_checkpoint.h"
#include "test.h"
#include "train/save/saver.h"

struct rig {
    struct device device;
    struct model model;
    struct optim optim;
    struct checkpoint parts;
};

static void rig_open(struct rig *r)
{
    const struct device_options options = {.threads = 1};
    const struct model_config shape = {.vocab_size = 20,
                                       .d_model = 8,
                                       .d_ff = 12,
                                       .heads = 2,
                                       .encoder_layers = 1,
                                       .decoder_layers = 1,
                                       .norm_epsilon = 1e-6};
    struct optim_config how;
    struct err err = {0};

    *r = (struct rig){0};
    CHECK_OK(opt_defaults(optim_config_table, &how, &err), &err);
    CHECK_OK(device_open(&r->device, "cpu", options, &err), &err);
    CHECK_OK(model_open(&r->model, &r->device, &shape, true, &err), &err);
    CHECK_OK(optim_open(&r->optim, &r->device, &r->model.params, &how, NULL, &err), &err);
    r->parts = (struct checkpoint){.model = &r->model,
                                   .optim = &r->optim,
                                   .part = {r->model.flat, r->optim.m, r->optim.v}};
}

static void rig_close(struct rig *r)
{
    optim_close(&r->optim);
    model_close(&r->model);
    device_close(&r->device);
}

/* Every weight becomes x. */
static void set_weights(struct rig *r, float x)
{
    float *flat = r->model.flat.mem;

    for (size_t i = 0; i < r->model.params.n_flat; i++)
        flat[i] = x;
}

static float saved_weight(struct rig *r, const char *name)
{
    struct rig other;
    enum checkpoint_kind kind;
    struct state s;
    struct err err = {0};

    rig_open(&other);
    CHECK_OK(checkpoint_read(&other.parts, &s, test_path(name), &kind, &err), &err);
    const float x = ((float *)other.model.flat.mem)[r->model.params.list[0].at];
    rig_close(&other);
    return x;
}

static struct saver_target target_of(const char *dir, const char *name)
{
    struct saver_target t = {.shelf = {.kind = "m-", .keep = 2, .is_pointed = true}};

    snprintf(t.shelf.dir, sizeof t.shelf.dir, "%s", dir);
    snprintf(t.name, sizeof t.name, "%s", name);
    return t;
}

static void check_saves(bool in_background)
{
    const struct saver_options options = {.in_background = in_background};
    struct rig r;
    struct saver *s;
    struct saver_report report;
    struct err err = {0};

    rig_open(&r);
    CHECK_OK(saver_open(&s, &r.parts, options, &err), &err);
    for (int i = 1; i <= 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "m-%d", i);
        const struct saver_target target = target_of(test_dir(), name);
        const struct state at = {.step = i};
        set_weights(&r, (float)i);
        saver_save(s, &at, &target, 1, clock_now());
        set_weights(&r, -1); /* training goes on */
        saver_wait(s);
        CHECK(saver_phase(s) == SAVER_DONE);
        CHECK(saver_take(s, &report) && report.failure.code == OK && report.step == i);
        CHECK(report.n_bytes > 0 && report.t_blocked >= 0);
        CHECK(!in_background || report.t_total >= report.t_blocked);
        CHECK(!saver_take(s, &report) && saver_phase(s) == SAVER_IDLE);
        CHECK(saved_weight(&r, name) == (float)i);
    }
    CHECK(!file_exists(test_path("m-1.index")) && file_exists(test_path("m-2.index")));
    saver_close(s);
    rig_close(&r);
}

TEST(a_save_in_the_background_holds_the_run_as_it_was)
{
    check_saves(true);
}

TEST(a_save_in_the_foreground_holds_the_run_as_it_was)
{
    check_saves(false);
}

TEST(a_save_that_others_could_not_make_is_removed)
{
    const struct saver_options options = {.in_background = true, .waits = true};
    const struct state at = {.step = 1};
    struct rig r;
    struct saver *s;
    struct saver_report report;
    struct err err = {0};

    rig_open(&r);
    CHECK_OK(saver_open(&s, &r.parts, options, &err), &err);
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        const struct saver_target target = target_of(test_dir(), "m-1");
        saver_save(s, &at, &target, 1, clock_now());
        saver_wait(s);
        CHECK(saver_phase(s) == SAVER_WRITTEN && saver_is_whole(s));
        CHECK(file_exists(test_path("m-1.index")));
        CHECK(!file_exists(test_path("checkpoint")));
        saver_decide(s, is_whole, "the disk of b is full");
        saver_wait(s);
        CHECK(saver_take(s, &report) && (report.failure.code == OK) == is_whole);
        CHECK(is_whole || strstr(report.failure.msg, "the disk of b is full"));
        CHECK(!saver_take(s, &report));
        CHECK(file_exists(test_path("m-1.index")) == is_whole);
        CHECK(file_exists(test_path("checkpoint")) == is_whole);
    }
    saver_close(s);
    rig_close(&r);
}

TEST(a_save_that_cannot_be_written_says_so_and_leaves_the_others)
{
    const struct saver_options options = {.in_background = true};
    const struct state at = {.step = 1};
    struct rig r;
    struct saver *s;
    struct saver_report report;
    struct err err = {0};

    rig_open(&r);
    CHECK_OK(file_write(test_path("file"), "x", 1, &err), &err);
    CHECK_OK(saver_open(&s, &r.parts, options, &err), &err);
    const struct saver_target targets[] = {target_of(test_path("file/no"), "m-1"),
                                           target_of(test_dir(), "m-1")};
    saver_save(s, &at, targets, 2, clock_now());
    saver_wait(s);
    CHECK(saver_take(s, &report) && report.failure.code == ERR_IO);
    CHECK(saver_take(s, &report) && report.failure.code == OK);
    CHECK(!saver_take(s, &report));
    saver_close(s);
    rig_close(&r);
}

TEST(a_saver_closes_while_it_writes)
{
    const struct saver_options options = {.in_background = true};
    const struct state at = {.step = 1};
    struct rig r;
    struct err err = {0};

    rig_open(&r);
    for (int i = 0; i < 5; i++) {
        struct saver *s;
        const struct saver_target target = target_of(test_dir(), "m-1");
        CHECK_OK(saver_open(&s, &r.parts, options, &err), &err);
        saver_save(s, &at, &target, 1, clock_now());
        usleep((useconds_t)(i * 300));
        saver_close(s);
        CHECK(saved_weight(&r, "m-1") == 0);
    }
    saver_close(NULL);
    rig_close(&r);
}
