/*
 * The whole model against PyTorch in double: tools/golden_torch.py wrote the values, and
 * weights are rebuilt here from the tensor names by the same formula.
 */
#include <stdlib.h>

#include "device/device.h"
#include "golden_model.h"
#include "model/model.h"
#include "test.h"

static struct err err;
TEST(loss_of_every_token_equals_pytorch_in_double)
{
    const json_t *g = golden_part("tiny"), *losses = json_object_get(g, "losses");
    const struct model_config c = golden_config(g);
    struct device d;
    struct model m;
    struct packed p;
    double loss[PACKED_MAX_TOKENS], sum = 0;
    int32_t best[PACKED_MAX_TOKENS];

    golden_open_double(&d);
    CHECK_OK(model_open(&m, &d, &c, false, &err), &err);
    golden_weights(&m, (uint64_t)golden_number(g, "seed"));
    golden_pack(&p, json_object_get(g, "pairs"));
    CHECK_OK(model_reserve(&m, packed_shape(&p, false), &err), &err);
    const struct model_run run = {.smooth = golden_number(g, "smooth"),
                                  .want_best = true};
    model_forward(&m, &p.batch, &run);
    model_losses(&m, loss);
    model_best(&m, best);
    CHECK(p.batch.n_tgt == json_array_size(losses));
    for (size_t i = 0; i < p.batch.n_tgt; i++) {
        CHECK_NEAR(loss[i], json_number_value(json_array_get(losses, i)), 1e-12);
        CHECK(best[i] ==
              json_integer_value(json_array_get(json_object_get(g, "best"), i)));
        sum += loss[i];
    }
    CHECK_NEAR(sum, golden_number(g, "loss_sum"), 1e-9);
    model_close(&m);
    device_close(&d);
}

TEST(every_gradient_equals_pytorch_in_double)
{
    const json_t *g = golden_part("tiny"), *gradient = json_object_get(g, "gradient");
    const struct model_config c = golden_config(g);
    struct device d;
    struct model m;
    struct packed p;

    golden_open_double(&d);
    CHECK_OK(model_open(&m, &d, &c, true, &err), &err);
    golden_weights(&m, (uint64_t)golden_number(g, "seed"));
    golden_pack(&p, json_object_get(g, "pairs"));
    CHECK_OK(model_reserve(&m, packed_shape(&p, true), &err), &err);
    const struct model_run run = {.smooth = golden_number(g, "smooth"),
                                  .want_grad = true};
    model_zero_grads(&m);
    model_forward(&m, &p.batch, &run);
    model_backward(&m, NULL);
    CHECK(json_object_size(gradient) == m.params.n_list);
    for (size_t i = 0; i < m.params.n_list; i++) {
        const struct param *t = &m.params.list[i];
        const json_t *want = json_object_get(gradient, t->name);
        double got[512];
        CHECK(json_array_size(want) == t->rows * t->cols);
        device_download(&d, got,
                        (struct mat){m.grad.mem, t->at, t->rows, t->cols, t->stride});
        for (size_t k = 0; k < t->rows * t->cols; k++)
            CHECK_NEAR(got[k], json_number_value(json_array_get(want, k)), 1e-10);
    }
    model_close(&m);
    device_close(&d);
}

/* ln V - K of the reference's base model, through our output layer. */
TEST(loss_of_zero_weights_is_that_of_uniform_logits)
{
    const struct model_config c = {.vocab_size = 32768,
                                   .d_model = 4,
                                   .d_ff = 4,
                                   .heads = 1,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1,
                                   .norm_epsilon = 1e-6};
    const int32_t ids[3] = {2, 9, 1};
    struct device d;
    struct model m;
    struct packed p;
    float loss[3];

    CHECK_OK(device_open(&d, "cpu", (struct device_options){.threads = 1}, &err), &err);
    CHECK_OK(model_open(&m, &d, &c, false, &err), &err);
    packed_begin(&p);
    packed_add(&p, 0, ids, 3, ids, 3);
    CHECK_OK(model_reserve(&m, packed_shape(&p, false), &err), &err);
    model_forward(&m, &p.batch, &(struct model_run){.smooth = 0.1});
    model_losses(&m, loss);
    for (int i = 0; i < 3; i++)
        CHECK_NEAR(loss[i], 9.0324070, 1e-7);
    model_close(&m);
    device_close(&d);
}

TEST(fresh_base_weights_lose_what_an_independent_model_says)
{
    const json_t *g = golden_part("fresh"), *losses = json_object_get(g, "losses");
    const struct model_config c = golden_config(g);
    struct device d;
    struct model m;
    struct packed p;
    float loss[PACKED_MAX_TOKENS], *flat;
    double sum = 0;

    CHECK_OK(device_open(&d, "cpu", (struct device_options){0}, &err), &err);
    CHECK_OK(model_open(&m, &d, &c, false, &err), &err);
    CHECK(m.params.n_elements == 60880896);
    flat = malloc(m.params.n_flat * sizeof *flat);
    params_init(&m.params, (uint64_t)golden_number(g, "seed"), flat);
    CHECK_OK(model_set_weights(&m, flat, &err), &err);
    free(flat);
    golden_pack(&p, json_object_get(g, "pairs"));
    CHECK_OK(model_reserve(&m, packed_shape(&p, false), &err), &err);
    model_forward(&m, &p.batch,
                  &(struct model_run){.smooth = golden_number(g, "smooth")});
    model_losses(&m, loss);
    for (size_t i = 0; i < p.batch.n_tgt; i++) {
        CHECK_NEAR(loss[i], json_number_value(json_array_get(losses, i)), 2e-6);
        sum += (double)loss[i];
    }
    sum /= (double)p.batch.n_tgt;
    CHECK(sum > 9.4 && sum < 9.7);
    model_close(&m);
    device_close(&d);
}
