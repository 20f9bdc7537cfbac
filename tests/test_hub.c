/* Many callers on one network. What each finds is compared with what the engine finds for
 * it alone, byte for byte; and callers are lost, late, greedy or broken. */
#include "decode/hub.h"

#include <pthread.h>
#include <sched.h>

#include "base/file.h"
#include "base/pool.h"
#include "decode/translate.h"
#include "heap_count.h"
#include "thread_count.h"
#include "toy_model.h"

#include "searched.h"

static void open_network(struct setup *s)
{
    open_model(s, false);
    pack(s, false);
}

static void close_network(struct setup *s)
{
    network_close(&s->network);
    model_close(&s->model);
    device_close(&s->device);
}

static struct hub *open_hub(const struct setup *s, size_t n_threads, size_t n_slots)
{
    struct hub *h;

    CHECK_OK(hub_open(&h, &s->network,
                      (struct hub_options){.kernels = kernels_choose("cpu"),
                                           .n_threads = n_threads,
                                           .n_slots = n_slots,
                                           .max_len = 200},
                      &err),
             &err);
    return h;
}

TEST(more_threads_than_a_machine_can_bear_are_refused)
{
    struct setup s;
    struct hub *h;
    struct search *search;
    const size_t too_many = 16 * pool_cores() + 1;

    open_network(&s);
    CHECK_FAILS(hub_open(&h, &s.network,
                         (struct hub_options){.kernels = kernels_choose("cpu"),
                                              .n_threads = too_many},
                         &err),
                &err, ERR_USAGE, "more than 16 for each core");
    CHECK_FAILS(engine_open(&search, &s.network, (struct search_rules){0},
                            (struct engine_options){.kernels = kernels_choose("cpu"),
                                                    .n_threads = 1,
                                                    .n_workers = too_many},
                            &err),
                &err, ERR_USAGE, "workers=0 takes");
    close_network(&s);
}

static void run_search(struct search *search, struct found *found, size_t n)
{
    struct search_job jobs[MANY];
    struct err e = {0};

    *found = (struct found){0};
    for (size_t i = 0; i < n; i++)
        jobs[i] = job_of(i % N);
    CHECK_OK(search_run(search, jobs, n, store, found, &e), &e);
    CHECK(found->n_done == n);
}

static void run_engine(struct setup *s, struct search_rules rules, struct found *found,
                       size_t n)
{
    struct search *search;

    CHECK_OK(engine_open(&search, &s->network, rules,
                         (struct engine_options){.kernels = kernels_choose("cpu"),
                                                 .n_threads = 1},
                         &err),
             &err);
    run_search(search, found, n);
    search->close(search);
}

static void await_counts(struct hub *h, size_t n_callers)
{
    while (hub_counts(h).n_callers != n_callers)
        sched_yield();
}

static void check_idle(struct hub *h)
{
    const struct hub_counts c = hub_counts(h);

    CHECK(!c.n_callers && !c.n_waiting && !c.n_in_flight);
}

/* ---- the same as alone ---- */

/* Callers as different as rules can be. */
static struct search_rules rules_of_caller(size_t i)
{
    struct search_rules r = rules_of(1 + i % WIDTH_MAX);

    r.beam.alpha = 0.2 * (double)(i % 5);
    r.beam.n_best = i % 3 ? 1 : r.beam.width;
    r.max_repeats = i % 4;
    r.beam.is_greedy = r.beam.width == 1;
    r.wants_scores = i % 8 == 0;
    r.samples = i % 7 == 6;
    r.has_guides = i % 5 == 4; /* allows for some: more candidates */
    r.sampling =
        (struct sampler_options){0.5 + (double)i / 8, i % 6, 1 - 0.02 * (double)i};
    r.seed = i;
    if (r.samples) {
        r.beam.is_greedy = false;
        r.beam.n_best = r.beam.width;
    }
    return r;
}

enum { CALLERS = 16, TIMES = 6 };

struct client {
    struct hub *hub;
    size_t number;
    struct found want;
};

