#include "standin/fibre_device.h"

#include <stdlib.h>
#include <string.h>

#include "device/gpu/gpu.h"
#include "standin/fibres.h"
#include "standin/program.h"

struct fibre_gpu {
    struct gpu gpu;
    enum precision precision;
};

struct launch {
    program_fn *run;
    void **params;
};

static void item(void *ctx)
{
    const struct launch *l = ctx;

    l->run(l->params);
}

static void fibre_launch(struct gpu *g, const struct gpu_call *call)
{
    const enum precision p = ((struct fibre_gpu *)g)->precision;
    const struct program_kernel *table = call->type == MAT_REAL ? program_float
                                         : p == PRECISION_FP16  ? program_half
                                                                : program_bfloat;
    const struct program_kernel *k = &table[call->kernel];
    void *params[GPU_BUFFERS + 1], *args = malloc(call->args_bytes);
    struct launch l = {k->run, params};

    BUG_ON(!args || k->n_buffers != call->n_buffers || k->args_bytes != call->args_bytes);
    memcpy(args, call->args, call->args_bytes);
    for (size_t i = 0; i < call->n_buffers; i++)
        params[i] = (void *)&call->buffer[i];
    params[call->n_buffers] = args;
    fibres_run(item, &l,
               (unsigned[3]){(unsigned)call->group[0], (unsigned)call->group[1],
                             (unsigned)call->group[2]},
               (unsigned)call->items);
    free(args);
}

static void fibre_close(struct gpu *g)
{
    free(g);
}

static status fibre_alloc(struct gpu *g, void **mem, size_t n_bytes, struct err *err)
{
    (void)g;
    *mem = calloc(1, n_bytes ? n_bytes : 1);
    return *mem ? OK : err_set(err, ERR_MEMORY, "no memory");
}

static void fibre_free(struct gpu *g, void *mem)
{
    (void)g;
    free(mem);
}

static void fibre_in(struct gpu *g, void *mem, size_t at, const void *host, size_t n)
{
    (void)g;
    memcpy((char *)mem + at, host, n);
}

static void fibre_out(struct gpu *g, void *host, void *mem, size_t at, size_t n)
{
    (void)g;
    memcpy(host, (char *)mem + at, n);
}

static bool fibre_gemm(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta,
                       bool tb, float alpha, float beta)
{
    (void)g, (void)c, (void)a, (void)b, (void)ta, (void)tb, (void)alpha, (void)beta;
    return false; /* by our own kernel */
}

static void fibre_wait(struct gpu *g)
{
    (void)g;
}

static size_t fibre_free_bytes(struct gpu *g)
{
    (void)g;
    return 0;
}

static const struct gpu_backend backend = {
    .close = fibre_close,
    .alloc = fibre_alloc,
    .free = fibre_free,
    .upload = fibre_in,
    .download = fibre_out,
    .launch = fibre_launch,
    .gemm = fibre_gemm,
    .wait = fibre_wait,
    .free_bytes = fibre_free_bytes,
};

status fibre_device_open(struct device *d, enum precision precision, struct err *err)
{
    struct fibre_gpu *g = calloc(1, sizeof *g);

    if (!g)
        return err_set(err, ERR_MEMORY, "no memory");
    g->gpu.api = &backend;
    g->gpu.wide_bytes = sizeof(double);
    g->precision = precision;
    return gpu_open(d, &g->gpu, "fibres", (struct device_options){.precision = precision},
                    err);
}
