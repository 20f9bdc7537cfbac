/*
 * nccl_calls - what we call of libnccl, which is opened when a run first needs it.
 *
 * The prototypes are written here, so that every build knows them;
 * tests/standin/nccl_prototypes.c compares them with NVIDIA's header where that is
 * installed. Enums of theirs are unsigned here, as compilers make them.
 */
#pragma once

#include <stddef.h>

struct CUstream_st;
struct ncclComm;

/* ncclUniqueId */
struct nccl_id {
    char bytes[128];
};

/* name, arguments; each gives an unsigned, 0 for success */
/* clang-format off */
#define NCCL_LIST(N)                                                                   \
    N(ncclGetVersion, (int *version))                                                  \
    N(ncclGetUniqueId, (struct nccl_id *id))                                           \
    N(ncclCommInitRank, (struct ncclComm **comm, int size, struct nccl_id id, int rank)) \
    N(ncclCommSplit, (struct ncclComm *comm, int color, int key, struct ncclComm **part, void *config)) \
    N(ncclCommGetAsyncError, (struct ncclComm *comm, unsigned *error))                 \
    N(ncclCommAbort, (struct ncclComm *comm))                                          \
    N(ncclAllReduce, (const void *from, void *to, size_t n, unsigned type, unsigned op, struct ncclComm *comm, \
                      struct CUstream_st *s))                                          \
    N(ncclReduceScatter, (const void *from, void *to, size_t n_each, unsigned type, unsigned op, struct ncclComm *comm, \
                          struct CUstream_st *s))                                      \
    N(ncclAllGather, (const void *from, void *to, size_t n_each, unsigned type, struct ncclComm *comm, \
                      struct CUstream_st *s))

/* The same, but they give a text. */
#define NCCL_TEXT_LIST(N)                                                              \
    N(ncclGetErrorString, (unsigned code))                                             \
    N(ncclGetLastError, (struct ncclComm *comm))
/* clang-format on */

/* Constants of NVIDIA's header, under our names: nccl_prototypes.c compares them too. */
enum {
    NCCL_SYSTEM_ERROR = 2,
    NCCL_INVALID_USAGE = 5,
    NCCL_REMOTE_ERROR = 6,
    NCCL_IN_PROGRESS = 7,
    NCCL_SUM = 0,
    NCCL_FLOAT = 7,
    NCCL_BFLOAT16 = 9,
    NCCL_LEAST_VERSION = 21800 /* the first with ncclCommSplit */
};

struct nccl_calls {
#define N(name, args) unsigned(*name) args;
    NCCL_LIST(N)
#undef N
#define N(name, args) const char *(*name)args;
    NCCL_TEXT_LIST(N)
#undef N
};
