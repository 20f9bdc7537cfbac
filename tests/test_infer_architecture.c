/* Every architecture (recipe/architecture.h): what inference computes is what the
 * definition says, whatever stands where; and written as options it is the same again. */
#include "infer/session.h"
#include "infer_variants.h"
#include "naive_transformer.h"

static struct err err;

enum { N_SOURCE = 7, N_TARGET = 6 };

static const struct model_config base = {.vocab_size = 37,
                                         .d_model = 24,
                                         .d_ff = 40,
                                         .heads = 2,
                                         .encoder_layers = 2,
                                         .decoder_layers = 2,
                                         .norm_epsilon = 1e-5};

struct setup {
    struct model_config c;
    struct params params;
    float *flat;
    struct network net;
    struct session session;
    struct session_source source;
};

static const int32_t source[N_SOURCE] = {ID_BOS, 7, 20, 9, 4, 31, ID_EOS},
                     target[N_TARGET] = {ID_BOS, 11, 5, 36, 8, ID_EOS};

static void open_setup(struct setup *s, struct architecture a)
{
    const struct session_shape shape = {.n_rows = 4,
                                        .n_entries = 4 * N_TARGET,
                                        .n_memory = 64,
                                        .n_tokens = 32,
                                        .max_len = NAIVE_LENGTH,
                                        .n_top = 37};
    struct rng r = rng_open(11);

    *s = (struct setup){.c = base};
    s->c.arch = a;
    CHECK_OK(model_config_check(&s->c, &err), &err);
    CHECK_OK(params_open(&s->params, &s->c, &err), &err);
    s->flat = calloc(s->params.n_flat, sizeof *s->flat);
    CHECK(s->flat);
    for (size_t i = 0; i < s->params.n_list; i++) {
        const struct param *t = &s->params.list[i];
        for (size_t row = 0; row < t->rows; row++)
            for (size_t k = 0; k < t->cols; k++)
                s->flat[t->at + row * t->stride + k] =
                    guarded_unit(&r) * 0.5f + (t->init == INIT_ONE ? 1 : 0);
    }
    CHECK_OK(network_open(&s->net, &s->c, &err), &err);
    CHECK_OK(network_pack(&s->net, &s->params, s->flat, (struct network_types){0}, &err),
             &err);
    CHECK_OK(session_open(&s->session, &s->net, kernels_choose("cpu"), NULL, shape, &err),
             &err);
    CHECK(session_lend(&s->session, N_SOURCE, &s->source));
    const struct session_sentence sentence = {source, s->source};
    session_encode(&s->session, &sentence, 1);
}

static void close_setup(struct setup *s)
{
    session_close(&s->session);
    network_close(&s->net);
    params_close(&s->params);
    free(s->flat);
}

static void want_of(const struct setup *s, double want[N_TARGET])
{
    const struct naive m = {&s->c, &s->params, s->flat};
    static struct naive_states memory;

    naive_encode(&m, &memory, source, N_SOURCE);
    naive_score(&m, &memory, target, N_TARGET, want);
}

/* Position by position, as a search goes. */
static void steps_of(struct setup *s, double got[N_TARGET])
{
    int32_t entry[N_TARGET], best[1];
    double log_prob[1];

    for (size_t t = 0; t < N_TARGET; t++) {
        struct session_wish wish = {.id = &target[t], .n = 1, .log_prob = &got[t]};
        const struct session_row row = {.token = t ? target[t - 1] : -1,
                                        .t = t,
                                        .source = s->source,
                                        .best = {log_prob, best, 1, true},
                                        .entry = entry,
                                        .wish = &wish};
        entry[t] = session_take_entry(&s->session);
        session_step(&s->session, &row, 1);
    }
}

static void check(struct architecture a)
{
    double want[N_TARGET], scored[N_TARGET], stepped[N_TARGET];
    struct setup s;

    open_setup(&s, a);
    const struct session_pair pair = {s.source, target, N_TARGET, NULL};
    want_of(&s, want);
    session_score(&s.session, &pair, 1, scored);
    steps_of(&s, stepped);
    for (size_t i = 0; i < N_TARGET; i++) {
        CHECK_NEAR(scored[i], want[i], 2e-5);
        CHECK_NEAR(stepped[i], want[i], 2e-5);
    }
    close_setup(&s);
}

TEST(the_reference_is_what_its_definition_says)
{
    check((struct architecture){.norm = NORM_PRE});
}

TEST(every_activation_is_what_its_definition_says)
{
    for (int kind = ACTIVATION_RELU; kind <= ACTIVATION_GELU_SIGMOID; kind++)
        check((struct architecture){.activation = (enum activation)kind});
}

