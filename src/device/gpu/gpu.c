#include "device/gpu/gpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 4096 }; /* as wide as all shares of their sums fit */

#define NAME(name, n, args) #name,
const char *const gpu_kernel_names[N_GPU_KERNELS] = {GPU_KERNEL_LIST(NAME)};

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

void gpu_close(struct gpu *g)
{
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
                         .gpu = g};
    snprintf(d->name, sizeof d->name, "%s", name);
    g->columns_bytes = (size_t)3 * GPU_SHARES * COLUMNS * sizeof(float);
    if (g->api->alloc(g, &g->parts, (GPU_PARTS + GPU_NUMBERS) * g->wide_bytes, err) !=
            OK ||
        g->api->alloc(g, &g->columns, g->columns_bytes, err) != OK) {
        device_close(d);
        return err->code;
    }
    return OK;
}

status gpu_check_head(const struct gpu *g, size_t head_width, const char *name,
                      struct err *err)
{
    const size_t most = g->head_max ? g->head_max : HEAD_MAX;

    if (head_width <= most)
        return OK;
    return err_set(err, ERR_USAGE,
                   "d_model / heads = %zu: %.60s has heads up to %zu wide; use more "
                   "heads, or device = cpu",
                   head_width, name, most);
}

void gpu_copy_in(struct gpu *g, void *mem, size_t at, const void *host, size_t n_bytes)
{
    const size_t most = g->pinned ? GPU_PINNED / 4 : n_bytes;

    for (size_t done = 0; done < n_bytes && g->failure.code == OK;) {
        const size_t n = n_bytes - done < most ? n_bytes - done : most;
        const char *from = (const char *)host + done;
        if (g->pinned) {
            if (g->pinned_used + n > GPU_PINNED)
                g->api->wait_uploads(g);
            from = memcpy(g->pinned + g->pinned_used, from, n);
            g->pinned_used += (n + 63) / 64 * 64;
        }
        g->api->upload(g, mem, at + done, from, n);
        done += n;
    }
}

void gpu_copy_out(struct gpu *g, void *host, void *mem, size_t at, size_t n_bytes)
{
    if (n_bytes && g->failure.code == OK)
        g->api->download(g, host, mem, at, n_bytes);
    if (g->failure.code != OK)
        memset(host, 0, n_bytes);
}

void gpu_deliver(struct gpu *g)
{
    const size_t n = g->n_numbers;
    double doubles[GPU_NUMBERS] = {0};
    float floats[GPU_NUMBERS] = {0};

    g->n_numbers = 0;
    if (!n)
        return;
    const bool is_wide = g->wide_bytes == sizeof *doubles;
    gpu_copy_out(g, is_wide ? (void *)doubles : (void *)floats, g->parts,
                 GPU_PARTS * g->wide_bytes, n * g->wide_bytes);
    for (size_t i = 0; i < n; i++)
        *g->number[i] = is_wide ? doubles[i] : (double)floats[i];
}

status gpu_sync(struct gpu *g, struct err *err)
{
    gpu_deliver(g);
    g->api->wait(g);
    if (g->failure.code == OK)
        return OK;
    *err = g->failure;
    return err->code;
}
