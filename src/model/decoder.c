#include "model/decoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/activations.h"

struct layer {
    struct mat cross; /* [n_src,2D] k|v of the memory */
    struct mat self;  /* [max_len*rows,2D] k|v of what was fed */
};

struct decoder {
    struct model *m;
    struct decoder_shape shape;
    struct device_arena arena;
    struct layer *layer;
    struct mat x, y, stats, f, q, ctx, h, logits, top;
    struct ids token, pos, pair, first, last, physical, top_id;
    int32_t *host_pos; /* [rows] */
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
        mem_alloc(&dec->host_pos, shape.rows, sizeof *dec->host_pos, err) != OK ||
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
    free(dec->host_pos);
    free(dec);
}

void decoder_begin(struct decoder *dec)
{
    struct model *m = dec->m;
    struct device *d = m->device;
    const struct mat memory = m->act->stack[STACK_ENCODER].end.y;
    const struct weights_layer *w = m->w.stack[STACK_DECODER].layer;

    BUG_ON(memory.rows > dec->shape.n_src);
    for (int l = 0; l < (int)m->config.decoder_layers; l++)
        d->k->gemm(d, mat_rows(dec->layer[l].cross, 0, memory.rows), memory,
                   w[l].cross.kv, false, false, 1, 0);
}

/* y = norm(x), after x += f (+ bias) when there is an f. */
static void add_and_norm(struct decoder *dec, size_t n, struct mat f, struct mat f_bias,
                         const struct weights_norm *w)
{
    struct device *d = dec->m->device;
    const struct drop quiet = {0};
    const struct mat x = mat_rows(dec->x, 0, n);

    d->k->norm_forward(d, x, mat_rows(dec->y, 0, n), mat_rows(dec->stats, 0, n), x, f,
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

    d->k->gemm(d, q, y, mat_cols(w->in, 0, D), false, false, 1, 0);
    d->k->gemm(d, now, y, mat_cols(w->in, D, 2 * D), false, false, 1, 0);
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

    d->k->gemm(d, q, mat_rows(dec->y, 0, n), w->in, false, false, 1, 0);
    d->k->attend_memory(d, ctx, q, mat_cols(l->cross, 0, D), mat_cols(l->cross, D, D),
                        ids_part(dec->first, 0, n), ids_part(dec->last, 0, n),
                        (size_t)dec->m->config.heads);
    d->k->gemm(d, mat_rows(dec->f, 0, n), ctx, w->out, false, false, 1, 0);
}

static void feed_forward(struct decoder *dec, size_t n, const struct weights_ffn *w)
{
    struct device *d = dec->m->device;
    const struct mat h = mat_rows(dec->h, 0, n);

    d->k->gemm_relu(d, h, mat_rows(dec->y, 0, n), w->w1, w->b1);
    d->k->gemm(d, mat_rows(dec->f, 0, n), h, w->w2, false, false, 1, 0);
}

static void upload(struct decoder *dec, size_t t, const struct decoder_rows *rows)
{
    struct device *d = dec->m->device;
    const size_t n = rows->n;

    for (size_t r = 0; r < n; r++)
        dec->host_pos[r] = (int32_t)t;
    device_upload_ids(d, ids_part(dec->token, 0, n), rows->token);
    device_upload_ids(d, ids_part(dec->pos, 0, n), dec->host_pos);
    device_upload_ids(d, ids_part(dec->first, 0, n), rows->first);
    device_upload_ids(d, ids_part(dec->last, 0, n), rows->last);
    device_upload_ids(d, ids_part(dec->physical, 0, n * (t + 1)), rows->physical);
}

static void embed(struct decoder *dec, size_t n)
{
    struct device *d = dec->m->device;
    const struct drop quiet = {.pair = ids_part(dec->pair, 0, n),
                               .pos = ids_part(dec->pos, 0, n)};

    d->k->embed_forward(d, mat_rows(dec->x, 0, n), dec->m->w.embed, dec->m->signal,
                        ids_part(dec->token, 0, n), sqrt((double)dec->m->config.d_model),
                        quiet);
}

void decoder_step(struct decoder *dec, size_t t, const struct decoder_rows *rows,
                  void *top, int32_t *id)
{
    struct model *m = dec->m;
    struct device *d = m->device;
    const struct weights_layer *w = m->w.stack[STACK_DECODER].layer;
    const size_t n = rows->n, K = dec->shape.n_top;
    const struct mat none = {0}, f = mat_rows(dec->f, 0, n);
    const struct mat z = mat_rows(dec->logits, 0, n), best = mat_rows(dec->top, 0, n);

    BUG_ON(n > dec->shape.rows || t >= dec->shape.max_len || t >= m->signal.rows);
    upload(dec, t, rows);
    embed(dec, n);
    for (int l = 0; l < (int)m->config.decoder_layers; l++, w++) {
        add_and_norm(dec, n, l ? f : none, l ? w[-1].ff.b2 : none, &w->self.norm);
        self_attention(dec, t, n, &dec->layer[l], &w->self);
        add_and_norm(dec, n, f, none, &w->cross.norm);
        cross_attention(dec, n, &dec->layer[l], &w->cross);
        add_and_norm(dec, n, f, none, &w->ff.norm);
        feed_forward(dec, n, &w->ff);
    }
    add_and_norm(dec, n, f, w[-1].ff.b2, &m->w.stack[STACK_DECODER].end);
    d->k->gemm(d, z, mat_rows(dec->y, 0, n), m->w.embed, false, true, 1, 0);
    d->k->topk(d, best, ids_part(dec->top_id, 0, n * K), z);
    device_download(d, top, best);
    device_download_ids(d, id, ids_part(dec->top_id, 0, n * K));
}
