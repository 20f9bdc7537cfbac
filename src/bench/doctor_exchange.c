#include "bench/doctor_exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "device/device.h"
#include "dist/comm/comm.h"
#include "dist/comm/comm_nccl.h"

enum { N = 4 << 20, REPEATS = 3 };

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

/* Small whole numbers, so that every order of adding gives the same. */
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

static status sum_on(struct doctor_exchange *r, struct comm *c, struct device *d,
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

static status sum_with(struct doctor_exchange *r, struct comm *c, struct device *d,
                       struct comm_nccl *nccl, struct err *err)
{
    struct mat m = {NULL, 0, 1, N, N};
    float *host;

    snprintf(r->library, sizeof r->library, "%s", comm_nccl_library(nccl));
    TRY(mem_alloc(&host, N, sizeof *host, err));
    status result = device_alloc(d, &m.mem, r->n_bytes, err);
    if (result == OK)
        result = sum_on(r, c, d, nccl, m, host, err);
    device_free(d, m.mem);
    free(host);
    return result;
}

/* Closing NCCL is no meeting: whoever is done first would end the others' last sum. */
static status try_nccl(struct doctor_exchange *r, struct comm *c, struct device *d,
                       struct err *err)
{
    const struct comm_nccl_options o = {.wire = WIRE_FP32, .n_buckets = 1, .n_max = N};
    struct comm_nccl *nccl;
    struct err why;

    TRY(comm_nccl_open(&nccl, c, d, o, &why, err));
    if (!nccl) {
        snprintf(r->why_not, sizeof r->why_not, "%.500s", why.msg);
        return OK;
    }
    const status result = comm_agree(c, sum_with(r, c, d, nccl, err), err);
    comm_nccl_close(nccl);
    return result;
}

status doctor_exchange(struct doctor_exchange *r, struct comm *c, const char *device,
                       struct err *err)
{
    const struct device_options options = {.local_rank = (size_t)c->local_rank};
    struct device d;

    *r = (struct doctor_exchange){.n_bytes = N * sizeof(float)};
    TRY(comm_agree(c, device_open(&d, device, options, err), err));
    r->is_gpu = d.driver;
    const status result = r->is_gpu ? try_nccl(r, c, &d, err) : OK;
    device_close(&d);
    return result;
}
