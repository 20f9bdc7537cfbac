/* Many ranks in one process: updates in many buckets, sharded sums, equal replicas. */
#include <stdlib.h>

#include "corpus/checksum.h"
#include "dist/exchange/embed_rows.h"
#include "dist/exchange/reducer.h"
#include "layouts.h"
#include "recipe/model_config.h"
#include "recipe/params.h"

/* One row, or two where there are enough nodes. */
static size_t rows_of(const struct layout *l, bool has_rows)
{
    return has_rows && l->n_nodes > 1 ? 2 : 1;
}

/* ------------------------------------------------------------ updates */

static const struct model_config tiny = {.vocab_size = 300,
                                         .d_model = 16,
                                         .d_ff = 40,
                                         .heads = 2,
                                         .encoder_layers = 2,
                                         .decoder_layers = 2};

struct many {
    struct params params;
    struct reducer_options options;
    int n_updates, n_working; /* ranks from n_working on have no micro-batch */
    bool is_flush;            /* in the last update */
    bool is_bad;              /* the first update of rank 0 holds something infinite */
    bool is_late;             /* named rows of the embedding are written last */
    int n_marking;            /* ranks that say which those are */
    bool has_table[MAX_RANKS];
    float *flat[MAX_RANKS]; /* sum of all summed gradients */
    float *last[MAX_RANKS]; /* the last one */
    double tokens[MAX_RANKS];
    double most[MAX_RANKS];
    bool is_nan[MAX_RANKS];
    struct reducer_times times[MAX_RANKS];
    int odd[MAX_RANKS];
    struct err err[MAX_RANKS];
};

static void many_open(struct many *m, int n_ranks, struct reducer_options o)
{
    struct err err = {0};

    *m = (struct many){.options = o, .n_updates = 1, .n_working = MAX_RANKS};
    CHECK_OK(params_open(&m->params, &tiny, &err), &err);
    for (int r = 0; r < n_ranks; r++) {
        m->flat[r] = calloc(m->params.n_flat, sizeof(float));
        m->last[r] = calloc(m->params.n_flat, sizeof(float));
    }
}

static void many_close(struct many *m)
{
    params_close(&m->params);
    for (int r = 0; r < MAX_RANKS; r++) {
        free(m->flat[r]);
        free(m->last[r]);
    }
}

/* The rows that a rank names in a step, in no order and some twice. */
enum { N_NAMED = 40 };
static void named_rows(int32_t row[N_NAMED], int rank, int step)
{
    for (int i = 0; i < N_NAMED; i++)
        row[i] = (i * 37 + rank * 11 + step * 5) % 320 - 20; /* of 300 */
}

/* All of the gradient but what these rows get from their sentences, last of all. */
static void gradient_with(struct many *m, int rank, int step, bool is_early)
{
    float *g = m->last[rank], *whole = calloc(m->params.n_flat, sizeof *g);
    const size_t stride = params_get(&m->params, PARAM_embed, 0)->stride;
    int32_t row[N_NAMED];

    gradient(whole, m->params.n_flat, rank, step);
    if (is_early)
        memcpy(g, whole, m->params.n_flat * sizeof *g);
    named_rows(row, rank, step);
    for (int i = 0; m->is_late && i < N_NAMED; i++)
        for (size_t c = 0; row[i] >= 0 && c < stride; c++) {
            const size_t at = (size_t)row[i] * stride + c;
            g[at] = is_early ? 1e6F : whole[at];
        }
    free(whole);
}

/* As model_backward reports: layer by layer, from the end to the embedding. */
static void backward(const struct params *p, struct reducer *r)
{
    size_t end = p->n_flat;

    for (size_t i = p->n_list; i-- > 1;)
        if (p->list[i - 1].layer != p->list[i].layer ||
            p->list[i - 1].block != p->list[i].block) {
            reducer_ready(r, p->list[i].at, end - p->list[i].at);
            end = p->list[i].at;
        }
}

static void mark(struct many *m, struct reducer *r, int rank, int step)
{
    struct embed_rows *t = reducer_embed_rows(r);
    int32_t row[N_NAMED];

    m->has_table[rank] = t;
    if (rank >= m->n_marking || !t)
        return;
    named_rows(row, rank, step);
    embed_rows_mark_all(t, false);
    embed_rows_mark(t, row, N_NAMED / 2);
    embed_rows_mark(t, row + N_NAMED / 2, N_NAMED - N_NAMED / 2);
}

