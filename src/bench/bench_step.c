#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "corpus/corpus.h"
#include "recipe/flops.h"
#include "train/log/roof.h"
#include "train/trainer.h"

enum { WARM_UP = 2, LONGEST = 100, SHORTEST = 3 };
#define ROOF_SECONDS 0.15 /* after each step: some products of each shape */

/* The longest sentence: as far from the mean as the shortest, which keeps the mean. */
static size_t longest(size_t mean)
{
    return 2 * mean > LONGEST ? 2 * mean : LONGEST;
}

/* A length with both specials: normal around the mean, half as wide, cut. */
static size_t draw_length(struct rng *r, size_t mean)
{
    const double x = (double)mean * (1 + 0.5 * rng_normal(r));

    return (size_t)fmin(fmax(x, SHORTEST), (double)longest(mean));
}

static void draw_side(struct rng *r, int32_t *id, size_t n, int64_t vocab)
{
    for (size_t i = 0; i < n; i++)
        id[i] = (int32_t)(4 + rng_below(r, (uint64_t)vocab - 4));
}

/* Enough pairs for all steps; both sides of a pair are of about the same length. */
static status write_corpus(const struct bench *b, const char *path, struct err *err)
{
    const size_t n_pairs =
        ((b->against ? 2 : 1) * b->steps + WARM_UP + 3) * b->tokens / (b->mean / 2 + 1);
    struct rng r = rng_open(rng_key(7, "bench"));
    struct corpus_file_writer w;
    int32_t *id;

    TRY(mem_alloc(&id, 2 * longest(b->mean), sizeof *id, err));
    status result = corpus_file_create(&w, path, (uint32_t)b->model.vocab_size, 0, err);
    if (result == OK) {
        int32_t *other = id + longest(b->mean);
        for (size_t i = 0; result == OK && i < n_pairs; i++) {
            const size_t n = draw_length(&r, b->mean);
            const size_t a = n - rng_below(&r, n > 6 ? 4 : 1);
            const size_t c = n - rng_below(&r, n > 6 ? 4 : 1);
            draw_side(&r, id, a - 2, b->model.vocab_size);
            draw_side(&r, other, c - 2, b->model.vocab_size);
            result = corpus_file_add(&w, (struct corpus_file_side){id, a - 2},
                                     (struct corpus_file_side){other, c - 2}, err);
        }
        if (result == OK)
            result = corpus_file_commit(&w, err);
        else
            corpus_file_abort(&w);
    }
    free(id);
    return result;
}

static status open_corpus(struct corpus *c, const struct bench *b, struct err *err)
{
    char path[FILE_PATH_MAX];
    int fd;

    TRY(file_temporary(&fd, path, err));
    close(fd);
    status result = write_corpus(b, path, err);
    THEN(result, corpus_open(c, path, err));
    unlink(path); /* the mapping keeps it */
    return result;
}

/* All but the record and the files of a run: t->config and the training set are given. */
static status open_parts(struct trainer *t, struct comm *comm, struct err *err)
{
    struct train_config *c = &t->config;
    float *flat;

    TRY(comm_open(comm, (struct comm_options){.kind = "self"}, err));
    TRY(peers_open(&t->peers, comm, NULL, err));
    TRY(schedule_init(&t->schedule, &c->schedule, c->model.d_model, c->max_steps, err));
    TRY(device_open(&t->device, c->device,
                    (struct device_options){.threads = (size_t)c->threads, .pin = c->pin},
                    err));
    TRY(model_open(&t->model, &t->device, &c->model, true, err));
    TRY(optim_open(&t->optim, &t->device, &t->model.params, &c->optim, NULL, err));
    TRY(mem_alloc(&flat, t->model.params.n_flat, sizeof *flat, err));
    params_init(&t->model.params, 1, flat);
    const status result = model_set_weights(&t->model, flat, err);
    free(flat);
    TRY(result);
    t->micro = (struct micro_batch){.config = c, .model = &t->model};
    size_t n_tgt;
    TRY(micro_batch_choose(&t->micro, 1, 0, &n_tgt, err));
    TRY(micro_batch_reserve(&t->micro, n_tgt, err));
    return training_data_prefetch(&t->data, c, &t->peers, t->micro.limit, t->state.cursor,
                                  err);
}

static status open_trainer(struct trainer *t, struct comm *comm, const struct bench *b,
                           struct err *err)
{
    struct train_config *c = &t->config;

