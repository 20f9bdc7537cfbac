#include "infer/kernel/kernel.h"

#define TEXT(x)            #x
#define NAME(x)            TEXT(x)
#define MEMBER(name, args) .name = KERNEL(name),

void KERNEL(multiply)(float *c, size_t ldc, const struct kernels_input *a,
                      const struct linear *w, bool relu, size_t first, size_t n,
                      size_t p0, size_t p1)
{
    if (w->type == LINEAR_INT8)
        KERNEL(multiply_int8)(c, ldc, a, w, relu, first, n, p0, p1);
    else
        KERNEL(multiply_float)(c, ldc, a, w, relu, first, n, p0, p1);
}

extern const struct infer_kernels KERNEL(kernels);
const struct infer_kernels KERNEL(kernels) = {.name = NAME(INFER_VARIANT),
                                              INFER_KERNEL_LIST(MEMBER)};
