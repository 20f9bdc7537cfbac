/*
 * reals - matrices on a device of any width, written and read as doubles by tests.
 *
 * Owns: nothing; a matrix made here is given back with reals_free.
 */
#pragma once

#include <stdlib.h>

#include "device/device.h"
#include "test.h"

extern const struct kernels cpu_f64_kernels;

/* kind: as device_open, or "double". Scratch begins as NaN, so that a kernel that
 * trusts it spoils its result. */
static inline void reals_device(struct device *d, const char *kind, size_t threads)
{
    const struct device_options options = {.threads = threads};
    struct err err;

    if (strcmp(kind, "double") == 0)
        CHECK_OK(
            device_open_cpu(d, &cpu_f64_kernels, kind, sizeof(double), options, &err),
            &err);
    else
        CHECK_OK(device_open(d, kind, options, &err), &err);
    if (d->scratch)
        memset(d->scratch, 0xff, d->scratch_bytes * threads);
}

/* Element e of a host block in the device's width. */
static inline double reals_get(const struct device *d, const void *block, size_t e)
{
    return d->real_bytes == sizeof(double) ? ((const double *)block)[e]
                                           : (double)((const float *)block)[e];
}

static inline void reals_put(const struct device *d, void *block, size_t e, double x)
{
    if (d->real_bytes == sizeof(double))
        ((double *)block)[e] = x;
    else
        ((float *)block)[e] = (float)x;
}

static inline void reals_write(struct device *d, struct mat m, const double *values)
{
    void *host = malloc(m.rows * m.cols * d->real_bytes);

    for (size_t i = 0; i < m.rows * m.cols; i++)
        reals_put(d, host, i, values[i]);
    device_upload(d, m, host);
    free(host);
}

static inline void reals_read(struct device *d, double *values, struct mat m)
{
    void *host = malloc(m.rows * m.cols * d->real_bytes);

    device_download(d, host, m);
    for (size_t i = 0; i < m.rows * m.cols; i++)
        values[i] = reals_get(d, host, i);
    free(host);
}

/* A dense matrix of these values; NULL: zeros. */
static inline struct mat reals_mat(struct device *d, size_t rows, size_t cols,
                                   const double *values)
{
    struct mat m = {.rows = rows, .cols = cols, .stride = cols};
    struct err err;

    CHECK_OK(device_alloc(d, &m.mem, rows * cols * d->real_bytes, &err), &err);
    if (values)
        reals_write(d, m, values);
    return m;
}

static inline struct mat reals_filled(struct device *d, size_t rows, size_t cols,
                                      double value)
{
    const struct mat m = reals_mat(d, rows, cols, NULL);

    d->k->fill(d, m, value);
    return m;
}

static inline struct ids reals_ids(struct device *d, size_t n, const int32_t *values)
{
    struct ids x = {NULL, 0, n};
    struct err err;

    CHECK_OK(device_alloc(d, &x.mem, n * sizeof *values, &err), &err);
    device_upload_ids(d, x, values);
    return x;
}
