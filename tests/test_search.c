/* The search over a real model: random weights, so nothing is a translation, but every
 * number can be recomputed by a teacher-forced pass over what was found. */
#include "decode/search.h"

#include <stdlib.h>

#include "golden_model.h"
#include "test.h"

enum { VOCAB = 29, N = 5, EXTRA = 6 };

static struct err err;

struct setup {
    struct device device;
    struct model model;
    struct search search;
};

static void open_setup(struct setup *s, bool is_double, size_t width)
{
    const struct model_config c = {.vocab_size = VOCAB,
                                   .d_model = 16,
                                   .d_ff = 24,
                                   .heads = 2,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2,
                                   .norm_epsilon = 1e-6};

    if (is_double)
        golden_open_double(&s->device);
    else
        CHECK_OK(
            device_open(&s->device, "cpu", (struct device_options){.threads = 2}, &err),
            &err);
    CHECK_OK(model_open(&s->model, &s->device, &c, false, &err), &err);
    golden_weights(&s->model, 5);
    search_init(&s->search, &s->model, (struct beam_options){width, width, 0.6}, 0);
}

static void close_setup(struct setup *s)
{
    search_close(&s->search);
    model_close(&s->model);
    device_close(&s->device);
}

static const int32_t ids[] = {2, 4, 17, 1, 2, 22, 8, 9, 8,  21, 1, 2,
                              1, 2, 5,  1, 2, 5,  5, 5, 26, 11, 1};
static const int32_t at[N + 1] = {0, 4, 11, 13, 16, 23};

static struct search_batch sentences(size_t first, size_t n, int32_t own_at[N + 1])
{
    static size_t max_len[N];

    for (size_t i = 0; i <= n; i++)
        own_at[i] = at[first + i] - at[first];
    for (size_t i = 0; i < n; i++)
        max_len[i] = (size_t)(own_at[i + 1] - own_at[i]) + EXTRA;
    return (struct search_batch){n, (size_t)own_at[n], own_at, ids + at[first], max_len};
}

static double forced_log_prob(struct setup *s, size_t sentence, struct beam_hypothesis h)
{
    const struct model_run run = {0};
    struct packed p;
    double raw[PACKED_MAX_TOKENS], sum = 0;

    packed_begin(&p);
    packed_add(&p, 0, ids + at[sentence], (size_t)(at[sentence + 1] - at[sentence]),
               h.token, h.n);
    CHECK_OK(model_reserve(&s->model, packed_shape(&p, false), &err), &err);
    model_forward(&s->model, &p.batch, &run);
    model_losses(&s->model, raw);
    for (size_t i = 0; i < h.n; i++)
        sum -=
            s->device.real_bytes == sizeof(double) ? raw[i] : (double)((float *)raw)[i];
    return sum;
}

static void check_log_probs(bool is_double, double tolerance)
{
    int32_t own_at[N + 1];
    const struct search_batch all = sentences(0, N, own_at);
    struct setup s;
    size_t n_found = 0, n_lengths = 0;

    open_setup(&s, is_double, 4);
    CHECK_OK(search_run(&s.search, &all, &err), &err);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < beam_found(s.search.beam, i); k++) {
            const struct beam_hypothesis h = beam_get(s.search.beam, i, k);
            CHECK(h.n <= (size_t)(at[i + 1] - at[i]) + EXTRA);
            CHECK((h.token[h.n - 1] == BEAM_EOS) == h.is_finished);
            CHECK_NEAR(h.log_prob, forced_log_prob(&s, i, h), tolerance);
            CHECK_NEAR(h.score, h.log_prob / beam_penalty(h.n, 0.6), 1e-12);
            n_found++;
            n_lengths += h.n > 1;
        }
    CHECK(n_found > N && n_lengths > N); /* the model is not a degenerate one */
    close_setup(&s);
}

TEST(log_probabilities_are_those_of_a_whole_pass_in_double)
{
    check_log_probs(true, 1e-11);
}

TEST(log_probabilities_are_those_of_a_whole_pass_in_float)
{
    check_log_probs(false, 1e-4);
}

