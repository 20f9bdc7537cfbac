/*
 * A stand-in for libcuda.so.1: cards (FERRY_STANDIN_CARDS, 1, of FERRY_STANDIN_SM, 80)
 * whose memory is the heap and whose kernels are device/gpu compiled as C. It is as
 * asynchronous as the real one may be, and no kinder:
 *
 *   - What is queued in a stream runs when somebody waits for it, or, in the stream that
 *     FERRY_STANDIN_EAGER names (1, 2, 3, in order of creation), as soon as it can. So
 *     a missing wait makes one order or the other read what is not there yet, or
 *     overwrite what is still needed.
 *   - New memory is filled with 0xff; memory or a module that goes while something is
 *     queued, an event that was never recorded, a stream destroyed with work in it, or a
 * call from a thread without the context, ends the process with a sentence. Overruns are
 * the address sanitizer's business.
 *   - FERRY_STANDIN_DEAF=1, 2 or 3 makes that stream ignore its waits: what a test
 *     expects to fail. FERRY_STANDIN_SPOIL=KERNEL ("product": cuBLASLt's) makes that
 *     kernel change a number that is not its own.
 *   - FERRY_STANDIN_FAIL=CALL:K makes the K-th call of CALL fail, and with it the card:
 *     what is queued is lost, and every call that queues or waits fails from then on.
 *
 * Any thread may call; one call at a time is under way.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda/driver.h"
#include "standin/fibres.h"
#include "standin/libcuda.h"
#include "standin/program.h"

enum { STREAMS = 8, BUFFERS = 12, INVALID = 1, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700 };

struct op {
    struct op *next;
    uint64_t id;
    standin_ready_fn *ready; /* NULL: always */
    standin_fn *run;
    void *ctx;
    struct CUevent_st *event; /* recorded by, or waited for */
    uint64_t ticket;          /* of the record that is waited for */
    bool is_wait;
};

struct CUevent_st {
    uint64_t recorded, done; /* tickets */
    double t_done;
    bool is_timed;
    struct CUstream_st *stream;
};

struct CUstream_st {
    int number;
    struct op *first, **last;
};

struct CUmod_st {
    const struct program_kernel *table;
};

static struct CUstream_st *streams[STREAMS];
static int n_streams, n_modules, n_retained, card = -1;
static unsigned lost; /* what every call gives since the card was lost; 0: it was not */
static unsigned long n_failing_calls;
static _Thread_local bool has_context;

/* Held by one thread, given to the others in the order in which they came: whoever polls
 * gets between two operations of whoever waits. */
static struct turns {
    pthread_mutex_t mutex;
    pthread_cond_t next;
    unsigned long n_came, n_served;
    pthread_t owner;
    int depth;
} turns = {.mutex = PTHREAD_MUTEX_INITIALIZER, .next = PTHREAD_COND_INITIALIZER};

static int lock(void)
{
    pthread_mutex_lock(&turns.mutex);
    if (!turns.depth || !pthread_equal(turns.owner, pthread_self())) {
        const unsigned long mine = turns.n_came++;
        while (turns.n_served != mine)
            pthread_cond_wait(&turns.next, &turns.mutex);
        turns.owner = pthread_self();
    }
    turns.depth++;
    pthread_mutex_unlock(&turns.mutex);
    return 0;
}

static void unlock(const int *held)
{
    (void)held;
    pthread_mutex_lock(&turns.mutex);
    if (--turns.depth == 0)
        turns.n_served++;
    pthread_cond_broadcast(&turns.next);
    pthread_mutex_unlock(&turns.mutex);
}

/* Until the end of the function. */
#define LOCKED __attribute__((cleanup(unlock), unused)) const int held_ = lock()

#define EXPORT __attribute__((visibility("default")))

