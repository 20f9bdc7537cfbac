#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "device/opencl/opencl.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "device/opencl/opencl_state.h"

enum { PLATFORMS = 16, DEVICES = 64, FLUSH_EVERY = 32 };

/* What the kernels need, in items of a group and bytes of local memory. */
enum { NEEDED_ITEMS = 256, NEEDED_LOCAL = 42000 };

static struct opencl *opencl_of(struct gpu *g)
{
    return (struct opencl *)g;
}

static bool is_memory(cl_int code)
{
    return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
           code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

void opencl_fail(struct opencl *o, cl_int code, const char *what)
{
    if (code == CL_OUT_OF_RESOURCES)
        gpu_fail(&o->gpu, ERR_MEMORY,
                 "device = opencl: %s ran out of resources in %s (code %d): memory is "
                 "short, or a kernel before it has failed",
                 o->name, what, (int)code);
    else if (is_memory(code))
        gpu_fail(&o->gpu, ERR_MEMORY,
                 "device = opencl: %s ran out of memory in %s (code %d)", o->name, what,
                 (int)code);
    else
        gpu_fail(&o->gpu, ERR_DEVICE, "device = opencl: %s failed in %s (code %d)",
                 o->name, what, (int)code);
}

/* Fails softly: what is wrong is kept, and everything after it is skipped. */
#define CALL(o, what, call)                 \
    do {                                    \
        const cl_int code_ = (o)->cl->call; \
        if (code_ != CL_SUCCESS)            \
            opencl_fail(o, code_, what);    \
    } while (0)

static void ocl_close(struct gpu *g)
{
    struct opencl *o = opencl_of(g);

    if (o->queue)
        (void)o->cl->clFinish(o->queue);
    for (int i = 0; i < 3; i++)
        if (o->floats[i])
            o->cl->clReleaseMemObject(o->floats[i]);
    for (int t = 0; t < 2; t++)
        for (int k = 0; k < N_GPU_KERNELS; k++)
            if (o->kernel[t][k])
                o->cl->clReleaseKernel(o->kernel[t][k]);
    for (int t = 0; t < 2; t++)
        if (o->program[t])
            o->cl->clReleaseProgram(o->program[t]);
    if (o->gpu.pinned)
        (void)o->cl->clEnqueueUnmapMemObject(o->queue, o->pinned, o->gpu.pinned, 0, NULL,
                                             NULL);
    if (o->queue)
        (void)o->cl->clFinish(o->queue);
    if (o->pinned)
        o->cl->clReleaseMemObject(o->pinned);
    if (o->queue)
        o->cl->clReleaseCommandQueue(o->queue);
    if (o->context)
        o->cl->clReleaseContext(o->context);
    free(o);
}

static status ocl_alloc(struct gpu *g, void **mem, size_t n_bytes, struct err *err)
{
    struct opencl *o = opencl_of(g);
    const size_t n = n_bytes ? n_bytes : 64;
    const cl_uint zero = 0;
    cl_int code;
    cl_mem buffer = o->cl->clCreateBuffer(o->context, CL_MEM_READ_WRITE, (n + 3) / 4 * 4,
                                          NULL, &code);

    *mem = NULL;
    if (code == CL_SUCCESS)
        code = o->cl->clEnqueueFillBuffer(o->queue, buffer, &zero, sizeof zero, 0,
                                          (n + 3) / 4 * 4, 0, NULL, NULL);
    if (code != CL_SUCCESS) {
        if (buffer)
            o->cl->clReleaseMemObject(buffer);
        return err_set(err, is_memory(code) ? ERR_MEMORY : ERR_DEVICE,
                       "cannot allocate %.1f MiB for tensors on %s (code %d)",
                       (double)n_bytes / 1048576, o->name, (int)code);
    }
    o->taken += (n + 3) / 4 * 4;
    *mem = buffer;
    return OK;
}

/* The runtime keeps a buffer until commands that use it are done. */
static void ocl_free(struct gpu *g, void *mem)
{
    struct opencl *o = opencl_of(g);
    size_t n = 0;

    if (!mem)
        return;
    (void)o->cl->clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof n, &n, NULL);
    o->taken -= n;
    o->cl->clReleaseMemObject(mem);
}

