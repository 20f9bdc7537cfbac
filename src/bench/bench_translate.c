#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "bench/bench.h"
#include "decode/engine.h"
#include "recipe/params.h"
#include "recipe/special_ids.h"

/* Everything that is open while sentences are translated. */
struct work {
    const struct bench *b;
    struct network net;
    struct search *search;
    bool *is_text;
    int32_t *id; /* [n,length] */
    struct search_job *job;
    size_t n;
    double *t, *t_one; /* [steps] of all sentences; [n_one] of one, each time */
    size_t n_one;
    size_t n_tokens; /* found by the last run */
};

static enum linear_type int8(void *ctx, const struct network_part *part)
{
    (void)ctx, (void)part;
    return LINEAR_INT8;
}

static status make_network(struct work *w, struct err *err)
{
    const bool is_int8 = strcmp(w->b->config->mode, "int8") == 0;
    RELEASED_BY(mem_release) float *flat = NULL;
    struct params p;

    TRY(params_open(&p, &w->b->model, err));
    status result = mem_alloc(&flat, p.n_flat, sizeof *flat, err);
    if (result == OK)
        params_init(&p, 1, flat);
    THEN(result, network_open(&w->net, &w->b->model, err));
    THEN(result, network_pack(&w->net, &p, flat,
                              (struct network_types){is_int8 ? int8 : NULL, NULL}, err));
    params_close(&p);
    return result;
}

/* A hypothesis ends at `length` tokens and not before: EOS would have to follow so many
 * tokens with text, and all are said to have some. */
static status open_search(struct work *w, struct err *err)
{
    const struct bench_config *c = w->b->config;
    const size_t length = (size_t)c->length, V = (size_t)w->b->model.vocab_size;
    const struct search_rules rules = {.beam = {.width = (size_t)c->beam,
                                                .n_best = 1,
                                                .alpha = 0.6,
                                                .min_length = length,
                                                .is_text = w->is_text,
                                                .n_ids = V,
                                                .is_greedy = c->beam == 1},
                                       .batch_tokens = (size_t)c->batch * length};
    const struct infer_kernels *kernels = kernels_choose(c->device);

    if (!kernels)
        return err_set(err, ERR_USAGE,
                       "device = %s: translation is measured on processors", c->device);
    return engine_open(&w->search, &w->net, rules,
                       (struct engine_options){.kernels = kernels,
                                               .n_threads = w->b->threads,
                                               .n_workers = (size_t)c->workers,
                                               .n_slots = (size_t)c->batch},
                       err);
}

static status make_sentences(struct work *w, struct err *err)
{
    const struct bench_config *c = w->b->config;
    const size_t length = (size_t)c->length, V = (size_t)w->b->model.vocab_size;
    struct rng r = rng_open(2);

    /* enough that a batch is full most of the time */
    const size_t usual = c->batch == 1 ? 16 : c->batch < 32 ? 64 : 2 * (size_t)c->batch;
    w->n = c->sentences ? (size_t)c->sentences : usual;
    TRY(mem_alloc(&w->is_text, V, sizeof *w->is_text, err));
    TRY(mem_alloc(&w->id, w->n * length, sizeof *w->id, err));
    TRY(mem_alloc(&w->job, w->n, sizeof *w->job, err));
    TRY(mem_alloc(&w->t, w->b->steps, sizeof *w->t, err));
    w->n_one = w->n * w->b->steps;
    TRY(mem_alloc(&w->t_one, w->n_one, sizeof *w->t_one, err));
    memset(w->is_text, true, V);
    for (size_t i = 0; i < w->n * length; i++)
        w->id[i] = (int32_t)(ID_N_SPECIAL + rng_below(&r, V - ID_N_SPECIAL));
    for (size_t i = 0; i < w->n; i++)
        w->job[i] = (struct search_job){w->id + i * length, length, length};
    return OK;
}

static status count(void *ctx, size_t job, const struct beam *found, struct err *err)
{
    struct work *w = ctx;

    (void)job, (void)err;
    w->n_tokens += beam_get(found, 0).n;
    return OK;
}

