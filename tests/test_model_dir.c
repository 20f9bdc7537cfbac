#include "decode/model_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include "find_param.h"
#include "toy_model.h"

static struct err err;

struct setup {
    struct spm *spm;
    struct model_config config;
    struct params params;
    struct device device;
    struct model model;
    float *flat; /* what the model holds */
};

static void open_setup(struct setup *s)
{
    s->spm = toy_model_spm();
    s->config = toy_model_config(spm_size(s->spm));
    CHECK_OK(params_open(&s->params, &s->config, &err), &err);
    CHECK_OK(device_open(&s->device, "cpu", (struct device_options){.threads = 1}, &err),
             &err);
    CHECK_OK(model_open(&s->model, &s->device, &s->config, false, &err), &err);
    s->flat = calloc(s->params.n_flat, sizeof *s->flat);
    CHECK(s->flat);
}

static void close_setup(struct setup *s)
{
    spm_free(s->spm);
    params_close(&s->params);
    model_close(&s->model);
    device_close(&s->device);
    free(s->flat);
}

static bool holds(struct setup *s, const float *want)
{
    model_get_weights(&s->model, s->flat);
    return memcmp(s->flat, want, s->params.n_flat * sizeof *want) == 0;
}

static status load(struct setup *s, const char *prefix, bool averaged)
{
    struct model_dir d = {0};

    snprintf(d.prefix, sizeof d.prefix, "%s", prefix);
    TRY(tensor_bundle_open(&d.bundle, prefix, &err));
    return model_dir_load_weights(&s->model, &d, averaged, &err);
}

TEST(a_run_directory_gives_model_tokenizer_and_newest_checkpoint)
{
    struct setup s;
    struct model_dir d;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 3);
    float *want = toy_model_weights(&s.params, 3);
    CHECK_OK(model_dir_open(&d, test_path("run"), "last", &err), &err);
    CHECK_STR(d.dir, test_path("run"));
    CHECK_STR(d.prefix, test_path("run/model.ckpt-3"));
    CHECK(d.step == 3 && !d.note[0]);
    CHECK(d.config.d_ff == 32 && d.config.vocab_size == s.config.vocab_size);
    CHECK(spm_size(d.spm) == spm_size(s.spm));
    CHECK_OK(model_dir_load_weights(&s.model, &d, true, &err), &err);
    CHECK(holds(&s, want));
    model_dir_close(&d);
    model_dir_close(&d);
    free(want);
    close_setup(&s);
}

static void check_opens(const char *path, const char *checkpoint, const char *prefix)
{
    struct model_dir d;

    CHECK_OK(model_dir_open(&d, path, checkpoint, &err), &err);
    CHECK_STR(d.prefix, prefix);
    CHECK(d.config.d_model == 16);
    model_dir_close(&d);
}

TEST(a_checkpoint_is_named_by_prefix_by_file_and_within_the_run)
{
    struct setup s;
    const char *two;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 3);
    two = test_path("run/model.ckpt-2");
    check_opens(test_path("run"), "model.ckpt-2", two);
    check_opens(test_path("run"), two, two);
    check_opens(test_path("run"), "model.ckpt-2.index", two);
    check_opens(two, "last", two);
    check_opens(test_path("run/model.ckpt-2.data-00000-of-00001"), "last", two);
    close_setup(&s);
}

TEST(best_is_what_best_models_points_at_and_finds_its_config_above)
{
    struct setup s;
    const char *const all[] = {"val_loss=2.5000-step-5"};
    const char *prefix;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 1);
    CHECK_OK(file_make_dirs(test_path("run/best_models"), &err), &err);
    prefix = test_path("run/best_models/val_loss=2.5000-step-5");
    float *flat = toy_model_weights(&s.params, 9);
    toy_model_checkpoint(prefix, &s.params, flat, NULL, 5);
    CHECK_OK(tf_checkpoint_write(test_path("run/best_models/checkpoint"), all[0], all, 1,
                                 &err),
             &err);
    check_opens(test_path("run"), "best", prefix);
    check_opens(test_path("run"), "auto", prefix);
    check_opens(test_path("run/best_models"), "last", prefix);
    check_opens(prefix, "last", prefix);
    free(flat);
    close_setup(&s);
}

