/* Several networks as one: equal ones are the one, others what the mean of their
 * probabilities says, computed again token by token. */
#include "searched.h"

#include "decode/forced/passes.h"

static struct network other; /* of other weights, in int8 */

static void open_other(void)
{
    struct setup s;

    open_model(&s, false);
    golden_weights(&s.model, 6);
    pack(&s, true);
    other = s.network;
    model_close(&s.model);
    device_close(&s.device);
}

/* The setup's network and n_more others, as one search. */
static void search_with(struct setup *s, const struct network *const *more, size_t n_more,
                        struct search_rules rules, struct engine_options how,
                        struct found *found, size_t n)
{
    how.more = (struct ensemble_networks){more, n_more};
    how.kernels = how.kernels ? how.kernels : kernels_choose("cpu");
    CHECK_OK(engine_open(&s->search, &s->network, rules, how, &err), &err);
    search_all(s, found, n);
    s->search->close(s->search);
    s->search = NULL;
}

static void check_equal(const struct found *x, const struct found *y, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CHECK(x->of[i].n == y->of[i].n);
        for (size_t k = 0; k < x->of[i].n; k++) {
            const struct beam_hypothesis *a = &x->of[i].best[k].h,
                                         *b = &y->of[i].best[k].h;
            CHECK(a->n == b->n && a->log_prob == b->log_prob && a->score == b->score);
            CHECK(memcmp(a->token, b->token, a->n * sizeof *a->token) == 0);
        }
    }
}

TEST(equal_networks_are_one)
{
    static struct found one, many;
    struct setup s;

    open_model(&s, false);
    for (int is_int8 = 0; is_int8 < 2; is_int8++) {
        pack(&s, is_int8);
        const struct network *const same[] = {&s.network, &s.network, &s.network};
        struct search_rules rules = rules_of(4);
        for (int samples = 0; samples < 2; samples++) {
            rules.samples = samples;
            rules.sampling = (struct sampler_options){.temperature = 1, .top_p = 1};
            search_with(&s, NULL, 0, rules, (struct engine_options){.n_threads = 1}, &one,
                        N);
            for (size_t n = 1; n <= 3; n++) {
                search_with(&s, same, n, rules, (struct engine_options){.n_threads = 1},
                            &many, N);
                check_equal(&one, &many, N);
            }
        }
    }
    close_model(&s);
}

TEST(neither_other_sentences_nor_threads_change_anything)
{
    static const struct engine_options how[] = {{.n_threads = 3, .n_workers = 1},
                                                {.n_threads = 3, .n_workers = 3},
                                                {.n_threads = 2, .n_slots = 2}};
    const struct infer_kernels *variant[8];
    const size_t n_variants = kernels_variants(variant, 8);
    static struct found few, many;
    struct setup s;

    open_other();
    open_model(&s, false);
    pack(&s, true);
    const struct network *const more[] = {&other};
    search_with(&s, more, 1, rules_of(3), (struct engine_options){.n_threads = 1}, &few,
                N);
    for (size_t k = 0; k < sizeof how / sizeof *how; k++)
        for (size_t v = 0; v < n_variants; v++) {
            struct engine_options o = how[k];
            o.kernels = variant[v];
            search_with(&s, more, 1, rules_of(3), o, &many, MANY);
            for (size_t i = 0; i < MANY; i++) {
                many.of[i % N] = many.of[i];
                if (i % N == N - 1)
                    check_equal(&few, &many, N);
            }
        }
    network_close(&other);
    close_model(&s);
}

/* ---- by hand ---- */

struct heard {
    double log_prob[2][LEN_MAX];
    int network;
};

static status hear(void *ctx, size_t pair, struct passes_found found, struct err *e)
{
    struct heard *h = ctx;

    (void)pair, (void)e;
    memcpy(h->log_prob[h->network], found.log_prob, sizeof h->log_prob[0]);
    return OK;
}

