/*
 * cuda - NVIDIA cards through the driver API.
 *
 * Kernels are those of device/gpu, compiled by nvcc when Ferry is built and carried in
 * the binary (FERRY_CUDA_IMAGE=DIR takes fp32.fatbin, fp16.fatbin and bf16.fatbin from
 * there instead); products are cuBLASLt's. Libraries are opened at run time, so that the
 * program starts without a card. Kernels and products use one stream, transfers another;
 * the two are ordered by events alone. A process uses one card, that of its local rank.
 */
#pragma once

#include "device/device.h"

struct str;

/* ERR_DEVICE when there is no driver, no card, or no kernels for it in this build. */
status cuda_open(struct device *d, struct device_options options,
                 struct err *err) MUST_CHECK;

/* Whether NVIDIA's driver is installed. */
bool cuda_has_driver(void);

/* Append a line for each card, or one that says what is missing. */
void cuda_describe(struct str *out);
