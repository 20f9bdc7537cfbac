#include "dist/exchange/reducer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "dist/comm/comm_backend.h"
#include "dist/comm/comm_nccl.h"
#include "dist/exchange/embed_rows.h"
#include "dist/exchange/exchange.h"
#include "recipe/params.h"

enum { BUCKET_BYTES = 25 << 20 }; /* one decoder layer of base, or two of the encoder */

enum work { REDUCE, EARLY_ROWS, LATE_ROWS, ALLGATHER };

struct bucket_job {
    struct comm_job job;
    struct reducer *reducer;
    enum work work;
    size_t bucket; /* with ROWS: the first of the embedding's */
};

struct reducer {
    struct comm *comm;
    struct reducer_options options;
    struct buckets buckets;
    struct embed_rows embed_rows; /* open when n_embed > 0 */
    size_t n_embed;               /* buckets at the end of the list that it replaces */
    struct exchange exchange;     /* without nccl */
    struct comm_nccl *nccl;       /* NULL: gradients are the host's */
    struct err why_not;           /* with a device: why they are */
    size_t n_flat;
    struct reducer_shards shards; /* with is_sharded */
    float *residual; /* [n_flat], int8 only; pages that are never touched cost nothing */

    float *flat;    /* what the jobs under way work on */
    bool is_inside; /* the node alone */
    bool is_split;  /* the embedding is reduced in two parts */
    enum wire wire;
    size_t n_submitted;
    struct bucket_job *jobs; /* [n_list + 1] */
    struct comm_job facts_job;
    const struct reducer_facts *asked;
};

/* ------------------------------------------------------------ opening */

/* Buckets that embed_rows replaces: the same number on every rank. */
static size_t n_early_buckets(const struct reducer *r, const struct params *p)
{
    if (r->nccl || r->residual || r->options.is_sharded || r->comm->n_nodes == 1)
        return 0;
    return buckets_of_embedding(&r->buckets, p);
}

/* Flushes and weights travel in fp32. */
static enum wire widest(struct reducer_options o)
{
    return o.wire == WIRE_INT8 || o.is_sharded ? WIRE_FP32 : o.wire;
}

/* What a rank owns of bucket i, counted from the start of the flat array. */
static struct wire_part owned_by(const struct reducer *r, int rank, size_t i)
{
    const struct bucket b = r->buckets.list[i];
    const struct wire_part p = exchange_owned(&r->exchange, rank, b.n);

    return (struct wire_part){b.first + p.first, p.n};
}

static status list_shards(struct reducer *r, struct err *err)
{
    struct reducer_shards *s = &r->shards;

    TRY(mem_alloc(&s->list, r->buckets.n_list, sizeof *s->list, err));
    for (; s->n_list < r->buckets.n_list; s->n_list++) {
        const struct wire_part p = owned_by(r, r->comm->rank, s->n_list);
        s->list[s->n_list] = (struct reducer_shard){p.first, p.n, s->n_owned};
        s->n_owned += p.n;
    }
    return OK;
}

static status open_parts(struct reducer *r, const struct params *p, struct err *err)
{
    const size_t bytes = r->options.bucket_bytes ? r->options.bucket_bytes : BUCKET_BYTES;
    const size_t n_max = bytes / sizeof(float);

    TRY(buckets_open(&r->buckets, p, n_max ? n_max : 1, err));
    TRY(mem_alloc(&r->jobs, r->buckets.n_list + 1, sizeof *r->jobs, err));
    if (!r->options.is_sharded && r->options.device)
        TRY(comm_nccl_open(&r->nccl, r->comm, r->options.device,
                           (struct comm_nccl_options){.wire = r->options.wire,
                                                      .is_checked = r->options.is_checked,
                                                      .n_buckets = r->buckets.n_list,
                                                      .n_max = r->buckets.n_max},
                           &r->why_not, err));
    if (r->nccl)
        return OK;
    if (r->options.wire == WIRE_INT8 && r->comm->n_nodes > 1)
        TRY(mem_alloc(&r->residual, r->n_flat, sizeof *r->residual, err));
    r->n_embed = n_early_buckets(r, p);
    if (r->n_embed)
        TRY(embed_rows_open(&r->embed_rows, p, r->buckets.n_max, err));
    TRY(exchange_open(&r->exchange, r->comm,
                      (struct exchange_options){.n_max = r->buckets.n_max,
                                                .widest = widest(r->options),
                                                .is_checked = r->options.is_checked,
                                                .n_rows = r->options.n_rows},
                      err));
    return r->options.is_sharded ? list_shards(r, err) : OK;
}

status reducer_open(struct reducer **out, struct comm *c, const struct params *p,
                    struct reducer_options o, struct err *err)
{
    struct reducer *r;

