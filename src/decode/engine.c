#include "decode/engine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/pool.h"
#include "decode/worker.h"

enum {
    SLOTS_MAX = 64,    /* sentences of a batch: more are hardly faster */
    LENGTH_STEP = 64,  /* room is taken for lengths rounded up to this */
    MEASURED_SLOTS = 8 /* sentences of the steps that are timed */
};

/* How sentences are divided: so many workers, each with so many threads. */
struct division {
    size_t n_workers, n_threads;
};

/* What was measured for calls with few sentences, or with many. */
struct choice {
    bool is_made;
    struct division best;
    char note[160];
};

struct engine {
    struct search search; /* first: what others see */
    const struct network *net;
    struct engine_options options;
    struct worker_room room; /* of each worker */
    struct division now;
    struct worker **worker; /* [now.n_workers] */
    struct pool *pool;      /* a thread a worker; NULL: one worker, the caller */
    struct choice one, few, many;
};

static void drop_workers(struct engine *e)
{
    for (size_t i = 0; i < e->now.n_workers && e->worker; i++)
        worker_close(e->worker[i]);
    free(e->worker);
    pool_close(e->pool);
    e->worker = NULL;
    e->pool = NULL;
    e->now = (struct division){0};
}

static status open_workers(struct engine *e, struct division how, struct err *err)
{
    e->now = how;
    TRY(mem_alloc(&e->worker, how.n_workers, sizeof(struct worker *), err));
    for (size_t i = 0; i < how.n_workers; i++)
        TRY(worker_open(&e->worker[i], e->net, e->options.more, e->options.kernels,
                        how.n_threads, e->room, err));
    return how.n_workers > 1 ? pool_open(&e->pool, how.n_workers, false, err) : OK;
}

static status take_workers(struct engine *e, struct division how, struct err *err)
{
    if (e->worker && e->now.n_workers == how.n_workers &&
        e->now.n_threads == how.n_threads)
        return OK;
    drop_workers(e);
    if (open_workers(e, how, err) != OK) {
        drop_workers(e);
        return err_wrap(err, "translating up to %zu sentences at once", e->room.n_slots);
    }
    return OK;
}

/* ---- room ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Room for these jobs; what is there already and larger stays. */
static void make_room(struct engine *e, const struct search_job *jobs, size_t n)
{
    const struct search_rules *rules = &e->search.rules;
    struct worker_room want = {.n_tokens = rules->batch_tokens,
                               .n_each = worker_rows(rules),
                               .max_rows = worker_rows(rules),
                               .max_top = worker_top(rules)};
    size_t shortest = SIZE_MAX;

    for (size_t i = 0; i < n; i++) {
        want.max_src = larger(want.max_src, jobs[i].n);
        want.max_len = larger(want.max_len, jobs[i].max_len);
        shortest = jobs[i].max_len < shortest ? jobs[i].max_len : shortest;
    }
    want.n_slots = want.n_tokens / shortest;
    want.n_slots = want.n_slots > SLOTS_MAX ? SLOTS_MAX : larger(want.n_slots, 1);
    if (e->options.n_slots)
        want.n_slots = e->options.n_slots;
    want.n_slots = want.n_slots < n ? want.n_slots : n;
    if (want.n_slots <= e->room.n_slots && want.max_src <= e->room.max_src &&
        want.max_len <= e->room.max_len)
        return;
    drop_workers(e);
    want.n_slots = larger(want.n_slots, e->room.n_slots);
    want.max_src = larger(linear_round(want.max_src, LENGTH_STEP), e->room.max_src);
    want.max_len = larger(linear_round(want.max_len, LENGTH_STEP), e->room.max_len);
    e->room = want;
}

/* ---- which division ---- */

struct timing {
    struct engine *e;
    size_t n_sentences;
    double t[POOL_MOST_CORES];
};

static void time_part(void *ctx, size_t part, size_t n_parts)
{
    struct timing *t = ctx;

    (void)n_parts;
    t->t[part] = worker_time_step(t->e->worker[part], t->n_sentences,
                                  t->e->search.rules.beam.width);
}

/* Sentences a second that all workers together feed, n of which wait. */
static status measure(struct engine *e, struct division how, size_t n, double *rate,
                      struct err *err)
{
    const size_t each = (n + how.n_workers - 1) / how.n_workers;
    struct timing *t;

    TRY(take_workers(e, how, err));
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    t->e = e;
    t->n_sentences = each < e->room.n_slots ? each : e->room.n_slots;
    if (t->n_sentences > MEASURED_SLOTS)
        t->n_sentences = MEASURED_SLOTS;
    if (e->pool)
        pool_run(e->pool, time_part, t);
    else
        time_part(t, 0, 1);
    *rate = 0;
    for (size_t i = 0; i < how.n_workers; i++)
        *rate += (double)t->n_sentences / t->t[i];
    free(t);
    return OK;
}

static void describe(char *note, size_t n_note, struct division best, double ratio,
                     struct division other)
{
    char text[2][64];
    const struct division d[2] = {best, other};

    for (int i = 0; i < 2; i++)
        if (d[i].n_workers == 1)
            snprintf(text[i], sizeof text[i], "one batch on %zu thread%s", d[i].n_threads,
                     d[i].n_threads == 1 ? "" : "s");
        else
            snprintf(text[i], sizeof text[i], "%zu batches side by side", d[i].n_workers);
    snprintf(note, n_note, "%s: measured %.2f times as fast as %s", text[0], ratio,
             text[1]);
}

