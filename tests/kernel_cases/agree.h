/*
 * agree - a kernel against its reference, on every device, layout and thread count.
 *
 * Results are near the reference's; whatever is not a result keeps every bit; and unless
 * the case says otherwise, results are the same bits on one, two and three threads.
 */
#pragma once

#include "kernel_cases/rig.h"
#include "standin/fibre_device.h"

enum { AGREE_THREADS = 3 };

static inline bool agree_near(double got, double want, double tolerance)
{
    return got == want || fabs(got - want) <= tolerance * (1 + fabs(want));
}

/* `before` is what the kernel was given, `want` what the reference made of it. */
static inline void agree_check(const struct rig *rig, const struct sheet *before,
                               const struct sheet *want, const char *where)
{
    const struct kernel_case *k = before->k;
    const size_t bytes = rig->device->real_bytes;
    const double loose = k->tolerance > 0 ? k->tolerance : 1e-5;
    const double tolerance = bytes == sizeof(double) ? 1e-12 : loose;

    for (size_t e = 0; e < rig->n; e++) {
        const double got = reals_get(rig->device, rig->after, e), ref = want->real[e];
        const bool same = memcmp((char *)rig->after + e * bytes,
                                 (char *)rig->before + e * bytes, bytes) == 0;
        const bool good = before->may_change[e] ? agree_near(got, ref, tolerance) : same;
        if (!good)
            test_fail(__FILE__, __LINE__, "%s, %s: element %zu, %s, is %.9g, want %.9g",
                      k->kernel, where, e, sheet_name(before, e), got, ref);
    }
    for (size_t i = 0; i < rig->n_list; i++)
        if (rig->list_after[i] != want->list[i])
            test_fail(__FILE__, __LINE__, "%s, %s: list element %zu is %d, want %d",
                      k->kernel, where, i, rig->list_after[i], want->list[i]);
}

/* Every device that there is, CPUs on one thread and on more; without an OpenCL device
 * that one is left out, which test_opencl.c says aloud. */
struct agree_devices {
    struct device kind[N_RIG_KINDS][AGREE_THREADS];
    struct device fibres, opencl;
    bool has_opencl;
};

static inline void agree_open(struct agree_devices *all)
{
    for (size_t kind = 0; kind < N_RIG_KINDS; kind++)
        for (size_t t = 0; t < AGREE_THREADS; t++)
            reals_device(&all->kind[kind][t], rig_kinds[kind], t + 1);
    struct err err;
    CHECK_OK(fibre_device_open(&all->fibres, PRECISION_FP32, &err), &err);
    all->has_opencl =
        device_open(&all->opencl, "opencl", (struct device_options){0}, &err) == OK;
}

static inline void agree_close(struct agree_devices *all)
{
    for (size_t kind = 0; kind < N_RIG_KINDS; kind++)
        for (size_t t = 0; t < AGREE_THREADS; t++)
            device_close(&all->kind[kind][t]);
    device_close(&all->fibres);
    device_close(&all->opencl);
}

/* One shape and layout on n devices of one kind, which differ in their threads. */
static inline void agree_on(struct device *devices, size_t n, const struct sheet *before,
                            const struct sheet *want, const char *where)
{
    void *first = NULL; /* the block after the run on one thread */

    for (size_t t = 0; t < n; t++) {
        struct device *d = &devices[t];
        struct rig rig;
        char text[200];

        rig_open(&rig, d, before);
        snprintf(text, sizeof text, "%s, %s", where, d->name);
        before->k->run(d, &rig.args);
        rig_store(&rig);
        agree_check(&rig, before, want, text);
        const size_t bytes = rig.n * d->real_bytes;
        if (t == 0)
            first = memcpy(malloc(bytes + 1), rig.after, bytes);
        else if (memcmp(first, rig.after, bytes) != 0)
            test_fail(__FILE__, __LINE__, "%s, %s: other bits than on one thread",
                      before->k->kernel, text);
        rig_close(&rig);
    }
    free(first);
}

static inline void agree_shape(struct agree_devices *all, const struct kernel_case *k,
                               size_t i, enum layout layout)
{
    struct sheet before, want;
    char where[80];

    snprintf(where, sizeof where, "shape %zu, layout %d", i, (int)layout);
    sheet_open(&before, k, &k->shape[i], layout);
    if (k->forward_reference)
        k->forward_reference(NULL, &before.args);
    sheet_open(&want, k, &k->shape[i], layout);
    memcpy(want.real, before.real, before.n * sizeof *before.real);
    k->reference(NULL, &want.args);
    for (size_t kind = 0; kind < N_RIG_KINDS; kind++)
        agree_on(all->kind[kind], AGREE_THREADS, &before, &want, where);
    agree_on(&all->fibres, 1, &before, &want, where);
    if (all->has_opencl)
        agree_on(&all->opencl, 1, &before, &want, where);
    sheet_close(&before);
    sheet_close(&want);
}

static inline void case_agree(const struct kernel_case *k)
{
    struct agree_devices all;

    agree_open(&all);
    for (size_t i = 0; i < CASE_SHAPES && k->shape[i].q[0]; i++)
        for (int layout = 0; layout < N_LAYOUTS; layout++)
            agree_shape(&all, k, i, (enum layout)layout);
    agree_close(&all);
}