    *out = NULL;
    TRY(mem_alloc(&r, 1, sizeof *r, err));
    *r = (struct reducer){
        .comm = c, .options = o, .n_flat = p->n_flat, .shards = {.comm = c}};
    if (open_parts(r, p, err) != OK) {
        reducer_close(r);
        return err->code;
    }
    *out = r;
    return OK;
}

void reducer_close(struct reducer *r)
{
    if (!r)
        return;
    exchange_close(&r->exchange);
    embed_rows_close(&r->embed_rows);
    comm_nccl_close(r->nccl);
    buckets_close(&r->buckets);
    free(r->residual);
    free(r->jobs);
    free(r->shards.list);
    free(r);
}

const struct buckets *reducer_buckets(const struct reducer *r)
{
    return &r->buckets;
}

const struct grid *reducer_grid(const struct reducer *r)
{
    return &r->exchange.grid;
}

float *reducer_residual(struct reducer *r, size_t *n)
{
    *n = r->n_flat;
    return r->residual;
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

static status reduce_bucket(struct bucket_job *j, float *x, size_t n, struct err *err)
{
    struct reducer *r = j->reducer;
    float *residual = r->residual ? r->residual + (x - r->flat) : NULL;
    double seconds;

    if (r->nccl) {
        TRY(comm_nccl_sum(r->nccl, j->bucket, x, n, r->is_inside, &seconds, err));
        /* Time from the start of the transfer, not from the request. */
        j->job.t_begin = clock_now() - seconds;
        return OK;
    }
    if (r->is_inside)
        return exchange_allreduce_node(&r->exchange, x, n, err);
    if (r->options.is_sharded)
        return exchange_reduce_scatter(&r->exchange, x, n, r->wire, residual, err);
    return exchange_allreduce(&r->exchange, x, n, r->wire, residual, err);
}

static status bucket_job(struct comm *c, void *ctx, struct err *err)
{
    struct bucket_job *j = ctx;
    struct reducer *r = j->reducer;
    const struct bucket b = r->buckets.list[j->bucket];

    r->exchange.bucket = (int)j->bucket;
    if (j->work == REDUCE)
        return reduce_bucket(j, r->flat + b.first, b.n, err);
    if (j->work == ALLGATHER)
        return exchange_allgather(&r->exchange, r->flat + b.first, b.n, err);
    if (j->work == EARLY_ROWS)
        TRY(embed_rows_merge(&r->embed_rows, c, err));
    return embed_rows_sum(&r->embed_rows, &r->exchange, r->flat, j->work == LATE_ROWS,
                          r->wire, err);
}

static void submit(struct reducer *r, enum work work, size_t bucket)
{
    struct bucket_job *j = &r->jobs[r->n_submitted++];

    *j = (struct bucket_job){.job = {.run = bucket_job, .ctx = j},
                             .reducer = r,
                             .work = work,
                             .bucket = bucket};
    comm_submit(r->comm, &j->job);
}

void reducer_begin(struct reducer *r, float *grad, bool is_flush)
{
    r->flat = grad;
    r->wire = is_flush && r->residual ? WIRE_FP32 : r->options.wire;
    r->n_submitted = 0;
    r->is_inside = false;
    r->is_split = r->n_embed > 0;
    if (r->is_split)
        embed_rows_mark_all(&r->embed_rows, true);
}

void reducer_begin_node(struct reducer *r, float *grad)
{
    reducer_begin(r, grad, false);
    r->is_inside = true;
    r->is_split = false;
}

struct embed_rows *reducer_embed_rows(struct reducer *r)
{
    return r->is_split ? &r->embed_rows : NULL;
}

/* Buckets that are reduced whole. */
static size_t n_whole(const struct reducer *r)
{
    return r->buckets.n_list - (r->is_split ? r->n_embed : 0);
}

static void submit_ready_buckets(struct reducer *r, size_t first)
{
    const size_t n_before = r->is_split; /* the early job */

    for (size_t i; (i = r->n_submitted - n_before) < n_whole(r) &&
                   r->buckets.list[i].first >= first;) {
        if (r->nccl)
            comm_nccl_mark(r->nccl, i);
        submit(r, REDUCE, i);
    }
}

void reducer_ready(void *reducer, size_t first, size_t n)
{
    struct reducer *r = reducer;

    (void)n; /* everything behind it is final already */
    if (r->is_split && r->n_submitted == 0)
        submit(r, EARLY_ROWS, n_whole(r));
    submit_ready_buckets(r, first);
    if (r->is_split && first == 0 && r->n_submitted == 1 + n_whole(r))
        submit(r, LATE_ROWS, n_whole(r));
}

/* ------------------------------------------------------------ facts */

/* As they travel: sums, then the largest. */
static void fold_facts(void *into, const void *from, const void *ctx)
{
    const struct reducer_facts *f = ctx;
    double *a = into;
    const double *b = from;

    for (size_t i = 0; i < f->n_sum; i++)
        *a++ += *b++;
    for (size_t i = 0; i < f->n_most; i++, a++, b++)
        if (*b > *a || isnan(*b))
            *a = *b;
}

static status facts_job(struct comm *c, void *ctx, struct err *err)
{
    const struct reducer *r = ctx;
    const struct reducer_facts *f = r->asked;
    const size_t n = f->n_sum + f->n_most;
    double x[REDUCER_FACTS], scratch[REDUCER_FACTS];

    BUG_ON(n > REDUCER_FACTS);
    for (size_t i = 0; i < n; i++)
        x[i] = i < f->n_sum ? f->sum[i] : f->most[i - f->n_sum];
    TRY(comm_job_allreduce(c, (struct comm_folding){fold_facts, f, n * sizeof *x}, x,
                           scratch, err));
    for (size_t i = 0; i < n; i++)
        *(i < f->n_sum ? &f->sum[i] : &f->most[i - f->n_sum]) = x[i];
    return OK;
}

/* Also after a failure: no job may be in use when this returns. */
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
    if (facts) {
        r->asked = facts;
        r->facts_job = (struct comm_job){.run = facts_job, .ctx = r};
        comm_submit(r->comm, &r->facts_job);
    }
    const status reduced = wait_buckets(r, err);
    const status told = facts ? comm_wait(r->comm, &r->facts_job, err) : OK;
    *times = (struct reducer_times){.t_exposed = clock_now() - t_finish};
    for (size_t i = 0; i < r->n_submitted; i++) {
        const struct comm_job *job = &r->jobs[i].job;
        times->t_hidden += fmax(0, fmin(job->t_end, t_finish) - job->t_begin);
    }
    return reduced != OK ? reduced : told;
}