static void *call_often(void *arg)
{
    struct client *c = arg;
    struct found *found = malloc(sizeof *found);
    struct err e = {0};

    CHECK(found);
    for (size_t k = 0; k < TIMES; k++) {
        const size_t n = 1 + (c->number * 7 + k * 11) % MANY;
        struct search *search;
        CHECK_OK(hub_search(&search, c->hub, rules_of_caller(c->number), NULL, &e), &e);
        run_search(search, found, n);
        for (size_t i = 0; i < n; i++)
            check_same(&c->want.of[i], &found->of[i], 0);
        search->close(search);
    }
    free(found);
    return NULL;
}

TEST(each_of_many_callers_finds_what_the_engine_finds_alone)
{
    const struct {
        size_t n_threads, n_slots;
    } how[] = {{1, 0}, {3, 0}, {2, 2}};
    struct setup s;
    struct client *c = calloc(CALLERS, sizeof *c);
    pthread_t thread[CALLERS];

    CHECK(c);
    open_network(&s);
    for (size_t i = 0; i < CALLERS; i++)
        run_engine(&s, rules_of_caller(i), &c[i].want, MANY);
    for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
        struct hub *h = open_hub(&s, how[k].n_threads, how[k].n_slots);
        for (size_t i = 0; i < CALLERS; i++) {
            c[i].hub = h;
            c[i].number = i;
            CHECK(pthread_create(&thread[i], NULL, call_often, &c[i]) == 0);
        }
        for (size_t i = 0; i < CALLERS; i++)
            CHECK(pthread_join(thread[i], NULL) == 0);
        check_idle(h);
        hub_close(h);
    }
    free(c);
    close_network(&s);
}

/* ---- text ---- */

static const char *const texts[] = {"the ferry crosses the river",
                                    "we wait",
                                    "Fähre",
                                    "ein Kind wartet am anderen Ufer. we wait.",
                                    "the river is wide and slow\tdie",
                                    ""};
enum { N_TEXTS = sizeof texts / sizeof *texts };

struct shared {
    struct spm *spm;
    struct network network;
    struct translate_shared all;
    const char *forbid;
};

static void open_shared(struct shared *s)
{
    *s = (struct shared){.spm = toy_model_spm(), .forbid = test_path("forbid.txt")};
    const struct model_config c = toy_model_config(spm_size(s->spm));
    struct params p;

    CHECK_OK(params_open(&p, &c, &err), &err);
    float *flat = toy_model_weights(&p, 4);
    CHECK_OK(network_open(&s->network, &c, &err), &err);
    CHECK_OK(network_pack(&s->network, &p, flat, (struct network_types){0}, &err), &err);
    params_close(&p);
    free(flat);
    CHECK_OK(file_write(s->forbid, "ferry\nFluss\n", 12, &err), &err);
    s->all.network = &s->network;
    s->all.kernels = kernels_choose("cpu");
    CHECK_OK(pieces_open(&s->all.pieces, s->spm, 1 << 16, &err), &err);
    CHECK_OK(
        hub_open(&s->all.hub, &s->network,
                 (struct hub_options){.kernels = kernels_choose("cpu"), .n_threads = 2},
                 &err),
        &err);
}

static void close_shared(struct shared *s)
{
    hub_close(s->all.hub);
    pieces_close(s->all.pieces);
    network_close(&s->network);
    spm_free(s->spm);
}

static struct translate_config config_of(const struct shared *s, size_t i)
{
    struct translate_config c;
    struct err e = {0};

    CHECK_OK(opt_defaults(translate_config_table, &c, &e), &e);
    c.extra_decode_length = 8;
    c.beam = (int64_t[]){4, 1, 12, 2}[i % 4];
    c.nbest = i % 4 == 2 ? 5 : 1;
    c.greedy = i % 4 == 1;
    c.scores = i % 3 == 0;
    c.sample = i % 8 == 7;
    c.prefix = i % 5 == 3;
    if (c.sample)
        c.seed = (int64_t)i;
    if (i % 6 == 5)
        snprintf(c.forbid, sizeof c.forbid, "%s", s->forbid);
    return c;
}

static void translate_texts(struct translator *t, struct translations *out)
{
    struct line line[N_TEXTS];
    struct err e = {0};

    for (size_t i = 0; i < N_TEXTS; i++)
        line[i] = (struct line){texts[i], strlen(texts[i])};
    CHECK_OK(translate_lines(t, line, N_TEXTS, out, &e), &e);
}