static status time_all(struct work *w, struct err *err)
{
    TRY(search_run(w->search, w->job, w->n < 4 ? w->n : 4, count, w, err)); /* warm */
    for (size_t i = 0; i < w->b->steps; i++) {
        const double t = clock_now();
        w->n_tokens = 0;
        TRY(search_run(w->search, w->job, w->n, count, w, err));
        w->t[i] = clock_now() - t;
    }
    return OK;
}

/* One sentence after the other, as somebody who waits for each sees it. Every time
 * counts: what is slow now and then is what p99 is about. */
static status time_each(struct work *w, struct err *err)
{
    TRY(search_run(w->search, w->job, 1, count, w, err)); /* warm */
    for (size_t i = 0; i < w->n_one; i++) {
        const double start = clock_now();
        TRY(search_run(w->search, &w->job[i % w->n], 1, count, w, err));
        w->t_one[i] = clock_now() - start;
    }
    return OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct latency {
    double mean, p99; /* milliseconds */
};

static struct latency latency_of(struct work *w)
{
    struct latency l = {0};

    qsort(w->t_one, w->n_one, sizeof *w->t_one, by_value);
    for (size_t i = 0; i < w->n_one; i++)
        l.mean += 1e3 * w->t_one[i] / (double)w->n_one;
    l.p99 = 1e3 * w->t_one[(w->n_one * 99 + 99) / 100 - 1];
    return l;
}

static void print(struct work *w)
{
    const struct bench_config *c = w->b->config;
    const double n = (double)w->n_tokens, median = bench_median(w->t, w->b->steps);
    const double rate = n / median, best = n / w->t[0];
    const bool has_latency = c->batch == 1;
    struct latency l = {1e3 * median / (double)w->n, 0};

    if (has_latency)
        l = latency_of(w);
    if (c->json) {
        json_t *line = json_pack(
            "{s:s, s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:f, s:f, s:{s:f}, s:f, s:s}",
            "bench", "translate", "size", c->size, "mode", c->mode, "device",
            kernels_choose(c->device)->name, "beam", (int)c->beam, "batch", (int)c->batch,
            "length", (int)c->length, "threads", (int)w->b->threads,
            "target_tokens_per_s", rate, "best_target_tokens_per_s", best,
            "ms_per_sentence", "mean", l.mean, "peak_mib", bench_peak_mib(), "division",
            w->search->note);
        if (has_latency)
            json_object_update_new(
                json_object_get(line, "ms_per_sentence"),
                json_pack("{s:f, s:i}", "p99", l.p99, "times", (int)w->n_one));
        bench_json(w->b, line);
        return;
    }
    fprintf(w->b->out,
            "translate %s %s, beam %d, batch %d, %d thread%s: %.0f target tokens/s (best "
            "%.0f), %.2f ms a sentence",
            c->size, c->mode, (int)c->beam, (int)c->batch, (int)w->b->threads,
            w->b->threads == 1 ? "" : "s", rate, best, l.mean);
    if (has_latency)
        fprintf(w->b->out, " (p99 %.2f)", l.p99);
    fprintf(w->b->out, ", peak %.0f MiB\n", bench_peak_mib());
    if (*w->search->note)
        fprintf(w->b->out, "  %s\n", w->search->note);
}

/* What making random weights took is not what translating takes. Where the system does
 * not forget it, the peak is too high. */
static void forget_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "we");

    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

static status run(struct work *w, struct err *err)
{
    TRY(make_network(w, err));
    forget_peak();
    TRY(make_sentences(w, err));
    TRY(open_search(w, err));
    if (w->b->config->batch == 1)
        TRY(time_each(w, err));
    TRY(time_all(w, err));
    print(w);
    return OK;
}

status bench_translate(const struct bench *b, struct err *err)
{
    struct work w = {.b = b};
    const status result = run(&w, err);

    if (w.search)
        w.search->close(w.search);
    network_close(&w.net);
    free(w.is_text);
    free(w.id);
    free(w.job);
    free(w.t);
    free(w.t_one);
    return result;
}
