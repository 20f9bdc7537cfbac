#include "device/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "device/cuda/nvml.h"

/* The fatbins, by precision; made by CMake, of no bytes where nvcc was not found. */
extern const unsigned char cuda_image_fp32[], cuda_image_fp16[], cuda_image_bf16[];
extern const size_t cuda_image_fp32_bytes, cuda_image_fp16_bytes, cuda_image_bf16_bytes;

static struct cuda *cuda_of(struct gpu *g)
{
    return (struct cuda *)g;
}

const char *cuda_error_name(const struct driver *api, unsigned code)
{
    const char *name =
        NULL; /* and it stays so for a code that the driver does not know */

    (void)api->cuGetErrorName(code, &name);
    return name ? name : "an error without a name";
}

void cuda_fail(struct cuda *c, unsigned code, const char *what)
{
    if (code == DRIVER_OUT_OF_MEMORY)
        gpu_fail(&c->gpu, ERR_MEMORY, "device = cuda: %s ran out of memory in %s",
                 c->name, what);
    else
        gpu_fail(&c->gpu, ERR_DEVICE, "device = cuda: %s failed in %s (%s, code %u)",
                 c->name, what, cuda_error_name(c->api, code), code);
}

/* What is queued for transfers from now on comes after all computing so far. */
static void copy_after_compute(struct cuda *c)
{
    if (!c->has_computed)
        return;
    CALL(c, "an event", cuEventRecord(c->computed, c->compute));
    CALL(c, "a wait", cuStreamWaitEvent(c->copy, c->computed, 0));
    c->has_computed = false;
}

/* And the other way round. */
void cuda_compute_after_copy(struct cuda *c)
{
    c->has_computed = true;
    if (!c->has_copied)
        return;
    CALL(c, "an event", cuEventRecord(c->copied, c->copy));
    CALL(c, "a wait", cuStreamWaitEvent(c->compute, c->copied, 0));
    c->has_copied = false;
}

/* After a failure too: memory may go only when nothing is queued. */
static void cuda_wait(struct gpu *g)
{
    struct cuda *c = cuda_of(g);

    ALWAYS(c, "computing", cuStreamSynchronize(c->compute));
    ALWAYS(c, "a transfer", cuStreamSynchronize(c->copy));
    g->pinned_used = 0;
}

static void release(struct cuda *c)
{
    const struct driver *api = c->api;

    cuda_forget_products(c);
    if (c->blas)
        (void)api->cublasLtDestroy(c->blas);
    if (c->workspace)
        (void)api->cuMemFree_v2(c->workspace);
    if (c->gpu.pinned)
        (void)api->cuMemFreeHost(c->gpu.pinned);
    for (int t = 0; t < 2; t++)
        if (c->module[t])
            (void)api->cuModuleUnload(c->module[t]);
    if (c->computed)
        (void)api->cuEventDestroy_v2(c->computed);
    if (c->copied)
        (void)api->cuEventDestroy_v2(c->copied);
    if (c->compute)
        (void)api->cuStreamDestroy_v2(c->compute);
    if (c->copy)
        (void)api->cuStreamDestroy_v2(c->copy);
    if (c->context)
        (void)api->cuDevicePrimaryCtxRelease_v2(c->device);
}

/* Nothing is queued any more: the last memory that was freed has waited. */
static void cuda_close(struct gpu *g)
{
    release(cuda_of(g));
    free(g);
}

static status cuda_alloc(struct gpu *g, void **mem, size_t n_bytes, struct err *err)
{
    struct cuda *c = cuda_of(g);
    driver_ptr p = 0;
    size_t left = 0, all = 0;
    const unsigned code = c->api->cuMemAlloc_v2(&p, n_bytes ? n_bytes : 64);

    *mem = NULL;
    if (code) {
        (void)c->api->cuMemGetInfo_v2(&left, &all);
        return err_set(err, code == DRIVER_OUT_OF_MEMORY ? ERR_MEMORY : ERR_DEVICE,
                       "cannot allocate %.1f MiB for tensors on %s: %.1f of its %.1f MiB "
                       "are free",
                       (double)n_bytes / 1048576, c->name, (double)left / 1048576,
                       (double)all / 1048576);
    }
    cuda_compute_after_copy(c);
    CALL(c, "clearing", cuMemsetD8Async(p, 0, n_bytes ? n_bytes : 64, c->compute));
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address on the card */
    *mem = (void *)(uintptr_t)p;
    return OK;
}

/* Nothing that is queued may still use it. */
static void cuda_free(struct gpu *g, void *mem)
{
    struct cuda *c = cuda_of(g);

    if (!mem)
        return;
    cuda_wait(g);
    ALWAYS(c, "freeing", cuMemFree_v2((uintptr_t)mem));
}

static void cuda_upload(struct gpu *g, void *mem, size_t at, const void *host,
                        size_t n_bytes)
{
    struct cuda *c = cuda_of(g);

    copy_after_compute(c);
    CALL(c, "an upload",
         cuMemcpyHtoDAsync_v2((uintptr_t)mem + at, host, n_bytes, c->copy));
    c->has_copied = true;
}