static status one_update(struct many *m, struct reducer *r, struct comm *c, int step,
                         struct err *err)
{
    float *g = m->last[c->rank];
    double tokens = c->rank < m->n_working ? 100 + c->rank : 0;
    double most[] = {1.5 * c->rank, c->rank == 1 ? (double)NAN : 0};
    const struct reducer_facts facts = {
        .sum = &tokens, .n_sum = 1, .most = most, .n_most = 2};

    memset(g, 0, m->params.n_flat * sizeof *g);
    reducer_begin(r, g, m->is_flush && step + 1 == m->n_updates);
    if (c->rank < m->n_working) {
        gradient_with(m, c->rank, step, true);
        if (m->is_bad && step == 0 && c->rank == 0)
            g[5] = g[m->params.n_flat - 5] = INFINITY;
        mark(m, r, c->rank, step);
        backward(&m->params, r);
        gradient_with(m, c->rank, step, false);
        reducer_ready(r, 0, m->params.list[1].at);
    }
    TRY(reducer_finish(r, &facts, &m->times[c->rank], err));
    for (size_t i = 0; i < m->params.n_flat; i++)
        m->flat[c->rank][i] += g[i];
    m->tokens[c->rank] = tokens;
    m->most[c->rank] = most[0];
    m->is_nan[c->rank] = isnan(most[1]);
    return OK;
}

static void many_rank(struct comm *c, void *ctx)
{
    struct many *m = ctx;
    struct err *err = &m->err[c->rank];
    struct reducer_odd odd = {.rank = -2};
    struct reducer *r;
    status result = reducer_open(&r, c, &m->params, m->options, err);

    for (int step = 0; result == OK && step < m->n_updates; step++)
        result = one_update(m, r, c, step, err);
    if (result == OK)
        result = reducer_compare(
            c, checksum_of(m->flat[c->rank], m->params.n_flat * sizeof(float)), &odd,
            err);
    m->odd[c->rank] = odd.rank;
    err->code = result;
    reducer_close(r);
}

static void run_many(struct many *m, const struct layout *l, bool is_parallel)
{
    struct comm_sim_options options = sim(l, test_seed());
    struct err err = {0};

    options.is_parallel = is_parallel;
    CHECK_OK(comm_sim_run(&options, many_rank, m, &err), &err);
    for (int r = 0; r < size_of(l); r++) {
        CHECK_OK(m->err[r].code, &m->err[r]);
        CHECK(m->odd[r] == -1);
    }
}

/* What all updates should have added up to. */
static double *true_total(const struct many *m, int n_ranks)
{
    double *total = calloc(m->params.n_flat, sizeof *total);
    float *g = calloc(m->params.n_flat, sizeof *g);

    for (int step = 0; step < m->n_updates; step++)
        for (int r = 0; r < n_ranks && r < m->n_working; r++) {
            gradient(g, m->params.n_flat, r, step);
            for (size_t i = 0; i < m->params.n_flat; i++)
                total[i] += (double)g[i];
        }
    free(g);
    return total;
}

static double worst(const struct many *m, const double *want)
{
    double most = 0;

    for (size_t i = 0; i < m->params.n_flat; i++)
        most = fmax(most, fabs((double)m->flat[0][i] - want[i]));
    return most;
}

TEST(an_update_in_many_buckets_adds_up)
{
    static const size_t bucket_bytes[] = {4096, 20000, 0};
    struct many m;

    for (size_t k = 0; k < N_LAYOUTS; k++)
        for (size_t b = 0; b < 3; b++) {
            const int R = size_of(&layouts[k]);
            many_open(&m, R,
                      (struct reducer_options){.wire = WIRE_FP32,
                                               .bucket_bytes = bucket_bytes[b],
                                               .is_checked = true,
                                               .n_rows = rows_of(&layouts[k], b > 0)});
            run_many(&m, &layouts[k], b == 1);
            double *want = true_total(&m, R);
            CHECK(worst(&m, want) < 1e-5);
            free(want);
            for (int r = 0; r < R; r++) {
                CHECK(m.tokens[r] == 100.0 * R + R * (R - 1) / 2);
                CHECK(m.most[r] == 1.5 * (R - 1));
                CHECK(m.is_nan[r] == (R > 1));
            }
            many_close(&m);
        }
}

/* A named row that went out early would carry 1e6; one that went out twice, or never, the
 * wrong sum. */
