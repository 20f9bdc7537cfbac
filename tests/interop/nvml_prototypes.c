/* What device/cuda/nvml.h says of NVML's functions and structs is what NVIDIA's nvml.h
 * says: compiled by nvml.sh, never run. */
#include <nvml.h>
#include <stddef.h>

#include "device/cuda/nvml.h"

#define TYPES_ARE_SAME(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))

/* Enums are unsigned to the compiler; structs of theirs are compared below. */
#define V(name, args)                                            \
    _Static_assert(TYPES_ARE_SAME(&(name), (unsigned(*) args)0), \
                   #name " has another prototype");
#define nvml_rates  nvmlUtilization_st
#define nvml_memory nvmlMemory_st
NVML_LIST(V)
#undef nvml_rates
#undef nvml_memory

#define FIELD(ours, theirs, name)                                                   \
    _Static_assert(TYPES_ARE_SAME(((struct ours *)0)->name, ((theirs *)0)->name) && \
                       offsetof(struct ours, name) == offsetof(theirs, name),       \
                   #theirs "." #name);
FIELD(nvml_rates, nvmlUtilization_t, gpu)
FIELD(nvml_rates, nvmlUtilization_t, memory)
FIELD(nvml_memory, nvmlMemory_t, total)
FIELD(nvml_memory, nvmlMemory_t, free)
FIELD(nvml_memory, nvmlMemory_t, used)
_Static_assert(sizeof(struct nvml_rates) == sizeof(nvmlUtilization_t), "rates");
_Static_assert(sizeof(struct nvml_memory) == sizeof(nvmlMemory_t), "memory");
_Static_assert((int)NVML_OF_PROCESSORS == (int)NVML_CLOCK_SM, "which clock");
_Static_assert(NVML_SUCCESS == 0, "success");
