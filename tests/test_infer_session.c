/* Packed networks and sessions over them: every part holds the tensors that it names,
 * places and entries are lent and given back, and what int8 weights give has the same
 * bytes on every machine. */
#include "base/pool.h"
#include "infer/session.h"
#include "infer_variants.h"

static struct err err;

static const struct model_config config = {.vocab_size = 530,
                                           .d_model = 96,
                                           .d_ff = 168,
                                           .heads = 3,
                                           .encoder_layers = 2,
                                           .decoder_layers = 3,
                                           .norm_epsilon = 1e-6};

struct setup {
    struct params params;
    float *flat;
    struct network net;
};

static enum linear_type all_int8(void *ctx, const struct network_part *part)
{
    (void)ctx, (void)part;
    return LINEAR_INT8;
}

static enum linear_type some_int8(void *ctx, const struct network_part *part)
{
    (void)ctx;
    return strstr(part->name, ".ff.") || strstr(part->name, "cross") ? LINEAR_INT8
                                                                     : LINEAR_FLOAT;
}

/* Weights that no function of a mathematical library had a part in. */
static void open_setup(struct setup *s, const struct model_config *c,
                       enum linear_type (*type)(void *, const struct network_part *))
{
    struct rng r = rng_open(7);

    *s = (struct setup){0};
    CHECK_OK(params_open(&s->params, c, &err), &err);
    s->flat = calloc(s->params.n_flat, sizeof *s->flat);
    CHECK(s->flat);
    for (size_t i = 0; i < s->params.n_list; i++) {
        const struct param *t = &s->params.list[i];
        for (size_t row = 0; row < t->rows; row++)
            for (size_t k = 0; k < t->cols; k++)
                s->flat[t->at + row * t->stride + k] =
                    guarded_unit(&r) * (t->n_dims == 2 ? 0.25f : 0.5f) +
                    (t->init == INIT_ONE ? 1 : 0);
    }
    CHECK_OK(network_open(&s->net, c, &err), &err);
    CHECK_OK(network_pack(&s->net, &s->params, s->flat,
                          (struct network_types){.type = type}, &err),
             &err);
}

static void close_setup(struct setup *s)
{
    network_close(&s->net);
    params_close(&s->params);
    free(s->flat);
}

/* ---- parts ---- */

static float param_value(const struct setup *s, const struct param *t, size_t row,
                         size_t col)
{
    return s->flat[t->at + row * t->stride + col];
}

/* Output n of a part stands in the tensor n / D of those side by side. */
static const struct param *param_of(const struct setup *s,
                                    const struct network_part *part, size_t n,
                                    size_t *col)
{
    const struct param *t = params_get(&s->params, part->param, part->layer);

    *col = n % t->cols;
    return params_get(&s->params, (enum param_id)(part->param + n / t->cols),
                      part->layer);
}

static void check_vector(const struct setup *s, const float *x, enum param_id id,
                         int layer, size_t n)
{
    const struct param *t = params_get(&s->params, id, layer);

    CHECK(t->cols == n && t->n_dims == 1);
    for (size_t i = 0; i < linear_round(n, 16); i++)
        CHECK_BITS(x[i], i < n ? param_value(s, t, 0, i) : 0);
}

static void check_matrix(const struct setup *s, const struct network_part *part)
{
    const struct linear *m = part->matrix;

    CHECK(m->n_in == part->n_in && m->n_out == part->n_out);
    CHECK((uintptr_t)m->panel % 64 == 0);
    for (size_t k = 0; k < m->n_in; k++)
        for (size_t n = 0; n < m->n_out; n++) {
            size_t col = k;
            const bool is_table = part->param == PARAM_embed;
            const struct param *t = is_table ? params_get(&s->params, PARAM_embed, 0)
                                             : param_of(s, part, n, &col);
            const float want = param_value(s, t, is_table ? n : k, col);
            if (m->type == LINEAR_FLOAT)
                CHECK_BITS(linear_value(m, k, n), want);
            else
                CHECK(fabsf(linear_value(m, k, n) - want) <= 0.5001f * m->scale[n]);
        }
    if (part->bias == N_PARAM_IDS)
        CHECK(!m->bias);
    else
        check_vector(s, m->bias, part->bias, part->layer, m->n_out);
}

TEST(a_network_gives_its_parameters_back_as_it_has_them)
{
    struct setup s;

    for (int is_int8 = 0; is_int8 < 2; is_int8++) {
        open_setup(&s, &config, is_int8 ? all_int8 : NULL);
        float *back = calloc(s.params.n_flat, sizeof *back);
        CHECK(back);
        network_unpack(&s.net, &s.params, back);
        for (size_t i = 0; i < s.params.n_list; i++) {
            const struct param *t = &s.params.list[i];
            const float most = is_int8 && t->n_dims == 2 ? 0.25f / 127 : 0;
            for (size_t row = 0; row < t->rows; row++)
                for (size_t k = 0; k < t->cols; k++)
                    CHECK(fabsf(back[t->at + row * t->stride + k] -
                                param_value(&s, t, row, k)) <= most);
        }
        free(back);
        close_setup(&s);
    }
}

