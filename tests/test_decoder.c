/*
 * Decoding step by step equals the teacher-forced pass over the whole target, whatever
 * rows the hypotheses were at.
 */
#include "model/decoder.h"

#include <stdlib.h>

#include "golden_model.h"
#include "test.h"

enum { VOCAB = 23, ROWS = 6, STEPS = 7 };

static struct err err;

struct setup {
    struct device device;
    struct model model;
    double tolerance;
};

static void open_setup(struct setup *s, bool is_double)
{
    const struct model_config c = {.vocab_size = VOCAB,
                                   .d_model = 16,
                                   .d_ff = 24,
                                   .heads = 4,
                                   .encoder_layers = 2,
                                   .decoder_layers = 3,
                                   .norm_epsilon = 1e-6};

    if (is_double)
        golden_open_double(&s->device);
    else
        CHECK_OK(
            device_open(&s->device, "cpu", (struct device_options){.threads = 2}, &err),
            &err);
    s->tolerance = is_double ? 1e-12 : 2e-5;
    CHECK_OK(model_open(&s->model, &s->device, &c, false, &err), &err);
    golden_weights(&s->model, test_seed());
}

static void close_setup(struct setup *s)
{
    model_close(&s->model);
    device_close(&s->device);
}

static double real_at(const struct setup *s, const void *reals, size_t i)
{
    return s->device.real_bytes == sizeof(double) ? ((const double *)reals)[i]
                                                  : (double)((const float *)reals)[i];
}

static const int32_t sources[3][5] = {{2, 9, 14, 5, 1}, {2, 7, 1}, {2, 1}};
static const size_t source_len[3] = {5, 3, 2};

/* The three sources, each with its own target of n tokens. */
static void pack(struct packed *p, const int32_t target[3][STEPS], const size_t n[3])
{
    packed_begin(p);
    for (int i = 0; i < 3; i++)
        packed_add(p, i, sources[i], source_len[i], target[i], n[i]);
}

/* loss and likeliest id of every target token, without smoothing: -log p(token) */
static void force(struct setup *s, const struct packed *p, double *loss, int32_t *best)
{
    const struct model_run run = {.want_best = true};
    double raw[PACKED_MAX_TOKENS];

    CHECK_OK(model_reserve(&s->model, packed_shape(p, false), &err), &err);
    model_forward(&s->model, &p->batch, &run);
    model_losses(&s->model, raw);
    model_best(&s->model, best);
    for (size_t i = 0; i < p->batch.n_tgt; i++)
        loss[i] = real_at(s, raw, i);
}

static double log_prob_of(const struct setup *s, const void *top, const int32_t *id,
                          size_t row, int32_t token)
{
    for (size_t k = 0; k < VOCAB; k++)
        if (id[row * VOCAB + k] == token)
            return real_at(s, top, row * VOCAB + k);
    test_fail(__FILE__, __LINE__, "token %d is not in the list", token);
}

static void check_forced(bool is_double)
{
    static const int32_t target[3][STEPS] = {
        {2, 11, 4, 19, 8, 1}, {2, 6, 3, 6, 6, 20, 1}, {1}};
    static const size_t n[3] = {6, 7, 1};
    struct setup s;
    struct packed p;
    struct decoder *dec;
    double loss[PACKED_MAX_TOKENS], top[3 * VOCAB];
    int32_t best[PACKED_MAX_TOKENS], id[3 * VOCAB];

    open_setup(&s, is_double);
    pack(&p, target, n);
    force(&s, &p, loss, best);
    CHECK_OK(decoder_open(&dec, &s.model,
                          (struct decoder_shape){3, p.batch.n_src, STEPS, VOCAB}, &err),
             &err);
    model_encode(&s.model, &p.batch);
    decoder_begin(dec);
    for (size_t t = 0; t < STEPS; t++) {
        int32_t token[3], physical[3 * STEPS];
        for (size_t r = 0; r < 3; r++) {
            token[r] = t == 0 ? -1 : t <= n[r] ? target[r][t - 1] : 0;
            for (size_t i = 0; i <= t; i++)
                physical[r * (t + 1) + i] = (int32_t)r;
        }
        decoder_step(dec, t,
                     &(struct decoder_rows){3, token, p.src_at, p.src_at + 1, physical},
                     top, id);
        for (size_t r = 0; r < 3; r++) {
            const size_t at = (size_t)p.tgt_at[r] + t;
            if (t >= n[r])
                continue;
            CHECK_NEAR(log_prob_of(&s, top, id, r, target[r][t]), -loss[at], s.tolerance);
            CHECK(id[r * VOCAB] == best[at]);
        }
    }
    decoder_close(dec);
    close_setup(&s);
}

TEST(stepping_through_a_target_equals_the_whole_pass_in_double)
{
    check_forced(true);
}

TEST(stepping_through_a_target_equals_the_whole_pass_in_float)
{
    check_forced(false);
}

/* Hypotheses that grow like a search's: each row continues some row of its sentence. */
struct tree {
    size_t n;
    int32_t sentence[ROWS], token[ROWS], target[ROWS][STEPS];
    int32_t physical[ROWS][STEPS];
};

static struct tree next_tree(const struct tree *now, size_t t, struct rng *r)
{
    struct tree next = {.n = 0};

