#include "bench/bench_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "corpus/corpus_file.h"
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
static status write_corpus(const struct bench_step_options *o, const char *path,
                           struct err *err)
{
    const size_t n_pairs = ((o->against ? 2 : 1) * o->steps + WARM_UP + 3) * o->tokens /
                           (o->mean_length / 2 + 1);
    struct rng r = rng_open(rng_key(7, "bench"));
    struct corpus_file_writer w;
    int32_t *id;

    TRY(mem_alloc(&id, 2 * longest(o->mean_length), sizeof *id, err));
    status result = corpus_file_create(&w, path, (uint32_t)o->model.vocab_size, 0, err);
    if (result == OK) {
        int32_t *other = id + longest(o->mean_length);
        for (size_t i = 0; result == OK && i < n_pairs; i++) {
            const size_t n = draw_length(&r, o->mean_length);
            const size_t a = n - rng_below(&r, n > 6 ? 4 : 1);
            const size_t b = n - rng_below(&r, n > 6 ? 4 : 1);
            draw_side(&r, id, a - 2, o->model.vocab_size);
            draw_side(&r, other, b - 2, o->model.vocab_size);
            result = corpus_file_add(&w, (struct corpus_file_side){id, a - 2},
                                     (struct corpus_file_side){other, b - 2}, err);
        }
        if (result == OK)
            result = corpus_file_commit(&w, err);
        else
            corpus_file_abort(&w);
    }
    free(id);
    return result;
}

static status open_corpus(struct corpus *c, const struct bench_step_options *o,
                          struct err *err)
{
    char path[FILE_PATH_MAX];
    int fd;

    TRY(file_temporary(&fd, path, err));
    close(fd);
    status result = write_corpus(o, path, err);
    if (result == OK)
        result = corpus_open(c, path, err);
    unlink(path); /* the mapping keeps it */
    return result;
}

static status open_trainer(struct trainer *t, struct comm *comm,
                           const struct bench_step_options *o, struct err *err)
{
    struct train_config *c = &t->config;
    float *flat;

    TRY(opt_defaults(train_config_table, c, err));
    c->model = o->model;
    c->batch_tokens = (int64_t)o->tokens;
    c->attention_dropout = c->relu_dropout = c->residual_dropout = o->dropout;
    c->max_length = (int64_t)longest(o->mean_length);
    TRY(comm_open(comm, (struct comm_options){.kind = "self"}, err));
    t->comm = comm;
    TRY(open_corpus(&t->data.train, o, err));
    TRY(schedule_init(&t->schedule, &c->schedule, c->model.d_model, c->max_steps, err));
    TRY(device_open(&t->device, o->device,
                    (struct device_options){.threads = o->threads, .pin = true}, err));
    TRY(model_open(&t->model, &t->device, &c->model, true, err));
    TRY(optim_open(&t->optim, &t->device, &t->model.params, &c->optim, NULL, err));
    TRY(mem_alloc(&flat, t->model.params.n_flat, sizeof *flat, err));
    params_init(&t->model.params, 1, flat);
    const status result = model_set_weights(&t->model, flat, err);
    free(flat);
    TRY(result);
    TRY(train_reserve(t, err));
    return train_feed(t, err);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, by_value);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double peak_mib(void)
{
    struct rusage use;

    return getrusage(RUSAGE_SELF, &use) == 0 ? (double)use.ru_maxrss / 1024 : 0;
}

/* What each timed step gives: [steps]. */
struct rates {
    double *tokens, *work, *roof, *against, *ratio; /* a second, but for the last */
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
 * lowers both, and their medians can be compared. Phases are summed.
 */
static status run_steps(struct trainer *t, struct pool *other,
                        const struct bench_step_options *o, struct bench_step_result *r,
                        struct rates *rates, struct err *err)
{
    for (size_t i = 0; i < o->steps + WARM_UP; i++) {
        struct record_step rec;
        TRY(train_step(t, &rec, err));
        r->loss = rec.loss / rec.target_tokens;
        if (i < WARM_UP)
            continue;
        const size_t at = i - WARM_UP;
        if (at == 0)
            r->peak_mib = peak_mib(); /* before the roof's own memory */
        if (!t->device.driver)        /* a GPU's roof is not the processor's */
            TRY(roof_gemm(&rates->roof[at], pool_size(t->device.pool), ROOF_SECONDS,
                          err));
        rates->tokens[at] = tokens_per_s(&rec);
        rates->work[at] = rec.linear_flops / rec.t_step;
        r->t_step += rec.t_step;
        r->t_data += rec.t_data;
        r->t_forward += rec.t_forward;
        r->t_backward += rec.t_backward;
        r->t_update += rec.t_update;
        if (other) {
            TRY(step_against(t, other, &rates->against[at], err));
            rates->ratio[at] = rates->tokens[at] / rates->against[at];
        }
    }
    return OK;
}

static void summarize(const struct trainer *t, const struct bench_step_options *o,
                      struct bench_step_result *r, struct rates *rates)
{
    const double n = (double)o->steps;

    r->threads = pool_size(t->device.pool);
    r->tokens_per_s = median(rates->tokens, o->steps);
    r->best_tokens_per_s = rates->tokens[o->steps - 1];
    r->gflops = median(rates->work, o->steps) * 1e-9;
    r->roof_gflops = median(rates->roof, o->steps);
    r->best_roof_gflops = rates->roof[o->steps - 1];
    if (o->against) {
        r->against_tokens_per_s = median(rates->against, o->steps);
        r->times_against = median(rates->ratio, o->steps);
    }
    r->t_step /= n;
    r->t_data /= n;
    r->t_forward /= n;
    r->t_backward /= n;
    r->t_update /= n;
}

static status run(struct trainer *t, struct comm *comm, struct pool **other,
                  const struct bench_step_options *o, struct bench_step_result *r,
                  struct err *err)
{
    double *rate;

    TRY(open_trainer(t, comm, o, err));
    if (o->against > pool_size(t->device.pool))
        return err_set(err, ERR_USAGE, "against=%zu: the device has %zu threads",
                       o->against, pool_size(t->device.pool));
    if (o->against)
        TRY(pool_open(other, o->against, true, err));
    TRY(mem_alloc(&rate, 5 * o->steps, sizeof *rate, err));
    struct rates rates = {rate, rate + o->steps, rate + 2 * o->steps, rate + 3 * o->steps,
                          rate + 4 * o->steps};
    const status result = run_steps(t, *other, o, r, &rates, err);
    if (result == OK)
        summarize(t, o, r, &rates);
    free(rate);
    return result;
}

status bench_step(const struct bench_step_options *o, struct bench_step_result *r,
                  struct err *err)
{
    struct comm comm = {0};
    struct pool *other = NULL;
    struct trainer *t;

    *r = (struct bench_step_result){0};
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    t->run_dir.lock = -1;
    const status result = run(t, &comm, &other, o, r, err);
    train_close(t);
    pool_close(other);
    comm_close(&comm);
    free(t);
    return result;
}
