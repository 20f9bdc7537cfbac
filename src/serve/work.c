#include "serve/work.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/os.h"

struct worker {
    struct work *work;
    struct work_seat seat;
    struct job *job; /* NULL: none */
    pthread_t thread;
};

struct work {
    struct work_options options;
    pthread_mutex_t mutex;
    pthread_cond_t has_job;
    struct job *first, *last;
    size_t n_waiting, n_running, n_workers;
    bool is_over, is_cancelled;
    struct worker worker[];
};

static struct work_link *link_of(struct job *j)
{
    return (struct work_link *)j;
}

/* The next job, or NULL when there will be none. */
static struct job *take(struct work *w, struct worker *by)
{
    pthread_mutex_lock(&w->mutex);
    while (!w->first && !w->is_over)
        pthread_cond_wait(&w->has_job, &w->mutex);
    struct job *j = w->first;
    if (j) {
        w->first = link_of(j)->next;
        if (!w->first)
            w->last = NULL;
        w->n_waiting--;
        w->n_running++;
        by->job = j;
        atomic_store(&by->seat.is_cancelled, w->is_cancelled || w->options.is_over(j));
    }
    pthread_mutex_unlock(&w->mutex);
    return j;
}

static void *do_jobs(void *arg)
{
    struct worker *by = arg;
    struct work *w = by->work;

    for (struct job *j; (j = take(w, by));) {
        w->options.run(j, &by->seat);
        pthread_mutex_lock(&w->mutex);
        by->job = NULL;
        w->n_running--;
        pthread_mutex_unlock(&w->mutex);
        w->options.end(j, &by->seat);
    }
    return NULL;
}

status work_open(struct work **out, const struct work_options *o, struct err *err)
{
    struct work *w;

    *out = NULL;
    TRY(mem_alloc(&w, 1, sizeof *w + o->n_seats * sizeof *w->worker, err));
    w->options = *o;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->has_job, NULL);
    for (size_t i = 0; i < o->n_seats; i++) {
        w->worker[i].work = w;
        w->worker[i].seat.number = i;
        if (os_thread(&w->worker[i].thread, do_jobs, &w->worker[i], err) != OK) {
            work_close(w);
            return err->code;
        }
        w->n_workers++;
    }
    *out = w;
    return OK;
}

void work_close(struct work *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->is_over = true;
    pthread_cond_broadcast(&w->has_job);
    pthread_mutex_unlock(&w->mutex);
    for (size_t i = 0; i < w->n_workers; i++)
        pthread_join(w->worker[i].thread, NULL);
    pthread_cond_destroy(&w->has_job);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

bool work_put(struct work *w, struct job *j)
{
    pthread_mutex_lock(&w->mutex);
    const bool has_room = w->n_waiting < w->options.n_queue;
    if (has_room) {
        link_of(j)->next = NULL;
        if (w->last)
            link_of(w->last)->next = j;
        else
            w->first = j;
        w->last = j;
        w->n_waiting++;
        pthread_cond_signal(&w->has_job);
    }
    pthread_mutex_unlock(&w->mutex);
    return has_room;
}

/* Those that wait and are over leave the queue, in their order; with the mutex. */
static struct job *take_over(struct work *w)
{
    struct job *over = NULL, **to = &over, **from = &w->first;

    w->last = NULL;
    while (*from) {
        struct job *j = *from;
        if (w->is_cancelled || w->options.is_over(j)) {
            *from = link_of(j)->next;
            link_of(j)->next = NULL;
            *to = j;
            to = &link_of(j)->next;
            w->n_waiting--;
        } else {
            w->last = j;
            from = &link_of(j)->next;
        }
    }
    return over;
}

static void end_over(const struct work *w, struct job *j)
{
    const struct work_seat nowhere = {.is_cancelled = true};

    while (j) {
        struct job *next = link_of(j)->next;
        w->options.run(j, &nowhere);
        w->options.end(j, &nowhere);
        j = next;
    }
}

void work_tick(struct work *w)
{
    pthread_mutex_lock(&w->mutex);
    struct job *over = take_over(w);
    for (size_t i = 0; i < w->n_workers; i++)
        if (w->worker[i].job && (w->is_cancelled || w->options.is_over(w->worker[i].job)))
            atomic_store(&w->worker[i].seat.is_cancelled, true);
    pthread_mutex_unlock(&w->mutex);
    end_over(w, over);
}

void work_cancel(struct work *w)
{
    pthread_mutex_lock(&w->mutex);
    w->is_cancelled = true;
    pthread_mutex_unlock(&w->mutex);
    work_tick(w);
}

struct work_load work_load(struct work *w)
{
    pthread_mutex_lock(&w->mutex);
    const struct work_load load = {w->n_waiting, w->n_running};
    pthread_mutex_unlock(&w->mutex);
    return load;
}
