/* One part of the embedding's rows alone, and the marks of two ranks merged. */
#include <stdlib.h>

#include "dist/exchange/embed_rows.h"
#include "recipe/model_config.h"
#include "recipe/params.h"
#include "sim/comm_sim.h"
#include "test.h"

static const struct model_config tiny = {.vocab_size = 300,
                                         .d_model = 16,
                                         .d_ff = 40,
                                         .heads = 2,
                                         .encoder_layers = 2,
                                         .decoder_layers = 2};

struct parts {
    struct embed_rows rows[2];
    struct exchange exchange[2];
    float *flat[2];
    bool is_marked;
};

static status part_job(struct comm *c, void *ctx, struct err *err)
{
    struct parts *p = ctx;

    TRY(embed_rows_merge(&p->rows[c->rank], c, err));
    return embed_rows_sum(&p->rows[c->rank], &p->exchange[c->rank], p->flat[c->rank],
                          p->is_marked, WIRE_FP32, err);
}

static void part_rank(struct comm *c, void *ctx)
{
    static const int32_t row[2][3] = {{3, 299, -1}, {64, 3, 128}};
    struct parts *p = ctx;
    struct embed_rows *t = &p->rows[c->rank];
    struct params params;
    struct err err = {0};

    CHECK_OK(params_open(&params, &tiny, &err), &err);
    CHECK_OK(embed_rows_open(t, &params, 100, &err), &err);
    p->flat[c->rank] = calloc(params.n_flat, sizeof(float));
    for (size_t i = 0; i < params.n_flat; i++)
        p->flat[c->rank][i] = (float)(c->rank + 1);
    embed_rows_mark_all(t, false);
    embed_rows_mark(t, row[c->rank], 3);
    CHECK(embed_rows_square(t, p->flat[c->rank]) == (c->rank ? 3 * 16 * 4 : 2 * 16));
    CHECK_OK(exchange_open(&p->exchange[c->rank], c,
                           (struct exchange_options){.n_max = 100, .widest = WIRE_FP32},
                           &err),
             &err);
    CHECK_OK(comm_run(c, part_job, p, &err), &err);
    for (size_t i = 0; i < params.n_flat; i++) {
        const size_t at = i / 16;
        const bool is_marked = at == 3 || at == 64 || at == 128 || at == 299;
        const bool is_summed = at < 300 && is_marked == p->is_marked;
        CHECK(p->flat[c->rank][i] == (float)(is_summed ? 3 : c->rank + 1));
    }
    exchange_close(&p->exchange[c->rank]);
    embed_rows_close(t);
    free(p->flat[c->rank]);
    params_close(&params);
}

TEST(a_part_sums_its_rows_and_touches_no_other)
{
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        const struct comm_sim_options options = {
            .ranks = (const int[]){1, 1}, .n_nodes = 2, .seed = test_seed()};
        struct parts p = {.is_marked = is_marked};
        struct err err = {0};
        CHECK_OK(comm_sim_run(&options, part_rank, &p, &err), &err);
    }
}
