#pragma GCC diagnostic ignored \
    "-Wdeprecated-declarations" /* queues as OpenCL 1.2 has them */
#include "device/opencl/library.h"

#include <dlfcn.h>

#include "base/os.h"

status library_open(const struct library **l, struct err *err)
{
    static struct library library;

    *l = &library;
    if (library.clGetPlatformIDs)
        return OK;
    void *so = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!so)
        return err_set(err, ERR_DEVICE,
                       "device = opencl: no OpenCL loader here (libOpenCL.so.1); install "
                       "your card's driver, or use device = cpu");
#define L(name)                                                                       \
    if (!os_symbol(so, #name, &library.name))                                         \
        return err_set(err, ERR_DEVICE,                                               \
                       "device = opencl: libOpenCL.so.1 has no %s; it is older than " \
                       "OpenCL 1.2",                                                  \
                       #name);
    LIBRARY_LIST(L)
#undef L
    void *blast = dlopen("libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!blast || !os_symbol(blast, "CLBlastSgemm", &library.sgemm))
        library.sgemm = NULL;
    return OK;
}