TEST(a_gate_multiplies_what_it_lets_through)
{
    for (int kind = ACTIVATION_RELU; kind <= ACTIVATION_GELU_SIGMOID; kind++)
        check(
            (struct architecture){.activation = (enum activation)kind, .is_gated = true});
}

TEST(norms_stand_before_or_behind_sublayers)
{
    check((struct architecture){.norm = NORM_PRE, .has_attention_bias = true});
    check((struct architecture){.norm = NORM_POST});
    check((struct architecture){.norm = NORM_POST, .has_attention_bias = true});
}

TEST(tables_are_one_or_apart_in_every_way)
{
    for (int tables = TABLES_ONE; tables <= TABLES_SEPARATE; tables++)
        for (int has_bias = 0; has_bias < 2; has_bias++)
            check((struct architecture){.tables = (enum architecture_tables)tables,
                                        .has_output_bias = has_bias});
    check((struct architecture){.tables = TABLES_SEPARATE, .source_vocab = 32});
    check((struct architecture){
        .tables = TABLES_TARGET, .source_vocab = 61, .has_output_bias = true});
}

TEST(every_signal_of_positions_is_what_its_definition_says)
{
    for (int kind = POSITIONS_REFERENCE; kind <= POSITIONS_INTERLEAVED; kind++)
        check((struct architecture){.positions = (enum positions)kind});
    check((struct architecture){.positions = POSITIONS_LEARNED, .max_positions = 24});
}

TEST(sentences_begin_and_end_as_the_model_wants)
{
    check((struct architecture){.is_unscaled = true});
    check((struct architecture){.has_no_begin = true});
    check((struct architecture){.start = 6});
    check((struct architecture){.has_no_begin = true, .start = 1});
}

/* MarianMT's own */
TEST(all_of_it_together_is_what_its_definition_says)
{
    check((struct architecture){.norm = NORM_POST,
                                .activation = ACTIVATION_SWISH,
                                .positions = POSITIONS_HALVES,
                                .tables = TABLES_SEPARATE,
                                .source_vocab = 40,
                                .has_attention_bias = true,
                                .has_output_bias = true,
                                .is_unscaled = true,
                                .has_no_begin = true,
                                .start = 1});
}

/* Its share of the probability is what it was, and nothing else moves. */
TEST(a_model_that_never_says_unk_is_the_same_but_for_it)
{
    enum { V = 37 };
    struct setup s[2];
    double log_prob[2][V];
    int32_t id[2][V], entry[2][2];
    size_t k = 0;

    for (int i = 0; i < 2; i++) {
        open_setup(&s[i],
                   (struct architecture){.has_no_begin = true, .has_no_unknown = i == 1});
        const struct session_row rows[] = {{.token = -1,
                                            .t = 0,
                                            .source = s[i].source,
                                            .best = {log_prob[i], id[i], V, true},
                                            .entry = entry[i]},
                                           {.token = ID_BOS,
                                            .t = 1,
                                            .source = s[i].source,
                                            .best = {log_prob[i], id[i], V, true},
                                            .entry = entry[i]}};
        for (size_t t = 0; t < 2; t++)
            entry[i][t] = session_take_entry(&s[i].session);
        session_step(&s[i].session, &rows[0], 1); /* S, which the model does not see */
        session_step(&s[i].session, &rows[1], 1);
    }
    for (size_t i = 0; i < V; i++) {
        if (id[0][i] == ID_UNK)
            continue;
        CHECK(id[1][k] == id[0][i]);
        CHECK_NEAR(log_prob[1][k], log_prob[0][i], 0);
        k++;
    }
    CHECK(k == V - 1 && (id[1][k] == -1 || log_prob[1][k] == -INFINITY));
    close_setup(&s[0]);
    close_setup(&s[1]);
}

TEST(an_architecture_is_the_same_again_from_its_options)
{
    const struct architecture a = {.norm = NORM_POST,
                                   .activation = ACTIVATION_GELU_TANH,
                                   .tables = TABLES_INPUTS,
                                   .positions = POSITIONS_INTERLEAVED,
                                   .has_output_bias = true,
                                   .is_unscaled = true,
                                   .has_no_unknown = true,
                                   .start = 9};
    struct architecture_options o;
    struct architecture b;

    architecture_to_options(&o, &a);
    b = architecture_from_options(&o);
    CHECK(b.norm == a.norm && b.activation == a.activation && b.tables == a.tables);
    CHECK(b.positions == a.positions && b.start == a.start && b.has_no_unknown);
    CHECK(b.has_output_bias && b.is_unscaled && !b.has_attention_bias && !b.has_no_begin);
    CHECK(!architecture_is_reference(&b));
    CHECK(architecture_is_reference(&(struct architecture){.norm = NORM_PRE}));
    CHECK(!architecture_is_reference(&(struct architecture){.has_no_unknown = true}));
}
