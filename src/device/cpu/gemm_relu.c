/*
 * h = max(a b + bias, 0): a product and what follows it where no gradient is wanted. Here
 * one after the other; some libraries do both in one pass.
 */
#include "device/cpu/cpu.h"

void CPU(gemm_relu)(struct device *d, struct mat h, struct mat a, struct mat b,
                    struct mat bias)
{
    CPU(gemm)(d, h, a, b, false, false, 1, 0);
    CPU(relu_forward)(d, h, bias, (struct drop){0});
}
