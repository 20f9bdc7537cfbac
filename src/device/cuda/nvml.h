/*
 * nvml - what a card says of itself: use, power, memory, clocks.
 *
 * libnvidia-ml comes with the driver and is opened at run time; without it usage is
 * unknown. The prototypes are written here, and compared with NVIDIA's header where
 * that is installed (tests/standin/cuda_prototypes.c). Enums of theirs are unsigned here.
 *
 * Owns: nothing that is ever given back. Threads: one at a time.
 */
#pragma once

#include "device/device.h"

struct nvmlDevice_st;

/* nvmlUtilization_t, in percent of the last moment; nvmlMemory_t, in bytes */
struct nvml_rates {
    unsigned gpu, memory;
};
struct nvml_memory {
    unsigned long long total, free, used;
};

/* name, arguments; each gives an unsigned, 0 for success */
/* clang-format off */
#define NVML_LIST(V)                                                                   \
    V(nvmlInit_v2, (void))                                                             \
    V(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, struct nvmlDevice_st **card)) \
    V(nvmlDeviceGetUtilizationRates, (struct nvmlDevice_st *card, struct nvml_rates *rates)) \
    V(nvmlDeviceGetPowerUsage, (struct nvmlDevice_st *card, unsigned *mw))             \
    V(nvmlDeviceGetEnforcedPowerLimit, (struct nvmlDevice_st *card, unsigned *mw))     \
    V(nvmlDeviceGetMemoryInfo, (struct nvmlDevice_st *card, struct nvml_memory *memory)) \
    V(nvmlDeviceGetClockInfo, (struct nvmlDevice_st *card, unsigned which, unsigned *mhz)) \
    V(nvmlDeviceGetMaxClockInfo, (struct nvmlDevice_st *card, unsigned which, unsigned *mhz))
/* clang-format on */

enum { NVML_OF_PROCESSORS = 1 }; /* which clock */

#define NVML_MEMBER(name, args) unsigned(*name) args;
struct nvml {
    NVML_LIST(NVML_MEMBER)
};

/* The card on this bus ("00000000:3B:00.0", as the driver writes it); NULL: no library,
 * or it does not know the card. */
struct nvmlDevice_st *nvml_open(const char *bus);

/* What it does not tell stays NAN. */
struct device_usage nvml_read(struct nvmlDevice_st *card);
