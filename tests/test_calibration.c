#include "pack/calibration.h"

#include <stdlib.h>

#include "toy_corpus.h"

static struct err err;

static const struct model_config config = {.vocab_size = TOY_VOCAB,
                                           .d_model = 32,
                                           .d_ff = 64,
                                           .heads = 2,
                                           .encoder_layers = 2,
                                           .decoder_layers = 2,
                                           .norm_epsilon = 1e-6};

struct setup {
    struct params params;
    float *flat;
    struct dataset_set set;
    struct network real, int8;
    struct calibration found;
};

static enum linear_type all_int8(void *ctx, const struct network_part *part)
{
    (void)ctx, (void)part;
    return LINEAR_INT8;
}

static void open_setup(struct setup *s)
{
    *s = (struct setup){.set.is_there = true};
    toy_corpus(&s->set.corpus, 60, 1);
    CHECK_OK(params_open(&s->params, &config, &err), &err);
    s->flat = calloc(s->params.n_flat, sizeof *s->flat);
    CHECK(s->flat);
    params_init(&s->params, 4, s->flat);
}

static void calibrate(struct setup *s)
{
    CHECK_OK(network_open(&s->real, &config, &err), &err);
    CHECK_OK(network_open(&s->int8, &config, &err), &err);
    CHECK_OK(network_pack(&s->real, &s->params, s->flat, (struct network_types){0}, &err),
             &err);
    CHECK_OK(network_pack(&s->int8, &s->params, s->flat,
                          (struct network_types){all_int8, NULL}, &err),
             &err);
    CHECK_OK(calibration_run(&s->found, &s->real, &s->int8, &s->set,
                             (struct calibration_options){kernels_choose("cpu"), 20, 64},
                             &err),
             &err);
}

static void close_setup(struct setup *s)
{
    calibration_release(&s->found);
    network_close(&s->real);
    network_close(&s->int8);
    free(s->flat);
    params_close(&s->params);
    corpus_close(&s->set.corpus);
}

TEST(rounding_costs_every_matrix_about_a_percent)
{
    struct setup s;

    open_setup(&s);
    calibrate(&s);
    CHECK(s.found.n == 1 + 2 * 4 + 2 * 7);
    for (size_t i = 0; i < s.found.n; i++) {
        CHECK(s.found.part[i].n_rows > 100);
        CHECK(s.found.part[i].error > 0.001 && s.found.part[i].error < 0.03);
    }
    CHECK(!calibration_find(&s.found, "encoder.7.self.in"));
    close_setup(&s);
}

/* A gain of 1,000 in one channel, and weights of a thousandth behind it: the same model
 * in float. In int8 the channel decides the scale of its row, and the others drown. */
TEST(a_matrix_whose_inputs_have_an_outlier_is_found)
{
    struct setup s;

    open_setup(&s);
    const struct param *gain = params_get(&s.params, PARAM_dec_ff_norm_gain, 1);
    const struct param *w1 = params_get(&s.params, PARAM_dec_ff1, 1);
    s.flat[gain->at + 5] *= 1000;
    for (size_t c = 0; c < w1->cols; c++)
        s.flat[w1->at + 5 * w1->stride + c] /= 1000;
    calibrate(&s);
    for (size_t i = 0; i < s.found.n; i++) {
        const bool is_it = strcmp(s.found.part[i].name, "decoder.1.ff.up") == 0;
        CHECK((s.found.part[i].error > 0.2) == is_it);
    }
    close_setup(&s);
}

TEST(sentences_that_are_too_long_are_left_out)
{
    struct setup s;

    open_setup(&s);
    CHECK_OK(network_open(&s.real, &config, &err), &err);
    CHECK_OK(network_open(&s.int8, &config, &err), &err);
    CHECK_OK(network_pack(&s.real, &s.params, s.flat, (struct network_types){0}, &err),
             &err);
    CHECK_OK(network_pack(&s.int8, &s.params, s.flat,
                          (struct network_types){all_int8, NULL}, &err),
             &err);
    CHECK_OK(calibration_run(&s.found, &s.real, &s.int8, &s.set,
                             (struct calibration_options){kernels_choose("cpu"), 20, 3},
                             &err),
             &err);
    for (size_t i = 0; i < s.found.n; i++)
        CHECK(s.found.part[i].n_rows < 20);
    close_setup(&s);
}
