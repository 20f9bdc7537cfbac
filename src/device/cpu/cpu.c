#include "device/cpu/cpu.h"

extern const struct kernels CPU(kernels);

const struct kernels CPU(kernels) = {
#define K(name, args) .name = CPU(name),
    KERNEL_LIST(K)
#undef K
};
