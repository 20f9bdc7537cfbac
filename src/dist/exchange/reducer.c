#include "dist/exchange/reducer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/comm/comm_backend.h"
#include "dist/comm/comm_nccl.h"
#include "dist/exchange/codec.h"
#include "dist/exchange/exchange.h"
#include "dist/exchange/table.h"
#include "recipe/params.h"

enum { BUCKET_BYTES = 25 << 20 }; /* one decoder layer of base, or two of the encoder */

struct bucket_job {
    struct comm_job job;
    struct reducer *reducer;
    size_t bucket; /* of the table: its first */
};

struct reducer {
    struct comm *comm;
    struct reducer_options options;
    struct buckets buckets;
    struct table table;       /* open when n_table > 0 */
    size_t n_table;           /* buckets at the end of the list that it replaces */
    struct exchange exchange; /* without nccl */
    struct comm_nccl *nccl;   /* NULL: gradients are the host's */
    struct err why_not;       /* with a device: why they are */
    size_t n_flat, n_owned;
    float *residual; /* [n_flat], int8 only; pages that are never touched cost nothing */

    float *flat;    /* what the jobs under way work on */
    bool is_inside; /* the node alone */
    bool is_split;  /* the table goes out in two parts */
    enum wire wire;
    size_t n_submitted;
    struct bucket_job *jobs; /* [n_list + 1] */
    struct comm_job facts_job;
    double *facts; /* [size][REDUCER_FACTS] */
    size_t n_facts;
    double mine[REDUCER_FACTS];
};

/* ------------------------------------------------------------ opening */

static bool has_residual(const struct reducer *r)
{
    return r->options.wire == WIRE_INT8 && r->comm->n_nodes > 1;
}

/* Does the embedding go out in two parts? The same answer on every rank. */
static size_t table_of(const struct reducer *r, const struct params *p)
{
    if (r->nccl || r->residual || r->options.is_sharded || r->comm->n_nodes == 1)
        return 0;
    return buckets_of_table(&r->buckets, p);
}

/* Flushes and weights travel in fp32. */
static enum wire widest(struct reducer_options o)
{
    return o.wire == WIRE_INT8 || o.is_sharded ? WIRE_FP32 : o.wire;
}

static status open_parts(struct reducer *r, const struct params *p, struct err *err)
{
    const size_t bytes = r->options.bucket_bytes ? r->options.bucket_bytes : BUCKET_BYTES;
    const size_t n_max = bytes / sizeof(float);

    TRY(buckets_open(&r->buckets, p, n_max ? n_max : 1, err));
    TRY(mem_alloc(&r->jobs, r->buckets.n_list + 1, sizeof *r->jobs, err));
    TRY(mem_alloc(&r->facts, (size_t)r->comm->size * REDUCER_FACTS, sizeof *r->facts,
                  err));
    if (r->options.device && !r->options.is_sharded)
        TRY(comm_nccl_open(&r->nccl, r->comm, r->options.device,
                           (struct comm_nccl_options){.wire = r->options.wire,
                                                      .is_checked = r->options.is_checked,
                                                      .n_buckets = r->buckets.n_list,
                                                      .n_max = r->buckets.n_max},
                           &r->why_not, err));
    if (r->nccl)
        return OK;
    if (has_residual(r))
        TRY(mem_alloc(&r->residual, r->n_flat, sizeof *r->residual, err));
    r->n_table = table_of(r, p);
    if (r->n_table)
        TRY(table_open(&r->table, p, r->buckets.n_max, err));
    return exchange_open(&r->exchange, r->comm, r->buckets.n_max, widest(r->options),
                         r->options.is_checked, err);
}

status reducer_open(struct reducer **out, struct comm *c, const struct params *p,
                    struct reducer_options o, struct err *err)
{
    struct reducer *r;

    *out = NULL;
    TRY(mem_alloc(&r, 1, sizeof *r, err));
    *r = (struct reducer){.comm = c, .options = o, .n_flat = p->n_flat};
    if (open_parts(r, p, err) != OK) {
        reducer_close(r);
        return err->code;
    }
    for (size_t i = 0; i < reducer_n_ranges(r); i++)
        r->n_owned += reducer_range(r, i).n;
    *out = r;
    return OK;
}

void reducer_close(struct reducer *r)
{
    if (!r)
        return;
    exchange_close(&r->exchange);
    table_close(&r->table);
    comm_nccl_close(r->nccl);
    buckets_close(&r->buckets);
    free(r->residual);
    free(r->jobs);
    free(r->facts);
    free(r);
}

