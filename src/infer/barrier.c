#include "infer/barrier.h"

void barrier_open(struct barrier *b)
{
    *b = (struct barrier){0};
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->wake, NULL);
}

void barrier_close(struct barrier *b)
{
    pthread_cond_destroy(&b->wake);
    pthread_mutex_destroy(&b->lock);
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* Sequentially consistent: either the last thread sees that one sleeps, or that one sees
 * the new round before it sleeps. */
static void sleep_until(struct barrier *b, unsigned round)
{
    pthread_mutex_lock(&b->lock);
    atomic_fetch_add(&b->n_asleep, 1);
    while (atomic_load(&b->round) == round)
        pthread_cond_wait(&b->wake, &b->lock);
    atomic_fetch_sub(&b->n_asleep, 1);
    pthread_mutex_unlock(&b->lock);
}

static void open_round(struct barrier *b)
{
    atomic_store_explicit(&b->n_waiting, 0, memory_order_relaxed);
    atomic_fetch_add(&b->round, 1);
    if (!atomic_load(&b->n_asleep))
        return;
    pthread_mutex_lock(&b->lock);
    pthread_cond_broadcast(&b->wake);
    pthread_mutex_unlock(&b->lock);
}

void barrier_wait(struct barrier *b, size_t n_threads)
{
    enum { SPINS = 2000 };

    if (n_threads == 1)
        return;
    const unsigned round = atomic_load_explicit(&b->round, memory_order_acquire);
    if (atomic_fetch_add_explicit(&b->n_waiting, 1, memory_order_acq_rel) + 1 ==
        n_threads) {
        open_round(b);
        return;
    }
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&b->round, memory_order_acquire) != round)
            return;
        relax();
    }
    sleep_until(b, round);
}
