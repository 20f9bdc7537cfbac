/*
 * A compile-time check, built where NVIDIA's header is: what nccl_calls.h says of their
 * functions, constants and the one struct that is passed by value is what it says.
 * Functions that take a struct of theirs which we have under another name, or not at all,
 * are compared by what they return and by being callable with our arguments.
 */
#include <nccl.h>

#include "dist/comm/nccl_calls.h"

#define SAME(name)                                                                       \
    _Static_assert(__builtin_types_compatible_p(                                         \
                       __typeof__(&(name)), __typeof__(((struct nccl_calls *)0)->name)), \
                   #name " has another prototype");
SAME(ncclGetVersion)
SAME(ncclCommGetAsyncError)
SAME(ncclCommAbort)
SAME(ncclAllReduce)
SAME(ncclReduceScatter)
SAME(ncclAllGather)
SAME(ncclGetErrorString)
SAME(ncclGetLastError)

/* Never called: each line compiles only if NVIDIA's function takes what we pass. */
void nccl_prototypes(ncclUniqueId *id, ncclComm_t comm, ncclComm_t *part);
void nccl_prototypes(ncclUniqueId *id, ncclComm_t comm, ncclComm_t *part)
{
    struct ncclComm **same = part, *one = comm;
    ncclResult_t r = ncclGetUniqueId(id);

    r |= ncclCommInitRank(same, (int)2, *id, (int)1);
    r |= ncclCommSplit(one, (int)0, (int)0, same, NULL);
    (void)r;
}

#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
EQUAL(sizeof(struct nccl_id), sizeof(ncclUniqueId));
EQUAL(_Alignof(struct nccl_id), _Alignof(ncclUniqueId));
EQUAL(sizeof(unsigned), sizeof(ncclResult_t));
EQUAL(sizeof(unsigned), sizeof(ncclDataType_t));
EQUAL(sizeof(unsigned), sizeof(ncclRedOp_t));
EQUAL(NCCL_SYSTEM_ERROR, ncclSystemError);
EQUAL(NCCL_INVALID_USAGE, ncclInvalidUsage);
EQUAL(NCCL_REMOTE_ERROR, ncclRemoteError);
EQUAL(NCCL_IN_PROGRESS, ncclInProgress);
EQUAL(NCCL_SUM, ncclSum);
EQUAL(NCCL_FLOAT, ncclFloat32);
EQUAL(NCCL_BFLOAT16, ncclBfloat16);
_Static_assert(NCCL_VERSION_CODE >= NCCL_LEAST_VERSION, "no ncclCommSplit");