const struct buckets *reducer_buckets(const struct reducer *r)
{
    return &r->buckets;
}

bool reducer_is_on_device(const struct reducer *r)
{
    return r->nccl;
}

const char *reducer_carrier(const struct reducer *r)
{
    return r->nccl ? comm_nccl_library(r->nccl) : r->why_not.msg;
}

/* ------------------------------------------------------------ one update */

/* Began when the card did, not when it was asked to. */
static status nccl_job(struct comm *c, void *ctx, struct err *err)
{
    struct bucket_job *j = ctx;
    struct reducer *r = j->reducer;
    const struct bucket b = r->buckets.list[j->bucket];
    double seconds;

    (void)c;
    TRY(comm_nccl_sum(r->nccl, j->bucket, r->flat + b.first, b.n, r->is_inside, &seconds,
                      err));
    j->job.t_begin = clock_now() - seconds;
    return OK;
}

static status reduce_job(struct comm *c, void *ctx, struct err *err)
{
    const struct bucket_job *j = ctx;
    struct reducer *r = j->reducer;
    const struct bucket b = r->buckets.list[j->bucket];
    float *residual = r->residual ? r->residual + b.first : NULL;

    (void)c;
    r->exchange.bucket = (int)j->bucket;
    if (r->is_inside)
        return exchange_sum_node(&r->exchange, r->flat + b.first, b.n, err);
    if (r->options.is_sharded)
        return exchange_reduce(&r->exchange, r->flat + b.first, b.n, r->wire, residual,
                               err);
    return exchange_sum(&r->exchange, r->flat + b.first, b.n, r->wire, residual, err);
}

/* The first job of an update: rows that nobody names. */
static status early_job(struct comm *c, void *ctx, struct err *err)
{
    const struct bucket_job *j = ctx;
    struct reducer *r = j->reducer;

    r->exchange.bucket = (int)j->bucket;
    TRY(table_merge(&r->table, c, err));
    return table_sum(&r->table, &r->exchange, r->flat, false, r->wire, err);
}

/* The last one: those that somebody does. */
static status late_job(struct comm *c, void *ctx, struct err *err)
{
    const struct bucket_job *j = ctx;
    struct reducer *r = j->reducer;

    (void)c;
    r->exchange.bucket = (int)j->bucket;
    return table_sum(&r->table, &r->exchange, r->flat, true, r->wire, err);
}

static status spread_job(struct comm *c, void *ctx, struct err *err)
{
    const struct bucket_job *j = ctx;
    struct reducer *r = j->reducer;
    const struct bucket b = r->buckets.list[j->bucket];

    (void)c;
    r->exchange.bucket = (int)j->bucket;
    return exchange_spread(&r->exchange, r->flat + b.first, b.n, err);
}

static void submit(struct reducer *r, comm_job_fn *run, size_t bucket,
                   enum comm_phase phase)
{
    struct bucket_job *j = &r->jobs[r->n_submitted++];

    *j = (struct bucket_job){
        .job = {.run = run, .ctx = j, .phase = phase, .detail = (int)bucket},
        .reducer = r,
        .bucket = bucket};
    comm_submit(r->comm, &j->job);
}

void reducer_begin(struct reducer *r, float *grad, bool is_flush)
{
    r->flat = grad;
    r->wire = is_flush && r->residual ? WIRE_FP32 : r->options.wire;
    r->n_submitted = 0;
    r->is_inside = false;
    r->is_split = r->n_table > 0;
    if (r->is_split)
        table_mark_all(&r->table);
}

void reducer_begin_node(struct reducer *r, float *grad)
{
    reducer_begin(r, grad, false);
    r->is_inside = true;
    r->is_split = false;
}

struct table *reducer_table(struct reducer *r)
{
    return r->is_split ? &r->table : NULL;
}

/* Buckets that go out whole. */
static size_t n_whole(const struct reducer *r)
{
    return r->buckets.n_list - (r->is_split ? r->n_table : 0);
}

static void submit_ready_buckets(struct reducer *r, size_t first)
{
    const size_t n_before = r->is_split; /* the early job */

    for (size_t i; (i = r->n_submitted - n_before) < n_whole(r) &&
                   r->buckets.list[i].first >= first;) {
        if (r->nccl)
            comm_nccl_mark(r->nccl, i);
        submit(r, r->nccl ? nccl_job : reduce_job, i, COMM_REDUCE);
    }
}

