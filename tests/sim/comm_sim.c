/*
 * One mutex guards everything: mailboxes, meetings, and the engines' queues. In turns,
 * `turn` names the one seat that runs; all others sleep on their own condition with the
 * predicate that they wait for, so that whoever gives up the turn can see who could take
 * it. In parallel there is one condition for all.
 */
#include "sim/comm_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rng.h"
#include "dist/comm/comm_backend.h"

enum { LARGE_BYTES = 256, PAUSE_US = 50 };

struct letter {
    struct letter *next;
    size_t n_bytes;
    char data[];
};

struct box { /* from one rank to another */
    struct letter *first, *last;
};

struct node {
    void *window;
    size_t window_bytes;
    int n_here;
    unsigned generation;
};

struct seat { /* a thread: 2 * rank is the rank's own, 2 * rank + 1 its engine's */
    pthread_cond_t wake;
    bool is_taken;
    comm_ready_fn *ready; /* NULL: able to run */
    void *arg;
};

struct sim_rank {
    struct sim *sim;
    int rank, node;
    bool is_dead;
    int n_swaps, n_large;
    comm_sim_fn *fn;
    void *ctx;
    pthread_t thread;
};

struct sim {
    struct comm_sim_options options;
    int size;
    pthread_mutex_t lock;
    pthread_cond_t all;
    struct rng rng;
    struct seat *seat; /* [2 * size] */
    int turn;
    struct box *box;        /* [size][size] */
    struct node *node;      /* [n_nodes] */
    struct sim_rank *ranks; /* [size] */
};

static _Thread_local int my_seat = -1;

/* ------------------------------------------------------------ turns */

static bool can_run(const struct seat *s)
{
    return s->is_taken && (!s->ready || s->ready(s->arg));
}

/* The seed chooses among those who can run; called with the lock held. */
static void give_turn(struct sim *s)
{
    int n_able = 0, n_taken = 0;

    for (int i = 0; i < 2 * s->size; i++) {
        n_taken += s->seat[i].is_taken;
        n_able += can_run(&s->seat[i]);
    }
    s->turn = -1;
    BUG_ON(n_taken > 0 && n_able == 0); /* every rank waits for another */
    if (n_able == 0)
        return;
    uint64_t left = rng_below(&s->rng, (uint64_t)n_able);
    for (int i = 0; s->turn < 0; i++)
        if (can_run(&s->seat[i]) && left-- == 0)
            s->turn = i;
    pthread_cond_signal(&s->seat[s->turn].wake);
}

static void await_turn(struct sim *s)
{
    while (s->turn != my_seat)
        pthread_cond_wait(&s->seat[my_seat].wake, &s->lock);
    s->seat[my_seat].ready = NULL;
}

static void sim_wait(void *self, comm_ready_fn *ready, void *arg)
{
    struct sim *s = ((struct sim_rank *)self)->sim;

    if (s->options.is_parallel) {
        while (!ready(arg))
            pthread_cond_wait(&s->all, &s->lock);
        return;
    }
    s->seat[my_seat].ready = ready;
    s->seat[my_seat].arg = arg;
    give_turn(s);
    await_turn(s);
}

static void sim_lock(void *self)
{
    pthread_mutex_lock(&((struct sim_rank *)self)->sim->lock);
}

