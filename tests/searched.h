/*
 * searched - jobs for searches over a real model of random weights: nothing that they
 * find is a translation, but every number can be computed again.
 */
#pragma once

#include <stdlib.h>

#include "decode/device_search.h"
#include "decode/engine.h"
#include "decode/search.h"
#include "golden_model.h"
#include "test.h"

enum { VOCAB = 29, N = 5, EXTRA = 6, WIDTH_MAX = 4, LEN_MAX = 64, MANY = 40 };

static struct err err;

enum kind { ON_DOUBLE, ON_FLOAT, ON_ENGINE };

struct setup {
    struct device device;
    struct model model;
    struct network network;
    struct search *search;
};

static const struct model_config config = {.vocab_size = VOCAB,
                                           .d_model = 16,
                                           .d_ff = 24,
                                           .heads = 2,
                                           .encoder_layers = 2,
                                           .decoder_layers = 2,
                                           .norm_epsilon = 1e-6};

static enum linear_type all_int8(void *ctx, const struct network_part *part)
{
    (void)ctx, (void)part;
    return LINEAR_INT8;
}

/* The network gets the weights of the model. */
static inline void pack(struct setup *s, bool is_int8)
{
    float *flat = calloc(s->model.params.n_flat, sizeof *flat);

    CHECK(flat);
    model_get_weights(&s->model, flat);
    network_close(&s->network);
    CHECK_OK(network_open(&s->network, &config, &err), &err);
    CHECK_OK(network_pack(&s->network, &s->model.params, flat,
                          (struct network_types){is_int8 ? all_int8 : NULL, NULL}, &err),
             &err);
    free(flat);
}

static inline void open_model_on(struct setup *s, bool is_double, size_t n_threads)
{
    const struct device_options options = {.threads = n_threads};

    *s = (struct setup){0};
    if (is_double)
        golden_open_double(&s->device);
    else
        CHECK_OK(device_open(&s->device, "cpu", options, &err), &err);
    CHECK_OK(model_open(&s->model, &s->device, &config, false, &err), &err);
    golden_weights(&s->model, 5);
}

static inline void open_model(struct setup *s, bool is_double)
{
    open_model_on(s, is_double, 2);
}

static inline struct search_rules rules_of(size_t width)
{
    return (struct search_rules){.beam = {width, width, 0.6}, .batch_tokens = 100};
}

static inline void open_setup(struct setup *s, enum kind kind, size_t width)
{
    open_model(s, kind == ON_DOUBLE);
    if (kind != ON_ENGINE) {
        CHECK_OK(device_search_open(&s->search, &s->model, rules_of(width), &err), &err);
        return;
    }
    pack(s, false);
    CHECK_OK(engine_open(&s->search, &s->network, rules_of(width),
                         (struct engine_options){.kernels = kernels_choose("cpu"),
                                                 .n_threads = 2},
                         &err),
             &err);
}

static inline void close_model(struct setup *s)
{
    network_close(&s->network);
    model_close(&s->model);
    device_close(&s->device);
}

static inline void close_setup(struct setup *s)
{
    s->search->close(s->search);
    close_model(s);
}

static const int32_t ids[] = {2, 4, 17, 1, 2, 22, 8, 9, 8,  21, 1, 2,
                              1, 2, 5,  1, 2, 5,  5, 5, 26, 11, 1};
static const int32_t at[N + 1] = {0, 4, 11, 13, 16, 23};

static inline struct search_job job_of(size_t i)
{
    const size_t n = (size_t)(at[i + 1] - at[i]);

    return (struct search_job){ids + at[i], n, n + EXTRA};
}

/* What was found, copied. */
struct found {
    struct result {
        size_t n;
        struct {
            int32_t token[LEN_MAX];
            struct beam_hypothesis h;
        } best[WIDTH_MAX];
    } of[MANY];
    size_t n_done;
};

static inline status store(void *ctx, size_t job, const struct beam *beam, struct err *e)
{
    struct found *found = ctx;
    struct result *r = &found->of[job];

    (void)e;
    CHECK(job < MANY && beam_found(beam) <= WIDTH_MAX);
    r->n = beam_found(beam);
    for (size_t i = 0; i < r->n; i++) {
        r->best[i].h = beam_get(beam, i);
        CHECK(r->best[i].h.n <= LEN_MAX);
        memcpy(r->best[i].token, r->best[i].h.token, r->best[i].h.n * sizeof(int32_t));
        r->best[i].h.token = r->best[i].token;
    }
    found->n_done++;
    return OK;
}

static inline void search_all(struct setup *s, struct found *found, size_t n)
{
    struct search_job jobs[MANY];

    *found = (struct found){0};
    for (size_t i = 0; i < n; i++)
        jobs[i] = job_of(i % N);
    CHECK_OK(search_run(s->search, jobs, n, store, found, &err), &err);
    CHECK(found->n_done == n);
}

static inline void check_same(const struct result *x, const struct result *y,
                              double tolerance)
{
    CHECK(x->n == y->n);
    for (size_t k = 0; k < x->n; k++) {
        CHECK(x->best[k].h.n == y->best[k].h.n);
        CHECK(memcmp(x->best[k].token, y->best[k].token,
                     x->best[k].h.n * sizeof(int32_t)) == 0);
        CHECK_NEAR(x->best[k].h.score, y->best[k].h.score, tolerance);
    }
}

static inline double forced_log_prob(struct setup *s, size_t sentence,
                                     struct beam_hypothesis h)
{
    const struct model_run run = {0};
    struct packed p;
    double raw[PACKED_MAX_TOKENS], sum = 0;

    packed_begin(&p);
    packed_add(&p, 0, ids + at[sentence], (size_t)(at[sentence + 1] - at[sentence]),
               h.token, h.n);
    CHECK_OK(model_reserve(&s->model, packed_shape(&p, false), &err), &err);
    model_forward(&s->model, &p.batch, &run);
    model_losses(&s->model, raw);
    for (size_t i = 0; i < h.n; i++)
        sum -=
            s->device.real_bytes == sizeof(double) ? raw[i] : (double)((float *)raw)[i];
    return sum;
}
