/*
 * The engine: a queue of jobs and the thread that runs them. The backend's lock guards
 * the queue, is_done of jobs and the first failure; jobs themselves run without it. A
 * single rank has neither backend nor thread: its jobs run where they are submitted.
 */
#include "dist/comm/comm.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "dist/comm/comm_backend.h"

struct comm_engine {
    const struct comm_backend *backend; /* NULL: one rank */
    void *self;
    struct comm *comm;
    struct comm_peer *peer;
    int *leader;

    pthread_t thread;
    bool has_thread, is_open, is_closing, is_ended;
    struct comm_job *first, *last;
    struct err failure; /* OK until a job failed */
    struct comm_traffic traffic;
};

const char *comm_name(const struct comm *c, int rank, char name[COMM_NAME_MAX])
{
    if (rank >= 0 && rank < c->size && c->peer)
        snprintf(name, COMM_NAME_MAX, "rank %d on host %s", rank, c->peer[rank].host);
    else
        snprintf(name, COMM_NAME_MAX, "rank %d", rank);
    return name;
}

/* Run a job unless an earlier one failed; *why is the engine's failure or OK. */
static void run_job(struct comm_engine *e, struct comm_job *job, struct err *why)
{
    job->t_begin = clock_now();
    if (why->code == OK) {
        const status result = job->run(e->comm, job->ctx, why);
        why->code = result; /* what it returned counts, not what it left in *why */
    }
    job->t_end = clock_now();
}

/* ------------------------------------------------------------ nodes */

struct identity {
    char key[COMM_KEY_MAX], host[COMM_HOST_MAX];
};

static bool is_same_node(const struct identity *a, const struct identity *b)
{
    return strncmp(a->key, b->key, sizeof a->key) == 0 &&
           strncmp(a->host, b->host, sizeof a->host) == 0;
}

/* Nodes are numbered in the order of their first ranks. */
static void number_nodes(struct comm *c, const struct identity *all,
                         struct comm_peer *peer, int *leader)
{
    c->n_nodes = 0;
    for (int r = 0; r < c->size; r++) {
        int node = 0;
        while (node < c->n_nodes && !is_same_node(&all[leader[node]], &all[r]))
            node++;
        if (node == c->n_nodes)
            leader[c->n_nodes++] = r;
        int n_before = 0;
        for (int q = 0; q < r; q++)
            n_before += peer[q].node == node;
        peer[r] = (struct comm_peer){.node = node, .local_rank = n_before};
        memcpy(peer[r].host, all[r].host, sizeof peer[r].host - 1);
    }
    c->node = peer[c->rank].node;
    c->local_rank = peer[c->rank].local_rank;
    c->local_size = 0;
    for (int r = 0; r < c->size; r++)
        c->local_size += peer[r].node == c->node;
}

/* Find out which ranks share a node. */
static status tabulate(struct comm_engine *e, const char *key, const char *host,
                       struct err *err)
{
    struct comm *c = e->comm;
    struct identity mine = {{0}, {0}}, *all;

    memcpy(mine.key, key, strnlen(key, sizeof mine.key - 1));
    memcpy(mine.host, host, strnlen(host, sizeof mine.host - 1));
    TRY(mem_alloc(&all, (size_t)c->size, sizeof *all, err));
    const status result = comm_job_allgather(c, all, &mine, sizeof mine, err);
    if (result == OK) {
        number_nodes(c, all, e->peer, e->leader);
        c->peer = e->peer;
        c->leader = e->leader;
    }
    free(all);
    return result;
}

static status join_peers(struct comm_engine *e, struct err *err)
{
    struct comm *c = e->comm;
    char key[COMM_KEY_MAX] = "", host[COMM_HOST_MAX] = "";

    os_host_name(host, sizeof host);
    if (e->backend)
        TRY(e->backend->connect(e->self, &c->rank, &c->size, err));
    if (e->backend)
        e->backend->node_key(e->self, key, host);
    TRY(mem_alloc(&e->peer, (size_t)c->size, sizeof *e->peer, err));
    TRY(mem_alloc(&e->leader, (size_t)c->size, sizeof *e->leader, err));
    TRY(mem_alloc(&c->msg, 2 * (size_t)c->size, sizeof *c->msg, err));
    return tabulate(e, key, host, err);
}