TEST(every_part_of_a_network_is_what_its_tensors_are)
{
    struct setup s;
    struct network_part part;

    for (int is_int8 = 0; is_int8 < 2; is_int8++) {
        size_t n_parts = 0, n_int8 = 0;
        open_setup(&s, &config, is_int8 ? some_int8 : NULL);
        for (; network_part(&s.net, n_parts, &part); n_parts++) {
            CHECK(!part.matrix != !part.vector);
            if (part.matrix)
                check_matrix(&s, &part);
            else
                check_vector(&s, *part.vector, part.param, part.layer, part.n_out);
            n_int8 += part.matrix && part.matrix->type == LINEAR_INT8;
        }
        /* embedding; 8 a layer of the encoder, 13 of the decoder; both ends */
        CHECK(n_parts == 1 + 8 * 2 + 2 + 13 * 3 + 2);
        CHECK(n_int8 == (is_int8 ? 2u * 2 + 5 * 3 : 0));
        close_setup(&s);
    }
}

TEST(parts_have_names_of_their_own)
{
    struct setup s;
    struct network_part part, other;

    open_setup(&s, &config, NULL);
    for (size_t i = 0; network_part(&s.net, i, &part); i++)
        for (size_t k = 0; k < i && network_part(&s.net, k, &other); k++)
            CHECK(strcmp(part.name, other.name) != 0);
    CHECK(network_part(&s.net, 0, &part));
    CHECK_STR(part.name, "embed");
    CHECK(network_part(&s.net, 3, &part));
    CHECK_STR(part.name, "encoder.0.self.in");
    CHECK(network_part(&s.net, 18, &part));
    CHECK_STR(part.name, "encoder.end.bias");
    CHECK(network_part(&s.net, 19 + 13 + 7, &part));
    CHECK_STR(part.name, "decoder.1.cross.kv");
    close_setup(&s);
}

/* As a mapped file is read: another network over the bytes of the first. */
TEST(a_network_is_bound_to_the_bytes_of_its_parts)
{
    struct setup s;
    struct network other;
    struct network_part part, bound;
    const char *at;

    open_setup(&s, &config, some_int8);
    CHECK_OK(network_open(&other, &config, &err), &err);
    at = s.net.memory;
    for (size_t i = 0; network_part(&s.net, i, &part); i++) {
        CHECK(network_part(&other, i, &bound));
        const enum linear_type type = part.matrix ? part.matrix->type : LINEAR_FLOAT;
        network_bind(&bound, type, at);
        CHECK(network_part_bytes(&part, type) % 64 == 0);
        at += network_part_bytes(&part, type);
        if (bound.vector) {
            CHECK(*bound.vector == *part.vector);
            continue;
        }
        CHECK(memcmp(bound.matrix, part.matrix, sizeof *part.matrix) == 0);
    }
    CHECK(!other.memory);
    network_close(&other);
    close_setup(&s);
}

/* ---- what is lent ---- */

static const struct session_shape shape = {.n_rows = 20,
                                           .n_entries = 20 * 9,
                                           .n_memory = 256,
                                           .n_tokens = 64,
                                           .max_len = 60,
                                           .n_top = 5};

TEST(places_are_lent_from_the_lowest_gap_that_is_large_enough)
{
    struct setup s;
    struct session session;
    struct session_source a, b, c, d, e;

    open_setup(&s, &config, NULL);
    CHECK_OK(session_open(&session, &s.net, kernels_choose("cpu"), NULL, shape, &err),
             &err);
    CHECK(session_lend(&session, 60, &a) && a.at == 0 && a.n == 60);
    CHECK(session_lend(&session, 17, &b) && b.at == 64);
    CHECK(session_lend(&session, 64, &c) && c.at == 96);
    CHECK(session_lend(&session, 32, &d) && d.at == 160);
    CHECK(!session_lend(&session, 65, &e)); /* 64 are left */
    CHECK(session_lend(&session, 64, &e) && e.at == 192);
    CHECK(!session_lend(&session, 1, &e));
    session_give_back(&session, b);
    session_give_back(&session, d);
    CHECK(!session_lend(&session, 33, &e)); /* 64 are free, in two pieces */
    CHECK(session_lend(&session, 1, &b) && b.at == 64);
    CHECK(session_lend(&session, 16, &d) && d.at == 80);
    CHECK(session_lend(&session, 20, &e) && e.at == 160);
    session_give_back(&session, a);
    session_give_back(&session, b); /* neighbours become one gap */
    CHECK(session_lend(&session, 80, &a) && a.at == 0);
    session_close(&session);
    close_setup(&s);
}

