/* The search over a real model: random weights, so nothing is a translation, but every
 * number can be recomputed by a teacher-forced pass over what was found. Both searches
 * are tested, the one over a device and the engine with each of its kernels. */
#include "decode/search.h"

#include "decode/worker.h"
#include "heap_count.h"
#include "searched.h"

static void check_log_probs(enum kind kind, double tolerance)
{
    struct setup s;
    struct found found;
    size_t n_found = 0, n_lengths = 0;

    open_setup(&s, kind, 4);
    search_all(&s, &found, N);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < found.of[i].n; k++) {
            const struct beam_hypothesis h = found.of[i].best[k].h;
            CHECK(h.n <= job_of(i).max_len);
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
    check_log_probs(ON_DOUBLE, 1e-11);
}

TEST(log_probabilities_are_those_of_a_whole_pass_in_float)
{
    check_log_probs(ON_FLOAT, 1e-4);
}

TEST(log_probabilities_of_the_engine_are_those_of_a_whole_pass)
{
    check_log_probs(ON_ENGINE, 1e-4);
}

TEST(a_target_is_at_most_the_source_and_the_extra_length)
{
    struct setup s;
    struct found found;
    size_t n_unfinished = 0;

    open_setup(&s, ON_FLOAT, 1);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        golden_weights(&s.model, seed);
        search_all(&s, &found, N);
        for (size_t i = 0; i < N; i++) {
            const struct beam_hypothesis h = found.of[i].best[0].h;
            CHECK(h.is_finished ? h.n <= job_of(i).max_len : h.n == job_of(i).max_len);
            n_unfinished += !h.is_finished;
        }
    }
    CHECK(n_unfinished > 0);
    close_setup(&s);
}

TEST(a_sentence_is_searched_alike_alone_and_in_a_batch)
{
    struct setup batch, alone;
    struct found all, one;

    for (enum kind kind = ON_DOUBLE; kind <= ON_ENGINE; kind++) {
        open_setup(&batch, kind, 3);
        open_setup(&alone, kind, 3);
        search_all(&batch, &all, MANY);
        for (size_t i = 0; i < N; i++) { /* room is found too small, and is reused */
            const struct search_job job = job_of(i);
            CHECK_OK(search_run(alone.search, &job, 1, store, &one, &err), &err);
            for (size_t k = i; k < MANY; k += N)
                check_same(&one.of[0], &all.of[k], kind == ON_ENGINE ? 0 : 1e-5);
        }
        close_setup(&batch);
        close_setup(&alone);
    }
}

/* Every division among threads, and batches that are too small for all sentences, and
 * each of the kernels: the same bytes for int8; for floats within what rounding does. */
TEST(the_engine_gives_the_same_for_all_kernels_threads_workers_and_slots)
{
    const struct infer_kernels *variant[8];
    const size_t n_variants = kernels_variants(variant, 8);
    const struct {
        size_t n_threads, n_workers, n_slots;
    } how[] = {{1, 0, 0}, {1, 0, 3}, {3, 1, 2}, {3, 3, 0}, {2, 0, 1}, {4, 2, 2}};
    struct setup s;
    struct found first, next;

    open_model(&s, false);
    for (int is_int8 = 0; is_int8 < 2; is_int8++) {
        bool has_first = false;
        pack(&s, is_int8);
        for (size_t v = 0; v < n_variants; v++)
            for (size_t i = 0; i < (v ? 2 : sizeof how / sizeof *how); i++) {
                CHECK_OK(
                    engine_open(&s.search, &s.network, rules_of(4),
                                (struct engine_options){.kernels = variant[v],
                                                        .n_threads = how[i].n_threads,
                                                        .n_workers = how[i].n_workers,
                                                        .n_slots = how[i].n_slots},
                                &err),
                    &err);
                search_all(&s, &next, MANY);
                if (!has_first)
                    first = next;
                has_first = true;
                for (size_t k = 0; k < MANY; k++)
                    check_same(&first.of[k], &next.of[k], is_int8 ? 0 : 1e-5);
                s.search->close(s.search);
            }
    }
    s.search = NULL;
    network_close(&s.network);
    model_close(&s.model);
    device_close(&s.device);
}

/* Without probabilities greedy search finds the same, because order is all it needs. */
TEST(greedy_search_takes_the_likeliest_token_until_the_end)
{
    struct setup s;
    struct found found[2];

    open_model(&s, false);
    pack(&s, false);
    for (int wants_scores = 0; wants_scores < 2; wants_scores++) {
        struct search_rules rules = rules_of(1);
        rules.beam.is_greedy = true;
        rules.wants_scores = wants_scores;
        CHECK_OK(engine_open(&s.search, &s.network, rules,
                             (struct engine_options){.kernels = kernels_choose("cpu"),
                                                     .n_threads = 1},
                             &err),
                 &err);
        search_all(&s, &found[wants_scores], N);
        s.search->close(s.search);
    }
    for (size_t i = 0; i < N; i++) {
        const struct beam_hypothesis h = found[1].of[i].best[0].h;
        check_same(&found[0].of[i], &found[1].of[i], 1e30);
        CHECK_NEAR(h.log_prob, forced_log_prob(&s, i, h), 1e-4);
        for (size_t k = 0; k + 1 < h.n; k++)
            CHECK(h.token[k] != BEAM_EOS);
    }
    network_close(&s.network);
    model_close(&s.model);
    device_close(&s.device);
}

