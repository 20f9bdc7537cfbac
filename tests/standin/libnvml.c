/*
 * A stand-in for libnvidia-ml.so.1: the sensors of cards that are always half busy, or,
 * with FERRY_STANDIN_NVML=waiting, always busy with next to nothing. With "old" the
 * clocks are not to be had, as on some cards.
 */
#include <stdlib.h>
#include <string.h>

#include "device/cuda/nvml.h"

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6 };

struct nvmlDevice_st {
    int unused;
};

#define API __attribute__((visibility("default"))) unsigned
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static bool is_begun;

static bool is_said(const char *what)
{
    const char *said = getenv("FERRY_STANDIN_NVML");

    return said && strcmp(said, what) == 0;
}

API nvmlInit_v2(void)
{
    is_begun = true;
    return 0;
}

API nvmlDeviceGetHandleByPciBusId_v2(const char *bus, struct nvmlDevice_st **card)
{
    static struct nvmlDevice_st one;

    *card = &one;
    return is_begun && strncmp(bus, "00000000:0", 10) == 0 ? 0 : NOT_FOUND;
}

API nvmlDeviceGetUtilizationRates(struct nvmlDevice_st *card, struct nvml_rates *rates)
{
    (void)card;
    *rates = (struct nvml_rates){is_said("waiting") ? 100 : 50, 20};
    return 0;
}

API nvmlDeviceGetPowerUsage(struct nvmlDevice_st *card, unsigned *mw)
{
    (void)card;
    *mw = is_said("waiting") ? 60000 : 123456;
    return 0;
}

API nvmlDeviceGetEnforcedPowerLimit(struct nvmlDevice_st *card, unsigned *mw)
{
    (void)card;
    *mw = 250000;
    return 0;
}

API nvmlDeviceGetMemoryInfo(struct nvmlDevice_st *card, struct nvml_memory *memory)
{
    (void)card;
    *memory = (struct nvml_memory){16ULL << 30, 12ULL << 30, 4ULL << 30};
    return 0;
}

API nvmlDeviceGetClockInfo(struct nvmlDevice_st *card, unsigned which, unsigned *mhz)
{
    (void)card;
    *mhz = 1380;
    return is_said("old") ? NOT_SUPPORTED : which != NVML_OF_PROCESSORS;
}

API nvmlDeviceGetMaxClockInfo(struct nvmlDevice_st *card, unsigned which, unsigned *mhz)
{
    (void)card;
    *mhz = 1530;
    return is_said("old") ? NOT_SUPPORTED : which != NVML_OF_PROCESSORS;
}