/* Handing something over is a point where another may go on. */
static void sim_unlock(void *self)
{
    struct sim *s = ((struct sim_rank *)self)->sim;
    unsigned pause = 0;

    if (s->options.is_parallel) {
        pause =
            (unsigned)rng_below(&s->rng, 4) ? 0 : (unsigned)rng_below(&s->rng, PAUSE_US);
        pthread_cond_broadcast(&s->all);
    } else {
        give_turn(s);
        await_turn(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (pause)
        usleep(pause);
}

static void take_seat(struct sim *s, int seat)
{
    my_seat = seat;
    if (s->options.is_parallel)
        return;
    pthread_mutex_lock(&s->lock);
    await_turn(s);
    pthread_mutex_unlock(&s->lock);
}

/* Called with the lock held, releases it. */
static void leave_seat(struct sim *s)
{
    s->seat[my_seat].is_taken = false;
    if (s->options.is_parallel)
        pthread_cond_broadcast(&s->all);
    else
        give_turn(s);
    pthread_mutex_unlock(&s->lock);
}

static void sim_end(void *self)
{
    leave_seat(((struct sim_rank *)self)->sim);
}

/* ------------------------------------------------------------ messages */

static status gone(const struct sim *s, int rank, struct err *err)
{
    return err_set(err, ERR_COMM, "rank %d on host sim%d is gone", rank,
                   s->ranks[rank].node);
}

/* The fault that this message suffers, if it is its turn. */
static void damage(struct sim_rank *r, struct letter *l)
{
    const struct comm_sim_fault *f = &r->sim->options.fault;

    if (l->n_bytes < LARGE_BYTES || f->rank != r->rank || r->n_large++ != f->at)
        return;
    if (f->kind == COMM_SIM_FLIP)
        l->data[l->n_bytes / 2] ^= 0x10;
    if (f->kind == COMM_SIM_NAN)
        memset(l->data + l->n_bytes / 2 / 4 * 4, 0xFF, 4);
}

static status post(struct sim_rank *r, const struct comm_msg *m, struct err *err)
{
    struct box *b = &r->sim->box[r->rank * r->sim->size + m->peer];
    struct letter *l;

    TRY(mem_alloc(&l, 1, sizeof *l + m->n_bytes, err));
    l->n_bytes = m->n_bytes;
    if (m->n_bytes)
        memcpy(l->data, m->data, m->n_bytes);
    damage(r, l);
    if (b->last)
        b->last->next = l;
    else
        b->first = l;
    b->last = l;
    return OK;
}

struct arrival {
    const struct box *box;
    const struct sim_rank *from;
};

static bool has_arrived(void *arg)
{
    const struct arrival *a = arg;

    return a->box->first || a->from->is_dead;
}

static status fetch(struct sim_rank *r, const struct comm_msg *m, struct err *err)
{
    struct box *b = &r->sim->box[m->peer * r->sim->size + r->rank];
    struct arrival a = {b, &r->sim->ranks[m->peer]};

    sim_wait(r, has_arrived, &a);
    struct letter *l = b->first;
    if (!l)
        return gone(r->sim, m->peer, err);
    b->first = l->next;
    if (!b->first)
        b->last = NULL;
    const size_t n_bytes = l->n_bytes;
    if (n_bytes == m->n_bytes && n_bytes)
        memcpy(m->data, l->data, n_bytes);
    free(l);
    if (n_bytes != m->n_bytes)
        return err_set(err, ERR_COMM, "rank %d sent %zu bytes where %zu were expected",
                       m->peer, n_bytes, m->n_bytes);
    return OK;
}

static status swap_locked(struct sim_rank *r, const struct comm_msg *send, size_t n_send,
                          const struct comm_msg *recv, size_t n_recv, struct err *err)
{
    const struct comm_sim_fault *f = &r->sim->options.fault;

    if (f->kind == COMM_SIM_DIE && f->rank == r->rank && r->n_swaps++ == f->at) {
        r->is_dead = true;
        return err_set(err, ERR_COMM, "rank %d died, as the test wished", r->rank);
    }
    for (size_t i = 0; i < n_send; i++)
        TRY(post(r, &send[i], err));
    for (size_t i = 0; i < n_recv; i++)
        TRY(fetch(r, &recv[i], err));
    return OK;
}

static status sim_swap(void *self, const struct comm_msg *send, size_t n_send,
                       const struct comm_msg *recv, size_t n_recv, struct err *err)
{
    sim_lock(self);
    const status result = swap_locked(self, send, n_send, recv, n_recv, err);
    sim_unlock(self);
    return result;
}

/* ------------------------------------------------------------ nodes */

static void sim_node_key(void *self, char key[COMM_KEY_MAX], char host[COMM_HOST_MAX])
{
    const struct sim_rank *r = self;

    snprintf(key, COMM_KEY_MAX, "sim%d", r->node);
    snprintf(host, COMM_HOST_MAX, "sim%d", r->node);
}

struct meeting {
    struct sim_rank *rank;
    unsigned generation;
};

/* The first rank of the node that is dead, or -1. */
static int dead_neighbour(const struct sim_rank *r)
{
    for (int i = 0; i < r->sim->size; i++)
        if (r->sim->ranks[i].node == r->node && r->sim->ranks[i].is_dead)
            return i;
    return -1;
}

static bool has_met(void *arg)
{
    const struct meeting *m = arg;

    return m->rank->sim->node[m->rank->node].generation != m->generation ||
           dead_neighbour(m->rank) >= 0;
}

static status sim_barrier(void *self, const struct comm *c, struct err *err)
{
    struct sim_rank *r = self;
    struct node *n = &r->sim->node[r->node];
    status result = OK;

    sim_lock(self);
    struct meeting m = {r, n->generation};
    if (++n->n_here == c->local_size) {
        n->n_here = 0;
        n->generation++;
    } else {
        sim_wait(self, has_met, &m);
    }
    if (n->generation == m.generation)
        result = gone(r->sim, dead_neighbour(r), err);
    sim_unlock(self);
    return result;
}

static status sim_window(void *self, const struct comm *c, size_t n_bytes, void **memory,
                         struct err *err)
{
    struct sim_rank *r = self;
    struct node *n = &r->sim->node[r->node];

    TRY(sim_barrier(self, c, err)); /* nobody uses the former one any more */
    if (c->local_rank == 0) {
        free(n->window);
        n->window = aligned_alloc(64, (n_bytes + 63) / 64 * 64);
        if (n->window)
            memset(n->window, 0, n_bytes);
    }
    TRY(sim_barrier(self, c, err));
    *memory = n->window;
    if (!n->window)
        return err_set(err, ERR_MEMORY, "no memory for %zu shared bytes", n_bytes);
    return OK;
}

/* ------------------------------------------------------------ the rest */

/* The first call on the communication thread, which begins here. */
static status sim_connect(void *self, int *rank, int *size, struct err *err)
{
    const struct sim_rank *r = self;

    (void)err;
    take_seat(r->sim, 2 * r->rank + 1);
    *rank = r->rank;
    *size = r->sim->size;
    return OK;
}

static void sim_disconnect(void *self, bool is_clean)
{
    struct sim_rank *r = self;

    sim_lock(self);
    r->is_dead |= !is_clean;
    sim_unlock(self);
}

static void sim_release(void *self)
{
    (void)self; /* the ranks belong to comm_sim_run */
}

static const struct comm_backend sim_backend = {.name = "sim",
                                                .connect = sim_connect,
                                                .swap = sim_swap,
                                                .node_key = sim_node_key,
                                                .window = sim_window,
                                                .barrier = sim_barrier,
                                                .disconnect = sim_disconnect,
                                                .lock = sim_lock,
                                                .unlock = sim_unlock,
                                                .wait = sim_wait,
                                                .end = sim_end,
                                                .release = sim_release};

static void *rank_main(void *arg)
{
    struct sim_rank *r = arg;
    struct comm c;
    struct err err;

    take_seat(r->sim, 2 * r->rank);
    pthread_mutex_lock(&r->sim->lock);
    r->sim->seat[2 * r->rank + 1].is_taken =
        true; /* for the thread that comm_start makes */
    pthread_mutex_unlock(&r->sim->lock);
    if (comm_start(&c, &sim_backend, r, &err) == OK) {
        r->fn(&c, r->ctx);
        comm_close(&c);
    }
    pthread_mutex_lock(&r->sim->lock);
    leave_seat(r->sim);
    return NULL;
}

static status prepare(struct sim *s, comm_sim_fn *fn, void *ctx, struct err *err)
{
    const struct comm_sim_options *o = &s->options;
    int rank = 0;

    for (int n = 0; n < o->n_nodes; n++)
        s->size += o->ranks[n];
    const size_t size = (size_t)s->size;
    TRY(mem_alloc(&s->seat, 2 * size, sizeof *s->seat, err));
    TRY(mem_alloc(&s->box, size * size, sizeof *s->box, err));
    TRY(mem_alloc(&s->node, (size_t)o->n_nodes, sizeof *s->node, err));
    TRY(mem_alloc(&s->ranks, size, sizeof *s->ranks, err));
    for (int n = 0; n < o->n_nodes; n++)
        for (int i = 0; i < o->ranks[n]; i++, rank++)
            s->ranks[rank] = (struct sim_rank){
                .sim = s, .rank = rank, .node = n, .fn = fn, .ctx = ctx};
    for (int i = 0; i < 2 * s->size; i++)
        pthread_cond_init(&s->seat[i].wake, NULL);
    return OK;
}

static void release(struct sim *s)
{
    for (int i = 0; s->box && i < s->size * s->size; i++)
        while (s->box[i].first) { /* what nobody lived to read */
            struct letter *l = s->box[i].first;
            s->box[i].first = l->next;
            free(l);
        }
    for (int n = 0; s->node && n < s->options.n_nodes; n++)
        free(s->node[n].window);
    for (int i = 0; s->ranks && i < 2 * s->size; i++)
        pthread_cond_destroy(&s->seat[i].wake);
    free(s->seat);
    free(s->box);
    free(s->node);
    free(s->ranks);
    pthread_cond_destroy(&s->all);
    pthread_mutex_destroy(&s->lock);
}

/* Seats are taken before anybody runs, so that the first choice is among all. */
static status run_ranks(struct sim *s, struct err *err)
{
    int n_started = 0, code = 0;

    pthread_mutex_lock(&s->lock);
    while (n_started < s->size && code == 0) {
        struct sim_rank *r = &s->ranks[n_started];
        code = pthread_create(&r->thread, NULL, rank_main, r);
        if (code == 0)
            s->seat[2 * n_started++].is_taken = true;
    }
    for (int i = n_started; i < s->size; i++)
        s->ranks[i].is_dead = true; /* the others learn of it and end */
    if (!s->options.is_parallel && n_started > 0)
        give_turn(s);
    pthread_mutex_unlock(&s->lock);
    for (int i = 0; i < n_started; i++)
        pthread_join(s->ranks[i].thread, NULL);
    if (code != 0)
        return err_set(err, ERR_COMM, "cannot start the thread of rank %d: %s", n_started,
                       strerror(code));
    return OK;
}

status comm_sim_run(const struct comm_sim_options *o, comm_sim_fn *fn, void *ctx,
                    struct err *err)
{
    struct sim s = {.options = *o, .rng = rng_open(rng_key(o->seed, "sim")), .turn = -1};

    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.all, NULL);
    status result = prepare(&s, fn, ctx, err);
    if (result == OK)
        result = run_ranks(&s, err);
    release(&s);
    return result;
}