__attribute__((format(printf, 1, 2), noreturn)) static void wrong(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    fputs("stand-in CUDA: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    abort();
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Somebody else's turn, between two operations; called with the lock held once. */
static void give_way(bool is_idle)
{
    const struct timespec nap = {.tv_nsec = 50000};

    unlock(NULL);
    if (is_idle)
        nanosleep(&nap, NULL);
    lock();
}

static bool is_chosen(const struct CUstream_st *s, const char *variable)
{
    const char *said = getenv(variable);

    return said && strtol(said, NULL, 10) == s->number;
}

static void run_until(struct CUstream_st *s, const struct CUevent_st *e, uint64_t ticket);

/* Run the first op of a stream; false when it is not ready, or waits and may not be
 * hurried. */
static bool run_one(struct CUstream_st *s, bool may_force)
{
    struct op *op = s->first;
    const uint64_t id = op->id;

    if (op->is_wait && !is_chosen(s, "FERRY_STANDIN_DEAF") &&
        op->event->done < op->ticket) {
        if (!may_force)
            return false;
        run_until(op->event->stream, op->event, op->ticket);
        if (!s->first || s->first->id != id)
            return true; /* another thread has run it meanwhile */
    }
    if (op->ready && !op->ready(op->ctx))
        return false;
    if (op->run)
        op->run(op->ctx);
    if (op->event && !op->is_wait) {
        op->event->done = op->ticket;
        op->event->t_done = now();
    }
    s->first = op->next;
    if (!s->first)
        s->last = &s->first;
    free(op->ctx);
    free(op);
    return true;
}

static void run_until(struct CUstream_st *s, const struct CUevent_st *e, uint64_t ticket)
{
    while (s->first && e->done < ticket)
        give_way(!run_one(s, true));
    if (e->done < ticket)
        wrong("a wait for an event that no stream will record");
}

static void hurry(void)
{
    for (int i = 0; i < n_streams; i++)
        while (streams[i] && is_chosen(streams[i], "FERRY_STANDIN_EAGER") &&
               streams[i]->first && run_one(streams[i], false))
            ;
}

static void queue(struct CUstream_st *s, struct op op)
{
    static uint64_t n_ops;
    struct op *one = malloc(sizeof *one);

    if (!s || !one)
        wrong("work for the default stream, which orders everything");
    if (!has_context)
        wrong("work from a thread that has no context");
    if (lost) {
        free(op.ctx);
        free(one);
        return;
    }
    *one = op;
    one->id = ++n_ops;
    one->next = NULL;
    *s->last = one;
    s->last = &one->next;
    hurry();
}

EXPORT void standin_queue_when(struct CUstream_st *s, standin_ready_fn *ready,
                               standin_fn *run, const void *ctx, size_t n)
{
    LOCKED;
    void *copy = malloc(n ? n : 1);

    if (!copy)
        wrong("no memory");
    memcpy(copy, ctx, n);
    queue(s, (struct op){.ready = ready, .run = run, .ctx = copy});
}

EXPORT void standin_queue(struct CUstream_st *s, standin_fn *run, const void *ctx,
                          size_t n)
{
    standin_queue_when(s, NULL, run, ctx, n);
}

EXPORT int standin_card(void)
{
    return has_context ? card : -1;
}

EXPORT bool standin_is_spoilt(const char *kernel)
{
    const char *said = getenv("FERRY_STANDIN_SPOIL");

    return said && strcmp(said, kernel) == 0;
}

/* Whoever waits for an event of it waits no longer. */
static void lose_work(struct CUstream_st *s)
{
    while (s->first) {
        struct op *op = s->first;
        if (op->event && !op->is_wait)
            op->event->done = op->ticket;
        s->first = op->next;
        free(op->ctx);
        free(op);
    }
    s->last = &s->first;
}

EXPORT unsigned standin_failure(const char *call)
{
    LOCKED;
    const char *said = getenv("FERRY_STANDIN_FAIL");
    const size_t n = strlen(call);

    if (!has_context)
        wrong("%s from a thread that has no context", call);
    if (lost || !said || strncmp(said, call, n) != 0 || said[n] != ':' ||
        ++n_failing_calls != strtoul(said + n + 1, NULL, 10))
        return lost;
    for (int i = 0; i < n_streams; i++)
        if (streams[i])
            lose_work(streams[i]);
    lost = ILLEGAL_ADDRESS;
    return lost;
}

static void refuse_while_queued(const char *what)
{
    for (int i = 0; i < n_streams; i++)
        if (streams[i] && streams[i]->first)
            wrong("%s while work is queued", what);
}

/* ---- the driver API ---- */

#define API EXPORT unsigned
/* At the beginning of what needs the context. */
#define MAY_FAIL                                          \
    do {                                                  \
        const unsigned code_ = standin_failure(__func__); \
        if (code_)                                        \
            return code_;                                 \
    } while (0)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

API cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}

API cuDriverGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

API cuDeviceGetCount(int *n)
{
    const char *said = getenv("FERRY_STANDIN_CARDS");

    *n = said ? (int)strtol(said, NULL, 10) : 1;
    return 0;
}

API cuDeviceGet(int *device, int i)
{
    int n = 0;

    (void)cuDeviceGetCount(&n);
    *device = i;
    return i >= 0 && i < n ? 0 : INVALID;
}

API cuDeviceGetName(char *name, int n, int device)
{
    (void)device;
    snprintf(name, (size_t)n, "stand-in");
    return 0;
}

API cuDeviceGetPCIBusId(char *bus, int n, int device)
{
    snprintf(bus, (size_t)n, "00000000:%02X:00.0", device);
    return 0;
}

API cuDeviceGetAttribute(int *value, unsigned what, int device)
{
    const char *said = getenv("FERRY_STANDIN_SM");
    const int sm = said ? (int)strtol(said, NULL, 10) : 80;

    (void)device;
    *value = what == DRIVER_CC_MAJOR ? sm / 10 : what == DRIVER_CC_MINOR ? sm % 10 : 0;
    return 0;
}

API cuDevicePrimaryCtxRetain(struct CUctx_st **context, int device)
{
    static char one;

    card = device;
    *context = (struct CUctx_st *)(void *)&one;
    n_modules = 0;
    n_retained++;
    return 0;
}

API cuDevicePrimaryCtxRelease_v2(int device)
{
    LOCKED;
    (void)device;
    if (--n_retained)
        return 0;
    for (int i = 0; i < n_streams; i++)
        if (streams[i])
            wrong("the context is released with a stream in it");
    n_streams = 0;
    n_failing_calls = lost = 0;
    return 0;
}

API cuCtxSetCurrent(struct CUctx_st *context)
{
    has_context = context;
    return context ? 0 : INVALID;
}

API cuMemGetInfo_v2(size_t *left, size_t *all)
{
    *all = *left = (size_t)1 << 30;
    return 0;
}

API cuMemAlloc_v2(driver_ptr *p, size_t n)
{
    MAY_FAIL;
    void *mem = n < ((size_t)1 << 30) ? malloc(n) : NULL;

    if (!mem)
        return DRIVER_OUT_OF_MEMORY;
    memset(mem, 0xff, n);
    *p = (uintptr_t)mem;
    return 0;
}

API cuMemFree_v2(driver_ptr p)
{
    LOCKED;
    refuse_while_queued("memory is freed");
    free((void *)(uintptr_t)p);
    return 0;
}

API cuMemHostAlloc(void **p, size_t n, unsigned flags)
{
    MAY_FAIL;
    (void)flags;
    *p = malloc(n);
    return *p ? 0 : DRIVER_OUT_OF_MEMORY;
}

API cuMemFreeHost(void *p)
{
    LOCKED;
    refuse_while_queued("pinned memory is freed");
    free(p);
    return 0;
}

struct move {
    void *to;
    const void *from;
    size_t n;
    int fill; /* -1: a copy */
};

static void run_move(void *ctx)
{
    const struct move *m = ctx;

    if (m->fill >= 0)
        memset(m->to, m->fill, m->n);
    else
        memcpy(m->to, m->from, m->n);
}

static unsigned queue_move(struct CUstream_st *s, struct move m)
{
    standin_queue(s, run_move, &m, sizeof m);
    return 0;
}

API cuMemsetD8Async(driver_ptr p, unsigned char x, size_t n, struct CUstream_st *s)
{
    MAY_FAIL;
    return queue_move(s, (struct move){(void *)(uintptr_t)p, NULL, n, x});
}

API cuMemcpyHtoDAsync_v2(driver_ptr to, const void *from, size_t n, struct CUstream_st *s)
{
    MAY_FAIL;
    return queue_move(s, (struct move){(void *)(uintptr_t)to, from, n, -1});
}

API cuMemcpyDtoHAsync_v2(void *to, driver_ptr from, size_t n, struct CUstream_st *s)
{
    MAY_FAIL;
    return queue_move(s, (struct move){to, (const void *)(uintptr_t)from, n, -1});
}

API cuStreamCreate(struct CUstream_st **s, unsigned flags)
{
    LOCKED;
    MAY_FAIL;
    if (n_streams == STREAMS || flags != DRIVER_NON_BLOCKING)
        return INVALID;
    *s = calloc(1, sizeof **s);
    if (!*s)
        return DRIVER_OUT_OF_MEMORY;
    (*s)->last = &(*s)->first;
    (*s)->number = n_streams + 1;
    streams[n_streams++] = *s;
    return 0;
}

API cuStreamDestroy_v2(struct CUstream_st *s)
{
    LOCKED;
    if (s->first)
        wrong("a stream is destroyed with work in it");
    for (int i = 0; i < n_streams; i++)
        if (streams[i] == s)
            streams[i] = NULL;
    free(s);
    return 0;
}

API cuStreamSynchronize(struct CUstream_st *s)
{
    LOCKED;
    MAY_FAIL;
    while (s->first)
        give_way(!run_one(s, true));
    return 0;
}

API cuStreamWaitEvent(struct CUstream_st *s, struct CUevent_st *e, unsigned flags)
{
    LOCKED;
    MAY_FAIL;
    (void)flags;
    if (!e->recorded)
        wrong("a wait for an event that was never recorded");
    queue(s, (struct op){.event = e, .ticket = e->recorded, .is_wait = true});
    return 0;
}

API cuEventCreate(struct CUevent_st **e, unsigned flags)
{
    MAY_FAIL;
    *e = calloc(1, sizeof **e);
    if (!*e)
        return DRIVER_OUT_OF_MEMORY;
    (*e)->is_timed = !(flags & DRIVER_NO_TIMING);
    return 0;
}

/* Whoever asks again and again waits too: its stream goes on as far as it can. */
API cuEventQuery(struct CUevent_st *e)
{
    LOCKED;
    MAY_FAIL;
    if (!e->recorded)
        wrong("an event is asked for that was never recorded");
    while (e->done < e->recorded && e->stream->first && run_one(e->stream, true))
        ;
    return e->done < e->recorded ? DRIVER_NOT_READY : 0;
}

API cuEventElapsedTime(float *ms, struct CUevent_st *from, struct CUevent_st *to)
{
    LOCKED;
    if (!from->is_timed || !to->is_timed)
        return INVALID;
    if (!from->recorded || !to->recorded)
        wrong("the time between events of which one was never recorded");
    if (from->done < from->recorded || to->done < to->recorded)
        return DRIVER_NOT_READY;
    *ms = (float)(1e3 * (to->t_done - from->t_done));
    return 0;
}

API cuEventDestroy_v2(struct CUevent_st *e)
{
    LOCKED;
    if (e->done < e->recorded)
        wrong("an event is destroyed before it happened");
    free(e);
    return 0;
}

API cuEventRecord(struct CUevent_st *e, struct CUstream_st *s)
{
    LOCKED;
    MAY_FAIL;
    e->stream = s;
    e->recorded++;
    queue(s, (struct op){.event = e, .ticket = e->recorded});
    return 0;
}

/* The first module of a context is fp32's, the second that of the image's first byte. */
API cuModuleLoadData(struct CUmod_st **m, const void *image)
{
    const char kind = *(const char *)image;

    MAY_FAIL;
    *m = calloc(1, sizeof **m);
    if (!*m)
        return DRIVER_OUT_OF_MEMORY;
    (*m)->table = n_modules++ == 0 ? program_float
                  : kind == 'b'    ? program_bfloat
                                   : program_half;
    return 0;
}

API cuModuleUnload(struct CUmod_st *m)
{
    LOCKED;
    refuse_while_queued("a module is unloaded");
    free(m);
    return 0;
}

API cuModuleGetFunction(struct CUfunc_st **f, struct CUmod_st *m, const char *name)
{
    MAY_FAIL;
    for (size_t i = 0; i < program_n; i++)
        if (strcmp(m->table[i].name, name) == 0) {
            *f = (struct CUfunc_st *)(void *)&m->table[i];
            return 0;
        }
    return NOT_FOUND;
}

struct launch {
    const struct program_kernel *kernel;
    unsigned group[3], items;
    void *buffer[BUFFERS];
    _Alignas(16) char args[512];
};

static void run_item(void *ctx)
{
    struct launch *l = ctx;
    void *params[BUFFERS + 1];

    for (size_t i = 0; i < l->kernel->n_buffers; i++)
        params[i] = &l->buffer[i];
    params[l->kernel->n_buffers] = l->args;
    l->kernel->run(params);
}

static void run_launch(void *ctx)
{
    struct launch *l = ctx;

    fibres_run(run_item, l, l->group, l->items);
    if (standin_is_spoilt(l->kernel->name))
        memset(l->buffer[0], 0x40, sizeof(double)); /* 32.5, 3.0039 or 2.125 */
}

/* Arguments are copied when a kernel is launched, as the real driver does. */
API cuLaunchKernel(struct CUfunc_st *f, unsigned gx, unsigned gy, unsigned gz,
                   unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   struct CUstream_st *s, void **params, void **extra)
{
    const struct program_kernel *k = (const struct program_kernel *)(void *)f;
    struct launch l = {.kernel = k, .group = {gx, gy, gz}, .items = bx};

    MAY_FAIL;
    if (by != 1 || bz != 1 || shared || extra || gy > 65535 || gz > 65535 ||
        k->args_bytes > sizeof l.args)
        return INVALID;
    for (size_t i = 0; i < k->n_buffers; i++)
        memcpy(&l.buffer[i], params[i], sizeof l.buffer[i]);
    memcpy(l.args, params[k->n_buffers], k->args_bytes);
    standin_queue(s, run_launch, &l, sizeof l);
    return 0;
}

API cuGetErrorName(unsigned code, const char **name)
{
    *name = code == DRIVER_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == ILLEGAL_ADDRESS    ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                         : "CUDA_ERROR";
    return 0;
}