static void cuda_wait_uploads(struct gpu *g)
{
    struct cuda *c = cuda_of(g);

    CALL(c, "an upload", cuStreamSynchronize(c->copy));
    g->pinned_used = 0;
}

static void cuda_download(struct gpu *g, void *host, void *mem, size_t at, size_t n_bytes)
{
    struct cuda *c = cuda_of(g);

    copy_after_compute(c);
    CALL(c, "a download",
         cuMemcpyDtoHAsync_v2(host, (uintptr_t)mem + at, n_bytes, c->copy));
    CALL(c, "a download", cuStreamSynchronize(c->copy));
    g->pinned_used = 0; /* all uploads before it are done too */
}

static void cuda_launch(struct gpu *g, const struct gpu_call *call)
{
    struct cuda *c = cuda_of(g);
    const char *name = gpu_kernel_names[call->kernel];
    struct CUfunc_st **f = &c->function[call->type][call->kernel];
    void *params[GPU_BUFFERS + 1];

    if (!*f)
        CALL(c, name, cuModuleGetFunction(f, c->module[call->type], name));
    for (size_t i = 0; i < call->n_buffers; i++)
        params[i] = (void *)&call->buffer[i]; /* a pointer is a driver_ptr in memory */
    params[call->n_buffers] = (void *)call->args;
    cuda_compute_after_copy(c);
    CALL(c, name,
         cuLaunchKernel(*f, (unsigned)call->group[0], (unsigned)call->group[1],
                        (unsigned)call->group[2], (unsigned)call->items, 1, 1, 0,
                        c->compute, params, NULL));
}

static size_t cuda_free_bytes(struct gpu *g)
{
    size_t left = 0, all = 0;

    (void)cuda_of(g)->api->cuMemGetInfo_v2(&left, &all);
    return left;
}

static bool cuda_usage(struct gpu *g, struct device_usage *u)
{
    struct nvmlDevice_st *sensors = cuda_of(g)->sensors;

    if (sensors)
        *u = nvml_read(sensors);
    return sensors;
}

static const struct gpu_backend backend = {
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .upload = cuda_upload,
    .wait_uploads = cuda_wait_uploads,
    .download = cuda_download,
    .launch = cuda_launch,
    .gemm = cuda_gemm,
    .gemm_relu = cuda_gemm_relu,
    .wait = cuda_wait,
    .free_bytes = cuda_free_bytes,
    .usage = cuda_usage,
};

/* ---- opening ---- */

/* Why the driver did not take the kernels that are in `where`. */
static status refuse_image(const struct cuda *c, unsigned code, const char *where,
                           struct err *err)
{
    int major = 0, minor = 0, version = 0;
    char card[192], driver[32];

    (void)c->api->cuDeviceGetAttribute(&major, DRIVER_CC_MAJOR, c->device);
    (void)c->api->cuDeviceGetAttribute(&minor, DRIVER_CC_MINOR, c->device);
    (void)c->api->cuDriverGetVersion(&version);
    snprintf(card, sizeof card, "%s (sm_%d%d)", c->name, major, minor);
    snprintf(driver, sizeof driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    if (code == DRIVER_NO_BINARY)
        return err_set(err, ERR_DEVICE,
                       "device = cuda: no kernels for %s in %s (its driver is for %s); "
                       "see docs/gpu.md",
                       card, where, driver);
    if (code == DRIVER_NEWER_PTX)
        return err_set(err, ERR_DEVICE,
                       "device = cuda: the driver of %s is for %s, older than the "
                       "kernels in %s; install a newer driver, or see docs/gpu.md",
                       card, driver, where);
    return err_set(err, ERR_DEVICE,
                   "device = cuda: %s does not take the kernels in %s (%s, code %u; its "
                   "driver is for %s)",
                   card, where, cuda_error_name(c->api, code), code, driver);
}

static status load_file(struct cuda *c, struct CUmod_st **module, const char *dir,
                        const char *name, struct err *err)
{
    char path[FILE_PATH_MAX], file[32];
    struct file_map map;

    snprintf(file, sizeof file, "%s.fatbin", name);
    TRY(file_join(path, sizeof path, dir, file, err));
    TRY(file_map_open(&map, path, err));
    const unsigned code = c->api->cuModuleLoadData(module, map.data);
    file_map_close(&map);
    return code ? refuse_image(c, code, path, err) : OK;
}

status cuda_load(struct cuda *c, struct CUmod_st **module, enum precision p,
                 struct err *err)
{
    static const char *const names[] = {"fp32", "fp16", "bf16"};
    const unsigned char *const image[] = {cuda_image_fp32, cuda_image_fp16,
                                          cuda_image_bf16};
    const size_t bytes[] = {cuda_image_fp32_bytes, cuda_image_fp16_bytes,
                            cuda_image_bf16_bytes};
    const char *dir = getenv("FERRY_CUDA_IMAGE");