TEST(a_target_is_at_most_the_source_and_the_extra_length)
{
    int32_t own_at[N + 1];
    const struct search_batch all = sentences(0, N, own_at);
    struct setup s;
    size_t n_unfinished = 0;

    open_setup(&s, false, 1);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        golden_weights(&s.model, seed);
        CHECK_OK(search_run(&s.search, &all, &err), &err);
        for (size_t i = 0; i < N; i++) {
            const struct beam_hypothesis h = beam_get(s.search.beam, i, 0);
            const size_t longest = (size_t)(at[i + 1] - at[i]) + EXTRA;
            CHECK(h.is_finished ? h.n <= longest : h.n == longest);
            n_unfinished += !h.is_finished;
        }
    }
    CHECK(n_unfinished > 0);
    close_setup(&s);
}

TEST(a_sentence_is_searched_alike_alone_and_in_a_batch)
{
    int32_t own_at[N + 1];
    struct setup batch, alone;

    open_setup(&batch, true, 3);
    open_setup(&alone, true, 3);
    const struct search_batch all = sentences(0, N, own_at);
    CHECK_OK(search_run(&batch.search, &all, &err), &err);
    for (size_t i = 0; i < N; i++) { /* room is found too small, and is reused */
        const struct search_batch one = sentences(i, 1, own_at);
        CHECK_OK(search_run(&alone.search, &one, &err), &err);
        CHECK(beam_found(alone.search.beam, 0) == beam_found(batch.search.beam, i));
        for (size_t k = 0; k < beam_found(batch.search.beam, i); k++) {
            const struct beam_hypothesis x = beam_get(alone.search.beam, 0, k),
                                         y = beam_get(batch.search.beam, i, k);
            CHECK(x.n == y.n);
            CHECK(memcmp(x.token, y.token, x.n * sizeof *x.token) == 0);
            CHECK_NEAR(x.score, y.score, 1e-12);
        }
    }
    close_setup(&batch);
    close_setup(&alone);
}

TEST(a_model_with_nan_weights_is_an_error)
{
    int32_t own_at[N + 1];
    const struct search_batch all = sentences(0, N, own_at);
    struct setup s;

    for (int is_double = 0; is_double < 2; is_double++) {
        open_setup(&s, is_double, 2);
        float *flat = calloc(s.model.params.n_flat, sizeof *flat);
        CHECK(flat);
        params_init(&s.model.params, 1, flat);
        flat[s.model.params.list[3].at + 2] = NAN;
        CHECK_OK(model_set_weights(&s.model, flat, &err), &err);
        CHECK_FAILS(search_run(&s.search, &all, &err), &err, ERR_NUMERIC, "not a number");
        free(flat);
        close_setup(&s);
    }
}

TEST(a_search_that_was_never_used_can_be_closed)
{
    struct search s = {0};

    search_close(&s);
    search_close(&s);
}

static size_t most_repeats(const int32_t *id, size_t n)
{
    size_t most = 0;

    for (size_t i = 0; i + BEAM_GRAM <= n; i++) {
        size_t same = 0;
        for (size_t k = 0; k + BEAM_GRAM <= n; k++)
            same += memcmp(id + i, id + k, BEAM_GRAM * sizeof *id) == 0;
        most = same > most ? same : most;
    }
    return most;
}

/* The second source repeats a run of four six times: its target may do so five times more
 * than that of the first. */
TEST(a_target_may_repeat_itself_as_its_source_does)
{
    static const int32_t source[] = {2, 4, 17, 9, 8, 21, 5, 11, 3, 1, 2,
                                     7, 7, 7,  7, 7, 7,  7, 7,  7, 1};
    static const int32_t source_at[] = {0, 10, 21};
    static const size_t max_len[] = {60, 60};
    struct setup s;
    size_t most[2] = {0};

    open_setup(&s, false, 2);
    s.search.max_repeats = 2;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        golden_weights(&s.model, seed);
        CHECK_OK(search_run(&s.search,
                            &(struct search_batch){2, 21, source_at, source, max_len},
                            &err),
                 &err);
        for (size_t i = 0; i < 2; i++) {
            const struct beam_hypothesis h = beam_get(s.search.beam, i, 0);
            const size_t n = most_repeats(h.token, h.n);
            most[i] = n > most[i] ? n : most[i];
        }
    }
    CHECK(most[0] == 2);
    CHECK(most[1] == 2 + 6 - 1);
    close_setup(&s);
}
