/* The table of one storage: PROGRAM is its name, STORAGE its type. */
#ifndef PROGRAM
#define PROGRAM program_float
#endif

#include "device/gpu/program.h"
#include "standin/program.h"

#define P(i) (*(void **)params[i])
#define B1   P(0)
#define B2   B1, P(1)
#define B3   B2, P(2)
#define B4   B3, P(3)
#define B5   B4, P(4)
#define B6   B5, P(5)
#define B7   B6, P(6)
#define B8   B7, P(7)
#define B9   B8, P(8)
#define B10  B9, P(9)
#define B11  B10, P(10)
#define B12  B11, P(11)

#define G(name, n, args)                             \
    static void run_##name(void **params)            \
    {                                                \
        name(B##n, *(const struct args *)params[n]); \
    }
GPU_KERNEL_LIST(G)
#undef G

const struct program_kernel PROGRAM[] = {
#define G(name, n, args) {#name, run_##name, n, sizeof(struct args)},
    GPU_KERNEL_LIST(G)
#undef G
};