/* ------------------------------------------------------------ the thread */

static bool has_work(void *arg)
{
    const struct comm_engine *e = arg;

    return e->first || e->is_closing;
}

/* Everything until the engine closes; called and left with the lock held. */
static void work_off(struct comm_engine *e)
{
    const struct comm_backend *b = e->backend;

    for (;;) {
        b->wait(e->self, has_work, e);
        struct comm_job *job = e->first;
        if (!job)
            return;
        struct err why = e->failure;
        b->unlock(e->self);
        run_job(e, job, &why);
        b->lock(e->self);
        if (why.code != OK && e->failure.code == OK)
            e->failure = why;
        e->traffic.t_cpu = clock_thread();
        e->first = job->next;
        if (!e->first)
            e->last = NULL;
        job->is_done = true;
        b->unlock(e->self); /* wakes who waits for it */
        b->lock(e->self);
    }
}

static void *engine_main(void *arg)
{
    struct comm_engine *e = arg;
    const struct comm_backend *b = e->backend;
    struct err why = {0};

    pthread_setname_np(pthread_self(), "ferry-comm");
    why.code = join_peers(e, &why);
    b->lock(e->self);
    e->failure = why;
    e->is_open = true;
    b->unlock(e->self);

    b->lock(e->self);
    work_off(e);
    const bool is_clean = e->failure.code == OK;
    b->unlock(e->self);
    b->disconnect(e->self, is_clean);
    b->lock(e->self);
    e->is_ended = true;
    (b->end ? b->end : b->unlock)(e->self); /* from here on the caller may free all */
    return NULL;
}

/* ------------------------------------------------------------ opening and closing */

static bool is_true(void *flag)
{
    return *(bool *)flag;
}

/* Until the thread has set the flag; the engine's failure so far. */
static status wait_for(struct comm_engine *e, bool *flag, struct err *err)
{
    if (e->has_thread) {
        e->backend->lock(e->self);
        e->backend->wait(e->self, is_true, flag);
    }
    const status result = e->failure.code;
    if (result != OK)
        *err = e->failure;
    if (e->has_thread)
        e->backend->unlock(e->self);
    return result;
}

static status start_thread(struct comm_engine *e, struct err *err)
{
    const int code = pthread_create(&e->thread, NULL, engine_main, e);
    if (code != 0)
        return err_set(err, ERR_COMM, "cannot start the communication thread: %s",
                       strerror(code));
    e->has_thread = true;
    return wait_for(e, &e->is_open, err);
}

status comm_start(struct comm *c, const struct comm_backend *backend, void *self,
                  struct err *err)
{
    struct comm_engine *e;

    static const char *no_setting[1];

    *c = (struct comm){.backend = backend ? backend->name : "self",
                       .library = "",
                       .setting = no_setting,
                       .size = 1};
    if (mem_alloc(&e, 1, sizeof *e, err) != OK) {
        if (backend)
            backend->release(self);
        return err->code;
    }
    *e = (struct comm_engine){.backend = backend, .self = self, .comm = c};
    c->engine = e;
    const status result = backend ? start_thread(e, err) : join_peers(e, err);
    if (result != OK) {
        comm_close(c);
        return result;
    }
    return OK;
}

status comm_open(struct comm *c, struct comm_options o, struct err *err)
{
    *c = (struct comm){0};
    if (strcmp(o.kind, "mpi") == 0 ||
        (strcmp(o.kind, "auto") == 0 && comm_mpi_is_wanted()))
        return comm_mpi_start(c, o, err);
    return comm_start(c, NULL, NULL, err);
}