/* ------------------------------------------------------------ sharded */

const struct reducer_shards *reducer_shards(const struct reducer *r)
{
    return &r->shards;
}

status reducer_allgather(struct reducer *r, float *flat, struct err *err)
{
    if (!r->options.is_sharded)
        return OK;
    r->flat = flat;
    r->n_submitted = 0;
    while (r->n_submitted < r->buckets.n_list)
        submit(r, ALLGATHER, r->n_submitted);
    return wait_buckets(r, err);
}

struct gathering {
    struct reducer *reducer;
    const float *owned;
    float *flat; /* NULL where nothing is gathered */
};

/* Bucket by bucket, each range straight to its place. */
static status gather_job(struct comm *c, void *ctx, struct err *err)
{
    const struct gathering *g = ctx;
    const struct reducer *r = g->reducer;

    for (size_t i = 0; i < r->shards.n_list; i++) {
        const struct reducer_shard mine = r->shards.list[i];
        const struct comm_msg up = {0, (void *)(g->owned + mine.at),
                                    mine.n * sizeof *g->owned};
        size_t n = 0;
        if (g->flat)
            memcpy(g->flat + mine.first, up.data, up.n_bytes);
        else
            TRY(comm_swap(c, &up, mine.n > 0, NULL, 0, err));
        for (int rank = 1; g->flat && rank < c->size; rank++) {
            const struct wire_part p = owned_by(r, rank, i);
            if (p.n)
                c->msg[n++] =
                    (struct comm_msg){rank, g->flat + p.first, p.n * sizeof *g->flat};
        }
        TRY(comm_swap(c, NULL, 0, c->msg, n, err));
    }
    return OK;
}

status reducer_gather(struct reducer *r, const float *owned, float *flat, struct err *err)
{
    struct gathering g = {.reducer = r, .owned = owned, .flat = flat};

    return comm_run(r->comm, gather_job, &g, err);
}

void reducer_pick(const struct reducer *r, float *owned, const float *flat)
{
    for (size_t i = 0; i < r->shards.n_list; i++) {
        const struct reducer_shard s = r->shards.list[i];
        memcpy(owned + s.at, flat + s.first, s.n * sizeof *owned);
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

/* Whether all ranks bring the same: halves of it, because a double holds 53 bits. */
static status is_same_everywhere(struct comm *c, uint64_t x, bool *is_same,
                                 struct err *err)
{
    const double high = (double)(x >> 32), low = (double)(x & UINT32_MAX);
    double most[] = {high, low, -high, -low};

    TRY(comm_allreduce(c, COMM_MAX, most, 4, err));
    *is_same = most[0] == -most[2] && most[1] == -most[3];
    return OK;
}

/* Checksums of all ranks are gathered only when they are not all the same. */
status reducer_compare(struct comm *c, uint64_t checksum, struct reducer_odd *odd,
                       struct err *err)
{
    uint64_t *hash;
    bool is_same;
    int best = 0;

    *odd = (struct reducer_odd){.rank = -1};
    TRY(is_same_everywhere(c, checksum, &is_same, err));
    if (is_same)
        return OK;
    TRY(mem_alloc(&hash, (size_t)c->size, sizeof *hash, err));
    const status result = comm_allgather(c, hash, &checksum, sizeof checksum, err);
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
