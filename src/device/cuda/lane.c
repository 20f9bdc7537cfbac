#include "device/cuda/lane.h"

#include <stdlib.h>

#include "base/mem.h"
#include "device/cuda/state.h"

struct lane {
    struct cuda *cuda;
    struct CUstream_st *stream;
    struct CUevent_st **mark; /* [n_marks] of the compute stream */
    size_t n_marks;
    struct CUevent_st *begun, *ended; /* timed */
    struct CUmod_st *module;          /* kernels that store bfloat16 */
    struct CUfunc_st *narrow, *widen;
    driver_ptr narrowed;
    size_t n_narrow;
};

/* Of the other thread: the device's own failure is the device's thread's business. */
static status check(const struct lane *l, unsigned code, const char *what,
                    struct err *err)
{
    if (!code)
        return OK;
    return err_set(err, code == DRIVER_OUT_OF_MEMORY ? ERR_MEMORY : ERR_DEVICE,
                   "device = cuda: %s failed in %s (%s, code %u)", l->cuda->name, what,
                   cuda_error_name(l->cuda->api, code), code);
}

#define DO(l, what, call) TRY(check(l, (l)->cuda->api->call, what, err))

static status open_narrow(struct lane *l, struct err *err)
{
    TRY(cuda_load(l->cuda, &l->module, PRECISION_BF16, err));
    DO(l, "cast", cuModuleGetFunction(&l->narrow, l->module, "cast"));
    DO(l, "widen", cuModuleGetFunction(&l->widen, l->module, "widen"));
    DO(l, "memory for gradients in 16 bits",
       cuMemAlloc_v2(&l->narrowed, l->n_narrow * sizeof(uint16_t)));
    return OK;
}

static status open_parts(struct lane *l, struct err *err)
{
    TRY(mem_alloc(&l->mark, l->n_marks, sizeof *l->mark, err));
    DO(l, "a stream", cuStreamCreate(&l->stream, DRIVER_NON_BLOCKING));
    for (size_t i = 0; i < l->n_marks; i++)
        DO(l, "an event", cuEventCreate(&l->mark[i], DRIVER_NO_TIMING));
    DO(l, "an event", cuEventCreate(&l->begun, 0));
    DO(l, "an event", cuEventCreate(&l->ended, 0));
    return l->n_narrow ? open_narrow(l, err) : OK;
}

status lane_open(struct lane **out, struct device *d, size_t n_marks, size_t n_narrow,
                 struct err *err)
{
    struct cuda *c = cuda_state(d);
    struct lane *l;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_DEVICE, "%.60s is no CUDA device", d->name);
    TRY(mem_alloc(&l, 1, sizeof *l, err));
    *l = (struct lane){.cuda = c, .n_marks = n_marks, .n_narrow = n_narrow};
    if (open_parts(l, err) != OK) {
        lane_close(l);
        return err->code;
    }
    *out = l;
    return OK;
}

void lane_close(struct lane *l)
{
    if (!l)
        return;
    const struct driver *api = l->cuda->api;
    if (l->stream)
        (void)api->cuStreamSynchronize(l->stream);
    (void)api->cuStreamSynchronize(l->cuda->compute); /* marks that nobody waited for */
    for (size_t i = 0; l->mark && i < l->n_marks; i++)
        if (l->mark[i])
            (void)api->cuEventDestroy_v2(l->mark[i]);
    if (l->begun)
        (void)api->cuEventDestroy_v2(l->begun);
    if (l->ended)
        (void)api->cuEventDestroy_v2(l->ended);
    if (l->module)
        (void)api->cuModuleUnload(l->module);
    if (l->narrowed)
        (void)api->cuMemFree_v2(l->narrowed);
    if (l->stream)
        (void)api->cuStreamDestroy_v2(l->stream);
    free(l->mark);
    free(l);
}

/* Transfers count as computing: what they have brought is part of what is marked. */
void lane_mark(struct lane *l, size_t i)
{
    BUG_ON(i >= l->n_marks);
    cuda_compute_after_copy(l->cuda);
    CALL(l->cuda, "an event", cuEventRecord(l->mark[i], l->cuda->compute));
}

status lane_enter(struct lane *l, struct err *err)
{
    DO(l, "a thread", cuCtxSetCurrent(l->cuda->context));
    return OK;
}

status lane_begin(struct lane *l, size_t i, struct CUstream_st **stream, struct err *err)
{
    TRY(lane_enter(l, err));
    DO(l, "a wait", cuStreamWaitEvent(l->stream, l->mark[i], 0));
    DO(l, "an event", cuEventRecord(l->begun, l->stream));
    *stream = l->stream;
    return OK;
}

/* One row of n numbers, to or from the lane's memory. */
static status convert(struct lane *l, struct CUfunc_st *f, uintptr_t to, uintptr_t from,
                      size_t n, struct err *err)
{
    const struct gmat row = {0, 1, (u32)n, (u32)n, 0};
    const u32 chunks = (u32)((n + 4 * EACH_ITEMS - 1) / ((size_t)4 * EACH_ITEMS));
    struct each_args args = {row, row, 0, chunks};
    void *params[] = {&to, &from, &args};

    BUG_ON(n > l->n_narrow);
    if (n)
        DO(l, "a conversion",
           cuLaunchKernel(f, chunks, 1, 1, EACH_ITEMS, 1, 1, 0, l->stream, params, NULL));
    return OK;
}

status lane_narrow(struct lane *l, const float *x, size_t n, struct err *err)
{
    return convert(l, l->narrow, (uintptr_t)l->narrowed, (uintptr_t)x, n, err);
}

status lane_widen(struct lane *l, float *x, size_t n, struct err *err)
{
    return convert(l, l->widen, (uintptr_t)x, (uintptr_t)l->narrowed, n, err);
}

void *lane_narrowed(const struct lane *l)
{
    return (void *)(uintptr_t)l->narrowed;
}

status lane_end(struct lane *l, struct err *err)
{
    DO(l, "an event", cuEventRecord(l->ended, l->stream));
    return OK;
}

status lane_poll(struct lane *l, bool *is_done, struct err *err)
{
    const unsigned code = l->cuda->api->cuEventQuery(l->ended);

    *is_done = code == 0;
    return check(l, code == DRIVER_NOT_READY ? 0 : code, "an exchange", err);
}

double lane_seconds(const struct lane *l)
{
    float ms = 0;

    (void)l->cuda->api->cuEventElapsedTime(&ms, l->begun, l->ended);
    return 1e-3 * (double)ms;
}