TEST(a_model_with_nan_weights_is_an_error)
{
    struct setup s;
    struct found found;
    struct search_job jobs[N];

    for (size_t i = 0; i < N; i++)
        jobs[i] = job_of(i);
    for (enum kind kind = ON_DOUBLE; kind <= ON_ENGINE; kind++) {
        open_setup(&s, kind, 2);
        float *flat = calloc(s.model.params.n_flat, sizeof *flat);
        CHECK(flat);
        params_init(&s.model.params, 1, flat);
        flat[s.model.params.list[3].at + 2] = NAN;
        CHECK_OK(model_set_weights(&s.model, flat, &err), &err);
        for (int is_int8 = 0; is_int8 < (kind == ON_ENGINE ? 2 : 1); is_int8++) {
            if (kind == ON_ENGINE)
                pack(&s, is_int8);
            CHECK_FAILS(search_run(s.search, jobs, N, store, &found, &err), &err,
                        ERR_NUMERIC, "not a number");
        }
        free(flat);
        close_setup(&s);
    }
}

TEST(a_search_that_was_never_used_can_be_closed)
{
    struct setup s;

    for (enum kind kind = ON_DOUBLE; kind <= ON_ENGINE; kind++) {
        open_setup(&s, kind, 2);
        close_setup(&s);
    }
}

static status refuse(void *ctx, size_t job, const struct beam *beam, struct err *e)
{
    (void)ctx, (void)beam;
    return err_set(e, ERR_IO, "no place for sentence %zu", job);
}

TEST(a_failure_of_whoever_takes_results_ends_the_search)
{
    struct setup s;
    struct found found;
    struct search_job jobs[MANY];

    for (size_t i = 0; i < MANY; i++)
        jobs[i] = job_of(i % N);
    for (enum kind kind = ON_DOUBLE; kind <= ON_ENGINE; kind++) {
        open_setup(&s, kind, 2);
        CHECK_FAILS(search_run(s.search, jobs, MANY, refuse, NULL, &err), &err, ERR_IO,
                    "no place for");
        search_all(&s, &found, MANY); /* and the next one begins afresh */
        close_setup(&s);
    }
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
    const struct search_job jobs[2] = {{source, 10, 60}, {source + 10, 11, 60}};
    struct setup s;
    struct found found;
    size_t most[2] = {0};

    open_setup(&s, ON_FLOAT, 2);
    s.search->rules.max_repeats = 2;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        golden_weights(&s.model, seed);
        CHECK_OK(search_run(s.search, jobs, 2, store, &found, &err), &err);
        for (size_t i = 0; i < 2; i++) {
            const struct beam_hypothesis h = found.of[i].best[0].h;
            const size_t n = most_repeats(h.token, h.n);
            most[i] = n > most[i] ? n : most[i];
        }
    }
    CHECK(most[0] == 2);
    CHECK(most[1] == 2 + 6 - 1);
    close_setup(&s);
}

static size_t n_multiplied;

static void count_multiply(float *c, size_t ldc, const struct kernels_input *a,
                           const struct linear *w, bool relu, size_t first, size_t n,
                           size_t p0, size_t p1)
{
    n_multiplied++;
    kernels_choose("cpu")->multiply(c, ldc, a, w, relu, first, n, p0, p1);
}

/* Products of the steps that are timed, of a model that sees an S or does not. */
static size_t count_products(bool has_no_begin)
{
    static const struct worker_room room = {.n_slots = 2,
                                            .n_tokens = 128,
                                            .n_each = 3,
                                            .max_src = 64,
                                            .max_len = 64,
                                            .max_rows = 3,
                                            .max_top = 6};
    struct infer_kernels counting = *kernels_choose("cpu");
    struct worker *worker;
    struct setup s;

    open_model(&s, false);
    pack(&s, false);
    s.network.config.arch.has_no_begin = has_no_begin;
    counting.multiply = count_multiply;
    CHECK_OK(worker_open(&worker, &s.network, (struct ensemble_networks){0}, &counting, 1,
                         room, &err),
             &err);
    n_multiplied = 0;
    CHECK(worker_time_step(worker, 2, 3) > 0);
    worker_close(worker);
    close_model(&s);
    return n_multiplied;
}

TEST(what_is_timed_is_a_step_that_the_model_computes)
{
    const size_t n = count_products(false);

    CHECK(n > 0);
    CHECK(count_products(true) == n);
}

/* Once it has seen sentences of this size, translating one allocates nothing. No other
 * thread lives meanwhile: one that is just starting asks the heap for its own needs. */
TEST(a_sentence_allocates_nothing)
{
    struct setup s;
    struct found found;
    const struct search_job job = job_of(1);

    open_model_on(&s, false, 1);
    pack(&s, true);
    CHECK_OK(engine_open(&s.search, &s.network, rules_of(4),
                         (struct engine_options){.kernels = kernels_choose("cpu"),
                                                 .n_threads = 1},
                         &err),
             &err);
    CHECK_OK(search_run(s.search, &job, 1, store, &found, &err), &err);
    const size_t before = atomic_load(&heap_asked);
    for (int i = 0; i < 3; i++)
        CHECK_OK(search_run(s.search, &job, 1, store, &found, &err), &err);
    CHECK(atomic_load(&heap_asked) == before);
    close_setup(&s);
}