TEST(rows_that_nobody_names_may_go_before_backward)
{
    struct many m;

    for (size_t k = 0; k < N_LAYOUTS; k++)
        for (int w = 0; w < WIRE_INT8; w++) {
            const int R = size_of(&layouts[k]);
            many_open(&m, R,
                      (struct reducer_options){.wire = (enum wire)w,
                                               .bucket_bytes = 4096,
                                               .is_checked = true});
            m.is_late = true;
            m.n_marking = w == WIRE_BF16 ? R - 1 : R; /* who says nothing means all */
            m.n_updates = 2;
            m.n_working = w == WIRE_FP16 && R > 1 ? R - 1 : R;
            run_many(&m, &layouts[k], w == WIRE_BF16);
            double *want = true_total(&m, R);
            CHECK(worst(&m, want) < (w == WIRE_FP32 ? 1e-5 : 0.1));
            free(want);
            for (int r = 0; r < m.n_working; r++)
                CHECK(m.has_table[r] == (layouts[k].n_nodes > 1));
            many_close(&m);
        }
}

TEST(who_keeps_something_of_a_place_sends_the_embedding_whole)
{
    const struct reducer_options whole[] = {
        {.wire = WIRE_INT8, .bucket_bytes = 4096},
        {.wire = WIRE_FP32, .bucket_bytes = 4096, .is_sharded = true},
        {.wire = WIRE_FP32, .bucket_bytes = 1 << 20}, /* no buckets of its own */
        {.wire = WIRE_FP32, .bucket_bytes = 40000},   /* one with an encoder layer */
        {.wire = WIRE_FP32, .bucket_bytes = 32}       /* less than a row */
    };
    struct many m;

    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        struct comm_sim_options options = sim(&layouts[3], test_seed());
        struct err err = {0};
        many_open(&m, 2, whole[i]);
        CHECK_OK(comm_sim_run(&options, many_rank, &m, &err), &err);
        CHECK(!m.has_table[0] && !m.has_table[1]);
        many_close(&m);
    }
}

TEST(ranks_without_a_micro_batch_take_part_with_zeros)
{
    struct many m;

    for (int n_working = 0; n_working < 4; n_working++) {
        many_open(&m, 5,
                  (struct reducer_options){.wire = WIRE_BF16, .bucket_bytes = 9000});
        m.n_working = n_working;
        run_many(&m, &layouts[9], false);
        double *want = true_total(&m, 5);
        CHECK(worst(&m, want) < 0.05);
        free(want);
        CHECK(m.tokens[4] == 100.0 * n_working + n_working * (n_working - 1) / 2);
        many_close(&m);
    }
}

/* Without it every update loses up to half a step of each block, again and again. */
TEST(error_feedback_keeps_the_long_run_sum_and_a_flush_leaves_nothing)
{
    struct many m;

    for (int i = 0; i < 4; i++)
        for (size_t k = 3; k < N_LAYOUTS; k++) {
            const int R = size_of(&layouts[k]), flush = i % 2;
            many_open(&m, R,
                      (struct reducer_options){.wire = WIRE_INT8,
                                               .bucket_bytes = 9000,
                                               .n_rows = rows_of(&layouts[k], i > 1)});
            m.n_updates = 12;
            m.is_flush = flush;
            run_many(&m, &layouts[k], false);
            double *want = true_total(&m, R);
            CHECK(worst(&m, want) < (flush ? 1e-4 : 0.4));
            free(want);
            many_close(&m);
        }
}

TEST(one_bad_update_is_seen_and_does_not_poison_the_next)
{
    struct many m;

    for (int n_updates = 1; n_updates < 3; n_updates++) {
        many_open(&m, 2, (struct reducer_options){.wire = WIRE_INT8});
        m.n_updates = n_updates;
        m.is_bad = true;
        run_many(&m, &layouts[3], false);
        for (int r = 0; r < 2; r++) {
            CHECK(isfinite(m.last[r][5]) == (n_updates == 2));
            CHECK(isfinite(m.last[r][m.params.n_flat - 5]) == (n_updates == 2));
        }
        many_close(&m);
    }
}

/* ------------------------------------------------------------ sharded */

struct shards {
    struct params params;
    struct reducer_options options;
    float *weights[MAX_RANKS], *moments; /* moments: gathered on rank 0 */
    struct err err[MAX_RANKS];
    size_t n_owned[MAX_RANKS];
};

/* weights = sum of gradients on their owners; moments = 2 * sum */
static status shard_update(struct shards *s, struct reducer *r, struct comm *c,
                           struct err *err)
{
    const size_t n = s->params.n_flat;
    float *w = s->weights[c->rank], *g = calloc(n, sizeof *g);
    const struct reducer_shards *mine = reducer_shards(r);
    float *owned = calloc(mine->n_owned + 1, sizeof *owned);
    float *again = calloc(mine->n_owned + 1, sizeof *again);
    struct reducer_times times;

