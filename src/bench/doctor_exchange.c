#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "bench/doctor.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/comm/comm_nccl.h"

enum { N = 4 << 20, REPEATS = 3 };

struct result {
    double seconds;  /* of one sum, as the card saw it */
    double furthest; /* from the right result */
};

struct summing {
    struct comm_nccl *nccl;
    float *x; /* of the device */
    double seconds;
};

static status sum_job(struct comm *c, void *ctx, struct err *err)
{
    struct summing *s = ctx;

    (void)c;
    return comm_nccl_sum(s->nccl, 0, s->x, N, false, &s->seconds, err);
}

/* Small integers, whose sum is exact in any order. */
static float value(size_t i, int rank)
{
    return (float)(i % 61) + (float)rank;
}

static double furthest_from_sum(const float *x, int n_ranks)
{
    double most = 0;

    for (size_t i = 0; i < N; i++) {
        double want = 0;
        for (int r = 0; r < n_ranks; r++)
            want += (double)value(i, r);
        const double gap = fabs((double)x[i] - want);
        most = gap > most || gap != gap ? gap : most;
    }
    return most;
}

static status sum_on(struct result *r, struct comm *c, struct device *d,
                     struct comm_nccl *nccl, struct mat m, float *host, struct err *err)
{
    struct summing s = {.nccl = nccl, .x = m.mem};

    r->seconds = 1e30;
    for (int i = 0; i < REPEATS; i++) { /* the first one also opens connections */
        struct comm_job job = {.run = sum_job, .ctx = &s};
        for (size_t k = 0; k < N; k++)
            host[k] = value(k, c->rank);
        device_upload(d, m, host);
        comm_nccl_mark(nccl, 0);
        comm_submit(c, &job);
        TRY(comm_wait(c, &job, err));
        device_download(d, host, m);
        TRY(device_sync(d, err));
        const double gap = furthest_from_sum(host, c->size);
        r->furthest = gap > r->furthest || gap != gap ? gap : r->furthest;
        r->seconds = s.seconds < r->seconds ? s.seconds : r->seconds;
    }
    return OK;
}

static status sum_with(struct result *r, struct comm *c, struct device *d,
                       struct comm_nccl *nccl, struct err *err)
{
    struct mat m;
    float *host;

    TRY(mem_alloc(&host, N, sizeof *host, err));
    status result = device_alloc_row(d, &m, N, err);
    THEN(result, sum_on(r, c, d, nccl, m, host, err));
    device_free(d, m.mem);
    free(host);
    return result;
}

/* Closing NCCL does not wait for the others: without the agreement before it, the first
 * rank that is done would end the others' last sum. */
static status examine_nccl(struct doctor *doctor, struct comm *c, struct device *d,
                           struct err *err)
{
    const struct comm_nccl_options o = {.wire = WIRE_FP32, .n_buckets = 1, .n_max = N};
    struct comm_nccl *nccl;
    struct result r = {0};
    struct err why;

    TRY(comm_nccl_open(&nccl, c, d, o, &why, err));
    if (c->rank == 0)
        fputs("a sum over cards\n", doctor->out);
    if (c->rank == 0 && !nccl)
        fprintf(doctor->out, "  none  %s\n", why.msg);
    if (!nccl)
        return OK;
    const status result = comm_agree(c, sum_with(&r, c, d, nccl, err), err);
    if (result == OK && c->rank == 0)
        fprintf(
            doctor->out, "  %s  %d rank%s by %-12s %.1e from the right sum, %.2f GB/s\n",
            doctor_verdict(doctor, r.furthest == 0), c->size, c->size == 1 ? "" : "s",
            comm_nccl_library(nccl), r.furthest, N * sizeof(float) / r.seconds * 1e-9);
    comm_nccl_close(nccl);
    return result;
}

status doctor_exchange(struct doctor *doctor, struct comm *c, struct err *err)
{
    const struct device_options options = {.local_rank = (size_t)c->local_rank};
    struct device d;

    TRY(comm_agree(c, device_open(&d, doctor->device, options, err), err));
    const status result = d.gpu ? examine_nccl(doctor, c, &d, err) : OK;
    device_close(&d);
    return result;
}