TEST(auto_is_the_last_without_a_best_that_is_whole)
{
    const char *const all[] = {"val_loss=2.5000-step-5"};
    struct setup s;
    struct model_dir d;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 2);
    check_opens(test_path("run"), "auto", test_path("run/model.ckpt-2"));
    CHECK_OK(file_make_dirs(test_path("run/best_models"), &err), &err);
    CHECK_OK(tf_checkpoint_write(test_path("run/best_models/checkpoint"), all[0], all, 1,
                                 &err),
             &err);
    CHECK_OK(model_dir_open(&d, test_path("run"), "auto", &err), &err);
    CHECK_STR(d.prefix, test_path("run/model.ckpt-2"));
    CHECK(strstr(d.note, "val_loss=2.5000-step-5") && strstr(d.note, "model.ckpt-2"));
    model_dir_close(&d);
    close_setup(&s);
}

TEST(the_languages_of_the_configuration_travel_with_the_model)
{
    struct setup s;
    struct model_dir d;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 1);
    CHECK_OK(model_dir_open(&d, test_path("run"), "auto", &err), &err);
    CHECK_STR(d.lang.source, "");
    model_dir_close(&d);
    FILE *f = fopen(test_path("run/config.yaml"), "ae");
    CHECK(f && fputs("source_lang: de\ntarget_lang: en-GB\n", f) >= 0 && !fclose(f));
    CHECK_OK(model_dir_open(&d, test_path("run"), "auto", &err), &err);
    CHECK_STR(d.lang.source, "de");
    CHECK_STR(d.lang.target, "en-GB");
    model_dir_close(&d);
    close_setup(&s);
}

TEST(a_damaged_newest_checkpoint_gives_way_to_the_one_before)
{
    struct setup s;
    struct model_dir d;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 3);
    CHECK(truncate(test_path("run/model.ckpt-3.data-00000-of-00001"), 1000) == 0);
    CHECK_OK(model_dir_open(&d, test_path("run"), "last", &err), &err);
    CHECK_STR(d.prefix, test_path("run/model.ckpt-2"));
    CHECK(strstr(d.note, "model.ckpt-3") && strstr(d.note, "model.ckpt-2"));
    model_dir_close(&d);

    CHECK(truncate(test_path("run/model.ckpt-2.index"), 100) == 0);
    CHECK(unlink(test_path("run/model.ckpt-1.index")) == 0);
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "last", &err), &err, ERR_FORMAT,
                "model.ckpt-3");
    close_setup(&s);
}

TEST(what_is_missing_is_named)
{
    struct setup s;
    struct model_dir d;

    open_setup(&s);
    CHECK_FAILS(model_dir_open(&d, test_path("nowhere"), "last", &err), &err, ERR_IO,
                "no such run");
    toy_model_describe(test_path("run"), &s.config, s.spm);
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "last", &err), &err, ERR_IO,
                "no checkpoint");
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "best", &err), &err, ERR_IO,
                "best_models");
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "model.ckpt-7", &err), &err, ERR_IO,
                "model.ckpt-7");
    toy_model_run(test_path("run"), &s.config, s.spm, 1);
    CHECK(unlink(test_path("run/vocab.model")) == 0);
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "last", &err), &err, ERR_IO,
                "vocab.model");
    CHECK(unlink(test_path("run/config.yaml")) == 0);
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "last", &err), &err, ERR_IO,
                "config.yaml");
    CHECK_OK(file_write(test_path("run/checkpoint"), "", 0, &err), &err);
    CHECK(unlink(test_path("run/model.ckpt-1.index")) == 0);
    CHECK(unlink(test_path("run/model.ckpt-1.data-00000-of-00001")) == 0);
    CHECK_FAILS(model_dir_open(&d, test_path("run"), "last", &err), &err, ERR_FORMAT,
                "points at no checkpoint");
    close_setup(&s);
}

/* Root may read everything, so that a link to itself stands for what nobody may. */
TEST(what_cannot_be_read_is_not_called_missing)
{
    struct model_dir d;

    CHECK(symlink("loop", test_path("loop")) == 0);
    CHECK_FAILS(model_dir_open(&d, test_path("loop"), "auto", &err), &err, ERR_IO,
                "loop: Too many levels");
    CHECK_OK(file_write(test_path("letter"), "Dear Sirs", 9, &err), &err);
    CHECK_FAILS(model_dir_open(&d, test_path("letter"), "auto", &err), &err, ERR_FORMAT,
                "letter is no model");
}

