/*
 * A stand-in for libnccl.so.2 between processes of one machine, through shared memory. A
 * call is put into a stream of the stand-in driver; when its turn comes it shows what it
 * sends, and it ends when all ranks have done so. What the real one leaves to luck ends
 * the process with a sentence here: ranks that call different things, a call out of turn
 * or on a communicator that was closed, a communicator that is never closed.
 *
 *   - Two ranks of a node (FERRY_NODE) on one card are refused, as the real one does.
 *   - FERRY_STANDIN_NCCL_FAIL=K: the network of this process breaks in its Kth call.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "device/half.h"
#include "dist/comm/nccl_calls.h"
#include "standin/libcuda.h"

enum { RANKS = 8, BYTES = 16 << 20, NAME = 96, PATIENCE = 3000 };

enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, SPLIT };

/* What a rank shows: its call, and what it sends. */
struct slot {
    pid_t pid;
    char card[NAME];
    _Atomic uint64_t posted, taken; /* numbers of calls */
    enum kind kind;
    unsigned type;
    size_t n;
    int color, key;
    _Alignas(16) char data[BYTES];
};

struct shared {
    atomic_int n_here;
    atomic_bool is_aborted;
    struct slot slot[RANKS];
};

struct ncclComm {
    char name[NAME];
    int rank, size, n_splits;
    struct shared *shared;
    uint64_t n_calls, n_done; /* given a number; finished */
    bool is_closed;
    atomic_uint error;
};

struct call {
    struct ncclComm *comm;
    enum kind kind;
    uint64_t number;
    const void *from;
    void *to;
    size_t n; /* numbers sent by this rank, or of a part */
    unsigned type;
    bool is_posted;
};

static int n_open, n_calls_ever;

#define API __attribute__((visibility("default"))) unsigned
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fputs("stand-in NCCL: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    abort();
}

__attribute__((destructor)) static void check_closed(void)
{
    if (n_open)
        wrong("%d communicators were never closed", n_open);
}

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 10000000};

    nanosleep(&t, NULL);
}

static size_t width(unsigned type)
{
    if (type != NCCL_FLOAT && type != NCCL_BFLOAT16)
        wrong("numbers of type %u", type);
    return type == NCCL_FLOAT ? sizeof(float) : sizeof(uint16_t);
}

/* ---- communicators ---- */

