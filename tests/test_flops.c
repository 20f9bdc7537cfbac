#include "recipe/flops.h"

#include "recipe/model_config.h"
#include "recipe/params.h"
#include "test.h"

static struct err err;

static struct model_config base(void)
{
    struct model_config c;

    CHECK_OK(model_config_defaults(&c, &err), &err);
    c.vocab_size = 32768;
    return c;
}

/* Elements of the matrices that a source or a target token is multiplied with. */
static double matrix_elements(const struct params *p, bool of_source)
{
    double n = 0;

    for (size_t i = 0; i < p->n_list; i++) {
        const struct param *t = &p->list[i];
        const bool memory = t->id == PARAM_cross_k || t->id == PARAM_cross_v;
        const bool source = t->block == BLOCK_ENCODER || memory;
        if (t->n_dims == 2 && t->id != PARAM_embed && source == of_source)
            n += (double)(t->rows * t->cols);
    }
    return n;
}

TEST(linear_work_is_two_operations_a_matrix_element_and_token)
{
    struct model_config c = base();
    struct flops_batch b = {0};
    struct params p;

    c.encoder_layers = 3;
    c.decoder_layers = 5;
    CHECK_OK(params_open(&p, &c, &err), &err);
    flops_add(&b, 13, 11);
    flops_add(&b, 2, 31);
    CHECK_NEAR(flops_forward(&c, &b).linear,
               2 * (15 * matrix_elements(&p, true) + 42 * matrix_elements(&p, false)),
               1e-15);
    params_close(&p);
}

/* Numbers of the flops() of an independent PyTorch model of the same size. */
TEST(a_training_step_counts_as_the_torch_peer_does)
{
    const struct model_config c = base();
    struct flops_batch b = {0};

    for (int i = 0; i < 40; i++)
        flops_add(&b, 30, 27);
    const struct flops f = flops_training(&c, &b);
    CHECK_NEAR(f.linear + f.output, 409951272960.0, 1e-15);
    CHECK_NEAR(f.output, 6.0 * 1080 * 32768 * 512, 1e-15);
}

TEST(attention_counts_visible_pairs_only)
{
    struct model_config c = base();
    struct flops_batch b = {0};

    c.d_model = 6;
    c.encoder_layers = 2;
    c.decoder_layers = 3;
    flops_add(&b, 4, 3);
    flops_add(&b, 1, 1);
    /* encoder 16 + 1, causal 1+2+3 + 1, cross 12 + 1; four operations a channel */
    CHECK_NEAR(flops_forward(&c, &b).attention, 4 * 6 * (2 * 17 + 3 * (7 + 13)), 1e-15);
    CHECK_NEAR(flops_training(&c, &b).attention, 3 * 4 * 6 * (2 * 17 + 3 * (7 + 13)),
               1e-15);
}

TEST(the_total_is_the_sum_of_its_parts)
{
    CHECK(flops_total((struct flops){.linear = 1, .output = 20, .attention = 300}) ==
          321);
}

TEST(a_base_checkpoint_has_the_size_of_the_reference)
{
    CHECK(flops_bytes(60880896).checkpoint == 730570768);
    CHECK(flops_bytes(60880896).weights == 243523584);
    CHECK(flops_bytes(60880896).gradient == 243523584);
    CHECK(flops_bytes(60880896).moments == 487047168);
}
