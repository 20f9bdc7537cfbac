/*
 * doctor_kernels - every kernel on a device and on the CPU, from the same numbers, in
 * every precision and with heads of every width.
 */
#pragma once

#include "base/err.h"
#include "device/device.h"

enum { DOCTOR_PRECISIONS = 3 };

/* By precision: the largest |device - cpu| / (1 + |cpu|) of anything that the kernel
 * wrote, and in which tensor that is. */
struct doctor_gap {
    double gap[DOCTOR_PRECISIONS];
    const char *where[DOCTOR_PRECISIONS];
};

/* Told of every case. Width 0: it has no heads; g NULL: the device has none so wide. */
typedef void doctor_kernels_fn(const char *name, size_t width,
                               const struct doctor_gap *g);

status doctor_kernels(const char *device, doctor_kernels_fn *tell,
                      struct err *err) MUST_CHECK;
