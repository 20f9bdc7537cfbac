/*
 * library - OpenCL's loader and CLBlast, opened when they are first needed.
 *
 * So that one program starts on machines without either and says what it found. The
 * prototypes are those of the headers; CLBlast is optional.
 *
 * Owns: nothing that is ever given back; libraries stay open until the process ends.
 * Threads: one at a time.
 */
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "base/err.h"

#define LIBRARY_LIST(L)          \
    L(clGetPlatformIDs)          \
    L(clGetPlatformInfo)         \
    L(clGetDeviceIDs)            \
    L(clGetDeviceInfo)           \
    L(clCreateContext)           \
    L(clReleaseContext)          \
    L(clCreateCommandQueue)      \
    L(clReleaseCommandQueue)     \
    L(clCreateBuffer)            \
    L(clReleaseMemObject)        \
    L(clGetMemObjectInfo)        \
    L(clEnqueueWriteBuffer)      \
    L(clEnqueueReadBuffer)       \
    L(clEnqueueFillBuffer)       \
    L(clEnqueueMapBuffer)        \
    L(clEnqueueUnmapMemObject)   \
    L(clEnqueueNDRangeKernel)    \
    L(clFlush)                   \
    L(clFinish)                  \
    L(clCreateProgramWithSource) \
    L(clCreateProgramWithBinary) \
    L(clBuildProgram)            \
    L(clGetProgramBuildInfo)     \
    L(clGetProgramInfo)          \
    L(clReleaseProgram)          \
    L(clCreateKernel)            \
    L(clReleaseKernel)           \
    L(clSetKernelArg)

/* CLBlast's C interface: layout, two transpositions, sizes, operands, queue, event. */
typedef int library_sgemm(int layout, int ta, int tb, size_t m, size_t n, size_t k,
                          float alpha, cl_mem a, size_t a_at, size_t lda, cl_mem b,
                          size_t b_at, size_t ldb, float beta, cl_mem c, size_t c_at,
                          size_t ldc, cl_command_queue *queue, cl_event *event);

#define LIBRARY_MEMBER(name) __typeof__(&name) name;
struct library {
    LIBRARY_LIST(LIBRARY_MEMBER)
    library_sgemm *sgemm; /* NULL: no CLBlast here */
};

/* ERR_DEVICE when there is no loader, or it lacks a function. */
status library_open(const struct library **l, struct err *err);
