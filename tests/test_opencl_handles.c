/*
 * Every OpenCL object that the device creates is released again. The leak sanitizer
 * cannot tell: the driver's library allocates these objects, and leaks inside that
 * library are suppressed (tests/lsan.supp). So the functions that create and release are
 * counted here.
 */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "device/device.h"
#include "device/opencl/library.h"
#include "reals.h"
#include "test.h"

static struct library real;
static int n_alive, n_created;

static void *count(void *object)
{
    n_created += object != NULL;
    n_alive += object != NULL;
    return object;
}

static cl_context create_context(const cl_context_properties *p, cl_uint n,
                                 const cl_device_id *d,
                                 void(CL_CALLBACK *f)(const char *, const void *, size_t,
                                                      void *),
                                 void *user, cl_int *code)
{
    return count(real.clCreateContext(p, n, d, f, user, code));
}

static cl_command_queue create_queue(cl_context c, cl_device_id d,
                                     cl_command_queue_properties p, cl_int *code)
{
    return count(real.clCreateCommandQueue(c, d, p, code));
}

static cl_mem create_buffer(cl_context c, cl_mem_flags f, size_t n, void *host,
                            cl_int *code)
{
    return count(real.clCreateBuffer(c, f, n, host, code));
}

static cl_program create_from_source(cl_context c, cl_uint n, const char **text,
                                     const size_t *length, cl_int *code)
{
    return count(real.clCreateProgramWithSource(c, n, text, length, code));
}

static cl_program create_from_binary(cl_context c, cl_uint n, const cl_device_id *d,
                                     const size_t *length, const unsigned char **bytes,
                                     cl_int *each, cl_int *code)
{
    return count(real.clCreateProgramWithBinary(c, n, d, length, bytes, each, code));
}

static cl_kernel create_kernel(cl_program p, const char *name, cl_int *code)
{
    return count(real.clCreateKernel(p, name, code));
}

#define RELEASE(Object, type)              \
    static cl_int release_##Object(type o) \
    {                                      \
        n_alive--;                         \
        return real.clRelease##Object(o);  \
    }
RELEASE(Context, cl_context)
RELEASE(CommandQueue, cl_command_queue)
RELEASE(MemObject, cl_mem)
RELEASE(Program, cl_program)
RELEASE(Kernel, cl_kernel)

/* The device's table of functions, with those that create and release counted. */
static void count_handles(struct library *l)
{
    real = *l;
    l->clCreateContext = create_context;
    l->clCreateCommandQueue = create_queue;
    l->clCreateBuffer = create_buffer;
    l->clCreateProgramWithSource = create_from_source;
    l->clCreateProgramWithBinary = create_from_binary;
    l->clCreateKernel = create_kernel;
    l->clReleaseContext = release_Context;
    l->clReleaseCommandQueue = release_CommandQueue;
    l->clReleaseMemObject = release_MemObject;
    l->clReleaseProgram = release_Program;
    l->clReleaseKernel = release_Kernel;
}

/* Opened, used a little, refused once, closed. */
static void use_device(enum precision precision)
{
    struct device d;
    struct err err;
    double sum, back[6];
    void *mem;

    if (device_open(&d, "opencl", (struct device_options){.precision = precision}, &err))
        test_skip("%s", err.msg);
    const struct mat m = reals_mat(&d, 2, 3, NULL);
    d.k->fill(&d, m, 2);
    d.k->sumsq(&d, &sum, m);
    reals_read(&d, back, m);
    CHECK_OK(device_sync(&d, &err), &err);
    CHECK(sum == 24 && back[5] == 2);
    CHECK_FAILS(device_alloc(&d, &mem, (size_t)1 << 50, &err), &err, ERR_MEMORY, "MiB");
    device_free(&d, m.mem);
    device_close(&d);
}

TEST(every_opencl_object_that_is_created_is_released)
{
    const struct library *l;
    struct err err;

    if (library_open(&l, &err) != OK)
        test_skip("%s", err.msg);
    count_handles((struct library *)l);
    use_device(PRECISION_FP32);
    use_device(PRECISION_FP16);
    *(struct library *)l = real;
    CHECK(n_created > 10);
    CHECK(n_alive == 0);
}