/* Ask the thread to disconnect, and wait at most so long for it. */
static bool end_thread(struct comm_engine *e, double seconds)
{
    const double t_end = clock_now() + seconds;
    bool is_ended = false;

    while (!is_ended && clock_now() <= t_end) {
        e->backend->lock(e->self);
        e->is_closing = true;
        is_ended = e->is_ended;
        e->backend->unlock(e->self);
        if (!is_ended)
            poll(NULL, 0, 5);
    }
    return is_ended;
}

bool comm_leave(struct comm *c, double seconds)
{
    if (c->engine && c->engine->has_thread && !end_thread(c->engine, seconds))
        return false;
    comm_close(c);
    return true;
}

void comm_close(struct comm *c)
{
    struct comm_engine *e = c->engine;
    struct err why;

    if (!e)
        return;
    if (e->has_thread) {
        e->backend->lock(e->self);
        e->is_closing = true;
        e->backend->unlock(e->self);
        (void)wait_for(e, &e->is_ended, &why);
        pthread_join(e->thread, NULL);
    }
    if (e->backend)
        e->backend->release(e->self);
    free(e->peer);
    free(e->leader);
    free(c->msg);
    free(e);
    *c = (struct comm){0};
}

_Noreturn void comm_abort(status code)
{
    _exit((int)code);
}

/* ------------------------------------------------------------ jobs */

void comm_submit(struct comm *c, struct comm_job *job)
{
    struct comm_engine *e = c->engine;

    job->is_done = false;
    job->next = NULL;
    if (!e->has_thread) {
        run_job(e, job, &e->failure);
        job->is_done = true;
        return;
    }
    e->backend->lock(e->self);
    if (e->last)
        e->last->next = job;
    else
        e->first = job;
    e->last = job;
    e->backend->unlock(e->self);
}

status comm_wait(struct comm *c, struct comm_job *job, struct err *err)
{
    return wait_for(c->engine, &job->is_done, err);
}

status comm_run(struct comm *c, comm_job_fn *run, void *ctx, struct err *err)
{
    struct comm_job job = {.run = run, .ctx = ctx};

    comm_submit(c, &job);
    return comm_wait(c, &job, err);
}

/* ------------------------------------------------------------ inside jobs */

/* What crosses the border of the node. */
static void count(const struct comm *c, const struct comm_msg *msg, size_t n,
                  uint64_t *n_bytes, uint64_t *n_messages)
{
    for (size_t i = 0; i < n; i++)
        if (c->peer[msg[i].peer].node != c->node) {
            *n_bytes += msg[i].n_bytes;
            ++*n_messages;
        }
}

status comm_swap(struct comm *c, const struct comm_msg *send, size_t n_send,
                 const struct comm_msg *recv, size_t n_recv, struct err *err)
{
    struct comm_engine *e = c->engine;

    if (n_send + n_recv == 0)
        return OK;
    TRY(e->backend->swap(e->self, send, n_send, recv, n_recv, err));
    if (!c->peer)
        return OK; /* who is where is not known yet */
    count(c, send, n_send, &e->traffic.sent_bytes, &e->traffic.n_sent);
    count(c, recv, n_recv, &e->traffic.received_bytes, &e->traffic.n_received);
    return OK;
}

void comm_count(struct comm *c, uint64_t sent_bytes, uint64_t received_bytes)
{
    c->engine->traffic.sent_bytes += sent_bytes;
    c->engine->traffic.received_bytes += received_bytes;
}

status comm_window(struct comm *c, size_t n_bytes, void **memory, struct err *err)
{
    return c->engine->backend->window(c->engine->self, c, n_bytes, memory, err);
}

status comm_node_barrier(struct comm *c, struct err *err)
{
    if (c->local_size == 1)
        return OK;
    return c->engine->backend->barrier(c->engine->self, c, err);
}

/* ------------------------------------------------------------ for the log */

struct comm_traffic comm_traffic(const struct comm *c)
{
    return c->engine->traffic;
}
