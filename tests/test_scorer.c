#include "decode/pairs/scorer.h"

#include <stdlib.h>

#include "model/model.h"
#include "packed.h"
#include "toy_model.h"

enum { N = 6 };

static struct err err;

static const struct line sources[N] = {
    {"the ferry crosses", 17},     {"a child", 7},   {"", 0},
    {"we wait for the ferry", 21}, {"der Fluss", 9}, {"slow", 4}};
static const struct line targets[N] = {
    {"die Fähre", 10},  {"ein Kind wartet am Ufer", 23}, {"breit", 5}, {"", 0},
    {"wir warten", 10}, {"langsam und breit", 17}};

struct setup {
    struct spm *spm;
    struct device device;
    struct model model;
    struct network network;
};

static void open_setup(struct setup *s)
{
    *s = (struct setup){.spm = toy_model_spm()};
    const struct model_config c = toy_model_config(spm_size(s->spm));

    CHECK_OK(device_open(&s->device, "cpu", (struct device_options){.threads = 1}, &err),
             &err);
    CHECK_OK(model_open(&s->model, &s->device, &c, false, &err), &err);
    float *flat = toy_model_weights(&s->model.params, 5);
    CHECK_OK(model_set_weights(&s->model, flat, &err), &err);
    CHECK_OK(network_open(&s->network, &c, &err), &err);
    CHECK_OK(network_pack(&s->network, &s->model.params, flat, (struct network_types){0},
                          &err),
             &err);
    free(flat);
}

static void close_setup(struct setup *s)
{
    network_close(&s->network);
    model_close(&s->model);
    device_close(&s->device);
    spm_free(s->spm);
}

/* S, the pieces, EOS. */
static size_t ids_of(const struct setup *s, struct line text, int32_t *id)
{
    struct spm_ids ids = {0};

    CHECK_OK(spm_encode(s->spm, text, &ids, &err), &err);
    const size_t n = ids.n + 2;
    CHECK(n <= PACKED_MAX_TOKENS);
    id[0] = ID_BOS;
    if (ids.n)
        memcpy(id + 1, ids.id, ids.n * sizeof *id);
    id[n - 1] = ID_EOS;
    spm_ids_release(&ids);
    return n;
}

/* The training model's own loss of a pair, token by token. */
static size_t expected(struct setup *s, size_t i, float *loss)
{
    const struct model_run run = {0};
    int32_t source[PACKED_MAX_TOKENS], target[PACKED_MAX_TOKENS];
    const size_t n_source = ids_of(s, sources[i], source);
    const size_t n_target = ids_of(s, targets[i], target);
    struct packed p;

    packed_begin(&p);
    packed_add(&p, 0, source, n_source, target, n_target);
    CHECK_OK(model_reserve(&s->model, packed_shape(&p, false), &err), &err);
    model_forward(&s->model, &p.batch, &run);
    model_losses(&s->model, loss);
    return n_target;
}

TEST(log_probabilities_are_those_of_the_training_model)
{
    for (size_t n_threads = 1; n_threads <= 3; n_threads++) {
        struct setup s;
        struct scorer *scorer;
        open_setup(&s);
        CHECK_OK(scorer_open(
                     &scorer, &s.network, s.spm,
                     (struct scorer_options){kernels_choose("cpu"), n_threads, 64}, &err),
                 &err);
        for (int again = 0; again < 2; again++) {
            CHECK_OK(scorer_run(scorer, sources, targets, N, &err), &err);
            for (size_t i = 0; i < N; i++) {
                float loss[PACKED_MAX_TOKENS];
                const struct scorer_pair p = scorer_get(scorer, i);
                double sum = 0;
                CHECK(p.n == expected(&s, i, loss) && !p.is_cut);
                for (size_t k = 0; k < p.n; k++) {
                    CHECK_NEAR(p.log_prob[k], -(double)loss[k], 1e-4);
                    sum += p.log_prob[k];
                }
                CHECK_NEAR(p.sum, sum, 1e-12);
                CHECK(p.id[0] == ID_BOS && p.id[p.n - 1] == ID_EOS);
            }
        }
        scorer_close(scorer);
        close_setup(&s);
    }
}

/* More pairs than a pass holds, in any order: each as it is alone. */
TEST(a_pair_scores_alike_alone_and_among_many)
{
    enum { MANY = 700 };
    static struct line source[MANY], target[MANY];
    double alone[N];
    struct setup s;
    struct scorer *scorer;

    open_setup(&s);
    CHECK_OK(scorer_open(&scorer, &s.network, s.spm,
                         (struct scorer_options){kernels_choose("cpu"), 2, 64}, &err),
             &err);
    for (size_t i = 0; i < N; i++) {
        CHECK_OK(scorer_run(scorer, &sources[i], &targets[i], 1, &err), &err);
        alone[i] = scorer_get(scorer, 0).sum;
    }
    for (size_t i = 0; i < MANY; i++) {
        source[i] = sources[i * 5 % N];
        target[i] = targets[i * 5 % N];
    }
    CHECK_OK(scorer_run(scorer, source, target, MANY, &err), &err);
    for (size_t i = 0; i < MANY; i++)
        CHECK(scorer_get(scorer, i).sum == alone[i * 5 % N]);
    CHECK_OK(scorer_run(scorer, NULL, NULL, 0, &err), &err);
    scorer_close(scorer);
    close_setup(&s);
}

TEST(sides_beyond_max_length_are_cut_and_said_to_be)
{
    struct setup s;
    struct scorer *scorer;

    open_setup(&s);
    CHECK_OK(scorer_open(&scorer, &s.network, s.spm,
                         (struct scorer_options){kernels_choose("cpu"), 1, 4}, &err),
             &err);
    CHECK_OK(scorer_run(scorer, sources, targets, N, &err), &err);
    for (size_t i = 0; i < N; i++) {
        int32_t id[PACKED_MAX_TOKENS];
        const struct scorer_pair p = scorer_get(scorer, i);
        const bool is_long =
            ids_of(&s, sources[i], id) > 4 || ids_of(&s, targets[i], id) > 4;
        CHECK(p.n <= 4 && p.id[p.n - 1] == ID_EOS && p.is_cut == is_long);
    }
    scorer_close(scorer);
    scorer_close(NULL);
    close_setup(&s);
}

TEST(ids_score_as_their_text_does)
{
    struct setup s;
    struct scorer *scorer;

    open_setup(&s);
    CHECK_OK(scorer_open(&scorer, &s.network, s.spm,
                         (struct scorer_options){kernels_choose("cpu"), 1, 64}, &err),
             &err);
    for (size_t i = 0; i < N; i++) {
        int32_t id[2][PACKED_MAX_TOKENS];
        uint16_t narrow[2][PACKED_MAX_TOKENS];
        const size_t n[2] = {ids_of(&s, sources[i], id[0]),
                             ids_of(&s, targets[i], id[1])};
        for (int side = 0; side < 2; side++)
            for (size_t k = 1; k + 1 < n[side]; k++)
                narrow[side][k - 1] = (uint16_t)id[side][k];
        CHECK_OK(scorer_run(scorer, &sources[i], &targets[i], 1, &err), &err);
        const double want = scorer_get(scorer, 0).sum;
        const struct scorer_ids pair = {narrow[0], narrow[1], n[0] - 2, n[1] - 2};
        CHECK_OK(scorer_run_ids(scorer, &pair, 1, &err), &err);
        CHECK(scorer_get(scorer, 0).sum == want);
    }
    scorer_close(scorer);
    close_setup(&s);
}