    TRY(train_config_defaults(c, err));
    c->model = b->model;
    c->batch_tokens = (int64_t)b->tokens;
    c->attention_dropout = c->relu_dropout = c->residual_dropout = b->config->dropout;
    c->max_length = (int64_t)longest(b->mean);
    snprintf(c->device, sizeof c->device, "%s", b->config->device);
    c->threads = (int64_t)b->threads;
    TRY(open_corpus(&t->data.sets.train, b, err));
    return open_parts(t, comm, err);
}

struct result {
    size_t threads;
    double tokens_per_s; /* source and target, of the median step */
    double best_tokens_per_s;
    double gflops;      /* of projections and output layer, of the median step */
    double roof_gflops; /* of the BLAS, times threads: median of those after each step;
                           0 on a GPU */
    double best_roof_gflops;
    double against_tokens_per_s; /* of the median step with the other threads */
    double times_against; /* a step's rate over its neighbour's: median of the ratios */
    double t_step, t_data, t_forward, t_backward, t_update; /* seconds, means */
    double loss;                                            /* of the last step */
    double peak_mib;
};

/* What each timed step gives: [steps]. */
struct rates {
    double *tokens, *work, *roof, *against, *ratio; /* per second, but for the last */
};

static double tokens_per_s(const struct record_step *rec)
{
    return (rec->source_tokens + rec->target_tokens) / rec->t_step;
}

/* One step of the same training, computed by other threads. */
static status step_against(struct trainer *t, struct pool *other, double *rate,
                           struct err *err)
{
    struct pool *own = t->device.pool;
    struct record_step rec;

    t->device.pool = other;
    const status result = train_step(t, &rec, err);
    t->device.pool = own;
    if (result == OK)
        *rate = tokens_per_s(&rec);
    return result;
}

/*
 * The roof is measured after every step: a host that gives out less for some seconds
 * lowers both, and their medians can be compared. Phases are means.
 */
static status run_steps(struct trainer *t, struct pool *other, const struct bench *b,
                        struct result *r, struct rates *rates, struct err *err)
{
    const double n = (double)b->steps;

    for (size_t i = 0; i < b->steps + WARM_UP; i++) {
        struct record_step rec;
        TRY(train_step(t, &rec, err));
        r->loss = rec.loss / rec.target_tokens;
        if (i < WARM_UP)
            continue;
        const size_t at = i - WARM_UP;
        if (at == 0)
            r->peak_mib = bench_peak_mib(); /* before the roof's own memory */
        if (!t->device.gpu)                 /* a GPU's roof is not the processor's */
            TRY(roof_gemm(&rates->roof[at], &t->device, ROOF_SECONDS, err));
        rates->tokens[at] = tokens_per_s(&rec);
        rates->work[at] = rec.linear_flops / rec.t_step;
        r->t_step += rec.t_step / n;
        r->t_data += rec.t_data / n;
        r->t_forward += rec.t_forward / n;
        r->t_backward += rec.t_backward / n;
        r->t_update += rec.t_update / n;
        if (other) {
            TRY(step_against(t, other, &rates->against[at], err));
            rates->ratio[at] = rates->tokens[at] / rates->against[at];
        }
    }
    return OK;
}

static void summarize(const struct trainer *t, const struct bench *b, struct result *r,
                      struct rates *rates)
{
    r->threads = pool_size(t->device.pool);
    r->tokens_per_s = bench_median(rates->tokens, b->steps);
    r->best_tokens_per_s = rates->tokens[b->steps - 1];
    r->gflops = bench_median(rates->work, b->steps) * 1e-9;
    r->roof_gflops = bench_median(rates->roof, b->steps);
    r->best_roof_gflops = rates->roof[b->steps - 1];
    if (b->against) {
        r->against_tokens_per_s = bench_median(rates->against, b->steps);
        r->times_against = bench_median(rates->ratio, b->steps);
    }
}

static status run(struct trainer *t, struct comm *comm, struct pool **other,
                  const struct bench *b, struct result *r, struct err *err)
{
    double *rate;

    TRY(open_trainer(t, comm, b, err));
    if (b->against > pool_size(t->device.pool))
        return err_set(err, ERR_USAGE, "against=%zu: the device has %zu threads",
                       b->against, pool_size(t->device.pool));
    if (b->against)
        TRY(pool_open(other, b->against, true, err));
    TRY(mem_alloc(&rate, 5 * b->steps, sizeof *rate, err));
    struct rates rates = {rate, rate + b->steps, rate + 2 * b->steps, rate + 3 * b->steps,
                          rate + 4 * b->steps};
    const status result = run_steps(t, *other, b, r, &rates, err);
    if (result == OK)
        summarize(t, b, r, &rates);
    free(rate);
    return result;
}