void reducer_ready(void *reducer, size_t first, size_t n)
{
    struct reducer *r = reducer;

    (void)n; /* everything behind it is final already */
    if (r->is_split && r->n_submitted == 0)
        submit(r, early_job, n_whole(r), COMM_REDUCE);
    submit_ready_buckets(r, first);
    if (r->is_split && first == 0 && r->n_submitted == 1 + n_whole(r))
        submit(r, late_job, n_whole(r), COMM_REDUCE);
}

/* ------------------------------------------------------------ facts */

static status facts_job(struct comm *c, void *ctx, struct err *err)
{
    struct reducer *r = ctx;
    const size_t n = r->n_facts, bytes = n * sizeof(double);
    const struct comm_msg up = {0, r->mine, bytes};

    if (c->rank != 0)
        TRY(comm_swap(c, &up, 1, NULL, 0, err));
    else
        memcpy(r->facts, r->mine, bytes);
    for (int rank = 1; c->rank == 0 && rank < c->size; rank++) {
        const struct comm_msg in = {rank, r->facts + (size_t)rank * n, bytes};
        TRY(comm_swap(c, NULL, 0, &in, 1, err));
    }
    return comm_tell(c, r->facts, bytes * (size_t)c->size, err);
}

static void submit_facts(struct reducer *r, const struct reducer_facts *f)
{
    r->n_facts = f->n_sum + f->n_mine;
    BUG_ON(r->n_facts > REDUCER_FACTS);
    if (f->n_sum)
        memcpy(r->mine, f->sum, f->n_sum * sizeof *r->mine);
    if (f->n_mine)
        memcpy(r->mine + f->n_sum, f->mine, f->n_mine * sizeof *r->mine);
    r->facts_job = (struct comm_job){.run = facts_job, .ctx = r, .phase = COMM_CONTROL};
    comm_submit(r->comm, &r->facts_job);
}

/* Added in the order of ranks: the same bits everywhere. */
static void unpack_facts(const struct reducer *r, const struct reducer_facts *f)
{
    for (size_t i = 0; i < f->n_sum; i++)
        f->sum[i] = 0;
    for (size_t rank = 0; rank < (size_t)r->comm->size; rank++) {
        const double *of = r->facts + rank * r->n_facts;
        for (size_t i = 0; i < f->n_sum; i++)
            f->sum[i] += of[i];
        if (f->n_mine)
            memcpy(f->all + rank * f->n_mine, of + f->n_sum, f->n_mine * sizeof *f->all);
    }
}

static double overlap(const struct comm_job *job, double t_finish)
{
    const double end = job->t_end < t_finish ? job->t_end : t_finish;

    return end > job->t_begin ? end - job->t_begin : 0;
}

/* All jobs so far, also after a failure: they must not be in use when it is told. */
static status wait_buckets(struct reducer *r, struct err *err)
{
    status result = OK;

    for (size_t i = 0; i < r->n_submitted; i++)
        result = comm_wait(r->comm, &r->jobs[i].job, err);
    return result;
}

status reducer_finish(struct reducer *r, const struct reducer_facts *facts,
                      struct reducer_times *times, struct err *err)
{
    const double t_finish = clock_now();

    reducer_ready(r, 0, 0);
    if (facts)
        submit_facts(r, facts);
    const status reduced = wait_buckets(r, err);
    const status told = facts ? comm_wait(r->comm, &r->facts_job, err) : OK;
    const status result = reduced != OK ? reduced : told;
    if (facts && result == OK)
        unpack_facts(r, facts);
    *times = (struct reducer_times){.t_exposed = clock_now() - t_finish};
    for (size_t i = 0; i < r->n_submitted; i++) {
        const struct comm_job *job = &r->jobs[i].job;
        times->t_hidden += overlap(job, t_finish);
        times->t_busy += job->t_end - job->t_begin;
    }
    if (facts)
        times->t_busy += r->facts_job.t_end - r->facts_job.t_begin;
    return result;
}

/* ------------------------------------------------------------ sharded */

/* Range i of a rank, counted from the start of the flat array. */
static struct wire_part range_of(const struct reducer *r, int rank, size_t i)
{
    const struct bucket b = r->buckets.list[i];
    struct wire_part p = {0, b.n};

    if (r->options.is_sharded)
        p = exchange_owned(r->comm, rank, b.n);
    return (struct wire_part){b.first + p.first, p.n};
}

size_t reducer_n_ranges(const struct reducer *r)
{
    return r->buckets.n_list;
}

