#include "device/cuda/side_stream.h"

#include <stdlib.h>

#include "base/mem.h"
#include "device/cuda/cuda.h"

struct side_stream {
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
static status check(const struct side_stream *s, unsigned code, const char *what,
                    struct err *err)
{
    if (!code)
        return OK;
    return err_set(err, code == DRIVER_OUT_OF_MEMORY ? ERR_MEMORY : ERR_DEVICE,
                   "device = cuda: %s failed in %s (%s, code %u)", s->cuda->name, what,
                   cuda_error_name(s->cuda->api, code), code);
}

#define DO(s, what, call) TRY(check(s, (s)->cuda->api->call, what, err))

static status open_parts(struct side_stream *s, struct err *err)
{
    TRY(mem_alloc(&s->mark, s->n_marks, sizeof(void *), err));
    DO(s, "a stream", cuStreamCreate(&s->stream, DRIVER_NON_BLOCKING));
    for (size_t i = 0; i < s->n_marks; i++)
        DO(s, "an event", cuEventCreate(&s->mark[i], DRIVER_NO_TIMING));
    DO(s, "an event", cuEventCreate(&s->begun, 0));
    DO(s, "an event", cuEventCreate(&s->ended, 0));
    if (!s->n_narrow)
        return OK;
    TRY(cuda_load(s->cuda, &s->module, PRECISION_BF16, err));
    DO(s, "cast", cuModuleGetFunction(&s->narrow, s->module, "cast"));
    DO(s, "widen", cuModuleGetFunction(&s->widen, s->module, "widen"));
    DO(s, "memory for gradients in 16 bits",
       cuMemAlloc_v2(&s->narrowed, s->n_narrow * sizeof(uint16_t)));
    return OK;
}

status side_stream_open(struct side_stream **out, struct device *d, size_t n_marks,
                        size_t n_narrow, struct err *err)
{
    struct cuda *c = cuda_state(d);
    struct side_stream *s;

    *out = NULL;
    if (!c)
        return err_set(err, ERR_DEVICE, "%.60s is no CUDA device", d->name);
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    *s = (struct side_stream){.cuda = c, .n_marks = n_marks, .n_narrow = n_narrow};
    if (open_parts(s, err) != OK) {
        side_stream_close(s);
        return err->code;
    }
    *out = s;
    return OK;
}

void side_stream_close(struct side_stream *s)
{
    if (!s)
        return;
    const struct driver *api = s->cuda->api;
    if (s->stream)
        (void)api->cuStreamSynchronize(s->stream);
    (void)api->cuStreamSynchronize(s->cuda->compute); /* marks that nobody waited for */
    for (size_t i = 0; s->mark && i < s->n_marks; i++)
        if (s->mark[i])
            (void)api->cuEventDestroy_v2(s->mark[i]);
    if (s->begun)
        (void)api->cuEventDestroy_v2(s->begun);
    if (s->ended)
        (void)api->cuEventDestroy_v2(s->ended);
    if (s->module)
        (void)api->cuModuleUnload(s->module);
    if (s->narrowed)
        (void)api->cuMemFree_v2(s->narrowed);
    if (s->stream)
        (void)api->cuStreamDestroy_v2(s->stream);
    free(s->mark);
    free(s);
}

/* Transfers count as computing: what they have brought is part of what is marked. */
void side_stream_mark(struct side_stream *s, size_t i)
{
    BUG_ON(i >= s->n_marks);
    cuda_compute_after_copy(s->cuda);
    CALL(s->cuda, "an event", cuEventRecord(s->mark[i], s->cuda->compute));
}

status side_stream_enter(struct side_stream *s, struct err *err)
{
    DO(s, "a thread", cuCtxSetCurrent(s->cuda->context));
    return OK;
}

status side_stream_begin(struct side_stream *s, size_t i, struct CUstream_st **stream,
                         struct err *err)
{
    TRY(side_stream_enter(s, err));
    DO(s, "a wait", cuStreamWaitEvent(s->stream, s->mark[i], 0));
    DO(s, "an event", cuEventRecord(s->begun, s->stream));
    *stream = s->stream;
    return OK;
}

/* One row of n numbers, to or from the stream's memory. */
static status convert(struct side_stream *s, struct CUfunc_st *f, uintptr_t to,
                      uintptr_t from, size_t n, struct err *err)
{
    const struct gmat row = {0, 1, (u32)n, (u32)n, 0};
    const u32 chunks = (u32)((n + (size_t)4 * EACH_ITEMS - 1) / ((size_t)4 * EACH_ITEMS));
    struct each_args args = {row, row, 0, chunks};
    void *params[] = {&to, &from, &args};

    BUG_ON(n > s->n_narrow);
    if (n)
        DO(s, "a conversion",
           cuLaunchKernel(f, chunks, 1, 1, EACH_ITEMS, 1, 1, 0, s->stream, params, NULL));
    return OK;
}

status side_stream_narrow(struct side_stream *s, const float *x, size_t n,
                          struct err *err)
{
    return convert(s, s->narrow, (uintptr_t)s->narrowed, (uintptr_t)x, n, err);
}

status side_stream_widen(struct side_stream *s, float *x, size_t n, struct err *err)
{
    return convert(s, s->widen, (uintptr_t)x, (uintptr_t)s->narrowed, n, err);
}

void *side_stream_narrowed(const struct side_stream *s)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address on the card */
    return (void *)(uintptr_t)s->narrowed;
}

status side_stream_end(struct side_stream *s, struct err *err)
{
    DO(s, "an event", cuEventRecord(s->ended, s->stream));
    return OK;
}

status side_stream_poll(struct side_stream *s, bool *is_done, struct err *err)
{
    const unsigned code = s->cuda->api->cuEventQuery(s->ended);

    *is_done = code == 0;
    return check(s, code == DRIVER_NOT_READY ? 0 : code, "an exchange", err);
}

double side_stream_seconds(const struct side_stream *s)
{
    float ms = 0;

    (void)s->cuda->api->cuEventElapsedTime(&ms, s->begun, s->ended);
    return 1e-3 * (double)ms;
}
