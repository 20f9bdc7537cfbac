#include "device/gpu/gpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4096 }; /* as wide as all shares of their sums fit */

const char *const gpu_kernel_names[N_GPU_KERNELS] = {
#define G(name, n, args) #name,
    GPU_KERNEL_LIST(G)
#undef G
};

void gpu_fail(struct gpu *g, status code, const char *format, ...)
{
    char text[sizeof g->failure.msg];
    va_list list;

    if (g->failure.code != OK)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    (void)err_set(&g->failure, code, "%s", text);
}

static struct gpu *gpu_of(struct device *d)
{
    return d->state;
}

static void driver_close(struct device *d)
{
    struct gpu *g = gpu_of(d);

    g->api->free(g, g->parts);
    g->api->free(g, g->columns);
    g->api->close(g);
}

status gpu_open(struct device *d, struct gpu *g, const char *name,
                struct device_options options, struct err *err)
{
    *d = (struct device){.k = &gpu_kernels,
                         .real_bytes = sizeof(float),
                         .half_bytes = sizeof(unsigned short),
                         .precision = options.precision,
                         .driver = &gpu_driver,
                         .state = g};
    snprintf(d->name, sizeof d->name, "%s", name);
    g->columns_bytes = (size_t)3 * GPU_SHARES * COLUMNS * sizeof(float);
    if (kernels_check(d->k, name, err) != OK ||
        g->api->alloc(g, &g->parts, (GPU_PARTS + GPU_NUMBERS) * g->wide_bytes, err) !=
            OK ||
        g->api->alloc(g, &g->columns, g->columns_bytes, err) != OK) {
        device_close(d);
        return err->code;
    }
    return OK;
}

static status driver_alloc(struct device *d, void **mem, size_t n_bytes, struct err *err)
{
    return gpu_of(d)->api->alloc(gpu_of(d), mem, n_bytes, err);
}

static void driver_free(struct device *d, void *mem)
{
    if (mem)
        gpu_of(d)->api->free(gpu_of(d), mem);
}

static status driver_reserve_attention(struct device *d, size_t head_width,
                                       size_t max_len, struct err *err)
{
    const struct gpu *g = d->state;
    const size_t most = g->head_max ? g->head_max : HEAD_MAX;

    (void)max_len;
    if (head_width <= most)
        return OK;
    return err_set(
        err, ERR_USAGE,
        "d_model / heads = %zu: %.60s has heads up to %zu wide; use more heads, "
        "or device = cpu",
        head_width, d->name, most);
}

static void driver_copy_in(struct device *d, void *mem, size_t at, const void *host,
                           size_t n_bytes)
{
    if (n_bytes)
        gpu_of(d)->api->copy_in(gpu_of(d), mem, at, host, n_bytes);
}

static void driver_copy_out(struct device *d, void *host, void *mem, size_t at,
                            size_t n_bytes)
{
    if (n_bytes)
        gpu_of(d)->api->copy_out(gpu_of(d), host, mem, at, n_bytes);
}

void gpu_deliver(struct gpu *g)
{
    const size_t n = g->n_numbers;
    double doubles[GPU_NUMBERS];
    float floats[GPU_NUMBERS];

    g->n_numbers = 0;
    if (!n)
        return;
    const bool is_wide = g->wide_bytes == sizeof *doubles;
    g->api->copy_out(g, is_wide ? (void *)doubles : (void *)floats, g->parts,
                     GPU_PARTS * g->wide_bytes, n * g->wide_bytes);
    for (size_t i = 0; i < n; i++)
        *g->number[i] = is_wide ? doubles[i] : (double)floats[i];
}

static status driver_sync(struct device *d, struct err *err)
{
    struct gpu *g = gpu_of(d);

    gpu_deliver(g);
    g->api->wait(g);
    if (g->failure.code == OK)
        return OK;
    *err = g->failure;
    return err->code;
}

static size_t driver_free_bytes(struct device *d)
{
    return gpu_of(d)->api->free_bytes(gpu_of(d));
}

static bool driver_usage(struct device *d, struct device_usage *u)
{
    struct gpu *g = gpu_of(d);

    return g->api->usage && g->api->usage(g, u);
}

const struct device_driver gpu_driver = {
    .close = driver_close,
    .alloc = driver_alloc,
    .free = driver_free,
    .reserve_attention = driver_reserve_attention,
    .copy_in = driver_copy_in,
    .copy_out = driver_copy_out,
    .sync = driver_sync,
    .free_bytes = driver_free_bytes,
    .usage = driver_usage,
};
