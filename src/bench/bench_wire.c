#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "corpus/checksum.h"
#include "dist/comm/comm.h"
#include "dist/exchange/codec.h"
#include "dist/exchange/reducer.h"
#include "recipe/params.h"

enum { N_LOOP = 1 << 22 }; /* elements: 16 MiB of fp32, no cache holds them */

/* Small numbers around zero, as gradients are; cheap to make by the hundred millions. */
static void fill(float *x, size_t n)
{
    const uint64_t key = rng_key(1, "bench");

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(int32_t)rng_hash(key, i) * 0x1p-40f;
}

/* ------------------------------------------------------------ loops */

enum loop { ENCODE, ADD, DECODE, HASH };

/* As the exchange adds what arrives: a block is decoded, and added while it is in cache.
 */
static void add_all(const struct codec_loops *c, enum wire w, float *x,
                    const void *segment)
{
    float block[WIRE_ALIGN];

    for (size_t at = 0; at < N_LOOP; at += WIRE_ALIGN) {
        c->decode[w](block, segment, (struct codec_range){N_LOOP, at, WIRE_ALIGN});
        c->sum(x + at, block, WIRE_ALIGN);
    }
}

static double time_loop(enum loop loop, enum wire w, float *x, void *segment)
{
    const struct codec_loops *c = codec_loops();
    const struct codec_range all = {N_LOOP, 0, N_LOOP};
    double best = 1e9;

    for (int i = 0; i < 5; i++) {
        struct clock_lap lap = clock_start();
        if (loop == ENCODE)
            c->encode[w](segment, all, x);
        else if (loop == ADD)
            add_all(c, w, x, segment);
        else if (loop == DECODE)
            c->decode[w](x, segment, all);
        else
            x[0] += (float)(checksum_of(x, N_LOOP * sizeof *x) & 1) * 1e-30f;
        const double t = clock_next(&lap);
        best = t < best ? t : best;
    }
    return N_LOOP * sizeof(float) / best / 1e9;
}

static status time_loops(const struct bench *b, struct err *err)
{
    float *x;
    void *segment;

    TRY(mem_alloc(&x, N_LOOP, sizeof *x, err));
    if (mem_alloc(&segment, wire_segment_bytes(WIRE_FP32, N_LOOP), 1, err) != OK) {
        free(x);
        return err->code;
    }
    fill(x, N_LOOP);
    for (int w = 0; w < N_WIRES; w++) {
        const double encode = time_loop(ENCODE, (enum wire)w, x, segment);
        const double add = time_loop(ADD, (enum wire)w, x, segment);
        const double decode = time_loop(DECODE, (enum wire)w, x, segment);
        if (b->config->json)
            bench_json(b, json_pack("{ss, ss, sf, sf, sf}", "bench", "codec", "wire",
                                    wire_name((enum wire)w), "encode_gb_per_s", encode,
                                    "add_gb_per_s", add, "decode_gb_per_s", decode));
        else
            fprintf(b->out,
                    "wire      %s: encode %.1f, add %.1f, decode %.1f GB/s of fp32\n",
                    wire_name((enum wire)w), encode, add, decode);
    }
    const double hash = time_loop(HASH, WIRE_FP32, x, segment);
    if (b->config->json)
        bench_json(b, json_pack("{ss, sf}", "bench", "hash", "gb_per_s", hash));
    else
        fprintf(b->out, "wire      hash of the weights %.1f GB/s\n", hash);
    free(segment);
    free(x);
    return OK;
}

/* ------------------------------------------------------------ exchange */

struct timed {
    double t_best, t_median, t_cpu; /* seconds per exchange; t_cpu: of the thread */
    double sent_bytes, stated_bytes;
};

static status time_exchange(struct comm *c, const struct params *p, struct reducer *r,
                            float *g, size_t steps, struct timed *t, struct err *err)
{
    struct reducer_times times;
    struct comm_traffic before = {0};
    double *seconds;

    fill(g, p->n_flat);
    TRY(mem_alloc(&seconds, steps + 1, sizeof *seconds, err));
    status result = OK;
    for (size_t i = 0; i <= steps && result == OK; i++) { /* the first warms up */
        result = comm_barrier(c, err);
        if (i == 1)
            before = comm_traffic(c);
        struct clock_lap lap = clock_start();
        reducer_begin(r, g, false);
        THEN(result, reducer_finish(r, NULL, &times, err));
        if (i > 0)
            seconds[i - 1] = clock_next(&lap);
    }
    const struct comm_traffic after = comm_traffic(c);
    t->t_median = bench_median(seconds, steps);
    t->t_best = seconds[0];
    t->t_cpu = (after.t_cpu - before.t_cpu) / (double)steps;
    t->sent_bytes = (double)(after.sent_bytes - before.sent_bytes) / (double)steps;
    free(seconds);
    return result;
}

static void report(const struct bench *b, const struct comm *c, const struct params *p,
                   enum wire w, const struct timed *t)
{
    const double mb = (double)p->n_flat * 4 / 1e6;

    if (c->rank != 0)
        return;
    if (b->config->json)
        bench_json(b,
                   json_pack("{ss, ss, sf, si, si, sf, sf, sf, sf, sf}", "bench",
                             "exchange", "wire", wire_name(w), "mb", mb, "ranks", c->size,
                             "nodes", c->n_nodes, "seconds", t->t_median, "best_seconds",
                             t->t_best, "cpu_seconds", t->t_cpu, "sent_mb",
                             t->sent_bytes / 1e6, "stated_mb", t->stated_bytes / 1e6));
    else
        fprintf(b->out,
                "wire      %s: %.1f MB over %d ranks on %d nodes in %.3f s (best %.3f), "
                "%.3f s of it on a processor; sent %.1f MB, stated %.1f\n",
                wire_name(w), mb, c->size, c->n_nodes, t->t_median, t->t_best, t->t_cpu,
                t->sent_bytes / 1e6, t->stated_bytes / 1e6);
    fflush(b->out);
}

static status time_wire(const struct bench *b, struct comm *c, const struct params *p,
                        enum wire w, float *g, struct err *err)
{
    const struct reducer_options options = {
        .wire = w, .bucket_bytes = (size_t)b->config->bucket_mib << 20};
    struct reducer *r;
    struct timed t;

    TRY(reducer_open(&r, c, p, options, err));
    const status result = time_exchange(c, p, r, g, b->steps, &t, err);
    t.stated_bytes =
        wire_step(reducer_buckets(r), w, reducer_grid(r), (size_t)c->node, false)
            .sent_bytes;
    reducer_close(r);
    if (result == OK)
        report(b, c, p, w, &t);
    return result;
}

static status time_wires(const struct bench *b, struct comm *c, struct err *err)
{
    struct params p;
    float *g = NULL;

    TRY(params_open(&p, &b->model, err));
    status result = mem_alloc(&g, p.n_flat, sizeof *g, err);
    for (int w = 0; result == OK && w < N_WIRES; w++)
        if (strcmp(b->config->wire, "all") == 0 || (int)wire_find(b->config->wire) == w)
            result = time_wire(b, c, &p, (enum wire)w, g, err);
    free(g);
    params_close(&p);
    return result;
}

status bench_wire(const struct bench *b, struct err *err)
{
    const struct comm_options o = {.kind = "auto",
                                   .poll_us = (int)b->config->comm_poll_us};
    struct comm c;

    TRY(comm_open(&c, o, err));
    status result =
        c.rank == 0 && strcmp(b->config->wire, "all") == 0 ? time_loops(b, err) : OK;
    if (result == OK && c.size > 1)
        result = time_wires(b, &c, err);
    comm_close(&c);
    return result;
}