static void check_translations(const struct translations *x, const struct translations *y)
{
    for (size_t i = 0; i < N_TEXTS; i++) {
        CHECK(x->n_found[i] == y->n_found[i]);
        for (size_t k = 0; k < x->n_found[i]; k++) {
            CHECK_STR(translate_get(x, i, k), translate_get(y, i, k));
            CHECK(x->item[i * x->n_best + k].score == y->item[i * y->n_best + k].score);
        }
    }
}

struct reader {
    struct shared *shared;
    size_t number;
};

static void *translate_often(void *arg)
{
    const struct reader *r = arg;
    const struct translate_config c = config_of(r->shared, r->number);
    struct translations want = {0}, out = {0};
    struct translator t;
    struct err e = {0};

    CHECK_OK(translate_open_packed(&t, &r->shared->network, r->shared->spm, &c,
                                   (struct engine_options){
                                       .kernels = kernels_choose("cpu"), .n_threads = 1},
                                   &e),
             &e);
    translate_texts(&t, &want);
    translate_close(&t);
    for (size_t k = 0; k < TIMES; k++) {
        CHECK_OK(translate_open_shared(&t, &r->shared->all, &c, NULL, &e), &e);
        translate_texts(&t, &out);
        translate_texts(&t, &out);
        translate_close(&t);
        check_translations(&want, &out);
    }
    translate_release(&want);
    translate_release(&out);
    return NULL;
}

TEST(threads_with_options_of_their_own_translate_as_if_alone)
{
    struct shared s;
    struct reader r[CALLERS];
    pthread_t thread[CALLERS];

    open_shared(&s);
    for (size_t i = 0; i < CALLERS; i++) {
        r[i] = (struct reader){&s, i};
        CHECK(pthread_create(&thread[i], NULL, translate_often, &r[i]) == 0);
    }
    for (size_t i = 0; i < CALLERS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    const size_t n_idle = s.all.pieces->idle[PIECES_SOURCE].n;
    CHECK(n_idle <= CALLERS && n_idle > 0);
    close_shared(&s);
}

/* ---- callers that end otherwise ---- */

struct ending {
    struct hub *hub;
    atomic_bool is_cancelled;
    bool refuses;
    size_t after, n_done; /* ends when so many are done */
};

static status end_after(void *ctx, size_t job, const struct beam *beam, struct err *e)
{
    struct ending *x = ctx;

    (void)beam;
    if (++x->n_done < x->after)
        return OK;
    CHECK(x->n_done == x->after);
    if (x->refuses)
        return err_set(e, ERR_IO, "no place for sentence %zu", job);
    atomic_store(&x->is_cancelled, true);
    return OK;
}

static status run_ending(struct ending *x, struct err *e)
{
    struct search_job jobs[MANY];
    struct search *search;

    for (size_t i = 0; i < MANY; i++)
        jobs[i] = job_of(i % N);
    CHECK_OK(hub_search(&search, x->hub, rules_of(2), &x->is_cancelled, e), e);
    const status result = search_run(search, jobs, MANY, end_after, x, e);
    search->close(search);
    return result;
}

TEST(what_is_taken_back_ends_and_leaves_nothing_in_flight)
{
    struct setup s;
    struct err e = {0};

    open_network(&s);
    for (size_t n_slots = 1; n_slots < 8; n_slots += 3) {
        struct hub *h = open_hub(&s, 2, n_slots);
        struct ending x = {.hub = h, .after = 3};
        CHECK_FAILS(run_ending(&x, &e), &e, ERR_CANCELLED, "cancelled");
        CHECK(x.n_done < MANY);
        check_idle(h);
        x.n_done = 0; /* the flag still stands */
        CHECK_FAILS(run_ending(&x, &e), &e, ERR_CANCELLED, "cancelled");
        CHECK(x.n_done == 0);
        check_idle(h);
        hub_close(h);
    }
    close_network(&s);
}

static void *run_ending_thread(void *arg)
{
    struct err e = {0};
    struct ending *x = arg;

    if (x->refuses)
        CHECK_FAILS(run_ending(x, &e), &e, ERR_IO, "no place for");
    else
        CHECK_FAILS(run_ending(x, &e), &e, ERR_CANCELLED, "cancelled");
    return NULL;
}

TEST(others_notice_nothing_of_one_that_fails_or_is_cancelled)
{
    struct setup s;
    struct client *c = calloc(1, sizeof *c);
    pthread_t thread[3];

    CHECK(c);
    open_network(&s);
    for (size_t n_threads = 1; n_threads <= 2; n_threads++) {
        struct hub *h = open_hub(&s, n_threads, 4);
        struct ending x[2];
        for (size_t i = 0; i < 2; i++)
            x[i] = (struct ending){.hub = h, .refuses = i, .after = 2};
        *c = (struct client){.hub = h, .number = 3};
        run_engine(&s, rules_of_caller(3), &c->want, MANY);
        CHECK(pthread_create(&thread[0], NULL, call_often, c) == 0);
        for (size_t i = 0; i < 2; i++)
            CHECK(pthread_create(&thread[1 + i], NULL, run_ending_thread, &x[i]) == 0);
        for (size_t i = 0; i < 3; i++)
            CHECK(pthread_join(thread[i], NULL) == 0);
        check_idle(h);
        hub_close(h);
    }
    free(c);
    close_network(&s);
}

TEST(weights_that_are_no_numbers_fail_each_caller_by_itself)
{
    struct setup s;
    struct found found;
    struct search *search;
    const struct search_job job = job_of(0);

    open_network(&s);
    float *flat = calloc(s.model.params.n_flat, sizeof *flat);
    CHECK(flat);
    params_init(&s.model.params, 1, flat);
    flat[s.model.params.list[3].at + 2] = NAN;
    CHECK_OK(model_set_weights(&s.model, flat, &err), &err);
    pack(&s, false);
    struct hub *h = open_hub(&s, 2, 4);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(hub_search(&search, h, rules_of(2), NULL, &err), &err);
        CHECK_FAILS(search_run(search, &job, 1, store, &found, &err), &err, ERR_NUMERIC,
                    "not a number");
        search->close(search);
    }
    check_idle(h);
    hub_close(h);
    free(flat);
    close_network(&s);
}

