/*
 * agree - a kernel against its reference, on every device, layout and thread count.
 *
 * Results are near the reference's; whatever is not a result keeps every bit; and unless
 * the case says otherwise, results are the same bits on one, two and three threads. In
 * mixed precision the reference starts from the rounded numbers, and a result that is
 * stored in 16 bits is off by one rounding.
 */
#pragma once

#include "kernel_cases/rig.h"
#include "standin/fibre_device.h"

enum { AGREE_THREADS = 3 };

static inline bool agree_near(double got, double want, double tolerance)
{
    return got == want || fabs(got - want) <= tolerance * (1 + fabs(want));
}

/* How far element e may be from `want`. */
static inline double agree_tolerance(const struct device *d, const struct sheet *s,
                                     size_t e, double want)
{
    const struct operand *op = &s->k->op[s->owner[e]];
    const double loose = s->k->tolerance > 0 ? s->k->tolerance : 1e-5;
    const double whole = 1 + fabs(want);
    const double unit = d->precision == PRECISION_FP16   ? 0x1p-11
                        : d->precision == PRECISION_BF16 ? 0x1p-8
                                                         : 0;

    if (d->real_bytes == sizeof(double) && unit == 0)
        return 1e-12 * whole;
    const double rounding = op->slack > 0 ? op->slack * unit * whole
                            : op->half    ? unit * fabs(want)
                                          : 0;
    return loose * whole + rounding;
}

/* Element e of one of the two blocks: near the reference if it is a result that lives
 * there, otherwise as it was. */
static inline void agree_element(const struct rig *rig, const struct sheet *before,
                                 const struct sheet *want, size_t e, bool in_half,
                                 const char *where)
{
    const struct device *d = rig->device;
    const size_t width = in_half ? d->half_bytes : d->real_bytes;
    const void *block[] = {in_half ? rig->half_before : rig->before,
                           in_half ? rig->half_after : rig->after};
    const bool here = !rig->half || sheet_is_half(before, e) == in_half;
    const double got = in_half ? rig_half(d, block[1], e) : reals_get(d, block[1], e);
    const double ref = want->real[e];
    const bool good =
        before->may_change[e] && here
            ? got == ref || fabs(got - ref) <= agree_tolerance(d, before, e, ref)
            : memcmp((const char *)block[0] + e * width,
                     (const char *)block[1] + e * width, width) == 0;

    if (!good)
        test_fail(__FILE__, __LINE__, "%s, %s: element %zu, %s%s, is %.9g, want %.9g",
                  before->k->kernel, where, e, sheet_name(before, e),
                  here ? "" : " in the other type", got, ref);
}

/* `before` is what the kernel was given, `want` what the reference made of it. */
static inline void agree_check(const struct rig *rig, const struct sheet *before,
                               const struct sheet *want, const char *where)
{
    for (size_t e = 0; e < rig->n; e++) {
        agree_element(rig, before, want, e, false, where);
        if (rig->half)
            agree_element(rig, before, want, e, true, where);
    }
    for (size_t i = 0; i < rig->n_list; i++)
        if (rig->list_after[i] != want->list[i])
            test_fail(__FILE__, __LINE__, "%s, %s: list element %zu is %d, want %d",
                      before->k->kernel, where, i, rig->list_after[i], want->list[i]);
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

/* Every device that there is, CPUs on one thread and on more; without an OpenCL device
 * that one is left out, which test_opencl.c says aloud. */
struct agree_devices {
    enum precision precision;
    struct device kind[N_RIG_KINDS][AGREE_THREADS]; /* of fp32 */
    struct device emulated;                         /* otherwise */
    struct device fibres, opencl;
    bool has_opencl;
};

static inline void agree_open(struct agree_devices *all, enum precision precision)
{
    const struct device_options options = {.threads = 1, .precision = precision};
    struct err err;

    *all = (struct agree_devices){.precision = precision};
    if (precision != PRECISION_FP32) {
        CHECK_OK(device_open(&all->emulated, "cpu", options, &err), &err);
        memset(all->emulated.scratch, 0xff, all->emulated.scratch_bytes);
    } else {
        for (size_t kind = 0; kind < N_RIG_KINDS; kind++)
            for (size_t t = 0; t < AGREE_THREADS; t++)
                reals_device(&all->kind[kind][t], rig_kinds[kind], t + 1);
    }
    CHECK_OK(fibre_device_open(&all->fibres, precision, &err), &err);
    all->has_opencl = device_open(&all->opencl, "opencl", options, &err) == OK;
}

static inline void agree_close(struct agree_devices *all)
{
    for (size_t kind = 0; kind < N_RIG_KINDS; kind++)
        for (size_t t = 0; t < AGREE_THREADS; t++)
            device_close(&all->kind[kind][t]);
    device_close(&all->emulated);
    device_close(&all->fibres);
    device_close(&all->opencl);
}

/* Whether a device has attention for heads of this width. */
static inline bool agree_takes(struct device *d, const struct kernel_case *k,
                               const struct shape *s)
{
    struct err err;

    return !k->has_heads || device_reserve_attention(d, s->cols / s->heads,
                                                     case_longest(s->q), &err) == OK;
}

static inline void agree_shape(struct agree_devices *all, const struct kernel_case *k,
                               size_t i, enum layout layout)
{
    struct sheet before, want;
    char where[80];

    snprintf(where, sizeof where, "shape %zu, layout %d", i, (int)layout);
    sheet_open(&before, k, &k->shape[i], layout);
    sheet_round(&before, all->precision);
    if (k->forward_reference)
        k->forward_reference(NULL, &before.args);
    sheet_round(&before, all->precision);
    sheet_open(&want, k, &k->shape[i], layout);
    memcpy(want.real, before.real, before.n * sizeof *before.real);
    k->reference(NULL, &want.args);
    if (all->precision == PRECISION_FP32)
        for (size_t kind = 0; kind < N_RIG_KINDS; kind++)
            agree_on(all->kind[kind], AGREE_THREADS, &before, &want, where);
    else
        agree_on(&all->emulated, 1, &before, &want, where);
    agree_on(&all->fibres, 1, &before, &want, where);
    if (all->has_opencl && agree_takes(&all->opencl, k, &k->shape[i]))
        agree_on(&all->opencl, 1, &before, &want, where);
    sheet_close(&before);
    sheet_close(&want);
}

/* What is stored does not change where a kernel reads and writes: in 16 bits every shape
 * has one layout, in turn. */
static inline void case_agree(const struct kernel_case *k, enum precision precision)
{
    struct agree_devices all;

    agree_open(&all, precision);
    for (size_t i = 0; i < CASE_SHAPES && k->shape[i].q[0]; i++)
        for (int layout = 0; layout < N_LAYOUTS; layout++)
            if (precision == PRECISION_FP32 || (size_t)layout == i % N_LAYOUTS)
                agree_shape(&all, k, i, (enum layout)layout);
    agree_close(&all);
}
