#include "model/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/activations.h"
#include "recipe/special_ids.h"

struct layer {
    struct mat cross; /* [n_src,2D] k|v of the memory */
    struct mat self;  /* [max_len*rows,2D] k|v of what was fed */
};

struct decoder {
    struct model *m;
    struct decoder_shape shape;
    struct device_arena arena;
    struct layer *layer;
    struct mat x, y, stats, f, q, ctx, z, h, logits, top;
    struct ids token, pos, pair, first, last, physical, top_id;
    int32_t *host; /* [rows*max_len] ids on their way */
};

static void lay_out(struct decoder *dec)
{
    const struct model_config *c = &dec->m->config;
    const size_t D = (size_t)c->d_model, R = dec->shape.rows, T = dec->shape.max_len;
    struct device_arena *a = &dec->arena;

    a->at = 0;
    for (int l = 0; l < (int)c->decoder_layers; l++)
        dec->layer[l] = (struct layer){device_arena_half(a, dec->shape.n_src, 2 * D),
                                       device_arena_half(a, T * R, 2 * D)};
    dec->x = device_arena_half(a, R, D);
    dec->y = device_arena_half(a, R, D);
    dec->stats = device_arena_mat(a, R, 2);
    dec->f = device_arena_half(a, R, D);
    dec->q = device_arena_half(a, R, D);
    dec->ctx = device_arena_half(a, R, D);
    if (!model_is_plain(c))
        dec->z = device_arena_half(a, R, (size_t)c->d_ff * (c->arch.is_gated ? 2 : 1));
    dec->h = device_arena_half(a, R, (size_t)c->d_ff);
    dec->logits = device_arena_half(a, R, (size_t)c->vocab_size);
    dec->top = device_arena_mat(a, R, dec->shape.n_top);
    dec->token = device_arena_ids(a, R);
    dec->pos = device_arena_ids(a, R);
    dec->pair = device_arena_ids(a, R);
    dec->first = device_arena_ids(a, R);
    dec->last = device_arena_ids(a, R);
    dec->physical = device_arena_ids(a, R * T);
    dec->top_id = device_arena_ids(a, R * dec->shape.n_top);
}

/* The same layout once to measure and once to place. */
static status place(struct decoder *dec, struct err *err)
{
    struct device_arena *a = &dec->arena;

    lay_out(dec);
    TRY(device_alloc(a->device, &a->mem, a->peak, err));
    a->bytes = a->peak;
    lay_out(dec);
    return OK;
}

status decoder_open(struct decoder **out, struct model *m, struct decoder_shape shape,
                    struct err *err)
{
    struct decoder *dec;

    *out = NULL;
    TRY(mem_alloc(&dec, 1, sizeof *dec, err));
    *dec = (struct decoder){.m = m, .shape = shape, .arena = {.device = m->device}};
    if (mem_alloc(&dec->layer, (size_t)m->config.decoder_layers, sizeof *dec->layer,
                  err) != OK ||
        mem_alloc(&dec->host, shape.rows * shape.max_len, sizeof *dec->host, err) != OK ||
        place(dec, err) != OK) {
        decoder_close(dec);
        return err->code;
    }
    *out = dec;
    return OK;
}

void decoder_close(struct decoder *dec)
{
    if (!dec)
        return;
    device_free(dec->m->device, dec->arena.mem);
    free(dec->layer);
    free(dec->host);
    free(dec);
}

static void product(struct decoder *dec, struct mat to, struct mat x, struct mat w,
                    struct mat bias)
{
    struct device *d = dec->m->device;

    d->k->gemm(d, to, x, w, false, false, 1, 0);
    if (bias.mem)
        d->k->bias_forward(d, to, bias);
}

/* Columns [first, first + n) of a bias, if there is one. */
static struct mat part_of(struct mat bias, size_t first, size_t n)
{
    return bias.mem ? mat_cols(bias, first, n) : bias;
}

void decoder_begin(struct decoder *dec)
{
    struct model *m = dec->m;
    const struct mat memory = m->act->stack[STACK_ENCODER].out;
    const struct weights_layer *w = m->w.stack[STACK_DECODER].layer;

    BUG_ON(memory.rows > dec->shape.n_src);
    for (int l = 0; l < (int)m->config.decoder_layers; l++)
        product(dec, mat_rows(dec->layer[l].cross, 0, memory.rows), memory, w[l].cross.kv,
                w[l].cross.kv_bias);
}

