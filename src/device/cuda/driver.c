#include "device/cuda/driver.h"

#include <dlfcn.h>

#include "base/os.h"

#define FIND(name, args)                 \
    if (!os_symbol(so, #name, &d->name)) \
        return err_set(err, ERR_DEVICE, "device = cuda: %s lacks %s", lib, #name);

static status load_cuda(struct driver *d, struct err *err)
{
    static const char lib[] = "libcuda.so.1";
    void *so = dlopen(lib, RTLD_NOW | RTLD_GLOBAL);

    if (!so)
        return err_set(err, ERR_DEVICE,
                       "device = cuda: no NVIDIA driver here (libcuda.so.1); use device "
                       "= cpu or opencl");
    DRIVER_CUDA_LIST(FIND)
    return OK;
}

/* P100 and V100, which cuBLASLt 13 has left behind: is one of them here? */
static bool has_old_card(const struct driver *d)
{
    int n = 0, card, major, minor;

    if (d->cuInit(0) || d->cuDeviceGetCount(&n))
        return false;
    for (int i = 0; i < n; i++)
        if (!d->cuDeviceGet(&card, i) &&
            !d->cuDeviceGetAttribute(&major, DRIVER_CC_MAJOR, card) &&
            !d->cuDeviceGetAttribute(&minor, DRIVER_CC_MINOR, card) &&
            10 * major + minor < 75)
            return true;
    return false;
}

static status load_blas(struct driver *d, struct err *err)
{
    static const char *const names[][3] = {
        {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"},
        {"libcublasLt.so.12", "libcublasLt.so.13", "libcublasLt.so"}};
    const char *const *name = names[has_old_card(d)], *lib = NULL;
    void *so = NULL;

    for (int i = 0; i < 3 && !so; i++) {
        lib = name[i];
        so = dlopen(lib, RTLD_NOW | RTLD_GLOBAL);
    }
    if (!so)
        return err_set(err, ERR_DEVICE,
                       "device = cuda: the driver is there, but not cuBLASLt "
                       "(libcublasLt.so.13 or .12); install it or add it to "
                       "LD_LIBRARY_PATH");
    DRIVER_BLAS_LIST(FIND)
    return OK;
}

bool driver_is_here(void)
{
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
}

status driver_open(const struct driver **d, struct err *err)
{
    static struct driver driver;
    static bool is_open;

    *d = &driver;
    if (is_open)
        return OK;
    TRY(load_cuda(&driver, err));
    TRY(load_blas(&driver, err));
    is_open = true;
    return OK;
}