static void ocl_upload(struct gpu *g, void *mem, size_t at, const void *host,
                       size_t n_bytes)
{
    struct opencl *o = opencl_of(g);

    CALL(o, "an upload",
         clEnqueueWriteBuffer(o->queue, mem, CL_FALSE, at, n_bytes, host, 0, NULL, NULL));
}

static void ocl_wait_uploads(struct gpu *g)
{
    struct opencl *o = opencl_of(g);

    CALL(o, "an upload", clFinish(o->queue));
    g->pinned_used = 0;
}

static void ocl_download(struct gpu *g, void *host, void *mem, size_t at, size_t n_bytes)
{
    struct opencl *o = opencl_of(g);

    CALL(o, "a download",
         clEnqueueReadBuffer(o->queue, mem, CL_TRUE, at, n_bytes, host, 0, NULL, NULL));
}

static cl_kernel kernel_of(struct opencl *o, const struct gpu_call *call)
{
    cl_kernel *k = &o->kernel[call->type][call->kernel];
    cl_int code = CL_SUCCESS;

    if (!*k)
        *k = o->cl->clCreateKernel(o->program[call->type], gpu_kernel_names[call->kernel],
                                   &code);
    if (code != CL_SUCCESS)
        opencl_fail(o, code, gpu_kernel_names[call->kernel]);
    return *k;
}

static void ocl_launch(struct gpu *g, const struct gpu_call *call)
{
    struct opencl *o = opencl_of(g);
    const char *name = gpu_kernel_names[call->kernel];
    cl_kernel k = kernel_of(o, call);
    const size_t local[3] = {call->items, 1, 1};
    const size_t global[3] = {call->group[0] * call->items, call->group[1],
                              call->group[2]};

    for (size_t i = 0; k && i < call->n_buffers; i++) {
        cl_mem buffer = call->buffer[i];
        CALL(o, name,
             clSetKernelArg(k, (cl_uint)i, sizeof(cl_mem), buffer ? &buffer : NULL));
    }
    if (g->failure.code == OK)
        CALL(o, name,
             clSetKernelArg(k, (cl_uint)call->n_buffers, call->args_bytes, call->args));
    if (g->failure.code == OK)
        CALL(o, name,
             clEnqueueNDRangeKernel(o->queue, k, 3, NULL, global, local, 0, NULL, NULL));
    if (g->failure.code == OK && ++o->n_queued % FLUSH_EVERY == 0)
        CALL(o, name, clFlush(o->queue)); /* a driver may begin only when it is told */
}

static void ocl_wait(struct gpu *g)
{
    struct opencl *o = opencl_of(g);

    if (g->failure.code == OK)
        CALL(o, "waiting", clFinish(o->queue));
    g->pinned_used = 0;
}

static size_t info_size(const struct opencl *o, cl_device_info what)
{
    cl_ulong value = 0;

    (void)o->cl->clGetDeviceInfo(o->device, what, sizeof value, &value, NULL);
    return (size_t)value;
}

