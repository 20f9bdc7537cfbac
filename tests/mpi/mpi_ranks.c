/*
 * The exchange over a real MPI: mpirun starts this program (tests/mpi/run). Every rank
 * sums gradients that it could have made for all others, in every wire, and compares;
 * the first rank prints what it ran on. Exit status 0 when all ranks are content.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"
#include "corpus/checksum.h"
#include "dist/comm/comm.h"
#include "dist/exchange/codec.h"
#include "dist/exchange/reducer.h"
#include "recipe/model_config.h"
#include "recipe/params.h"

static const struct model_config tiny = {.vocab_size = 3000,
                                         .d_model = 64,
                                         .d_ff = 128,
                                         .heads = 2,
                                         .encoder_layers = 2,
                                         .decoder_layers = 2};

static void gradient(float *g, size_t n, int rank, int step)
{
    struct rng r = rng_open(rng_key((uint64_t)(rank * 1000 + step), "gradient"));

    for (size_t i = 0; i < n; i++)
        g[i] = (float)(2 * rng_unit(&r) - 1);
}

static double *sum_of_all(const struct comm *c, size_t n, int step)
{
    double *sum = calloc(n, sizeof *sum);
    float *g = calloc(n, sizeof *g);

    for (int r = 0; r < c->size; r++) {
        gradient(g, n, r, step);
        for (size_t i = 0; i < n; i++)
            sum[i] += (double)g[i];
    }
    free(g);
    return sum;
}

static status compare(const struct comm *c, const float *g, const double *want, size_t n,
                      enum wire w, struct err *err)
{
    static const double limit[N_WIRES] = {1e-6, 1.0 / 100, 1.0 / 800, 1.0 / 80};

    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)g[i] - want[i]) <= limit[w] * c->size))
            return err_set(err, ERR_CHECK, "rank %d, %s: element %zu is %g, want %g",
                           c->rank, wire_name(w), i, (double)g[i], want[i]);
    return OK;
}

static status all_equal(struct comm *c, const float *x, size_t n, struct err *err)
{
    struct reducer_odd odd;

    TRY(reducer_compare(c, checksum_of(x, n * sizeof *x), &odd, err));
    return odd.rank < 0 ? OK : err_set(err, ERR_CHECK, "rank %d differs", odd.rank);
}

/* The gradient is reported in two slices, as if backward had just reached the middle. */
static status sum_gradients(struct comm *c, struct reducer *r, float *g, size_t n,
                            int step, struct err *err)
{
    double tokens = 10 + c->rank;
    const struct reducer_facts facts = {.sum = &tokens, .n_sum = 1};
    struct reducer_times times;

    gradient(g, n, c->rank, step);
    reducer_begin(r, g, false);
    reducer_ready(r, n / 2, n - n / 2);
    TRY(reducer_finish(r, &facts, &times, err));
    if (tokens != 10 * c->size + c->size * (c->size - 1) / 2)
        return err_set(err, ERR_CHECK, "%g tokens", tokens);
    return OK;
}

static status run_wire(struct comm *c, const struct params *p, enum wire w, bool sharded,
                       struct err *err)
{
    struct reducer *r;
    float *g = calloc(p->n_flat, sizeof *g);
    status result = OK;

    TRY(reducer_open(&r, c, p,
                     (struct reducer_options){.wire = w,
                                              .bucket_bytes = 300000,
                                              .is_sharded = sharded,
                                              .is_checked = w == WIRE_BF16},
                     err));
    for (int step = 0; step < 2 && result == OK; step++) {
        const struct comm_traffic before = comm_traffic(c);
        double *want = sum_of_all(c, p->n_flat, step);
        result = sum_gradients(c, r, g, p->n_flat, step, err);
        if (result == OK)
            result = reducer_allgather(r, g, err);
        const double sent = (double)(comm_traffic(c).sent_bytes - before.sent_bytes);
        const double stated =
            wire_step(reducer_buckets(r), w, reducer_grid(r), (size_t)c->node, sharded)
                .sent_bytes;
        if (result == OK)
            result = compare(c, g, want, p->n_flat, w, err);
        if (result == OK)
            result = all_equal(c, g, p->n_flat, err);
        if (result == OK && c->local_rank == 0 && fabs(sent - stated) > 4096)
            result = err_set(err, ERR_CHECK, "%s: sent %g bytes, stated %g", wire_name(w),
                             sent, stated);
        free(want);
    }
    reducer_close(r);
    free(g);
    return result;
}

/* 9 MB from the last rank, and words of different lengths to the first. */
static status run_control(struct comm *c, struct err *err)
{
    enum { BIG = 9000001 };
    unsigned char *big = calloc(1, BIG);
    struct str words = str_new(0);
    status result;

    if (c->rank == c->size - 1)
        memset(big, 77, BIG);
    result = comm_bcast(c, big, BIG, c->size - 1, err);
    for (size_t i = 0; result == OK && i < BIG; i++)
        if (big[i] != 77)
            result = err_set(err, ERR_CHECK, "byte %zu of a broadcast is wrong", i);
    free(big);
    if (result == OK)
        result = comm_gather(c, &words, "abcdefgh", (size_t)c->rank % 8, err);
    if (result == OK && c->rank == 0 && c->size == 4 &&
        strcmp(str_text(&words), "aababc") != 0)
        result = err_set(err, ERR_CHECK, "collected '%s'", str_text(&words));
    str_release(&words);
    return result;
}

static status run(struct comm *c, struct err *err)
{
    struct params p;
    status result = run_control(c, err);

    TRY(params_open(&p, &tiny, err));
    for (int w = 0; result == OK && w < N_WIRES; w++)
        for (int sharded = 0; result == OK && sharded < 2; sharded++)
            result = run_wire(c, &p, (enum wire)w, sharded, err);
    params_close(&p);
    return result == OK ? comm_barrier(c, err) : result;
}

int main(int argc, char **argv)
{
    struct comm c;
    struct err err = {0};
    const int n_want = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    const int n_nodes_want = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    status result =
        comm_open(&c, (struct comm_options){.kind = "auto", .poll_us = 200}, &err);

    if (result == OK && (c.size != n_want || c.n_nodes != n_nodes_want))
        result = err_set(&err, ERR_CHECK, "%d ranks on %d nodes, want %d on %d", c.size,
                         c.n_nodes, n_want, n_nodes_want);
    if (result == OK)
        result = run(&c, &err);
    if (result != OK) {
        fprintf(stderr, "mpi_ranks: %s\n", err.msg);
        fflush(stderr);
        comm_abort(result);
    }
    if (c.rank == 0) {
        printf("%d ranks on %d nodes: %s, %s\n", c.size, c.n_nodes, c.backend, c.library);
        for (const char **text = c.setting; *text; text++)
            printf("  %s\n", *text);
    }
    comm_close(&c);
    return 0;
}