static unsigned map(struct ncclComm *c)
{
    const int fd = shm_open(c->name, O_RDWR | O_CREAT, 0600);

    if (fd < 0 || ftruncate(fd, sizeof *c->shared) != 0)
        return NCCL_SYSTEM_ERROR;
    c->shared = mmap(NULL, sizeof *c->shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return c->shared == MAP_FAILED ? NCCL_SYSTEM_ERROR : 0;
}

static bool shares_a_card(const struct ncclComm *c)
{
    for (int a = 0; a < c->size; a++)
        for (int b = 0; b < a; b++)
            if (strcmp(c->shared->slot[a].card, c->shared->slot[b].card) == 0)
                return true;
    return false;
}

static unsigned meet(struct ncclComm *c)
{
    const char *node = getenv("FERRY_NODE");
    struct slot *mine = &c->shared->slot[c->rank];

    mine->pid = getpid();
    snprintf(mine->card, sizeof mine->card, "%.60s/%d", node ? node : "", standin_card());
    atomic_fetch_add(&c->shared->n_here, 1);
    for (int i = 0; atomic_load(&c->shared->n_here) < c->size; i++) {
        if (i == PATIENCE)
            return NCCL_SYSTEM_ERROR;
        nap();
    }
    if (c->rank == 0)
        shm_unlink(c->name);
    return shares_a_card(c) ? NCCL_INVALID_USAGE : 0;
}

static unsigned join(struct ncclComm **out, const char *name, int size, int rank)
{
    struct ncclComm *c = calloc(1, sizeof *c);

    if (!c || size > RANKS || standin_card() < 0)
        wrong("%d ranks, card %d of this thread", size, standin_card());
    snprintf(c->name, sizeof c->name, "%s", name);
    c->rank = rank;
    c->size = size;
    unsigned code = map(c);
    code = code ? code : meet(c);
    if (code) {
        free(c);
        return code;
    }
    n_open++;
    *out = c;
    return 0;
}

API ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

API ncclGetUniqueId(struct nccl_id *id)
{
    static int n;

    *id = (struct nccl_id){0};
    snprintf(id->bytes, sizeof id->bytes, "/standin-nccl-%ld-%d", (long)getpid(), n++);
    return 0;
}

API ncclCommInitRank(struct ncclComm **comm, int size, struct nccl_id id, int rank)
{
    return join(comm, id.bytes, size, rank);
}

/* Once nobody needs it any more. */
static void drop(struct ncclComm *c)
{
    if (!c->is_closed || c->n_done < c->n_calls)
        return;
    munmap(c->shared, sizeof *c->shared);
    free(c);
}

API ncclCommAbort(struct ncclComm *c)
{
    if (c->is_closed)
        wrong("a communicator is closed twice");
    c->is_closed = true;
    atomic_store(&c->shared->is_aborted, true);
    n_open--;
    drop(c);
    return 0;
}

/* ---- calls ---- */

static bool is_broken(struct call *k)
{
    const char *said = getenv("FERRY_STANDIN_NCCL_FAIL");

    if (!k->is_posted)
        n_calls_ever++;
    if (!said || n_calls_ever < strtol(said, NULL, 10))
        return false;
    atomic_store(&k->comm->error, NCCL_SYSTEM_ERROR);
    return true;
}

static void post(struct call *k, int color, int key)
{
    struct slot *s = &k->comm->shared->slot[k->comm->rank];
    const size_t parts = k->kind == REDUCE_SCATTER ? (size_t)k->comm->size : 1;

    if (k->number != k->comm->n_done + 1)
        wrong("call %llu out of turn", (unsigned long long)k->number);
    s->kind = k->kind;
    s->type = k->type;
    s->n = k->n;
    s->color = color;
    s->key = key;
    if (k->from) {
        const size_t n_bytes = k->n * parts * width(k->type);
        if (n_bytes > BYTES)
            wrong("%zu bytes in one call: too many for a stand-in", n_bytes);
        memcpy(s->data, k->from, n_bytes);
    }
    k->is_posted = true;
    atomic_store(&s->posted, k->number);
}

/* Every rank has reached this point of its part of the call. */
static bool is_everywhere(struct call *k, bool taken, uint64_t number)
{
    struct ncclComm *c = k->comm;

    for (int r = 0; r < c->size; r++) {
        struct slot *s = &c->shared->slot[r];
        if (atomic_load(taken ? &s->taken : &s->posted) >= number)
            continue;
        if (atomic_load(&c->shared->is_aborted) ||
            (kill(s->pid, 0) != 0 && errno == ESRCH))
            atomic_store(&c->error, NCCL_REMOTE_ERROR);
        return false;
    }
    return true;
}

static bool is_ready(void *ctx)
{
    struct call *k = ctx;

    if (k->comm->is_closed)
        return true;
    if (!k->is_posted) {
        if (!is_everywhere(k, true, k->number - 1) || is_broken(k))
            return false;
        post(k, 0, 0);
    }
    return is_everywhere(k, false, k->number);
}

static void check_alike(const struct call *k)
{
    for (int r = 0; r < k->comm->size; r++) {
        const struct slot *s = &k->comm->shared->slot[r];
        if (s->kind != k->kind || s->n != k->n || s->type != k->type)
            wrong("ranks %d and %d disagree about call %llu", k->comm->rank, r,
                  (unsigned long long)k->number);
    }
}

/* As a ring does it: rounded after every rank. */
static void add(const struct call *k, size_t first)
{
    const struct slot *slot = k->comm->shared->slot;

    for (size_t i = 0; i < k->n; i++) {
        float sum = 0;
        for (int r = 0; r < k->comm->size; r++) {
            const void *x = slot[r].data;
            const uint16_t *h = x;
            const float *f = x;
            sum += k->type == NCCL_FLOAT ? f[first + i] : half_to_b(h[first + i]);
            sum = k->type == NCCL_FLOAT ? sum : half_to_b(half_from_b(sum));
        }
        if (k->type == NCCL_FLOAT)
            ((float *)k->to)[i] = sum;
        else
            ((uint16_t *)k->to)[i] = half_from_b(sum);
    }
}

static void gather(const struct call *k)
{
    const size_t n_bytes = k->n * width(k->type);

    for (int r = 0; r < k->comm->size; r++)
        memcpy((char *)k->to + (size_t)r * n_bytes, k->comm->shared->slot[r].data,
               n_bytes);
}

static void end(const struct call *k)
{
    atomic_store(&k->comm->shared->slot[k->comm->rank].taken, k->number);
    k->comm->n_done = k->number;
    drop(k->comm);
}

static void run_call(void *ctx)
{
    const struct call *k = ctx;

    if (!k->comm->is_closed) {
        check_alike(k);
        if (k->kind == ALL_GATHER)
            gather(k);
        else
            add(k, k->kind == REDUCE_SCATTER ? (size_t)k->comm->rank * k->n : 0);
    }
    end(k);
}

static unsigned queue(struct call k, struct CUstream_st *s)
{
    if (k.comm->is_closed)
        wrong("a call on a communicator that is closed");
    if (standin_card() < 0)
        wrong("a call from a thread that has no context");
    k.number = ++k.comm->n_calls;
    standin_queue_when(s, is_ready, run_call, &k, sizeof k);
    return 0;
}

API ncclAllReduce(const void *from, void *to, size_t n, unsigned type, unsigned op,
                  struct ncclComm *comm, struct CUstream_st *s)
{
    if (op != NCCL_SUM)
        wrong("operation %u", op);
    return queue((struct call){.comm = comm,
                               .kind = ALL_REDUCE,
                               .from = from,
                               .to = to,
                               .n = n,
                               .type = type},
                 s);
}

API ncclReduceScatter(const void *from, void *to, size_t n_each, unsigned type,
                      unsigned op, struct ncclComm *comm, struct CUstream_st *s)
{
    if (op != NCCL_SUM)
        wrong("operation %u", op);
    return queue((struct call){.comm = comm,
                               .kind = REDUCE_SCATTER,
                               .from = from,
                               .to = to,
                               .n = n_each,
                               .type = type},
                 s);
}

API ncclAllGather(const void *from, void *to, size_t n_each, unsigned type,
                  struct ncclComm *comm, struct CUstream_st *s)
{
    return queue((struct call){.comm = comm,
                               .kind = ALL_GATHER,
                               .from = from,
                               .to = to,
                               .n = n_each,
                               .type = type},
                 s);
}

/* At once: the real one also waits for all ranks. */
API ncclCommSplit(struct ncclComm *c, int color, int key, struct ncclComm **part,
                  void *config)
{
    struct call k = {.comm = c, .kind = SPLIT, .number = ++c->n_calls};
    const struct slot *slot = c->shared->slot;
    char name[NAME];
    int rank = 0, size = 0;

    if (config || c->n_done + 1 != k.number)
        wrong("a split with calls under way");
    while (!is_everywhere(&k, true, k.number - 1) && !atomic_load(&c->error))
        nap();
    post(&k, color, key);
    while (!is_everywhere(&k, false, k.number) && !atomic_load(&c->error))
        nap();
    if (atomic_load(&c->error))
        return NCCL_REMOTE_ERROR;
    check_alike(&k);
    for (int r = 0; r < c->size; r++) {
        size += slot[r].color == color;
        rank += slot[r].color == color &&
                (slot[r].key < key || (slot[r].key == key && r < c->rank));
    }
    end(&k);
    snprintf(name, sizeof name, "%.60s-%d-%d", c->name, ++c->n_splits, color);
    return join(part, name, size, rank);
}

API ncclCommGetAsyncError(struct ncclComm *c, unsigned *error)
{
    *error = atomic_load(&c->error);
    return 0;
}

__attribute__((visibility("default"))) const char *ncclGetErrorString(unsigned code)
{
    return code == NCCL_SYSTEM_ERROR    ? "unhandled system error"
           : code == NCCL_REMOTE_ERROR  ? "remote process exited or network error"
           : code == NCCL_INVALID_USAGE ? "invalid usage"
                                        : "no error";
}

__attribute__((visibility("default"))) const char *ncclGetLastError(struct ncclComm *c)
{
    (void)c;
    return "";
}