static bool is_post(const struct decoder *dec)
{
    return dec->m->config.arch.norm == NORM_POST;
}

/* y = norm(x), after x += f (+ bias) when there is an f; with norms behind y itself is
 * what f is added to. */
static void add_and_norm(struct decoder *dec, size_t n, struct mat f, struct mat f_bias,
                         const struct weights_norm *w)
{
    struct device *d = dec->m->device;
    const struct drop quiet = {0};
    const struct mat x = mat_rows(dec->x, 0, n), y = mat_rows(dec->y, 0, n);

    d->k->norm_forward(d, x, y, mat_rows(dec->stats, 0, n), is_post(dec) ? y : x, f,
                       f_bias, w->gain, w->bias, dec->m->config.norm_epsilon, quiet);
}

static void self_attention(struct decoder *dec, size_t t, size_t n, const struct layer *l,
                           const struct weights_attention *w)
{
    struct device *d = dec->m->device;
    const size_t D = (size_t)dec->m->config.d_model;
    const struct mat y = mat_rows(dec->y, 0, n), q = mat_rows(dec->q, 0, n);
    const struct mat now = mat_rows(l->self, t * dec->shape.rows, n);
    const struct cache cache = {.k = mat_cols(l->self, 0, D),
                                .v = mat_cols(l->self, D, D),
                                .physical = ids_part(dec->physical, 0, n * (t + 1)),
                                .rows = dec->shape.rows,
                                .len = t + 1,
                                .heads = (size_t)dec->m->config.heads};

    product(dec, q, y, mat_cols(w->in, 0, D), part_of(w->in_bias, 0, D));
    product(dec, now, y, mat_cols(w->in, D, 2 * D), part_of(w->in_bias, D, 2 * D));
    d->k->attend_cache(d, mat_rows(dec->ctx, 0, n), q, cache);
    d->k->gemm(d, mat_rows(dec->f, 0, n), mat_rows(dec->ctx, 0, n), w->out, false, false,
               1, 0);
}

static void cross_attention(struct decoder *dec, size_t n, const struct layer *l,
                            const struct weights_attention *w)
{
    struct device *d = dec->m->device;
    const size_t D = (size_t)dec->m->config.d_model;
    const struct mat q = mat_rows(dec->q, 0, n), ctx = mat_rows(dec->ctx, 0, n);

    product(dec, q, mat_rows(dec->y, 0, n), w->in, w->in_bias);
    d->k->attend_memory(d, ctx, q, mat_cols(l->cross, 0, D), mat_cols(l->cross, D, D),
                        ids_part(dec->first, 0, n), ids_part(dec->last, 0, n),
                        (size_t)dec->m->config.heads);
    d->k->gemm(d, mat_rows(dec->f, 0, n), ctx, w->out, false, false, 1, 0);
}

static void feed_forward(struct decoder *dec, size_t n, const struct weights_ffn *w)
{
    struct device *d = dec->m->device;
    const struct mat h = mat_rows(dec->h, 0, n);

    if (model_is_plain(&dec->m->config)) {
        d->k->gemm_relu(d, h, mat_rows(dec->y, 0, n), w->w1, w->b1);
    } else {
        const struct mat z = mat_rows(dec->z, 0, n);
        d->k->gemm(d, z, mat_rows(dec->y, 0, n), w->w1, false, false, 1, 0);
        d->k->activate_forward(d, h, z, w->b1, dec->m->config.arch.activation,
                               (struct drop){0});
    }
    d->k->gemm(d, mat_rows(dec->f, 0, n), h, w->w2, false, false, 1, 0);
}

static size_t unseen(const struct decoder *dec)
{
    return dec->m->config.arch.has_no_begin;
}