/* ---- turns ---- */

struct crowd {
    struct hub *hub;
    pthread_t late;
    size_t n_done;      /* of the first caller's */
    size_t n_done_then; /* when the late one was done */
};

static status note_done(void *ctx, size_t job, const struct beam *beam, struct err *e)
{
    struct crowd *c = ctx;

    (void)job, (void)beam, (void)e;
    c->n_done_then = c->n_done; /* one worker: nothing else happens meanwhile */
    return OK;
}

static void *call_late(void *arg)
{
    struct crowd *c = arg;
    struct search *search;
    const struct search_job job = job_of(0);
    struct err e = {0};

    CHECK_OK(hub_search(&search, c->hub, rules_of(1), NULL, &e), &e);
    CHECK_OK(search_run(search, &job, 1, note_done, c, &e), &e);
    search->close(search);
    return NULL;
}

static status start_late(void *ctx, size_t job, const struct beam *beam, struct err *e)
{
    struct crowd *c = ctx;

    (void)job, (void)beam, (void)e;
    if (c->n_done++)
        return OK;
    CHECK(pthread_create(&c->late, NULL, call_late, c) == 0);
    await_counts(c->hub, 2);
    return OK;
}

TEST(one_sentence_does_not_wait_for_all_of_a_long_list)
{
    struct setup s;
    struct search *search;
    struct search_job jobs[MANY];

    open_network(&s);
    for (size_t i = 0; i < MANY; i++)
        jobs[i] = job_of(i % N);
    struct crowd c = {.hub = open_hub(&s, 1, 1)};
    CHECK_OK(hub_search(&search, c.hub, rules_of(2), NULL, &err), &err);
    CHECK_OK(search_run(search, jobs, MANY, start_late, &c, &err), &err);
    CHECK(pthread_join(c.late, NULL) == 0);
    CHECK(c.n_done == MANY);
    CHECK(c.n_done_then < 12); /* what had been encoded ahead, and the one after it */
    search->close(search);
    hub_close(c.hub);
    close_network(&s);
}