TEST(there_are_no_more_places_than_rows)
{
    struct setup s;
    struct session session;
    struct session_source source[21];
    struct session_shape wide = shape;

    wide.n_memory = 16 * 30;
    open_setup(&s, &config, NULL);
    CHECK_OK(session_open(&session, &s.net, kernels_choose("cpu"), NULL, wide, &err),
             &err);
    for (size_t i = 0; i < 20; i++)
        CHECK(session_lend(&session, 1, &source[i]) && source[i].at == 16 * i);
    CHECK(!session_lend(&session, 1, &source[20]));
    session_give_back(&session, source[7]);
    CHECK(session_lend(&session, 1, &source[20]) && source[20].at == 16 * 7);
    session_close(&session);
    close_setup(&s);
}

TEST(entries_are_taken_once_until_they_are_dropped)
{
    struct setup s;
    struct session session;
    bool is_taken[20 * 9] = {0};

    open_setup(&s, &config, NULL);
    CHECK_OK(session_open(&session, &s.net, kernels_choose("cpu"), NULL, shape, &err),
             &err);
    for (int turn = 0; turn < 2; turn++) {
        for (int32_t i = 0; i < 20 * 9; i++) {
            const int32_t e = session_take_entry(&session);
            CHECK(e >= 0 && e < 20 * 9 && is_taken[e] == (turn == 1));
            CHECK(turn || e == i); /* pages are used from the beginning */
            is_taken[e] = !is_taken[e];
        }
        CHECK(session.n_free == 0);
        for (int32_t i = 0; i < 20 * 9; i++)
            session_drop_entry(&session, i);
    }
    session_close(&session);
    close_setup(&s);
}

/* ---- the same bytes on every machine ---- */

enum { N_SENTENCES = 5, BEAM = 4, STEPS = 8 };

/* Rows of a sentence begin alike and follow their own candidates: the first row the
 * best, the second the second best, ... */
static uint64_t follow(struct session *s)
{
    const size_t length[N_SENTENCES] = {1, 5, 16, 17, 33};
    int32_t id[40], entry[N_SENTENCES * BEAM][STEPS], best[N_SENTENCES * BEAM * 5];
    double logit[N_SENTENCES * BEAM * 5];
    struct session_row row[N_SENTENCES * BEAM];
    uint64_t sum = 0xcbf29ce484222325u;

    for (size_t i = 0; i < N_SENTENCES; i++) {
        struct session_sentence sentence = {.id = id};
        for (size_t k = 0; k < length[i]; k++)
            id[k] = (int32_t)((i * 101 + k * 37) % 530);
        CHECK(session_lend(s, length[i], &sentence.to));
        session_encode(s, &sentence, 1);
        for (size_t k = 0; k < BEAM; k++)
            row[i * BEAM + k] = (struct session_row){
                .token = -1,
                .source = sentence.to,
                .best = {logit + (i * BEAM + k) * 5, best + (i * BEAM + k) * 5, 5},
                .entry = entry[i * BEAM + k]};
    }
    for (size_t t = 0; t < STEPS; t++) {
        for (size_t i = 0; i < N_SENTENCES * BEAM; i++) {
            row[i].t = t;
            entry[i][t] = session_take_entry(s);
        }
        session_step(s, row, N_SENTENCES * BEAM);
        for (size_t i = 0; i < N_SENTENCES * BEAM; i++)
            row[i].token = best[i * 5 + i % BEAM];
        sum = guarded_sum(sum, logit, sizeof logit);
        sum = guarded_sum(sum, best, sizeof best);
    }
    return sum;
}

static uint64_t sum_of(const struct setup *s, const struct infer_kernels *k,
                       size_t n_threads)
{
    struct session session;
    struct pool *pool = NULL;

    if (n_threads > 1)
        CHECK_OK(pool_open(&pool, n_threads, false, &err), &err);
    CHECK_OK(session_open(&session, &s->net, k, pool, shape, &err), &err);
    const uint64_t sum = follow(&session);
    session_close(&session);
    pool_close(pool);
    return sum;
}

/* The checksums are those of x86-64; ARM64 and every variant are held to them. */
static void check_sums(const struct model_config *c, uint64_t want)
{
    const struct infer_variants v = infer_variants();
    struct setup s;

    open_setup(&s, c, all_int8);
    for (size_t k = 0; k < v.n; k++)
        for (size_t n_threads = 1; n_threads <= 3; n_threads += 2) {
            const uint64_t got = sum_of(&s, v.k[k], n_threads);
            if (got != want)
                test_fail(__FILE__, __LINE__, "%s, %zu threads: %#llx, want %#llx",
                          v.k[k]->name, n_threads, (unsigned long long)got,
                          (unsigned long long)want);
        }
    close_setup(&s);
}

TEST(int8_weights_give_the_same_bits_on_every_machine)
{
    check_sums(&config, 0xd13d60e292053439);
}

TEST(heads_that_are_no_whole_lanes_give_the_same_bits_on_every_machine)
{
    struct model_config odd = config;

    odd.d_model = 40;
    odd.heads = 2;
    odd.d_ff = 70;
    check_sums(&odd, 0xfe57b1d385ecf9bc);
}
