#include "device/cuda/nvml.h"

#include <dlfcn.h>
#include <math.h>

#include "base/os.h"

static struct nvml nvml;
static bool is_open;

static bool open_library(void)
{
    void *so = is_open ? NULL : dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_GLOBAL);
    bool has_all = so;

    if (is_open || !so)
        return is_open;
#define V(name, args) has_all = has_all && os_symbol(so, #name, &nvml.name);
    NVML_LIST(V)
#undef V
    is_open = has_all && nvml.nvmlInit_v2() == 0;
    return is_open;
}

struct nvmlDevice_st *nvml_open(const char *bus)
{
    struct nvmlDevice_st *card = NULL;

    if (!open_library() || nvml.nvmlDeviceGetHandleByPciBusId_v2(bus, &card))
        return NULL;
    return card;
}

static double known(unsigned code, double value)
{
    return code ? (double)NAN : value;
}

struct device_usage nvml_read(struct nvmlDevice_st *card)
{
    const double mib = 1048576;
    struct nvml_rates rates = {0};
    struct nvml_memory memory = {0};
    unsigned x = 0, code;
    struct device_usage u;

    code = nvml.nvmlDeviceGetUtilizationRates(card, &rates);
    u.busy = known(code, (double)rates.gpu / 100);
    code = nvml.nvmlDeviceGetPowerUsage(card, &x);
    u.power_w = known(code, (double)x / 1000);
    code = nvml.nvmlDeviceGetEnforcedPowerLimit(card, &x);
    u.power_limit_w = known(code, (double)x / 1000);
    code = nvml.nvmlDeviceGetMemoryInfo(card, &memory);
    u.memory_mib = known(code, (double)memory.used / mib);
    u.memory_all_mib = known(code, (double)memory.total / mib);
    code = nvml.nvmlDeviceGetClockInfo(card, NVML_OF_PROCESSORS, &x);
    u.clock_mhz = known(code, x);
    code = nvml.nvmlDeviceGetMaxClockInfo(card, NVML_OF_PROCESSORS, &x);
    u.clock_max_mhz = known(code, x);
    return u;
}
