/*
 * A job is published by raising `round`; workers spin on it for up to a millisecond
 * (kernels follow each other closely inside a step) and then sleep. `left` counts
 * the parts still running; the caller spins on it as long, because it has just done a
 * part of the same length itself, and then sleeps until the last worker wakes it.
 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SPINS = 20000, MOST_A_CORE = 16 };

struct worker {
    pthread_t thread;
    struct pool *pool;
    size_t part;
};

struct pool {
    size_t n_threads;
    pool_fn *fn;
    void *ctx;
    atomic_uint round;
    atomic_size_t left;
    atomic_bool closing;
    pthread_mutex_t lock;
    pthread_cond_t wake, done; /* a new round; the last part has ended */
    atomic_bool is_caller_asleep;
    struct worker *worker; /* [n_threads - 1] */
    size_t n_started;
};

/* Tell the core that this is a loop that waits. No system call: thousands of them would
 * hold up every other thread of the machine. */
static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* Wait until round differs from `seen`; return the new one. */
static unsigned next_round(struct pool *p, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        const unsigned now = atomic_load_explicit(&p->round, memory_order_acquire);
        if (now != seen)
            return now;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load_explicit(&p->round, memory_order_acquire) == seen)
        pthread_cond_wait(&p->wake, &p->lock);
    const unsigned now = atomic_load_explicit(&p->round, memory_order_acquire);
    pthread_mutex_unlock(&p->lock);
    return now;
}

/* Sequentially consistent: either the last worker sees that the caller sleeps, or the
 * caller sees that nothing is left. */
static void end_part(struct pool *p)
{
    if (atomic_fetch_sub(&p->left, 1) > 1 || !atomic_load(&p->is_caller_asleep))
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->lock);
}

static void await_workers(struct pool *p)
{
    for (int i = 0; i < SPINS; i++) {
        if (!atomic_load_explicit(&p->left, memory_order_acquire))
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->is_caller_asleep, true);
    while (atomic_load(&p->left))
        pthread_cond_wait(&p->done, &p->lock);
    atomic_store(&p->is_caller_asleep, false);
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
    const struct worker *w = arg;
    struct pool *p = w->pool;
    unsigned seen = 0;

    for (;;) {
        seen = next_round(p, seen);
        if (atomic_load(&p->closing))
            return NULL;
        p->fn(p->ctx, w->part, p->n_threads);
        end_part(p);
    }
}

static void publish(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void pool_run(struct pool *p, pool_fn *fn, void *ctx)
{
    if (p->n_threads == 1) {
        fn(ctx, 0, 1);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    atomic_store_explicit(&p->left, p->n_threads - 1, memory_order_relaxed);
    publish(p);
    fn(ctx, 0, p->n_threads);
    await_workers(p);
}

bool pool_allowed(struct pool_cpus *allowed)
{
    *allowed = (struct pool_cpus){0};
    return sched_getaffinity(0, sizeof *allowed, allowed->set) == 0;
}

size_t pool_cores(void)
{
    struct pool_cpus allowed;

    if (!pool_allowed(&allowed))
        return 1;
    const int n = CPU_COUNT_S(sizeof allowed, allowed.set);
    return n > 0 ? (size_t)n : 1;
}

bool pool_crowded(char note[POOL_NOTE], size_t n_ranks, size_t n_threads)
{
    const size_t n_cores = pool_cores();
    char ranks[32] = "";

    if (n_ranks > 1)
        snprintf(ranks, sizeof ranks, "%zu ranks of ", n_ranks);
    snprintf(note, POOL_NOTE, "more threads than cores: %s%zu thread%s on %zu core%s",
             ranks, n_threads, n_threads == 1 ? "" : "s", n_cores,
             n_cores == 1 ? "" : "s");
    return n_ranks * n_threads > n_cores;
}

/* Thread `part` on the part-th allowed core; a refusal costs speed, not correctness. */
static void pin_to_core(pthread_t thread, size_t part)
{
    struct pool_cpus allowed, one = {0};
    size_t seen = 0;

    if (!pool_allowed(&allowed))
        return;
    for (size_t core = 0; core < POOL_MOST_CORES; core++)
        if (CPU_ISSET_S(core, sizeof allowed, allowed.set) && seen++ == part) {
            CPU_SET_S(core, sizeof one, one.set);
            (void)pthread_setaffinity_np(thread, sizeof one, one.set);
            return;
        }
}

static status start_workers(struct pool *p, bool pin, struct err *err)
{
    for (size_t i = 0; i + 1 < p->n_threads; i++) {
        struct worker *w = &p->worker[i];
        *w = (struct worker){.pool = p, .part = i + 1};
        const int code = pthread_create(&w->thread, NULL, work, w);
        if (code != 0)
            return err_set(err, ERR_DEVICE, "cannot start thread %zu of %zu: %s", i + 2,
                           p->n_threads, strerror(code));
        p->n_started++;
        if (pin)
            pin_to_core(w->thread, i + 1);
    }
    return OK;
}

status pool_check(size_t n_threads, const char *option, const char *advice,
                  struct err *err)
{
    const size_t n_cores = pool_cores();

    if (n_threads > MOST_A_CORE * n_cores)
        return err_set(err, ERR_USAGE,
                       "%s = %zu: more than %d for each core, of which this process may "
                       "use %zu; %s",
                       option, n_threads, MOST_A_CORE, n_cores, advice);
    return OK;
}

status pool_open(struct pool **pool, size_t n_threads, bool pin, struct err *err)
{
    const size_t n_cores = pool_cores();
    struct pool *p;

    *pool = NULL;
    TRY(pool_check(n_threads, "threads", POOL_ONE_A_CORE, err));
    TRY(mem_alloc(&p, 1, sizeof *p, err));
    p->n_threads = n_threads ? n_threads : n_cores;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    if (mem_alloc(&p->worker, p->n_threads, sizeof *p->worker, err) != OK ||
        start_workers(p, pin && p->n_threads <= n_cores, err) != OK) {
        pool_close(p);
        return err->code;
    }
    *pool = p;
    return OK;
}

void pool_close(struct pool *p)
{
    if (!p)
        return;
    atomic_store(&p->closing, true);
    publish(p);
    for (size_t i = 0; i < p->n_started; i++)
        pthread_join(p->worker[i].thread, NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p->worker);
    free(p);
}

size_t pool_size(const struct pool *p)
{
    return p ? p->n_threads : 1;
}

struct pool_range pool_split(size_t n_items, size_t part, size_t n_parts)
{
    return (struct pool_range){n_items * part / n_parts, n_items * (part + 1) / n_parts};
}

bool pool_take(struct pool_queue *q, size_t least, size_t n_threads, struct pool_range *r)
{
    size_t at = atomic_load_explicit(&q->next, memory_order_relaxed), n;

    do {
        if (at >= q->n)
            return false;
        n = (q->n - at) / (2 * n_threads);
        n = n < least ? least : n;
        n = n < q->n - at ? n : q->n - at;
    } while (!atomic_compare_exchange_weak_explicit(
        &q->next, &at, at + n, memory_order_relaxed, memory_order_relaxed));
    *r = (struct pool_range){at, at + n};
    return true;
}
