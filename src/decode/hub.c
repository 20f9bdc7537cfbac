#include "decode/hub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "decode/worker.h"

enum {
    SLOTS = 64, /* sentences of a batch: more are hardly faster */
    BATCH_TOKENS = 4096,
    MAX_LEN = 2048,
    /* what a worker has room for at first: sentences as they mostly are, beams of 4 */
    FIRST_LEN = 384,
    FIRST_ROWS = 4,
    FIRST_TOP = 16
};

/* A caller's search, and its call of run() if it is in one. */
struct caller {
    struct search search; /* first: what others see */
    struct hub *hub;
    const struct search_job *jobs;
    size_t n, next;                    /* jobs, and the first that no worker has taken */
    size_t n_left;                     /* that are not over */
    struct caller *prev, *next_active; /* all that are in run() */
    struct caller *behind;             /* whose turn comes after its own */
    pthread_cond_t over;               /* none is left */
    atomic_bool is_over;               /* what is still in flight may leave */
    pthread_mutex_t lock;              /* around done(), and of what follows */
    search_done *done;
    void *ctx;
    bool has_failed;
    struct err err; /* the first failure */
};

struct seat {
    struct hub *hub;
    struct worker *worker;
    pthread_t thread;
};

struct hub {
    struct worker_queue queue; /* first: what workers see */
    struct hub_options options;
    struct seat *seat; /* [n_threads] */
    size_t n_started;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t wake;  /* something waits, or the hub closes */
    struct caller *active, *first, *last;
    size_t n_asleep;
    bool is_closing;
    struct hub_counts counts;
};

/* ---- under the hub's lock ---- */

static void wait_in_line(struct hub *h, struct caller *c)
{
    c->behind = NULL;
    if (h->last)
        h->last->behind = c;
    else
        h->first = c;
    h->last = c;
}

static void leave_line(struct hub *h, struct caller *c)
{
    struct caller *before = NULL, *at = h->first;

    for (; at && at != c; at = at->behind)
        before = at;
    if (!at)
        return;
    if (before)
        before->behind = c->behind;
    else
        h->first = c->behind;
    if (h->last == c)
        h->last = before;
}

static void enter(struct hub *h, struct caller *c)
{
    c->prev = NULL;
    c->next_active = h->active;
    if (h->active)
        h->active->prev = c;
    h->active = c;
    h->counts.n_callers++;
    h->counts.n_waiting += c->n;
    wait_in_line(h, c);
    if (h->n_asleep)
        pthread_cond_signal(&h->wake);
}

static void quit(struct hub *h, struct caller *c)
{
    if (c->prev)
        c->prev->next_active = c->next_active;
    else
        h->active = c->next_active;
    if (c->next_active)
        c->next_active->prev = c->prev;
    h->counts.n_callers--;
}

static void end_jobs(struct hub *h, struct caller *c, size_t n)
{
    c->n_left -= n;
    h->counts.n_sentences += n;
    if (!c->n_left)
        pthread_cond_signal(&c->over);
}

/* What has failed, or whose caller has lost interest, waits no longer. */
static bool drop_if_over(struct hub *h, struct caller *c)
{
    const size_t n = c->n - c->next;

    if (search_is_cancelled(&c->search))
        atomic_store(&c->is_over, true);
    if (!atomic_load(&c->is_over))
        return false;
    if (n) {
        leave_line(h, c);
        c->next = c->n;
        h->counts.n_waiting -= n;
        end_jobs(h, c, n);
    }
    return true;
}

/* Does a sentence wait that this worker should take? While others sleep who would have
 * less than it has, they have been called. */
static bool has_next(const struct hub *h, size_t n_have)
{
    return h->first && (!n_have || h->counts.n_waiting > h->n_asleep * n_have);
}

static void take_first(struct hub *h, struct worker_job *job)
{
    struct caller *c = h->first;

    *job = (struct worker_job){.job = c->jobs[c->next],
                               .rules = &c->search.rules,
                               .is_cancelled = &c->is_over,
                               .owner = c,
                               .number = c->next};
    leave_line(h, c);
    if (++c->next < c->n)
        wait_in_line(h, c);
    h->counts.n_waiting--;
    h->counts.n_in_flight++;
    if (h->first && h->n_asleep)
        pthread_cond_signal(&h->wake);
}

/* ---- what workers call ---- */

static bool take(struct worker_queue *q, size_t n_have, struct worker_job *job)
{
    struct hub *h = (struct hub *)q;
    bool has_job;

    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->first && !n_have && !h->is_closing) {
            h->n_asleep++;
            pthread_cond_wait(&h->wake, &h->lock);
            h->n_asleep--;
        }
        has_job = has_next(h, n_have);
        if (!has_job || !drop_if_over(h, h->first))
            break;
    }
    if (has_job)
        take_first(h, job);
    pthread_mutex_unlock(&h->lock);
    return has_job;
}

static void fail(struct caller *c, const struct err *err)
{
    if (!c->has_failed)
        c->err = *err;
    c->has_failed = true;
    atomic_store(&c->is_over, true);
}

static void deliver(struct worker_queue *q, const struct worker_job *job,
                    const struct beam *found, const struct err *why)
{
    struct hub *h = (struct hub *)q;
    struct caller *c = job->owner;
    struct err err;

    pthread_mutex_lock(&c->lock);
    if (why)
        fail(c, why);
    if (search_is_cancelled(&c->search))
        atomic_store(&c->is_over, true);
    if (found && !atomic_load(&c->is_over) &&
        c->done(c->ctx, job->number, found, &err) != OK)
        fail(c, &err);
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_lock(&h->lock);
    h->counts.n_in_flight--;
    end_jobs(h, c, 1);
    pthread_mutex_unlock(&h->lock);
}