/* ---- room ---- */

TEST(a_longer_sentence_or_a_wider_beam_gets_more_room)
{
    struct setup s;
    struct found want, found;
    struct search *search;
    int32_t id[120];
    struct search_job job = {id, 120, 64};

    open_network(&s);
    for (size_t i = 0; i < 120; i++)
        id[i] = i == 119 ? 1 : i ? (int32_t)(4 + i % 20) : 2;
    for (size_t n_slots = 1; n_slots <= 3; n_slots++) {
        struct hub *h;
        CHECK_OK(hub_open(&h, &s.network,
                          (struct hub_options){.kernels = kernels_choose("cpu"),
                                               .n_threads = 1,
                                               .n_slots = n_slots,
                                               .batch_tokens = 20,
                                               .max_len = 120},
                          &err),
                 &err);
        for (size_t width = 1; width <= 40; width += 13) {
            struct search_rules rules = rules_of(width);
            rules.beam.n_best = 1;
            CHECK_OK(hub_search(&search, h, rules, NULL, &err), &err);
            CHECK_OK(search_run(search, &job, 1, store, &found, &err), &err);
            search->close(search);
            CHECK_OK(engine_open(&search, &s.network, rules,
                                 (struct engine_options){.kernels = kernels_choose("cpu"),
                                                         .n_threads = 1},
                                 &err),
                     &err);
            CHECK_OK(search_run(search, &job, 1, store, &want, &err), &err);
            search->close(search);
            check_same(&want.of[0], &found.of[0], 0);
        }
        hub_close(h);
    }
    close_network(&s);
}

TEST(a_sentence_beyond_the_stated_most_is_refused)
{
    struct setup s;
    struct found found;
    struct search *search;
    struct search_job jobs[2] = {job_of(0), job_of(1)};

    open_network(&s);
    struct hub *h = open_hub(&s, 1, 2);
    CHECK_OK(hub_search(&search, h, rules_of(2), NULL, &err), &err);
    jobs[1].max_len = 201;
    CHECK_FAILS(search_run(search, jobs, 2, store, &found, &err), &err, ERR_USAGE,
                "200 is the most here");
    CHECK(hub_counts(h).n_sentences == 0);
    search->close(search);
    hub_close(h);
    close_network(&s);
}

/* The hub's threads have answered once and so have started; no others live. */
TEST(equal_requests_take_no_memory_after_the_first)
{
    struct setup s;
    struct found *found = malloc(sizeof *found);
    struct search *search;

    CHECK(found);
    open_model_on(&s, false, 1);
    pack(&s, false);
    struct hub *h = open_hub(&s, 1, 0);
    struct search_rules rules = rules_of(4);
    CHECK_OK(hub_search(&search, h, rules, NULL, &err), &err);
    run_search(search, found, 20);
    const size_t before = heap_asked;
    for (int i = 0; i < 10; i++)
        run_search(search, found, 20);
    CHECK(heap_asked == before);
    search->close(search);
    hub_close(h);
    free(found);
    close_network(&s);
}

/* ---- life ---- */

TEST(a_closed_hub_leaves_no_thread)
{
    struct setup s;
    struct found *found = malloc(sizeof *found);
    struct search *search;

    CHECK(found);
    open_network(&s);
    const size_t before = count_threads();
    for (int uses = 0; uses < 2; uses++) {
        struct hub *h = open_hub(&s, 4, 0);
        CHECK(count_threads() == before + 4);
        CHECK(hub_counts(h).n_slots == 4 * 64);
        if (uses) {
            CHECK_OK(hub_search(&search, h, rules_of(3), NULL, &err), &err);
            run_search(search, found, MANY);
            search->close(search);
            const struct hub_counts c = hub_counts(h);
            CHECK(c.n_sentences == MANY && c.n_steps > 0 && c.n_tokens >= MANY);
        }
        hub_close(h);
        CHECK(count_threads() == before);
    }
    hub_close(NULL);
    free(found);
    close_network(&s);
}