    if (dir && *dir)
        return load_file(c, module, dir, names[p], err);
    if (!bytes[p])
        return err_set(err, ERR_DEVICE,
                       "device = cuda: this program was built without nvcc and carries "
                       "no kernels for %s; see docs/gpu.md",
                       c->name);
    const unsigned code = c->api->cuModuleLoadData(module, image[p]);
    return code ? refuse_image(c, code, "this program", err) : OK;
}

static status choose(struct cuda *c, size_t local_rank, struct err *err)
{
    int n = 0;
    const unsigned code = c->api->cuInit(0);

    if (code || c->api->cuDeviceGetCount(&n) || n == 0)
        return err_set(
            err, ERR_DEVICE,
            "device = cuda: the driver finds no card (code %u); use device = cpu", code);
    if (c->api->cuDeviceGet(&c->device, (int)(local_rank % (size_t)n)) ||
        c->api->cuDeviceGetName(c->name, sizeof c->name, c->device))
        return err_set(err, ERR_DEVICE, "device = cuda: card %zu does not answer",
                       local_rank % (size_t)n);
    return OK;
}

static status prepare(struct cuda *c, struct err *err)
{
    void *pinned = NULL;
    unsigned code = c->api->cuDevicePrimaryCtxRetain(&c->context, c->device);

    code = code ? code : c->api->cuCtxSetCurrent(c->context);
    code = code ? code : c->api->cuStreamCreate(&c->compute, DRIVER_NON_BLOCKING);
    code = code ? code : c->api->cuStreamCreate(&c->copy, DRIVER_NON_BLOCKING);
    code = code ? code : c->api->cuEventCreate(&c->computed, DRIVER_NO_TIMING);
    code = code ? code : c->api->cuEventCreate(&c->copied, DRIVER_NO_TIMING);
    code = code ? code : c->api->cuMemHostAlloc(&pinned, GPU_PINNED, 0);
    code = code ? code : c->api->cuMemAlloc_v2(&c->workspace, CUDA_WORKSPACE);
    c->gpu.pinned = pinned;
    if (!code && c->api->cublasLtCreate(&c->blas))
        return err_set(err, ERR_DEVICE, "device = cuda: cuBLASLt does not take %s",
                       c->name);
    if (code)
        return err_set(err, code == DRIVER_OUT_OF_MEMORY ? ERR_MEMORY : ERR_DEVICE,
                       "device = cuda: cannot open %s (code %u)", c->name, code);
    TRY(cuda_load(c, &c->module[MAT_REAL], PRECISION_FP32, err));
    if (c->precision == PRECISION_FP32)
        return OK;
    return cuda_load(c, &c->module[MAT_HALF], c->precision, err);
}

/* Where it is plugged in: each rank may see other cards under the same index. */
static uint64_t number_of(const char *bus)
{
    uint64_t n = 1;

    for (; *bus; bus++)
        n = 131 * n + (unsigned char)*bus;
    return n;
}

status cuda_open(struct device *d, struct device_options options, struct err *err)
{
    const struct driver *api;
    struct cuda *c;
    char name[160], bus[32];

    *d = (struct device){0};
    TRY(driver_open(&api, err));
    TRY(mem_alloc(&c, 1, sizeof *c, err));
    c->gpu.api = &backend;
    c->gpu.wide_bytes = sizeof(double);
    c->api = api;
    c->precision = options.precision;
    if (choose(c, options.local_rank, err) != OK || prepare(c, err) != OK) {
        release(c);
        free(c);
        return err->code;
    }
    if (api->cuDeviceGetPCIBusId(bus, sizeof bus, c->device) == 0)
        c->sensors = nvml_open(bus);
    else
        snprintf(bus, sizeof bus, "%d", c->device);
    snprintf(name, sizeof name, "cuda, %s", c->name);
    TRY(gpu_open(d, &c->gpu, name, options, err));
    d->card = number_of(bus);
    return OK;
}

struct cuda *cuda_state(const struct device *d)
{
    return d->gpu && d->gpu->api == &backend ? cuda_of(d->gpu) : NULL;
}

void cuda_describe(struct str *out)
{
    struct cuda c = {0};
    struct err err;
    int version = 0, n = 0;

    if (driver_open(&c.api, &err) != OK || choose(&c, 0, &err) != OK) {
        str_printf(out, "cuda    %s\n", err.msg);
        return;
    }
    (void)c.api->cuDriverGetVersion(&version);
    (void)c.api->cuDeviceGetCount(&n);
    for (int i = 0; i < n && choose(&c, (size_t)i, &err) == OK; i++) {
        int major = 0, minor = 0;
        (void)c.api->cuDeviceGetAttribute(&major, DRIVER_CC_MAJOR, c.device);
        (void)c.api->cuDeviceGetAttribute(&minor, DRIVER_CC_MINOR, c.device);
        str_printf(out, "cuda    %s, sm_%d%d, driver for CUDA %d.%d\n", c.name, major,
                   minor, version / 1000, version % 1000 / 10);
    }
    str_printf(out, "cuda    kernels in this program: %zu bytes\n",
               cuda_image_fp32_bytes + cuda_image_fp16_bytes + cuda_image_bf16_bytes);
}