struct reducer_range reducer_range(const struct reducer *r, size_t i)
{
    const struct wire_part p = range_of(r, r->comm->rank, i);
    size_t at = 0;

    for (size_t k = 0; k < i; k++)
        at += range_of(r, r->comm->rank, k).n;
    return (struct reducer_range){p.first, p.n, at};
}

size_t reducer_n_owned(const struct reducer *r)
{
    return r->n_owned;
}

status reducer_spread(struct reducer *r, float *flat, struct err *err)
{
    if (!r->options.is_sharded)
        return OK;
    r->flat = flat;
    r->n_submitted = 0;
    while (r->n_submitted < r->buckets.n_list)
        submit(r, spread_job, r->n_submitted, COMM_GATHER);
    return wait_buckets(r, err);
}

struct gathering {
    struct reducer *reducer;
    const float *owned;
    float *flat, *part; /* on rank 0: the array, and room for one rank's */
};

static size_t n_owned_by(const struct reducer *r, int rank)
{
    size_t n = 0;

    for (size_t i = 0; i < r->buckets.n_list; i++)
        n += range_of(r, rank, i).n;
    return n;
}

static void place(const struct reducer *r, int rank, float *flat, const float *owned)
{
    for (size_t i = 0; i < r->buckets.n_list; i++) {
        const struct wire_part p = range_of(r, rank, i);
        memcpy(flat + p.first, owned, p.n * sizeof *flat);
        owned += p.n;
    }
}

static status gather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct gathering *g = ctx;
    const struct reducer *r = g->reducer;
    struct comm_msg up = {0, (void *)g->owned, r->n_owned * sizeof *g->owned};

    if (c->rank != 0)
        return comm_swap(c, &up, r->n_owned > 0, NULL, 0, err);
    place(r, 0, g->flat, g->owned);
    for (int rank = 1; rank < c->size; rank++) {
        const size_t n = n_owned_by(r, rank);
        const struct comm_msg in = {rank, g->part, n * sizeof *g->part};
        TRY(comm_swap(c, NULL, 0, &in, n > 0, err));
        place(r, rank, g->flat, g->part);
    }
    return OK;
}

status reducer_gather(struct reducer *r, const float *owned, float *flat, struct err *err)
{
    struct gathering g = {.reducer = r, .owned = owned, .flat = flat};
    struct comm_job job = {.run = gather_job, .ctx = &g, .phase = COMM_GATHER};
    size_t n_most = 0;

    if (!r->options.is_sharded) {
        if (flat)
            place(r, r->comm->rank, flat, owned);
        return OK;
    }
    for (int rank = 1; r->comm->rank == 0 && rank < r->comm->size; rank++) {
        const size_t n = n_owned_by(r, rank);
        n_most = n > n_most ? n : n_most;
    }
    TRY(mem_alloc(&g.part, n_most, sizeof *g.part, err));
    comm_submit(r->comm, &job);
    const status result = comm_wait(r->comm, &job, err);
    free(g.part);
    return result;
}

void reducer_pick(const struct reducer *r, float *owned, const float *flat)
{
    for (size_t i = 0; i < r->buckets.n_list; i++) {
        const struct wire_part p = range_of(r, r->comm->rank, i);
        memcpy(owned, flat + p.first, p.n * sizeof *owned);
        owned += p.n;
    }
}

/* ------------------------------------------------------------ replicas */

static int votes_for(const uint64_t *hash, int n, uint64_t which)
{
    int votes = 0;

    for (int i = 0; i < n; i++)
        votes += hash[i] == which;
    return votes;
}

status reducer_compare(struct comm *c, const float *x, size_t n, struct reducer_odd *odd,
                       struct err *err)
{
    const uint64_t mine = codec_hash(x, n);
    uint64_t *hash;
    int best = 0;

    TRY(mem_alloc(&hash, (size_t)c->size, sizeof *hash, err));
    const status result = comm_allgather(c, hash, &mine, sizeof mine, err);
    for (int i = 1; i < c->size; i++)
        if (votes_for(hash, c->size, hash[i]) > votes_for(hash, c->size, hash[best]))
            best = i;
    *odd = (struct reducer_odd){.rank = -1, .other = best};
    for (int i = c->size; i-- > 0;)
        if (hash[i] != hash[best])
            odd->rank = i;
    if (odd->rank >= 0)
        odd->is_clear = votes_for(hash, c->size, hash[odd->rank]) <
                        votes_for(hash, c->size, hash[best]);
    free(hash);
    return result;
}