/* Of two divisions the faster. */
static status choose(struct engine *e, struct choice *c, struct division a,
                     struct division b, size_t n, struct err *err)
{
    double rate_a, rate_b;

    if (c->is_made)
        return OK;
    TRY(measure(e, b, n, &rate_b, err));
    TRY(measure(e, a, n, &rate_a, err));
    c->best = rate_a >= rate_b ? a : b;
    c->is_made = true;
    if (rate_a >= rate_b)
        describe(c->note, sizeof c->note, a, rate_a / rate_b, b);
    else
        describe(c->note, sizeof c->note, b, rate_b / rate_a, a);
    return OK;
}

/* Several sentences may be several batches, or one on all threads; a single one has all
 * threads, or does not wait for them. */
static status divide(struct engine *e, size_t n, struct division *how, struct err *err)
{
    const size_t T = e->options.n_threads, W = e->options.n_workers;
    const struct division together = {1, T}, alone = {1, 1};
    struct choice *c = n == 1 ? &e->one : n < 2 * T ? &e->few : &e->many;

    e->search.note[0] = '\0';
    if (W || T == 1) {
        *how = W ? (struct division){W, larger(T / W, 1)} : alone;
        return OK;
    }
    if (n == 1)
        TRY(choose(e, c, alone, together, n, err));
    else
        TRY(choose(e, c, (struct division){n < T ? n : T, 1}, together, n, err));
    *how = c->best;
    snprintf(e->search.note, sizeof e->search.note, "%s", c->note);
    return OK;
}

/* ---- a call ---- */

/* A list of jobs that workers share. When one has failed, all others are cancelled. */
struct call {
    struct worker_queue queue; /* first: what workers see */
    struct engine *e;
    const struct search_job *jobs;
    size_t n;
    atomic_size_t next;
    search_done *done;
    void *ctx;
    pthread_mutex_t lock; /* of what follows, and around done() */
    atomic_bool has_failed;
    struct err err; /* the first failure */
};

static bool take(struct worker_queue *q, size_t n_have, struct worker_job *job)
{
    struct call *c = (struct call *)q;

    (void)n_have; /* all jobs are there */
    if (atomic_load(&c->has_failed))
        return false;
    const size_t i = atomic_fetch_add(&c->next, 1);
    if (i >= c->n)
        return false;
    *job = (struct worker_job){.job = c->jobs[i],
                               .rules = &c->e->search.rules,
                               .is_cancelled = &c->has_failed,
                               .number = i};
    return true;
}

static void fail(struct call *c, const struct err *err)
{
    if (!atomic_load(&c->has_failed))
        c->err = *err;
    atomic_store(&c->has_failed, true);
}

static void deliver(struct worker_queue *q, const struct worker_job *job,
                    const struct beam *found, const struct err *why)
{
    struct call *c = (struct call *)q;
    struct err err;

    pthread_mutex_lock(&c->lock);
    if (why)
        fail(c, why);
    if (found && !atomic_load(&c->has_failed) &&
        c->done(c->ctx, job->number, found, &err) != OK)
        fail(c, &err);
    pthread_mutex_unlock(&c->lock);
}

static void stepped(struct worker_queue *q, size_t n_sentences)
{
    struct call *c = (struct call *)q;
    struct err err;

    (void)n_sentences;
    if (!search_is_cancelled(&c->e->search) || search_cancelled(&err) == OK)
        return;
    pthread_mutex_lock(&c->lock);
    fail(c, &err);
    pthread_mutex_unlock(&c->lock);
}

static void work_part(void *ctx, size_t part, size_t n_parts)
{
    struct call *c = ctx;

    (void)n_parts;
    worker_run(c->e->worker[part], &c->queue);
}

static status run(struct search *search, const struct search_job *jobs, size_t n,
                  search_done *done, void *ctx, struct err *err)
{
    struct engine *e = (struct engine *)search;
    struct call call = {.queue = {take, deliver, stepped},
                        .e = e,
                        .jobs = jobs,
                        .n = n,
                        .done = done,
                        .ctx = ctx};
    struct division how;

    if (!n)
        return OK;
    make_room(e, jobs, n);
    TRY(divide(e, n, &how, err));
    TRY(take_workers(e, how, err));
    pthread_mutex_init(&call.lock, NULL);
    if (e->pool)
        pool_run(e->pool, work_part, &call);
    else
        work_part(&call, 0, 1);
    pthread_mutex_destroy(&call.lock);
    if (!atomic_load(&call.has_failed))
        return OK;
    *err = call.err;
    return err->code;
}

static void close_engine(struct search *search)
{
    struct engine *e = (struct engine *)search;

    drop_workers(e);
    free(e);
}

status engine_open(struct search **search, const struct network *net,
                   struct search_rules rules, struct engine_options options,
                   struct err *err)
{
    struct engine *e;

    *search = NULL;
    if (!options.n_threads)
        options.n_threads = pool_cores();
    TRY(pool_check(options.n_threads, "threads", POOL_ONE_A_CORE, err));
    TRY(pool_check(options.n_workers, "workers", "workers=0 takes whatever is faster",
                   err));
    TRY(mem_alloc(&e, 1, sizeof *e, err));
    rules.shortlist = options.shortlist;
    *e = (struct engine){.search = {.rules = rules, .run = run, .close = close_engine},
                         .net = net,
                         .options = options};
    *search = &e->search;
    return OK;
}
