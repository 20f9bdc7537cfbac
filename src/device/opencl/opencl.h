/*
 * opencl - GPUs of any vendor, and CPUs through PoCL.
 *
 * Kernels are those of device/gpu, compiled by the driver at start and kept in
 * $XDG_CACHE_HOME/ferry; products are CLBlast's on a GPU where it is installed. The first
 * GPU of any platform is taken (of several, the one with the number of the local rank),
 * without one an accelerator or a CPU. FERRY_OPENCL=TEXT takes the first device whose
 * name holds TEXT.
 */
#pragma once

#include "device/device.h"

struct str;

/* ERR_DEVICE when there is no OpenCL device. */
status opencl_open(struct device *d, struct device_options options, struct err *err);

/* Whether there is a GPU. The loader is asked only where a driver other than PoCL's is
 * installed: it starts them all, and PoCL takes 50 ms. */
bool opencl_has_gpu(void);

/* Append a line for each device that there is, and whether CLBlast is installed. */
void opencl_describe(struct str *out);