/* log P of the mean, token by token. */
static double mean_log_prob(struct passes *const *passes, size_t sentence,
                            const int32_t *token, size_t n)
{
    const size_t n_source = (size_t)(at[sentence + 1] - at[sentence]);
    const struct passes_pair pair = {ids + at[sentence], token, n_source, n};
    struct heard h;
    double sum = 0;

    for (h.network = 0; h.network < 2; h.network++)
        CHECK_OK(passes_run(passes[h.network], &pair, 1, PASSES_LOG_PROB, hear, &h, &err),
                 &err);
    for (size_t i = 0; i < n; i++)
        sum += log((exp(h.log_prob[0][i]) + exp(h.log_prob[1][i])) / 2);
    return sum;
}

static void open_passes(struct passes **passes, const struct setup *s)
{
    CHECK_OK(passes_open(&passes[0], &s->network, kernels_choose("cpu"), 1, &err), &err);
    CHECK_OK(passes_open(&passes[1], &other, kernels_choose("cpu"), 1, &err), &err);
}

static void close_passes(struct passes **passes)
{
    passes_close(passes[0]);
    passes_close(passes[1]);
}

TEST(a_score_is_that_of_the_mean_of_probabilities)
{
    static struct found found, alone;
    struct passes *passes[2];
    struct setup s;
    size_t n_changed = 0;

    open_other();
    open_model(&s, false);
    pack(&s, false);
    open_passes(passes, &s);
    const struct network *const more[] = {&other};
    search_with(&s, NULL, 0, rules_of(3), (struct engine_options){.n_threads = 1}, &alone,
                N);
    search_with(&s, more, 1, rules_of(3), (struct engine_options){.n_threads = 1}, &found,
                N);
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < found.of[i].n; k++) {
            const struct beam_hypothesis h = found.of[i].best[k].h;
            CHECK_NEAR(h.log_prob, mean_log_prob(passes, i, h.token, h.n), 1e-4);
            n_changed += h.log_prob != alone.of[i].best[k].h.log_prob;
        }
    CHECK(n_changed > N);
    close_passes(passes);
    network_close(&other);
    close_model(&s);
}

/* Every sentence of up to LONGEST tokens, against a beam that keeps them all. */
enum { LONGEST = 3 };

struct best {
    int32_t token[LONGEST];
    size_t n;
    double score;
};

static void try_all(struct passes *const *passes, struct best *best, int32_t *token,
                    size_t n)
{
    token[n] = BEAM_EOS;
    const double p = mean_log_prob(passes, 1, token, n + 1);
    const double score = p / beam_penalty(n + 1, 0.6);
    if (score > best->score) {
        *best = (struct best){.n = n + 1, .score = score};
        memcpy(best->token, token, (n + 1) * sizeof *token);
    }
    for (int32_t v = 0; n + 1 < LONGEST && v < VOCAB; v++)
        if (v != BEAM_EOS) {
            token[n] = v;
            try_all(passes, best, token, n + 1);
        }
}

TEST(the_best_of_all_sentences_is_found)
{
    struct search_rules rules = rules_of((size_t)VOCAB * VOCAB);
    static struct found found;
    struct passes *passes[2];
    struct best best = {.score = -INFINITY};
    int32_t token[LONGEST];
    struct setup s;
    struct search_job job = job_of(1);

    job.max_len = LONGEST;
    rules.beam.n_best = 1;
    open_other();
    open_model(&s, false);
    pack(&s, false);
    open_passes(passes, &s);
    const struct network *const more[] = {&other};
    const struct engine_options how = {
        .kernels = kernels_choose("cpu"), .n_threads = 1, .more = {more, 1}};
    CHECK_OK(engine_open(&s.search, &s.network, rules, how, &err), &err);
    CHECK_OK(search_run(s.search, &job, 1, store, &found, &err), &err);
    try_all(passes, &best, token, 0);
    const struct beam_hypothesis h = found.of[0].best[0].h;
    CHECK(h.n == best.n && memcmp(h.token, best.token, h.n * sizeof *h.token) == 0);
    CHECK_NEAR(h.score, best.score, 1e-4);
    close_passes(passes);
    close_setup(&s);
    network_close(&other);
}