static json_t *result_json(const struct bench *b, const struct result *r)
{
    json_t *o = json_pack(
        "{ss, ss, sI, sI, sf, sf, sf, sf, s{sf, sf, sf, sf, sf}, sf}", "bench", "step",
        "size", b->config->size, "tokens", (json_int_t)b->tokens, "threads",
        (json_int_t)r->threads, "tokens_per_s", r->tokens_per_s, "best_tokens_per_s",
        r->best_tokens_per_s, "gflops", r->gflops, "peak_mib", r->peak_mib, "phases",
        "step", r->t_step, "data", r->t_data, "forward", r->t_forward, "backward",
        r->t_backward, "update", r->t_update, "loss", r->loss);

    if (r->roof_gflops > 0)
        json_object_update_new(o, json_pack("{sf, sf, sf}", "roof_gflops", r->roof_gflops,
                                            "best_roof_gflops", r->best_roof_gflops,
                                            "percent_of_roof",
                                            100 * r->gflops / r->roof_gflops));
    if (b->against)
        json_object_update_new(
            o, json_pack("{sI, sf, sf}", "against", (json_int_t)b->against,
                         "against_tokens_per_s", r->against_tokens_per_s, "times_against",
                         r->times_against));
    return o;
}

static void report(const struct bench *b, const struct result *r)
{
    if (b->config->json) {
        bench_json(b, result_json(b, r));
        return;
    }
    fprintf(b->out,
            "step      %s, %zu target tokens, %zu threads: %.0f tokens/s, %.1f GFLOP/s, ",
            b->config->size, b->tokens, r->threads, r->tokens_per_s, r->gflops);
    if (r->roof_gflops > 0)
        fprintf(b->out, "%.0f %% of the roof of %.1f, ", 100 * r->gflops / r->roof_gflops,
                r->roof_gflops);
    fprintf(b->out,
            "peak %.0f MiB\n          %.0f ms: data %.1f, forward and output %.1f, "
            "backward %.1f, update %.1f\n",
            r->peak_mib, 1e3 * r->t_step, 1e3 * r->t_data, 1e3 * r->t_forward,
            1e3 * r->t_backward, 1e3 * r->t_update);
    if (b->against)
        fprintf(b->out,
                "          %.2f times the %.0f tokens/s with threads=%zu in turns with "
                "it\n",
                r->times_against, r->against_tokens_per_s, b->against);
}

status bench_step(const struct bench *b, struct err *err)
{
    struct comm comm = {0};
    struct pool *other = NULL;
    struct result r = {0};
    struct trainer *t;

    TRY(mem_alloc(&t, 1, sizeof *t, err));
    const status result = run(t, &comm, &other, b, &r, err);
    setup_release(t);
    pool_close(other);
    comm_close(&comm);
    free(t);
    if (result == OK)
        report(b, &r);
    return result;
}

/* Steps until the time is over; the first ones warm up, unless they take half of it. */
static status time_steps(struct trainer *t, double seconds, struct progress *progress,
                         double *rate, struct err *err)
{
    const double begun = clock_now();
    double all = 0, tokens = 0, took = 0, since = 0;

    progress_begin(progress, "measuring", "tokens", 0);
    for (int n = 0; took == 0 || since < seconds; n++) {
        struct record_step rec;
        TRY(train_step(t, &rec, err));
        const double n_tokens = rec.source_tokens + rec.target_tokens;
        since = clock_now() - begun;
        if (n >= WARM_UP || since > seconds / 2) {
            tokens += n_tokens;
            took += rec.t_step;
        }
        all += n_tokens;
        progress_update(progress, (uint64_t)all);
    }
    progress_end(progress, (uint64_t)all);
    *rate = tokens / took;
    return OK;
}

static status measure(struct trainer *t, struct comm *comm, double seconds,
                      struct progress *progress, double *rate, struct err *err)
{
    TRY(training_data_open(&t->data, &t->config, false, err));
    TRY(open_parts(t, comm, err));
    return time_steps(t, seconds, progress, rate, err);
}

status bench_rate(const struct train_config *c, double seconds, struct progress *progress,
                  double *tokens_per_s, struct err *err)
{
    struct comm comm = {0};
    struct trainer *t;

    TRY(mem_alloc(&t, 1, sizeof *t, err));
    t->config = *c;
    const status result = measure(t, &comm, seconds, progress, tokens_per_s, err);
    setup_release(t);
    comm_close(&comm);
    free(t);
    return result;
}