TEST(a_config_without_vocabulary_takes_it_from_the_embedding)
{
    struct setup s;
    struct model_dir d;
    struct model_config open_ended;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 1);
    open_ended = s.config;
    open_ended.vocab_size = 0;
    toy_model_describe(test_path("run"), &open_ended, s.spm);
    CHECK_OK(model_dir_open(&d, test_path("run"), "last", &err), &err);
    CHECK(d.config.vocab_size == s.config.vocab_size);
    model_dir_close(&d);
    close_setup(&s);
}

TEST(a_moving_average_is_preferred_unless_told_otherwise)
{
    struct setup s;

    open_setup(&s);
    float *flat = toy_model_weights(&s.params, 1),
          *mean = toy_model_weights(&s.params, 2);
    toy_model_checkpoint(test_path("with"), &s.params, flat, mean, 1);
    toy_model_checkpoint(test_path("without"), &s.params, flat, NULL, 1);
    CHECK_OK(load(&s, test_path("with"), true), &err);
    CHECK(holds(&s, mean));
    CHECK_OK(load(&s, test_path("with"), false), &err);
    CHECK(holds(&s, flat));
    CHECK_OK(load(&s, test_path("without"), true), &err);
    CHECK(holds(&s, flat));
    free(flat);
    free(mean);
    close_setup(&s);
}

TEST(another_shape_is_refused_with_both_shapes)
{
    struct setup s;
    struct model_config narrow;
    struct params p;

    open_setup(&s);
    narrow = s.config;
    narrow.d_ff = 24;
    CHECK_OK(params_open(&p, &narrow, &err), &err);
    float *flat = toy_model_weights(&p, 1);
    toy_model_checkpoint(test_path("narrow"), &p, flat, NULL, 1);
    CHECK_FAILS(load(&s, test_path("narrow"), true), &err, ERR_FORMAT,
                "filter_layer/kernel has shape [16,24]");
    CHECK(strstr(err.msg, "wants [16,32]") && strstr(err.msg, "narrow"));
    free(flat);
    params_close(&p);
    close_setup(&s);
}

TEST(another_vocabulary_is_refused)
{
    struct setup s;
    struct model_config larger;
    struct params p;

    open_setup(&s);
    larger = s.config;
    larger.vocab_size += 8;
    CHECK_OK(params_open(&p, &larger, &err), &err);
    float *flat = toy_model_weights(&p, 1);
    toy_model_checkpoint(test_path("larger"), &p, flat, NULL, 1);
    CHECK_FAILS(load(&s, test_path("larger"), true), &err, ERR_FORMAT,
                "embedding_and_softmax/weights has shape");
    free(flat);
    params_close(&p);
    close_setup(&s);
}

TEST(a_missing_tensor_is_refused_by_name)
{
    struct setup s;
    struct model_config shallow;
    struct params p;

    open_setup(&s);
    shallow = s.config;
    shallow.decoder_layers = 1;
    CHECK_OK(params_open(&p, &shallow, &err), &err);
    float *flat = toy_model_weights(&p, 1);
    toy_model_checkpoint(test_path("shallow"), &p, flat, NULL, 1);
    CHECK_FAILS(load(&s, test_path("shallow"), true), &err, ERR_FORMAT,
                "no tensor ForwardPass/transformer_decoder/layer_1/");
    free(flat);
    params_close(&p);
    close_setup(&s);
}

TEST(a_flipped_bit_is_refused)
{
    struct setup s;
    struct file_map map;
    char *bytes;

    open_setup(&s);
    toy_model_run(test_path("run"), &s.config, s.spm, 1);
    const char *path = test_path("run/model.ckpt-1.data-00000-of-00001");
    CHECK_OK(file_map_open(&map, path, &err), &err);
    bytes = malloc(map.n_bytes);
    CHECK(bytes);
    memcpy(bytes, map.data, map.n_bytes);
    const size_t n = map.n_bytes;
    file_map_close(&map);
    bytes[n / 2] ^= 4;
    CHECK_OK(file_write(path, bytes, n, &err), &err);
    CHECK_FAILS(load(&s, test_path("run/model.ckpt-1"), true), &err, ERR_FORMAT,
                "model.ckpt-1");
    free(bytes);
    close_setup(&s);
}

TEST(a_checkpoint_cut_anywhere_is_refused)
{
    struct setup s;
    const char *const files[] = {"run/model.ckpt-1.index",
                                 "run/model.ckpt-1.data-00000-of-00001"};

    open_setup(&s);
    for (int i = 0; i < 2; i++) {
        toy_model_run(test_path("run"), &s.config, s.spm, 1);
        const int64_t whole = file_bytes(test_path(files[i]));
        for (int64_t n = whole - 1; n >= 0; n -= n > 200 ? whole / 40 : 1) {
            CHECK(truncate(test_path(files[i]), n) == 0);
            CHECK(load(&s, test_path("run/model.ckpt-1"), true) != OK);
        }
    }
    close_setup(&s);
}