/* The model's position p is position p + unseen of the rows. */
static void upload(struct decoder *dec, size_t p, const struct decoder_rows *rows)
{
    struct device *d = dec->m->device;
    const size_t n = rows->n, len = p + 1, skip = unseen(dec);
    const int32_t start = dec->m->config.arch.start - 1;

    for (size_t r = 0; r < n; r++)
        dec->host[r] = p ? rows->token[r] : start;
    device_upload_ids(d, ids_part(dec->token, 0, n), dec->host);
    for (size_t r = 0; r < n; r++)
        dec->host[r] = (int32_t)p;
    device_upload_ids(d, ids_part(dec->pos, 0, n), dec->host);
    device_upload_ids(d, ids_part(dec->first, 0, n), rows->first);
    device_upload_ids(d, ids_part(dec->last, 0, n), rows->last);
    for (size_t r = 0; r < n; r++)
        memcpy(dec->host + r * len, rows->physical + r * (len + skip) + skip,
               len * sizeof *dec->host);
    device_upload_ids(d, ids_part(dec->physical, 0, n * len), dec->host);
}

static void embed(struct decoder *dec, size_t n)
{
    struct device *d = dec->m->device;
    const struct drop quiet = {.pair = ids_part(dec->pair, 0, n),
                               .pos = ids_part(dec->pos, 0, n)};

    d->k->embed_forward(d, mat_rows(is_post(dec) ? dec->y : dec->x, 0, n),
                        dec->m->w.stack[STACK_DECODER].table,
                        dec->m->signal[STACK_DECODER], ids_part(dec->token, 0, n),
                        dec->m->embed_scale, quiet);
}

/* The layers over n embedded rows at position p; y is what the output layer reads. */
static void run_layers(struct decoder *dec, size_t p, size_t n)
{
    const struct weights_stack *s = &dec->m->w.stack[STACK_DECODER];
    const struct mat none = {0}, f = mat_rows(dec->f, 0, n);
    struct mat bias = none; /* of the f that is not yet added */

    for (int l = 0; l < (int)dec->m->config.decoder_layers; l++) {
        const struct weights_layer *w = &s->layer[l];
        if (!is_post(dec))
            add_and_norm(dec, n, l ? f : none, bias, &w->self.norm);
        self_attention(dec, p, n, &dec->layer[l], &w->self);
        add_and_norm(dec, n, f, w->self.out_bias,
                     is_post(dec) ? &w->self.norm : &w->cross.norm);
        cross_attention(dec, n, &dec->layer[l], &w->cross);
        add_and_norm(dec, n, f, w->cross.out_bias,
                     is_post(dec) ? &w->cross.norm : &w->ff.norm);
        feed_forward(dec, n, &w->ff);
        bias = w->ff.b2;
        if (is_post(dec))
            add_and_norm(dec, n, f, bias, &w->ff.norm);
    }
    if (!is_post(dec))
        add_and_norm(dec, n, f, bias, &s->end);
}

static void put_top(const struct decoder *dec, void *top, size_t i, double value)
{
    if (dec->m->device->real_bytes == sizeof(double))
        ((double *)top)[i] = value;
    else
        ((float *)top)[i] = (float)value;
}

/* The first token of a target whose S the model does not see. */
static void say_begin(const struct decoder *dec, size_t n, void *top, int32_t *id)
{
    const size_t K = dec->shape.n_top;

    for (size_t i = 0; i < n * K; i++) {
        id[i] = i % K ? -1 : ID_BOS;
        put_top(dec, top, i, i % K ? -(double)INFINITY : 0);
    }
}

void decoder_step(struct decoder *dec, size_t t, const struct decoder_rows *rows,
                  void *top, int32_t *id)
{
    struct model *m = dec->m;
    struct device *d = m->device;
    const size_t n = rows->n, K = dec->shape.n_top;
    const struct mat z = mat_rows(dec->logits, 0, n), best = mat_rows(dec->top, 0, n);

    if (t < unseen(dec)) {
        say_begin(dec, n, top, id);
        return;
    }
    const size_t p = t - unseen(dec);
    BUG_ON(n > dec->shape.rows || t >= dec->shape.max_len ||
           p >= m->signal[STACK_DECODER].rows);
    upload(dec, p, rows);
    embed(dec, n);
    run_layers(dec, p, n);
    d->k->gemm(d, z, mat_rows(dec->y, 0, n), m->w.output, false, true, 1, 0);
    if (m->w.output_bias.mem)
        d->k->bias_forward(d, z, m->w.output_bias);
    d->k->topk(d, best, ids_part(dec->top_id, 0, n * K), z);
    device_download(d, top, best);
    device_download_ids(d, id, ids_part(dec->top_id, 0, n * K));
}
