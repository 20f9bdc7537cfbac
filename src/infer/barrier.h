/*
 * barrier - threads that work in step wait here for each other.
 *
 * Between the products of one token there are microseconds: a waiting thread spins. It
 * sleeps when that takes long, because then there are more threads than cores and the one
 * it waits for may need this one's. What was written before the barrier is seen by all
 * behind it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct barrier {
    atomic_size_t n_waiting;
    atomic_uint round;
    atomic_size_t n_asleep;
    pthread_mutex_t lock;
    pthread_cond_t wake;
};

void barrier_open(struct barrier *b);
void barrier_close(struct barrier *b);

/* Returns when n_threads have called; the same number at every call. */
void barrier_wait(struct barrier *b, size_t n_threads);
