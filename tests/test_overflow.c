/*
 * An overflow in mixed precision on one rank of several: the update is skipped on all of
 * them, no step is counted, the loss scale follows on all, and they stay replicas.
 */
#include <stdlib.h>

#include "model/model.h"
#include "sim/comm_sim.h"
#include "test.h"
#include "toy_run.h"
#include "train/trainer.h"

enum { RANKS = 2, UPDATES = 5, POISONED = 2, END_OF_SENTENCE = 1, D = 16 };

struct seen {
    status result[UPDATES];
    int64_t step[UPDATES];
    double scale[UPDATES];
    float *weights;
    size_t n;
};

struct job {
    struct train_config *config;
    struct seen rank[RANKS];
};

/* The embedding of a piece that every sentence has, as large as a half can be: times the
 * square root of the width it is infinite. */
static void poison(struct trainer *t, float keep[D])
{
    const struct param *embed = params_get(&t->model.params, PARAM_embed, 0);
    float *row = (float *)t->model.flat.mem + embed->at + END_OF_SENTENCE * embed->stride;

    for (size_t c = 0; c < D; c++) {
        keep[c] = row[c];
        row[c] = 6e4F;
    }
}

static void heal(struct trainer *t, const float keep[D])
{
    const struct param *embed = params_get(&t->model.params, PARAM_embed, 0);
    float *row = (float *)t->model.flat.mem + embed->at + END_OF_SENTENCE * embed->stride;

    memcpy(row, keep, D * sizeof *keep);
}

static void run_rank(struct comm *c, void *ctx)
{
    struct job *j = ctx;
    struct seen *s = &j->rank[c->rank];
    struct trainer *t = calloc(1, sizeof *t);
    struct record_step rec;
    struct err err = {0};
    float keep[D];

    CHECK_OK(setup_open(t, j->config, &(struct train_host){.comm = c}, &err), &err);
    CHECK_OK(setup_run(t, &err), &err);
    for (int i = 0; i < UPDATES; i++) {
        const bool is_poisoned = i == POISONED && c->rank == RANKS - 1;
        if (is_poisoned)
            poison(t, keep);
        s->result[i] = train_step(t, &rec, &err);
        if (is_poisoned)
            heal(t, keep);
        s->step[i] = t->state.step;
        s->scale[i] = (double)t->state.scale.scale;
    }
    s->n = t->model.params.n_flat;
    s->weights = malloc(s->n * sizeof *s->weights);
    memcpy(s->weights, t->model.flat.mem, s->n * sizeof *s->weights);
    CHECK_OK(setup_close(t, &err), &err);
    free(t);
}

static void run_job(struct job *j, const char *run, const char *const *options,
                    const int *ranks, int n_nodes)
{
    const struct comm_sim_options o = {
        .ranks = ranks, .n_nodes = n_nodes, .seed = 3, .is_parallel = true};
    struct err err = {0};

    *j = (struct job){.config = toy_config(run, options)};
    CHECK_OK(comm_sim_run(&o, run_rank, j, &err), &err);
    free(j->config);
}

static void check_job(struct job *j, double scale_after)
{
    static const int64_t steps[UPDATES] = {1, 2, 2, 3, 4};

    for (int r = 0; r < RANKS; r++) {
        const struct seen *s = &j->rank[r];
        for (int i = 0; i < UPDATES; i++) {
            CHECK(s->result[i] == (i == POISONED ? ERR_NUMERIC : OK));
            CHECK(s->step[i] == steps[i]);
        }
        CHECK(memcmp(s->scale, j->rank[0].scale, sizeof s->scale) == 0);
        if (scale_after > 0)
            CHECK_NEAR(s->scale[POISONED], scale_after, 1e-6);
        else
            CHECK(s->scale[POISONED] < s->scale[POISONED - 1]);
        CHECK(memcmp(s->weights, j->rank[0].weights, s->n * sizeof *s->weights) == 0);
        for (size_t w = 0; w < s->n; w++)
            CHECK(isfinite(s->weights[w]));
    }
    for (int r = 0; r < RANKS; r++)
        free(j->rank[r].weights);
}

TEST(an_overflow_on_one_rank_skips_the_update_on_all_over_every_wire)
{
    static const char *const wires[] = {"wire=fp32", "wire=bf16", "wire=fp16",
                                        "wire=int8"};
    struct job j;

    toy_data();
    for (size_t w = 0; w < sizeof wires / sizeof *wires; w++) {
        run_job(&j, wires[w],
                TOY("precision=fp16", "loss_scaling=static", "loss_scale=8", wires[w]),
                (int[]){1, 1}, 2);
        check_job(&j, 8);
    }
}

TEST(backoff_halves_its_factor_on_all_ranks_of_a_node)
{
    struct job j;

    toy_data();
    run_job(&j, "run", TOY("precision=fp16", "loss_scaling=backoff"), (int[]){2}, 1);
    check_job(&j, 8192);
}

TEST(logmax_lowers_its_factor_on_all_ranks)
{
    struct job j;

    toy_data();
    run_job(&j, "run", TOY("precision=fp16", "loss_scaling=logmax", "wire=fp32"),
            (int[]){1, 1}, 2);
    check_job(&j, 0);
}
