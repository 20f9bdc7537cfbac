/*
 * rig - a sheet's copy on a device, in the device's width.
 *
 * Owns: memory on the device and two host copies of the block. Borrows: the device.
 */
#pragma once

#include "kernel_cases/sheet.h"
#include "reals.h"

struct rig {
    struct device *device;
    struct args args; /* over device memory */
    void *mem, *list; /* on the device */
    size_t n, n_list;
    void *before, *after; /* [n] reals of the device */
    int32_t *list_after;
};

static const char *const rig_kinds[] = {"cpu", "cpu-avx2", "cpu-plain", "double"};
enum { N_RIG_KINDS = sizeof rig_kinds / sizeof *rig_kinds };

static inline struct mat rig_block(const struct rig *rig)
{
    return (struct mat){rig->mem, 0, 1, rig->n, rig->n};
}

static inline void rig_load(struct rig *rig, const struct sheet *s)
{
    device_upload(rig->device, rig_block(rig), rig->before);
    device_upload_ids(rig->device, (struct ids){rig->list, 0, rig->n_list}, s->list);
}

static inline void rig_store(struct rig *rig)
{
    struct err err;

    CHECK_OK(device_sync(rig->device, &err), &err);
    device_download(rig->device, rig->after, rig_block(rig));
    device_download_ids(rig->device, rig->list_after,
                        (struct ids){rig->list, 0, rig->n_list});
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
    rig_load(rig, s);
}

static inline void rig_close(struct rig *rig)
{
    device_free(rig->device, rig->mem);
    device_free(rig->device, rig->list);
    free(rig->before);
    free(rig->after);
    free(rig->list_after);
    *rig = (struct rig){0};
}
