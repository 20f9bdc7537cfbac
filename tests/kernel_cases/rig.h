/*
 * rig - a sheet's copy on a device, in the device's width.
 *
 * In mixed precision there are two copies, one of reals and one in 16 bits, and each
 * operand is in one of them, at its place in the sheet.
 *
 * Owns: memory on the device and host copies of the blocks. Borrows: the device.
 */
#pragma once

#include "kernel_cases/sheet.h"
#include "reals.h"

struct rig {
    struct device *device;
    struct args args;        /* over device memory */
    void *mem, *half, *list; /* on the device; half: in mixed precision only */
    size_t n, n_list;
    void *before, *after;           /* [n] reals of the device */
    void *half_before, *half_after; /* [n] as the device stores 16 bits */
    int32_t *list_after;
};

static const char *const rig_kinds[] = {"cpu", "cpu-avx512", "cpu-avx2", "cpu-plain",
                                        "double"};
enum { N_RIG_KINDS = sizeof rig_kinds / sizeof *rig_kinds };

/* Element e of a host copy of the 16-bit block; on a CPU it is an emulated one. */
static inline double rig_half(const struct device *d, const void *block, size_t e)
{
    if (d->half_bytes == d->real_bytes)
        return reals_get(d, block, e);
    const uint16_t h = ((const uint16_t *)block)[e];
    return (double)(d->precision == PRECISION_FP16 ? half_to(h) : half_to_b(h));
}

static inline void rig_put_half(const struct device *d, void *block, size_t e, double x)
{
    if (d->half_bytes == d->real_bytes)
        reals_put(d, block, e, x);
    else
        ((uint16_t *)block)[e] =
            d->precision == PRECISION_FP16 ? half_from((float)x) : half_from_b((float)x);
}

static inline struct mat rig_block(const struct rig *rig, enum mat_type type)
{
    return (struct mat){
        type == MAT_HALF ? rig->half : rig->mem, 0, 1, rig->n, rig->n, type};
}

static inline void rig_load(struct rig *rig, const struct sheet *s)
{
    device_upload(rig->device, rig_block(rig, MAT_REAL), rig->before);
    if (rig->half)
        device_upload(rig->device, rig_block(rig, MAT_HALF), rig->half_before);
    device_upload_ids(rig->device, (struct ids){rig->list, 0, rig->n_list}, s->list);
}

static inline void rig_store(struct rig *rig)
{
    struct err err;

    CHECK_OK(device_sync(rig->device, &err), &err);
    device_download(rig->device, rig->after, rig_block(rig, MAT_REAL));
    if (rig->half)
        device_download(rig->device, rig->half_after, rig_block(rig, MAT_HALF));
    device_download_ids(rig->device, rig->list_after,
                        (struct ids){rig->list, 0, rig->n_list});
}

static inline void rig_open_half(struct rig *rig, const struct sheet *s)
{
    struct device *d = rig->device;
    struct err err;

    CHECK_OK(device_alloc(d, &rig->half, s->n * d->half_bytes, &err), &err);
    rig->half_before = malloc(s->n * d->half_bytes);
    rig->half_after = malloc(s->n * d->half_bytes);
    for (size_t e = 0; e < s->n; e++)
        rig_put_half(d, rig->half_before, e, s->real[e]);
    for (int o = 1; o < CASE_OPS; o++)
        if (s->k->op[o].half && rig->args.m[o].mem) {
            rig->args.m[o].mem = rig->half;
            rig->args.m[o].type = MAT_HALF;
        }
}

static inline void rig_open(struct rig *rig, struct device *d, const struct sheet *s)
{
    struct err err;

    *rig = (struct rig){.device = d, .args = s->args, .n = s->n, .n_list = s->n_list};
    CHECK_OK(device_alloc(d, &rig->mem, s->n * d->real_bytes, &err), &err);
    CHECK_OK(device_alloc(d, &rig->list, s->n_list * sizeof(int32_t), &err), &err);
    rig->before = malloc(s->n * d->real_bytes);
    rig->after = malloc(s->n * d->real_bytes);
    rig->list_after = malloc(s->n_list * sizeof *rig->list_after);
    for (size_t e = 0; e < s->n; e++)
        reals_put(d, rig->before, e, s->real[e]);
    for (int o = 1; o < CASE_OPS; o++)
        rig->args.m[o].mem = s->args.m[o].rows ? rig->mem : NULL;
    for (int l = 0; l < N_LISTS; l++)
        rig->args.list[l].mem = rig->list;
    if (d->precision != PRECISION_FP32)
        rig_open_half(rig, s);
    rig_load(rig, s);
}

static inline void rig_close(struct rig *rig)
{
    device_free(rig->device, rig->mem);
    device_free(rig->device, rig->list);
    if (rig->half)
        device_free(rig->device, rig->half);
    free(rig->before);
    free(rig->after);
    free(rig->half_before);
    free(rig->half_after);
    free(rig->list_after);
    *rig = (struct rig){0};
}