static bool is_cpu(const struct opencl *o)
{
    cl_device_type type = 0;

    (void)o->cl->clGetDeviceInfo(o->device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return type & CL_DEVICE_TYPE_CPU;
}

/* OpenCL says what there is and how large one buffer may be; of what is free we know only
 * what we have taken ourselves. */
static size_t ocl_free_bytes(struct gpu *g)
{
    const struct opencl *o = opencl_of(g);
    const size_t all = info_size(o, CL_DEVICE_GLOBAL_MEM_SIZE);
    const size_t one = info_size(o, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    const size_t left = is_cpu(o) ? mem_free_bytes() : all - o->taken;

    return one && one < left ? one : left;
}

static const struct gpu_backend backend = {
    .close = ocl_close,
    .alloc = ocl_alloc,
    .free = ocl_free,
    .upload = ocl_upload,
    .wait_uploads = ocl_wait_uploads,
    .download = ocl_download,
    .launch = ocl_launch,
    .gemm = opencl_gemm,
    .wait = ocl_wait,
    .free_bytes = ocl_free_bytes,
};

static void name_of(const struct library *cl, cl_device_id device, char *name, size_t n)
{
    name[0] = '\0';
    (void)cl->clGetDeviceInfo(device, CL_DEVICE_NAME, n, name, NULL);
    name[n - 1] = '\0';
}

/* All devices of a type, platform after platform. */
static size_t list_devices(const struct library *cl, cl_device_type type,
                           cl_device_id *list)
{
    cl_platform_id platform[PLATFORMS];
    cl_uint n_platforms = 0;
    size_t n = 0;

    if (cl->clGetPlatformIDs(PLATFORMS, platform, &n_platforms) != CL_SUCCESS)
        return 0;
    n_platforms = n_platforms < PLATFORMS ? n_platforms : PLATFORMS;
    for (cl_uint p = 0; p < n_platforms; p++) {
        cl_uint found = 0;
        if (cl->clGetDeviceIDs(platform[p], type, (cl_uint)(DEVICES - n), list + n,
                               &found) != CL_SUCCESS)
            continue;
        n += found < DEVICES - n ? found : DEVICES - n;
    }
    return n;
}

static status choose_named(struct opencl *o, const char *text, struct err *err)
{
    cl_device_id list[DEVICES];
    const size_t n = list_devices(o->cl, CL_DEVICE_TYPE_ALL, list);

    for (size_t i = 0; i < n; i++) {
        name_of(o->cl, list[i], o->name, sizeof o->name);
        o->device = list[i];
        o->number = is_cpu(o) ? 0 : i + 1;
        if (strstr(o->name, text))
            return OK;
    }
    return err_set(err, ERR_USAGE, "FERRY_OPENCL = %.80s: no OpenCL device has that name",
                   text);
}

static status choose(struct opencl *o, size_t local_rank, struct err *err)
{
    static const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR,
                                           CL_DEVICE_TYPE_CPU};
    const char *wanted = getenv("FERRY_OPENCL");
    cl_device_id list[DEVICES];

    if (wanted && *wanted)
        return choose_named(o, wanted, err);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const size_t n = list_devices(o->cl, types[t], list);
        if (!n)
            continue;
        o->device = list[local_rank % n];
        o->number = is_cpu(o) ? 0 : local_rank % n + 1;
        name_of(o->cl, o->device, o->name, sizeof o->name);
        return OK;
    }
    return err_set(err, ERR_DEVICE,
                   "device = opencl: the OpenCL loader knows no device; install your "
                   "card's driver (or pocl-opencl-icd), or use device = cpu");
}

/* FERRY_OPENCL_FP64=0 leaves it unused, as on devices without it. */
static bool has_fp64(const struct opencl *o)
{
    const char *said = getenv("FERRY_OPENCL_FP64");

    return info_size(o, CL_DEVICE_DOUBLE_FP_CONFIG) && !(said && strcmp(said, "0") == 0);
}

/*
 * CLBlast's kernels are tuned for GPUs, and PoCL takes minutes to compile them: on a CPU
 * products are ours. FERRY_CLBLAST=0 or 1 decides otherwise.
 */
static bool wants_blast(const struct opencl *o)
{
    const char *said = getenv("FERRY_CLBLAST");

    if (said && *said)
        return o->cl->sgemm && strcmp(said, "0") != 0;
    return o->cl->sgemm && !is_cpu(o);
}

static status check_limits(const struct opencl *o, struct err *err)
{
    const size_t local = info_size(o, CL_DEVICE_LOCAL_MEM_SIZE);
    const size_t items = info_size(o, CL_DEVICE_MAX_WORK_GROUP_SIZE);

    if (local < NEEDED_LOCAL)
        return err_set(err, ERR_DEVICE,
                       "device = opencl: %s has %zu bytes of local memory, the kernels "
                       "need %d; use device = cpu",
                       o->name, local, NEEDED_LOCAL);
    if (items < NEEDED_ITEMS)
        return err_set(err, ERR_DEVICE,
                       "device = opencl: %s has work-groups of up to %zu items, the "
                       "kernels need %d; use device = cpu",
                       o->name, items, NEEDED_ITEMS);
    return OK;
}