    for (size_t row = 0; row < ROWS; row++) {
        const size_t parent = rng_below(r, now->n);
        next.sentence[row] = now->sentence[parent];
        memcpy(next.target[row], now->target[parent], sizeof next.target[row]);
        memcpy(next.physical[row], now->physical[parent], sizeof next.physical[row]);
        next.token[row] = (int32_t)rng_below(r, VOCAB);
        next.target[row][t - 1] = next.token[row];
        next.physical[row][t] = (int32_t)row;
        next.n++;
    }
    return next;
}

static void step_tree(struct decoder *dec, const struct tree *tree, size_t t,
                      const struct packed *p, void *top, int32_t *id)
{
    int32_t first[ROWS], last[ROWS], physical[ROWS * STEPS];

    for (size_t r = 0; r < tree->n; r++) {
        first[r] = p->src_at[tree->sentence[r]];
        last[r] = p->src_at[tree->sentence[r] + 1];
        memcpy(physical + r * (t + 1), tree->physical[r], (t + 1) * sizeof *physical);
    }
    decoder_step(dec, t,
                 &(struct decoder_rows){tree->n, tree->token, first, last, physical}, top,
                 id);
}

/* The list of a row after t tokens is that of a whole pass over these tokens and one. */
static void check_row(struct setup *s, const struct tree *tree, size_t row, size_t t,
                      const void *top, const int32_t *id)
{
    const size_t source = (size_t)tree->sentence[row];
    int32_t target[STEPS], best[PACKED_MAX_TOKENS];
    double loss[PACKED_MAX_TOKENS];
    struct packed p;

    memcpy(target, tree->target[row], sizeof target);
    target[t] = id[row * VOCAB + VOCAB / 2];
    packed_begin(&p);
    packed_add(&p, 0, sources[source], source_len[source], target, t + 1);
    force(s, &p, loss, best);
    CHECK_NEAR(real_at(s, top, row * VOCAB + VOCAB / 2), -loss[t], s->tolerance);
    CHECK(id[row * VOCAB] == best[t]);
}

TEST(rows_that_continue_any_row_equal_recomputation)
{
    const int32_t none[3][STEPS] = {{0}};
    const size_t no_target[3] = {0};
    struct rng r = rng_open(rng_key(test_seed(), "tree"));
    struct tree tree[STEPS] = {{.n = 3,
                                .sentence = {0, 1, 2},
                                .token = {-1, -1, -1},
                                .physical = {{0}, {1}, {2}}}};
    double top[STEPS][ROWS * VOCAB];
    int32_t id[STEPS][ROWS * VOCAB];
    struct setup s;
    struct packed p;
    struct decoder *dec;

    open_setup(&s, true);
    pack(&p, none, no_target);
    const struct model_shape shape = {3, p.batch.n_src, 0, STEPS, false};
    CHECK_OK(model_reserve(&s.model, shape, &err), &err);
    CHECK_OK(decoder_open(&dec, &s.model,
                          (struct decoder_shape){ROWS, p.batch.n_src, STEPS, VOCAB},
                          &err),
             &err);
    model_encode(&s.model, &p.batch);
    decoder_begin(dec);
    for (size_t t = 0; t < STEPS; t++) {
        if (t)
            tree[t] = next_tree(&tree[t - 1], t, &r);
        step_tree(dec, &tree[t], t, &p, top[t], id[t]);
    }
    decoder_close(dec);
    for (size_t t = 0; t < STEPS; t++)
        for (size_t row = 0; row < tree[t].n; row++)
            check_row(&s, &tree[t], row, t, top[t], id[t]);
    close_setup(&s);
}

TEST(the_list_is_sorted_and_holds_the_best)
{
    const int32_t none[3][STEPS] = {{0}};
    const size_t no_target[3] = {0};
    const int32_t token[3] = {-1, -1, -1}, physical[3] = {0, 1, 2};
    struct setup s;
    struct packed p;
    double all[3 * VOCAB], few[3 * 4];
    int32_t all_id[3 * VOCAB], few_id[3 * 4];

    open_setup(&s, true);
    pack(&p, none, no_target);
    const struct model_shape shape = {3, p.batch.n_src, 0, STEPS, false};
    CHECK_OK(model_reserve(&s.model, shape, &err), &err);
    const struct decoder_rows rows = {3, token, p.src_at, p.src_at + 1, physical};
    for (int i = 0; i < 2; i++) {
        struct decoder *dec;
        CHECK_OK(
            decoder_open(&dec, &s.model,
                         (struct decoder_shape){3, p.batch.n_src, STEPS, i ? 4 : VOCAB},
                         &err),
            &err);
        model_encode(&s.model, &p.batch);
        decoder_begin(dec);
        decoder_step(dec, 0, &rows, i ? few : all, i ? few_id : all_id);
        decoder_close(dec);
    }
    for (size_t r = 0; r < 3; r++) {
        double sum = 0;
        for (size_t k = 0; k < VOCAB; k++) {
            sum += exp(all[r * VOCAB + k]);
            CHECK(k == 0 || all[r * VOCAB + k] <= all[r * VOCAB + k - 1]);
        }
        CHECK_NEAR(sum, 1, 1e-12);
        for (size_t k = 0; k < 4; k++)
            CHECK(few_id[r * 4 + k] == all_id[r * VOCAB + k] &&
                  few[r * 4 + k] == all[r * VOCAB + k]);
    }
    close_setup(&s);
}
