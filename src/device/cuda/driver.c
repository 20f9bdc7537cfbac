#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "base/symbol.h"

static void *open_first(const char *const *names)
{
    void *so = NULL;

    for (; *names && !so; names++)
        so = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    return so;
}

status driver_open(const struct driver **d, struct err *err)
{
    static const char *const cuda_names[] = {"libcuda.so.1", NULL};
    static const char *const blas_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                             "libcublasLt.so", NULL};
    static struct driver driver;
    static bool is_open;

    *d = &driver;
    if (is_open)
        return OK;
    void *cuda = open_first(cuda_names);
    if (!cuda)
        return err_set(
            err, ERR_DEVICE,
            "device = cuda: no NVIDIA driver here (libcuda.so.1); use device = "
            "cpu or opencl");
    void *blas = open_first(blas_names);
    if (!blas)
        return err_set(err, ERR_DEVICE,
                       "device = cuda: the driver is there, but not cuBLASLt "
                       "(libcublasLt.so.13 or .12); install it or add it to "
                       "LD_LIBRARY_PATH");
#define D(name, args)                          \
    if (!symbol_load(so, #name, &driver.name)) \
        return err_set(err, ERR_DEVICE, "device = cuda: %s lacks %s", lib, #name);
    void *so = cuda;
    const char *lib = "libcuda.so.1";
    DRIVER_CUDA_LIST(D)
    so = blas;
    lib = "libcublasLt";
    DRIVER_BLAS_LIST(D)
#undef D
    is_open = true;
    return OK;
}