    gradient(g, n, c->rank, 0);
    reducer_begin(r, g, false);
    backward(&s->params, r);
    status result = reducer_finish(r, NULL, &times, err);
    for (size_t i = 0; i < mine->n_list; i++) {
        const struct reducer_shard range = mine->list[i];
        for (size_t k = 0; k < range.n; k++) {
            w[range.first + k] = g[range.first + k];
            owned[range.at + k] = 2 * g[range.first + k];
        }
    }
    if (result == OK)
        result = reducer_allgather(r, w, err);
    if (result == OK)
        result = reducer_gather(r, owned, c->rank == 0 ? s->moments : NULL, err);
    if (result == OK && c->rank == 0) {
        reducer_pick(r, again, s->moments);
        if (memcmp(again, owned, mine->n_owned * sizeof *owned) != 0)
            result = err_set(err, ERR_CHECK, "picked something else than was gathered");
    }
    s->n_owned[c->rank] = mine->n_owned;
    free(again);
    free(owned);
    free(g);
    return result;
}

static void shard_rank(struct comm *c, void *ctx)
{
    struct shards *s = ctx;
    struct err *err = &s->err[c->rank];
    struct reducer *r;

    err->code = reducer_open(&r, c, &s->params, s->options, err);
    if (err->code == OK)
        err->code = shard_update(s, r, c, err);
    reducer_close(r);
}

TEST(shards_are_updated_by_their_owners_and_come_together_again)
{
    struct err err = {0};

    for (size_t k = 0; k < N_LAYOUTS; k++)
        for (int w = 0; w < N_WIRES; w++) {
            const int R = size_of(&layouts[k]);
            struct comm_sim_options options = sim(&layouts[k], k);
            struct shards s = {.options = {.wire = (enum wire)w,
                                           .bucket_bytes = 30000,
                                           .is_sharded = true,
                                           .n_rows = rows_of(&layouts[k], w % 2)}};
            size_t n_owned = 0;
            CHECK_OK(params_open(&s.params, &tiny, &err), &err);
            const size_t n = s.params.n_flat;
            s.moments = calloc(n, sizeof(float));
            for (int r = 0; r < R; r++)
                s.weights[r] = calloc(n, sizeof(float));
            options.is_parallel = w == 1;
            CHECK_OK(comm_sim_run(&options, shard_rank, &s, &err), &err);

            struct many m = {.params = s.params, .n_updates = 1, .n_working = MAX_RANKS};
            double *want = true_total(&m, R);
            for (int r = 0; r < R; r++) {
                CHECK_OK(s.err[r].code, &s.err[r]);
                n_owned += s.n_owned[r];
                CHECK(memcmp(s.weights[0], s.weights[r], n * sizeof(float)) == 0);
            }
            CHECK(n_owned == n); /* every element has one owner */
            for (size_t i = 0; i < n; i++) {
                CHECK(fabs((double)s.weights[0][i] - want[i]) < 0.1);
                CHECK(s.moments[i] == 2 * s.weights[0][i]);
            }
            free(want);
            params_close(&s.params);
            free(s.moments);
            for (int r = 0; r < R; r++)
                free(s.weights[r]);
        }
}

/* ------------------------------------------------------------ replicas */

static void compare_rank(struct comm *c, void *ctx)
{
    struct reducer_odd *odd = ctx;
    struct err err = {0};
    float x[100];

    gradient(x, 100, 0, 0);
    if (c->rank == c->size - 2)
        x[71] = -x[71];
    if (reducer_compare(c, checksum_of(x, 100 * sizeof *x), &odd[c->rank], &err) != OK)
        odd[c->rank].rank = -2;
}

TEST(the_replica_that_differs_is_named)
{
    const struct comm_sim_options options = sim(&layouts[9], 1);
    struct err err = {0};
    struct reducer_odd odd[MAX_RANKS] = {0};

    CHECK_OK(comm_sim_run(&options, compare_rank, odd, &err), &err);
    for (int r = 0; r < 5; r++)
        CHECK(odd[r].rank == 3 && odd[r].other == 0 && odd[r].is_clear);
}

TEST(which_of_two_replicas_is_wrong_is_not_guessed)
{
    static const int nodes[] = {1, 1};
    const struct comm_sim_options options = {.ranks = nodes, .n_nodes = 2};
    struct err err = {0};
    struct reducer_odd odd[2] = {0};

    CHECK_OK(comm_sim_run(&options, compare_rank, odd, &err), &err);
    for (int r = 0; r < 2; r++)
        CHECK(odd[r].rank == 1 && odd[r].other == 0 && !odd[r].is_clear);
}
