/* opencl_state - what an open OpenCL device holds, for the files of this folder. */
#pragma once

#include "device/gpu/gpu.h"
#include "device/opencl/library.h"

struct opencl {
    struct gpu gpu; /* first: a struct gpu * is a struct opencl * */
    const struct library *cl;
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_program program[2];              /* by enum mat_type */
    cl_kernel kernel[2][N_GPU_KERNELS]; /* made when first launched */
    cl_mem pinned;                      /* mapped at gpu.pinned */
    bool has_blast;
    void *floats[3]; /* operands of CLBlast that are 16 bits wide elsewhere */
    size_t floats_bytes[3];
    size_t taken;    /* bytes of all memory that was given */
    size_t n_queued; /* kernels so far */
    uint64_t number; /* of the card; 0: a CPU */
    char name[128], version[128];
};

/* By CLBlast; false without it. */
bool opencl_gemm(struct gpu *g, struct mat c, struct mat a, struct mat b, bool ta,
                 bool tb, float alpha, float beta);

/* Keep the first failure of a call. */
void opencl_fail(struct opencl *o, cl_int code, const char *what);

/* Compile program.h for one type of storage; ERR_DEVICE with the compiler's words. */
status opencl_build(struct opencl *o, enum mat_type type, enum precision precision,
                    struct err *err);
