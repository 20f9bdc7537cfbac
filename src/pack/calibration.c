#include "pack/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "infer/session.h"
#include "recipe/special_ids.h"

enum { ROWS_MAX = 512 }; /* of a product that is computed again */

/* What is open while pairs run through the network. */
struct run {
    struct calibration *c;
    const struct infer_kernels *k;
    struct session session;
    struct kernels_input input; /* a row, copied, as bytes */
    float *y, *y8;              /* [n_out] of one row */
    int32_t *source, *target;   /* [max_length] */
    double *log_prob;
};

static status list_parts(struct calibration *c, struct network *real,
                         struct network *int8, struct err *err)
{
    struct network_part a, b;
    size_t cap = 0;

    for (size_t i = 0; network_part(real, i, &a) && network_part(int8, i, &b); i++) {
        if (!a.matrix)
            continue;
        TRY(mem_grow(&c->part, &cap, c->n + 1, sizeof *c->part, err));
        struct calibration_part *p = &c->part[c->n++];
        *p = (struct calibration_part){.real = a.matrix, .int8 = b.matrix};
        memcpy(p->name, a.name, sizeof p->name);
    }
    return OK;
}

static struct calibration_part *part_of(struct calibration *c, const struct linear *w)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->part[i].real == w)
            return &c->part[i];
    return NULL;
}

/* One row through both matrices. */
static void compare(struct run *r, struct calibration_part *p, const float *x)
{
    const size_t n_out = p->real->n_out, n_panels = linear_panels(p->real);
    struct kernels_input *in = &r->input;

    in->n = p->real->n_in;
    in->stride = linear_round(in->n, LINEAR_PANEL);
    in->byte_stride = linear_round(in->n, LINEAR_DEPTH);
    memcpy(in->real, x, in->stride * sizeof *x);
    r->k->quantise(in, 0, 1);
    r->k->multiply(r->y, n_panels * LINEAR_PANEL, in, p->real, false, 0, 1, 0, n_panels);
    r->k->multiply(r->y8, n_panels * LINEAR_PANEL, in, p->int8, false, 0, 1, 0, n_panels);
    for (size_t i = 0; i < n_out; i++) {
        const double y = (double)r->y[i], d = (double)r->y8[i] - y;
        p->energy += y * y;
        p->lost += d * d;
    }
    p->n_rows++;
}

static void observe(void *ctx, const struct linear *w, const struct kernels_input *a,
                    size_t n)
{
    struct run *r = ctx;
    struct calibration_part *p = part_of(r->c, w);

    for (size_t row = 0; p && row < n && p->n_rows < ROWS_MAX; row++)
        compare(r, p, a->real + row * a->stride);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static status open_run(struct run *r, const struct network *net,
                       const struct calibration_options *o, struct err *err)
{
    const struct model_config *c = &net->config;
    const size_t n_in = larger((size_t)c->d_model, (size_t)c->d_ff) + LINEAR_DEPTH;
    const size_t n_out = larger(3 * n_in, (size_t)c->vocab_size) + LINEAR_DEPTH;
    const struct session_shape shape = {.n_rows = 1,
                                        .n_entries = 1,
                                        .n_memory = o->max_length + SESSION_ROUND,
                                        .n_tokens = o->max_length,
                                        .max_len = o->max_length,
                                        .n_top = 1};

    TRY(mem_alloc(&r->input.real, n_in, sizeof(float), err));
    TRY(mem_alloc(&r->input.byte, n_in, 1, err));
    TRY(mem_alloc(&r->input.scale, 1, sizeof(float), err));
    TRY(mem_alloc(&r->y, n_out, sizeof(float), err));
    TRY(mem_alloc(&r->y8, n_out, sizeof(float), err));
    TRY(mem_alloc(&r->source, o->max_length, sizeof(int32_t), err));
    TRY(mem_alloc(&r->target, o->max_length, sizeof(int32_t), err));
    TRY(mem_alloc(&r->log_prob, o->max_length, sizeof(double), err));
    TRY(session_open(&r->session, net, r->k, NULL, shape, err));
    r->session.observe = observe;
    r->session.observe_ctx = r;
    return OK;
}

static void close_run(struct run *r)
{
    session_close(&r->session);
    free(r->input.real);
    free(r->input.byte);
    free(r->input.scale);
    free(r->y);
    free(r->y8);
    free(r->source);
    free(r->target);
    free(r->log_prob);
}

/* S, the tokens, EOS; how many that are. */
static size_t framed(int32_t *to, struct sentence s)
{
    to[0] = ID_BOS;
    for (size_t i = 0; i < s.len; i++)
        to[i + 1] = s.token[i];
    to[s.len + 1] = ID_EOS;
    return s.len + 2;
}

static void run_pair(struct run *r, const struct corpus *c, uint32_t pair)
{
    struct session_source place;
    const size_t n = framed(r->source, corpus_source(c, pair));
    const size_t n_target = framed(r->target, corpus_target(c, pair));

    BUG_ON(!session_lend(&r->session, n, &place));
    session_encode(&r->session, &(struct session_sentence){r->source, place}, 1);
    session_score(&r->session, &(struct session_pair){place, r->target, n_target}, 1,
                  r->log_prob);
    session_give_back(&r->session, place);
}

static void run_pairs(struct run *r, const struct corpus *c,
                      const struct calibration_options *o)
{
    size_t n_done = 0;

    for (uint32_t i = 0; i < c->n_pairs && n_done < o->n_pairs; i++) {
        const size_t n = larger(corpus_source(c, i).len, corpus_target(c, i).len);
        if (!n || n + 2 > o->max_length)
            continue;
        run_pair(r, c, i);
        n_done++;
    }
}

status calibration_run(struct calibration *c, struct network *real, struct network *int8,
                       const struct dataset_set *set, struct calibration_options options,
                       struct err *err)
{
    struct run r = {.c = c, .k = options.kernels};

    *c = (struct calibration){0};
    status result = list_parts(c, real, int8, err);
    THEN(result, open_run(&r, real, &options, err));
    if (result == OK)
        run_pairs(&r, &set->corpus, &options);
    for (size_t i = 0; i < c->n; i++)
        c->part[i].error =
            c->part[i].energy > 0 ? sqrt(c->part[i].lost / c->part[i].energy) : NAN;
    close_run(&r);
    return result;
}

void calibration_release(struct calibration *c)
{
    free(c->part);
    *c = (struct calibration){0};
}

const struct calibration_part *calibration_find(const struct calibration *c,
                                                const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->part[i].name, name) == 0)
            return &c->part[i];
    return NULL;
}