/* 16-bit values that both formats hold exactly, and their bits. */
static const double exact[] = {1, -2, 0.5, 0, -0.015625, 384};
static const unsigned half_bits[] = {0x3C00, 0xC000, 0x3800, 0, 0xA400, 0x5E00};
static const unsigned bfloat_bits[] = {0x3F80, 0xC000, 0x3F00, 0, 0xBC80, 0x43C0};

static size_t put_value(unsigned char *to, enum tensor_dtype dtype, size_t i)
{
    const size_t k = i % (sizeof exact / sizeof *exact);
    const uint16_t bits =
        (uint16_t)(dtype == TENSOR_HALF ? half_bits[k] : bfloat_bits[k]);

    if (dtype == TENSOR_DOUBLE) {
        memcpy(to, &exact[k], sizeof exact[k]);
        return sizeof exact[k];
    }
    memcpy(to, &bits, sizeof bits);
    return sizeof bits;
}

static void check_width(struct setup *s, enum tensor_dtype dtype, const char *prefix)
{
    struct toy_model_tensor *names = calloc(s->params.n_list, sizeof *names);
    struct tensor_bundle_writer w;

    CHECK(names);
    for (size_t i = 0; i < s->params.n_list; i++)
        snprintf(names[i].name, sizeof names[i].name, "%s", s->params.list[i].name);
    qsort(names, s->params.n_list, sizeof *names, toy_model_by_name);
    CHECK_OK(tensor_bundle_begin(&w, prefix, &err), &err);
    for (size_t i = 0; i < s->params.n_list; i++) {
        const struct param *t = find_param(&s->params, names[i].name);
        const uint64_t dims[2] = {t->rows, t->cols};
        CHECK_OK(
            tensor_bundle_add(&w, t->name, dtype, dims + 2 - t->n_dims, t->n_dims, &err),
            &err);
        for (size_t k = 0; k < t->rows * t->cols; k++) {
            unsigned char value[8];
            const size_t n = put_value(value, dtype, k);
            CHECK_OK(tensor_bundle_add_bytes(&w, value, n, &err), &err);
        }
    }
    CHECK_OK(tensor_bundle_finish(&w, &err), &err);
    CHECK_OK(load(s, prefix, true), &err);
    model_get_weights(&s->model, s->flat);
    for (size_t i = 0; i < s->params.n_list; i++) {
        const struct param *t = &s->params.list[i];
        for (size_t k = 0; k < t->rows * t->cols; k++)
            CHECK((double)s->flat[t->at + k / t->cols * t->stride + k % t->cols] ==
                  exact[k % (sizeof exact / sizeof *exact)]);
    }
    free(names);
}

TEST(half_bfloat_and_double_weights_are_converted)
{
    struct setup s;

    open_setup(&s);
    check_width(&s, TENSOR_HALF, test_path("half"));
    check_width(&s, TENSOR_BFLOAT16, test_path("bfloat"));
    check_width(&s, TENSOR_DOUBLE, test_path("double"));
    close_setup(&s);
}

TEST(flat_arrays_of_any_name_can_be_read_and_gaps_stay)
{
    struct setup s;
    struct tensor_bundle b;

    open_setup(&s);
    float *flat = toy_model_weights(&s.params, 1),
          *mean = toy_model_weights(&s.params, 2);
    toy_model_checkpoint(test_path("both"), &s.params, flat, mean, 1);
    CHECK_OK(tensor_bundle_open(&b, test_path("both"), &err), &err);
    memset(s.flat, 0, s.params.n_flat * sizeof *s.flat);
    CHECK_OK(model_dir_read_flat(&b, &s.params, "", MODEL_DIR_AVERAGE, s.flat, &err),
             &err);
    CHECK(memcmp(s.flat, mean, s.params.n_flat * sizeof *mean) == 0);
    CHECK_FAILS(
        model_dir_read_flat(&b, &s.params, "Loss_Optimization/", "/Adam", s.flat, &err),
        &err, ERR_FORMAT, "Loss_Optimization/ForwardPass/");
    tensor_bundle_close(&b);
    free(flat);
    free(mean);
    close_setup(&s);
}