static void stepped(struct worker_queue *q, size_t n_sentences)
{
    struct hub *h = (struct hub *)q;

    pthread_mutex_lock(&h->lock);
    h->counts.n_steps++;
    h->counts.n_tokens += n_sentences;
    for (struct caller *c = h->active; c; c = c->next_active)
        drop_if_over(h, c);
    pthread_mutex_unlock(&h->lock);
}

/* ---- what callers call ---- */

/* Sentences for which there will never be room are refused before any is begun. */
static status check(const struct hub *h, const struct search_job *jobs, size_t n,
                    struct err *err)
{
    const size_t most = h->options.max_len;

    for (size_t i = 0; i < n; i++)
        if (jobs[i].n > most || jobs[i].max_len > most)
            return err_set(err, ERR_USAGE,
                           "a sentence of %zu tokens whose translation may have %zu: %zu "
                           "is the most here; lower max_length or extra_decode_length",
                           jobs[i].n, jobs[i].max_len, most);
    return OK;
}

static status outcome(struct caller *c, struct err *err)
{
    if (c->has_failed) {
        *err = c->err;
        return err->code;
    }
    return atomic_load(&c->is_over) ? search_cancelled(err) : OK;
}

static status run(struct search *search, const struct search_job *jobs, size_t n,
                  search_done *done, void *ctx, struct err *err)
{
    struct caller *c = (struct caller *)search;
    struct hub *h = c->hub;

    if (search_is_cancelled(search))
        return search_cancelled(err);
    if (!n)
        return OK;
    TRY(check(h, jobs, n, err));
    c->jobs = jobs;
    c->n = c->n_left = n;
    c->next = 0;
    c->done = done;
    c->ctx = ctx;
    c->has_failed = false;
    atomic_store(&c->is_over, false);
    pthread_mutex_lock(&h->lock);
    enter(h, c);
    while (c->n_left)
        pthread_cond_wait(&c->over, &h->lock);
    quit(h, c);
    pthread_mutex_unlock(&h->lock);
    return outcome(c, err);
}

static void close_caller(struct search *search)
{
    struct caller *c = (struct caller *)search;

    pthread_cond_destroy(&c->over);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

status hub_search(struct search **search, struct hub *h, struct search_rules rules,
                  const atomic_bool *is_cancelled, struct err *err)
{
    struct caller *c;

    *search = NULL;
    TRY(mem_alloc(&c, 1, sizeof *c, err));
    c->search = (struct search){
        .rules = rules, .is_cancelled = is_cancelled, .run = run, .close = close_caller};
    c->hub = h;
    pthread_cond_init(&c->over, NULL);
    pthread_mutex_init(&c->lock, NULL);
    *search = &c->search;
    return OK;
}

struct hub_counts hub_counts(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    struct hub_counts counts = h->counts;
    pthread_mutex_unlock(&h->lock);
    counts.n_slots = h->options.n_slots * h->options.n_threads;
    return counts;
}

/* ---- life ---- */

static void *work(void *arg)
{
    struct seat *s = arg;

    worker_run(s->worker, &s->hub->queue);
    return NULL;
}

static status start(struct hub *h, struct seat *s, const struct network *net,
                    struct err *err)
{
    const struct hub_options *o = &h->options;
    const size_t first = o->max_len < FIRST_LEN ? o->max_len : FIRST_LEN;
    const struct worker_room room = {.n_slots = o->n_slots,
                                     .n_tokens = o->batch_tokens,
                                     .n_each = FIRST_ROWS,
                                     .max_src = first,
                                     .max_len = first,
                                     .max_rows = FIRST_ROWS,
                                     .max_top = FIRST_TOP};

    s->hub = h;
    TRY(worker_open(&s->worker, net, o->more, o->kernels, 1, room, err));
    const int code = pthread_create(&s->thread, NULL, work, s);
    if (code != 0) {
        worker_close(s->worker);
        return err_set(err, ERR_DEVICE, "cannot start thread %zu of %zu: %s",
                       h->n_started + 1, o->n_threads, strerror(code));
    }
    h->n_started++;
    return OK;
}

static void set_defaults(struct hub_options *o)
{
    o->n_threads = o->n_threads ? o->n_threads : pool_cores();
    o->n_slots = o->n_slots ? o->n_slots : SLOTS;
    o->batch_tokens = o->batch_tokens ? o->batch_tokens : BATCH_TOKENS;
    o->max_len = o->max_len ? o->max_len : MAX_LEN;
}

status hub_open(struct hub **out, const struct network *net, struct hub_options options,
                struct err *err)
{
    struct hub *h;

    *out = NULL;
    set_defaults(&options);
    TRY(pool_check(options.n_threads, "threads", POOL_ONE_A_CORE, err));
    TRY(mem_alloc(&h, 1, sizeof *h, err));
    h->options = options;
    h->queue = (struct worker_queue){take, deliver, stepped};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wake, NULL);
    status result = mem_alloc(&h->seat, options.n_threads, sizeof *h->seat, err);
    for (size_t i = 0; i < options.n_threads; i++)
        THEN(result, start(h, &h->seat[i], net, err));
    if (result != OK) {
        hub_close(h);
        return result;
    }
    *out = h;
    return OK;
}

void hub_close(struct hub *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    BUG_ON(h->active);
    h->is_closing = true;
    pthread_cond_broadcast(&h->wake);
    pthread_mutex_unlock(&h->lock);
    for (size_t i = 0; i < h->n_started; i++) {
        pthread_join(h->seat[i].thread, NULL);
        worker_close(h->seat[i].worker);
    }
    pthread_cond_destroy(&h->wake);
    pthread_mutex_destroy(&h->lock);
    free(h->seat);
    free(h);
}
