/*
 * dialect - the words that GPU kernels are written in.
 *
 * One C that three compilers take: OpenCL C 1.2 (any driver, at start), CUDA C (nvcc,
 * into fatbins), and plain C11, where the tests run a group's items as fibres. A kernel
 * is
 *
 *   KERNEL(items) void name(GLOBAL float *x, struct name_args a) { ... }
 *
 * with ITEM of ITEMS in a group and groups in three dimensions, GROUP(0..2). Items of a
 * group share SHARED arrays, declared at the top of a kernel, and meet at BARRIER. There
 * are no sub-groups, no float atomics and no 16-bit arithmetic: PoCL has none of them.
 */
#pragma once

#if defined(__OPENCL_VERSION__)

typedef int i32;
typedef uint u32;
typedef ulong u64;
#define KERNEL(items)         __kernel __attribute__((reqd_work_group_size(items, 1, 1)))
#define FN                    static
#define GLOBAL                __global
#define LOCAL                 __local
#define SHARED(type, name, n) __local type name[n]
#define BARRIER               barrier(CLK_LOCAL_MEM_FENCE)
#define ITEM                  ((u32)get_local_id(0))
#define ITEMS                 ((u32)get_local_size(0))
#define GROUP(dim)            ((u32)get_group_id(dim))
#define LOCAL_OR(p, bits)     atomic_or(p, bits)
#define BITS_OF(x)            as_uint(x)
#define FLOAT_OF(x)           as_float(x)
#define ROOT(x)               sqrt(x)
#define LOG(x)                log(x)
#define MAGNITUDE(x)          fabs(x)
#define UNROLL                _Pragma("unroll")
#if WIDE /* the host has asked the device, and reads what kernels leave */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double wide;
#else
typedef float wide; /* sums of squares then overflow at 1.8e19, which skips an update */
#endif

#elif defined(__CUDACC__)

typedef int i32;
typedef unsigned u32;
typedef unsigned long long u64;
typedef double wide;
#define KERNEL(items) extern "C" __global__ __launch_bounds__(items)
#define FN            static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define SHARED(type, name, n) __shared__ type name[n]
#define BARRIER               __syncthreads()
#define ITEM                  ((u32)threadIdx.x)
#define ITEMS                 ((u32)blockDim.x)
#define GROUP(dim)            dialect_group(dim)
#define LOCAL_OR(p, bits)     atomicOr(p, bits)
#define BITS_OF(x)            __float_as_uint(x)
#define FLOAT_OF(x)           __uint_as_float(x)
#define ROOT(x)               sqrtf(x)
#define LOG(x)                logf(x)
#define MAGNITUDE(x)          fabsf(x)
#define UNROLL                _Pragma("unroll")

static __device__ __forceinline__ u32 dialect_group(int dim)
{
    return dim == 0 ? blockIdx.x : dim == 1 ? blockIdx.y : blockIdx.z;
}

#else

#include <math.h>
#include <stdint.h>

#include "device/half.h"

typedef int32_t i32;
typedef uint32_t u32;
typedef uint64_t u64;
typedef double wide;

/* Which item is running; whoever runs kernels on the CPU keeps it (tests/standin). */
struct dialect_place {
    u32 group[3], item, items;
};
extern struct dialect_place dialect_place;
void dialect_barrier(void);

static inline u32 dialect_or(u32 *p, u32 bits)
{
    const u32 old = *p;

    *p |= bits;
    return old;
}

#define KERNEL(items) static
#define FN            static inline
#define GLOBAL
#define LOCAL
#define SHARED(type, name, n) static type name[n]
#define BARRIER               dialect_barrier()
#define ITEM                  (dialect_place.item)
#define ITEMS                 (dialect_place.items)
#define GROUP(dim)            (dialect_place.group[dim])
#define LOCAL_OR(p, bits)     dialect_or(p, bits)
#define BITS_OF(x)            half_bits(x)
#define FLOAT_OF(x)           half_float(x)
#define ROOT(x)               sqrtf(x)
#define LOG(x)                logf(x)
#define MAGNITUDE(x)          fabsf(x)
#define UNROLL

#endif

#define INFINITE FLOAT_OF(0x7f800000u)