static status prepare(struct opencl *o, struct device_options options, struct err *err)
{
    cl_int code;

    TRY(check_limits(o, err));
    (void)o->cl->clGetDeviceInfo(o->device, CL_DRIVER_VERSION, sizeof o->version - 1,
                                 o->version, NULL);
    o->context = o->cl->clCreateContext(NULL, 1, &o->device, NULL, NULL, &code);
    if (o->context)
        o->queue = o->cl->clCreateCommandQueue(o->context, o->device, 0, &code);
    if (o->queue)
        o->pinned = o->cl->clCreateBuffer(o->context, CL_MEM_ALLOC_HOST_PTR, GPU_PINNED,
                                          NULL, &code);
    if (o->pinned)
        o->gpu.pinned =
            o->cl->clEnqueueMapBuffer(o->queue, o->pinned, CL_TRUE, CL_MAP_WRITE, 0,
                                      GPU_PINNED, 0, NULL, NULL, &code);
    if (!o->gpu.pinned)
        return err_set(err, ERR_DEVICE, "device = opencl: cannot open %s (code %d)",
                       o->name, (int)code);
    o->has_blast = wants_blast(o);
    o->gpu.wide_bytes = has_fp64(o) ? sizeof(double) : sizeof(float);
    if (is_cpu(o))
        o->gpu.head_max = 64; /* PoCL 3.1 stores channels beyond a head of 100 */
    TRY(opencl_build(o, MAT_REAL, PRECISION_FP32, err));
    if (options.precision != PRECISION_FP32)
        TRY(opencl_build(o, MAT_HALF, options.precision, err));
    return OK;
}

status opencl_open(struct device *d, struct device_options options, struct err *err)
{
    const struct library *cl;
    struct opencl *o;
    char name[192];

    *d = (struct device){0};
    TRY(library_open(&cl, err));
    TRY(mem_alloc(&o, 1, sizeof *o, err));
    o->gpu.api = &backend;
    o->cl = cl;
    if (choose(o, options.local_rank, err) != OK || prepare(o, options, err) != OK) {
        ocl_close(&o->gpu);
        return err->code;
    }
    snprintf(name, sizeof name, "opencl, %s%s", o->has_blast ? "CLBlast, " : "", o->name);
    const uint64_t number = o->number;
    TRY(gpu_open(d, &o->gpu, name, options, err));
    d->card = number;
    return OK;
}

static bool has_vendor(void)
{
    const char *elsewhere = getenv("OCL_ICD_VENDORS");
    const struct dirent *e;
    bool found = false;

    if (elsewhere && *elsewhere)
        return true;
    DIR *dir = opendir("/etc/OpenCL/vendors");
    while (dir && !found && (e = readdir(dir)))
        found = strstr(e->d_name, ".icd") && strncmp(e->d_name, "pocl", 4) != 0;
    if (dir)
        closedir(dir);
    return found;
}

bool opencl_has_gpu(void)
{
    const struct library *cl;
    cl_device_id list[DEVICES];
    struct err ignored;

    return has_vendor() && library_open(&cl, &ignored) == OK &&
           list_devices(cl, CL_DEVICE_TYPE_GPU, list) > 0;
}

void opencl_describe(struct str *out)
{
    const struct library *cl;
    cl_device_id list[DEVICES];
    struct err err;

    if (library_open(&cl, &err) != OK) {
        str_printf(out, "opencl  %s\n", err.msg);
        return;
    }
    const size_t n = list_devices(cl, CL_DEVICE_TYPE_ALL, list);
    for (size_t i = 0; i < n; i++) {
        const struct opencl one = {.cl = cl, .device = list[i]};
        char name[128];
        name_of(cl, list[i], name, sizeof name);
        str_printf(out, "opencl  %s, %zu MiB\n", name,
                   info_size(&one, CL_DEVICE_GLOBAL_MEM_SIZE) >> 20);
    }
    if (!n)
        str_puts(out, "opencl  the loader is there, but no device\n");
    str_printf(out, "opencl  CLBlast %s\n",
               cl->sgemm ? "found" : "not found: products are our own");
}
