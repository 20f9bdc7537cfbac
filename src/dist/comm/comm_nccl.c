#include "dist/comm/comm_nccl.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/str.h"
#include "device/cuda/side_stream.h"
#include "device/device.h"
#include "dist/comm/comm_backend.h"
#include "dist/comm/nccl_calls.h"

enum { EAGER_POLLS = 200, SLEEP_NS = 20000, NAME_MAX_BYTES = 32 };

/* NCCL communicators: all ranks, those of this node, the same place in every node. */
enum group { WORLD, NODE, ACROSS, N_GROUPS };

struct comm_nccl {
    const struct nccl_calls *calls;
    char library[NAME_MAX_BYTES];
    struct comm *comm;
    struct side_stream *side;
    struct ncclComm *group[N_GROUPS];
    struct CUstream_st *stream;
    enum wire wire; /* between nodes */
    bool is_even;   /* as many ranks on every node: two levels */
};

/* ------------------------------------------------------------ the library */

static status load_all(struct nccl_calls *calls, void *so, struct err *err)
{
#define N(name, args)                        \
    if (!os_symbol(so, #name, &calls->name)) \
        return err_set(err, ERR_DEVICE, "the NCCL of this host lacks %s", #name);
    NCCL_LIST(N)
    NCCL_TEXT_LIST(N)
#undef N
    return OK;
}

static status open_library(const struct nccl_calls **out, char name[NAME_MAX_BYTES],
                           struct err *err)
{
    static struct nccl_calls calls;
    const char *said = getenv("FERRY_NCCL");
    int version = 0;

    if (said && strcmp(said, "0") == 0)
        return err_set(err, ERR_DEVICE, "FERRY_NCCL=0 says so");
    void *so = dlopen("libnccl.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (!so)
        return err_set(err, ERR_DEVICE,
                       "NCCL (libnccl.so.2) is not installed or not in LD_LIBRARY_PATH");
    TRY(load_all(&calls, so, err));
    if (calls.ncclGetVersion(&version) || version < NCCL_LEAST_VERSION)
        return err_set(err, ERR_DEVICE, "NCCL 2.18 or newer is needed, found version %d",
                       version);
    snprintf(name, NAME_MAX_BYTES, "NCCL %d.%d.%d", version / 10000,
             version % 10000 / 100, version % 100);
    *out = &calls;
    return OK;
}

void comm_nccl_describe(struct str *out)
{
    const struct nccl_calls *calls;
    char name[NAME_MAX_BYTES];
    struct err err;

    if (open_library(&calls, name, &err) == OK)
        str_printf(out, "nccl    %s\n", name);
    else
        str_printf(out, "nccl    %s: several ranks would go through the host\n", err.msg);
}

/* ------------------------------------------------------------ opening */

static status refuse_options(struct comm_nccl_options o, struct err *err)
{
    if (o.wire != WIRE_FP32 && o.wire != WIRE_BF16)
        return err_set(err, ERR_USAGE,
                       "wire = %s is ours alone, and NCCL adds in fp32 and bf16",
                       wire_name(o.wire));
    if (o.is_checked)
        return err_set(err, ERR_USAGE,
                       "wire_check = true, and NCCL's messages carry no checksum");
    return OK;
}

/* Whether every node has as many ranks as this one: the same on all ranks. */
static bool is_even(const struct comm *c)
{
    for (int node = 0; node < c->n_nodes; node++) {
        int n = 0;
        for (int r = 0; r < c->size; r++)
            n += c->peer[r].node == node;
        if (n != c->local_size)
            return false;
    }
    return true;
}

/* What involves no other rank. */
static status open_own(struct comm_nccl *n, struct device *d, struct comm_nccl_options o,
                       struct nccl_id *id, struct err *err)
{
    const size_t n_local = (size_t)n->comm->local_size;
    const bool narrows = o.wire == WIRE_BF16 && n->comm->n_nodes > 1;

    TRY(refuse_options(o, err));
    TRY(open_library(&n->calls, n->library, err));
    TRY(side_stream_open(&n->side, d, o.n_buckets,
                         narrows ? (n->is_even ? o.n_max / n_local + 1 : o.n_max) : 0,
                         err));
    const unsigned code = n->comm->rank == 0 ? n->calls->ncclGetUniqueId(id) : 0;
    if (code)
        return err_set(err, ERR_DEVICE, "%s gives no id: %s", n->library,
                       n->calls->ncclGetErrorString(code));
    return OK;
}

/* ERR_DEVICE with the text of NCCL when a call failed. */
static status check(const struct comm_nccl *n, unsigned code, const char *what,
                    struct err *err)
{
    const char *last = code ? n->calls->ncclGetLastError(NULL) : NULL;

    if (!code)
        return OK;
    return err_set(err, ERR_DEVICE, "%s of %s: %s%s%.300s", what, n->library,
                   n->calls->ncclGetErrorString(code), last && *last ? "; " : "",
                   last ? last : "");
}

/* A call of NCCL by the communicator's thread. */
#define NCCL(n, name, ...) check(n, (n)->calls->name(__VA_ARGS__), #name, err)

struct joining {
    struct comm_nccl *nccl;
    struct nccl_id id;
    struct err why;
};

static status join(struct comm_nccl *n, struct nccl_id id, struct err *err)
{
    const struct comm *c = n->comm;

    TRY(side_stream_enter(n->side, err));
    TRY(NCCL(n, ncclCommInitRank, &n->group[WORLD], c->size, id, c->rank));
    if (c->n_nodes == 1)
        return OK;
    TRY(NCCL(n, ncclCommSplit, n->group[WORLD], c->node, c->local_rank, &n->group[NODE],
             NULL));
    if (!n->is_even)
        return OK;
    return NCCL(n, ncclCommSplit, n->group[WORLD], c->local_rank, c->node,
                &n->group[ACROSS], NULL);
}

/* A failure here is not one of the communicator; comm_agree reports it afterwards. */
static status join_job(struct comm *c, void *ctx, struct err *err)
{
    struct joining *j = ctx;

    (void)c, (void)err;
    j->why.code = join(j->nccl, j->id, &j->why);
    return OK;
}

/* Fails on all ranks, with the first failed rank's sentence, unless all succeed. */
static status open_all(struct comm_nccl *n, struct device *d, struct comm_nccl_options o,
                       struct err *why)
{
    struct joining j = {.nccl = n};

    TRY(comm_agree(n->comm, open_own(n, d, o, &j.id, why), why));
    TRY(comm_bcast(n->comm, &j.id, sizeof j.id, 0, why));
    TRY(comm_run(n->comm, join_job, &j, why));
    *why = j.why;
    return comm_agree(n->comm, j.why.code, why);
}

status comm_nccl_open(struct comm_nccl **out, struct comm *c, struct device *d,
                      struct comm_nccl_options o, struct err *why, struct err *err)
{
    struct comm_nccl *n;

    *out = NULL;
    *why = (struct err){0};
    TRY(mem_alloc(&n, 1, sizeof *n, err));
    *n = (struct comm_nccl){.comm = c, .wire = o.wire, .is_even = is_even(c)};
    const status all = open_all(n, d, o, why);
    if (all == OK) {
        *out = n;
        return OK;
    }
    comm_nccl_close(n);
    if (all == ERR_COMM)
        *err = *why;
    return all == ERR_COMM ? ERR_COMM : OK;
}

/* Abort, because ncclCommDestroy could wait for a rank that is gone. */
static void leave(struct comm_nccl *n)
{
    for (int i = N_GROUPS - 1; i >= 0; i--)
        if (n->group[i])
            (void)n->calls->ncclCommAbort(n->group[i]);
    memset(n->group, 0, sizeof n->group);
}

void comm_nccl_close(struct comm_nccl *n)
{
    if (!n)
        return;
    leave(n);
    side_stream_close(n->side);
    free(n);
}

const char *comm_nccl_library(const struct comm_nccl *n)
{
    return n->library;
}

/* ------------------------------------------------------------ a bucket */

void comm_nccl_mark(struct comm_nccl *n, size_t bucket)
{
    side_stream_mark(n->side, bucket);
}

static status sum(struct comm_nccl *n, enum group who, void *x, size_t count,
                  unsigned type, struct err *err)
{
    return NCCL(n, ncclAllReduce, x, x, count, type, NCCL_SUM, n->group[who], n->stream);
}

/* Between nodes, in the wire's type. */
static status sum_wire(struct comm_nccl *n, enum group who, float *x, size_t count,
                       struct err *err)
{
    if (n->wire == WIRE_FP32)
        return sum(n, who, x, count, NCCL_FLOAT, err);
    TRY(side_stream_narrow(n->side, x, count, err));
    TRY(sum(n, who, side_stream_narrowed(n->side), count, NCCL_BFLOAT16, err));
    return side_stream_widen(n->side, x, count, err);
}

/* What a ring of n_ranks sends and receives of count numbers. */
static void count_ring(struct comm_nccl *n, size_t count, int n_ranks)
{
    const size_t width = n->wire == WIRE_FP32 ? sizeof(float) : sizeof(uint16_t);
    const uint64_t bytes =
        2 * (uint64_t)(count * width) * (uint64_t)(n_ranks - 1) / (uint64_t)n_ranks;

    comm_count(n->comm, bytes, bytes);
}

/* A shard for each card of the node, and a few numbers that no longer make a shard. */
static status sum_levels(struct comm_nccl *n, float *g, size_t count, struct err *err)
{
    const struct comm *c = n->comm;
    const size_t n_shard = count / (size_t)c->local_size;
    const size_t n_rest = count - n_shard * (size_t)c->local_size;
    float *mine = g + (size_t)c->local_rank * n_shard;

    if (c->local_size > 1 && n_shard)
        TRY(NCCL(n, ncclReduceScatter, g, mine, n_shard, NCCL_FLOAT, NCCL_SUM,
                 n->group[NODE], n->stream));
    if (n_shard)
        TRY(sum_wire(n, ACROSS, mine, n_shard, err));
    if (c->local_size > 1 && n_shard)
        TRY(NCCL(n, ncclAllGather, mine, g, n_shard, NCCL_FLOAT, n->group[NODE],
                 n->stream));
    count_ring(n, n_shard, c->n_nodes);
    return n_rest ? sum(n, WORLD, g + count - n_rest, n_rest, NCCL_FLOAT, err) : OK;
}

static status queue(struct comm_nccl *n, float *g, size_t count, bool is_inside,
                    struct err *err)
{
    const struct comm *c = n->comm;

    if (c->n_nodes == 1)
        return sum(n, WORLD, g, count, NCCL_FLOAT, err);
    if (is_inside)
        return sum(n, NODE, g, count, NCCL_FLOAT, err);
    if (n->is_even)
        return sum_levels(n, g, count, err);
    if (c->local_rank == 0) /* a ring enters and leaves a node once */
        count_ring(n, count, c->size);
    return sum_wire(n, WORLD, g, count, err);
}

/* Dead peers and broken networks show up as asynchronous errors only. */
static status watch(const struct comm_nccl *n, struct err *err)
{
    for (int i = 0; i < N_GROUPS; i++) {
        unsigned error = 0;
        if (!n->group[i])
            continue;
        TRY(NCCL(n, ncclCommGetAsyncError, n->group[i], &error));
        TRY(check(n, error == NCCL_IN_PROGRESS ? 0 : error, "a message", err));
    }
    return OK;
}

static status finish(struct comm_nccl *n, struct err *err)
{
    const struct timespec nap = {.tv_nsec = SLEEP_NS};

    TRY(side_stream_end(n->side, err));
    for (int polls = 0;; polls++) {
        bool is_done;
        TRY(side_stream_poll(n->side, &is_done, err));
        if (is_done)
            return OK;
        TRY(watch(n, err));
        if (polls < EAGER_POLLS)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
}

static status run(struct comm_nccl *n, size_t bucket, float *g, size_t count,
                  bool is_inside, struct err *err)
{
    TRY(side_stream_begin(n->side, bucket, &n->stream, err));
    TRY(queue(n, g, count, is_inside, err));
    return finish(n, err);
}

status comm_nccl_sum(struct comm_nccl *n, size_t bucket, float *g, size_t count,
                     bool is_inside, double *seconds, struct err *err)
{
    char name[COMM_NAME_MAX];
    struct err why;

    *seconds = 0;
    if (is_inside && n->comm->local_size == 1)
        return OK;
    if (run(n, bucket, g, count, is_inside, &why) == OK) {
        *seconds = side_stream_seconds(n->side);
        return OK;
    }
    leave(n);
    return err_set(err, ERR_COMM,
                   "the sum of gradients (bucket %zu) on %s failed: %.600s", bucket,
                   comm_name(n->comm, n->comm->rank, name), why.msg);
}
