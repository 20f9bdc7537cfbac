#include "infer/session.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"
#include "base/pool.h"
#include "infer/session_crew.h"
#include "infer/session_output.h"
#include "recipe/positions.h"

enum { ALIGN = 64, SLACK = 64 }; /* heads that are no whole lanes read a little further */

/* Memory is laid out by one function that measures, base being NULL, and places. */
struct layout {
    char *base;
    size_t at;
};

static void *take(struct layout *l, size_t n, size_t bytes)
{
    void *p = l->base ? l->base + l->at : NULL;

    l->at += linear_round(n * bytes + SLACK, ALIGN);
    return p;
}

static float *take_floats(struct layout *l, size_t n)
{
    return take(l, n, sizeof(float));
}

static struct kernels_input take_input(struct layout *l, size_t rows, size_t n)
{
    const size_t stride = linear_round(n, LINEAR_PANEL);
    const size_t byte_stride = linear_round(n, LINEAR_DEPTH);

    return (struct kernels_input){.real = take_floats(l, rows * stride),
                                  .stride = stride,
                                  .byte = take(l, rows * byte_stride, 1),
                                  .byte_stride = byte_stride,
                                  .scale = take_floats(l, rows),
                                  .n = n};
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Floats that a thread needs for itself: keys of a head as columns and the weights of
 * some queries, or a block of logits. */
static size_t scratch_floats(const struct session *s)
{
    const size_t n = linear_round(s->shape.max_len, SESSION_ROUND);

    return larger((s->d + KERNELS_ROWS) * n, SESSION_OUTPUT_FLOATS) + SLACK;
}

static bool is_learned(const struct session *s)
{
    return s->net->config.arch.positions == POSITIONS_LEARNED;
}

static void lay_out(struct session *s, struct layout *l, size_t n_threads)
{
    const struct session_shape *h = &s->shape;
    const size_t L = s->net->decoder.n_layers, rows = larger(h->n_rows, h->n_tokens);

    s->d_stride = linear_round(s->D, LINEAR_PANEL);
    s->wide_stride = linear_round(3 * s->D, LINEAR_PANEL);
    s->entry_stride = linear_round(2 * s->D, LINEAR_PANEL);
    s->source_signal = take_floats(l, h->max_len * s->D);
    s->target_signal =
        is_learned(s) ? take_floats(l, h->max_len * s->D) : s->source_signal;
    s->x = take_floats(l, rows * s->d_stride);
    s->f = take_floats(l, rows * s->d_stride);
    s->wide = take_floats(l, rows * s->wide_stride);
    s->y = take_input(l, rows, s->D);
    s->h = take_input(l, rows, s->F);
    s->up_stride = linear_round(2 * s->F, LINEAR_PANEL);
    s->up = s->net->config.arch.is_gated ? take_floats(l, rows * s->up_stride) : NULL;
    s->scratch_each = linear_round(scratch_floats(s), ALIGN);
    s->scratch = take_floats(l, n_threads * s->scratch_each);
    s->top = take_floats(l, n_threads * h->n_rows * h->n_top);
    s->top_id = take(l, n_threads * h->n_rows * h->n_top, sizeof *s->top_id);
    s->n_found = take(l, n_threads * h->n_rows, sizeof *s->n_found);
    s->mass = take(l, rows * session_output_blocks(s->V), sizeof *s->mass);
    s->label = take(l, rows, sizeof *s->label);
    s->row = take(l, h->n_rows, sizeof *s->row);
    s->free_entry = take(l, h->n_entries, sizeof *s->free_entry);
    s->place = take(l, h->n_rows, sizeof *s->place);
    s->keys = take_floats(l, L * h->n_memory * s->D);
    s->values = take_floats(l, L * h->n_memory * s->D);
    s->cache = take_floats(l, L * h->n_entries * s->entry_stride);
}

static void set_sizes(struct session *s, const struct network *n,
                      struct session_shape shape)
{
    const struct model_config *c = &n->config;

    *s = (struct session){.net = n,
                          .shape = shape,
                          .D = (size_t)c->d_model,
                          .F = (size_t)c->d_ff,
                          .V = (size_t)c->vocab_size,
                          .heads = (size_t)c->heads,
                          .d = (size_t)(c->d_model / c->heads),
                          .embed_scale =
                              c->arch.is_unscaled ? 1 : (float)sqrt((double)c->d_model)};
}

size_t session_bytes(const struct network *n, size_t n_threads,
                     struct session_shape shape)
{
    struct session s;
    struct layout l = {0};

    set_sizes(&s, n, shape);
    lay_out(&s, &l, n_threads);
    return l.at;
}

/* There may be room for more positions than the model has learned; whoever opens a
 * translator sees to it that no sentence is longer (decode/translate.h). */
static void fill_signal(struct session *s)
{
    const struct architecture *a = &s->net->config.arch;
    const size_t n = s->shape.max_len;

    if (!is_learned(s)) {
        positions_fill(a->positions, s->source_signal, n, s->D);
        return;
    }
    const size_t known = (size_t)a->max_positions < n ? (size_t)a->max_positions : n;
    const size_t n_bytes = known * s->D * sizeof(float);
    memcpy(s->source_signal, s->net->source_positions, n_bytes);
    memcpy(s->target_signal, s->net->target_positions, n_bytes);
}

/* Pages count as used when they are first written: the caches, which stand last, take
 * what sentences need of them, from their beginning. */
status session_open(struct session *s, const struct network *n,
                    const struct infer_kernels *k, struct pool *pool,
                    struct session_shape shape, struct err *err)
{
    const size_t n_bytes = session_bytes(n, pool_size(pool), shape);

    set_sizes(s, n, shape);
    s->k = k;
    s->pool = pool;
    void *memory = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return err_set(err, ERR_MEMORY, "cannot allocate %zu MiB for sentences in flight",
                       n_bytes >> 20);
    s->memory = memory;
    barrier_open(&s->barrier);
    lay_out(s, &(struct layout){.base = memory}, pool_size(pool));
    fill_signal(s);
    for (size_t i = 0; i < shape.n_entries; i++)
        s->free_entry[i] = (int32_t)(shape.n_entries - 1 - i);
    s->n_free = shape.n_entries;
    return OK;
}

void session_close(struct session *s)
{
    if (s->memory) {
        barrier_close(&s->barrier);
        munmap(s->memory, session_bytes(s->net, pool_size(s->pool), s->shape));
    }
    *s = (struct session){0};
}

/* ---- what is lent ---- */

/* The lowest gap that is large enough, so that memory is used from its beginning. */
bool session_lend(struct session *s, size_t n, struct session_source *source)
{
    const size_t size = linear_round(n, SESSION_ROUND);
    size_t at = 0, i = 0;

    if (s->n_places == s->shape.n_rows)
        return false;
    for (; i < s->n_places && s->place[i].at - at < size; i++)
        at = s->place[i].at + s->place[i].n;
    if (s->shape.n_memory - at < size)
        return false;
    memmove(s->place + i + 1, s->place + i, (s->n_places - i) * sizeof *s->place);
    s->place[i] = (struct session_place){at, size};
    s->n_places++;
    *source = (struct session_source){at, n};
    return true;
}

void session_give_back(struct session *s, struct session_source source)
{
    for (size_t i = 0; i < s->n_places; i++)
        if (s->place[i].at == source.at) {
            s->n_places--;
            memmove(s->place + i, s->place + i + 1, (s->n_places - i) * sizeof *s->place);
            return;
        }
    BUG_ON(true); /* it was not lent */
}

int32_t session_take_entry(struct session *s)
{
    BUG_ON(s->n_free == 0);
    return s->free_entry[--s->n_free];
}

void session_drop_entry(struct session *s, int32_t entry)
{
    BUG_ON(s->n_free == s->shape.n_entries);
    s->free_entry[s->n_free++] = entry;
}

/* ---- threads ---- */

static bool is_post(const struct session *s)
{
    return s->net->config.arch.norm == NORM_POST;
}

void session_run(struct session *s, session_work *work, void *ctx)
{
    if (s->pool)
        pool_run(s->pool, work, ctx);
    else
        work(ctx, 0, 1);
}

void session_wait(const struct session_crew *c)
{
    barrier_wait(&c->s->barrier, c->n_parts);
}

struct session_share session_share(const struct session_crew *c, size_t n)
{
    const struct pool_range r = pool_split(n, c->part, c->n_parts);

    return (struct session_share){r.begin, r.end};
}

float *session_scratch(const struct session_crew *c)
{
    return c->s->scratch + c->part * c->s->scratch_each;
}

void session_tell(const struct session_crew *c, const struct kernels_input *a,
                  const struct linear *w, size_t n)
{
    if (c->s->observe && c->part == 0)
        c->s->observe(c->s->observe_ctx, w, a, n);
}

/* Panels are shared by fours, as many as a tile has. */
static void multiply_share(const struct session_crew *c, float *to, size_t ldc,
                           const struct kernels_input *a, const struct linear *w,
                           bool relu, size_t n)
{
    enum { FOUR = 4 };
    const size_t n_panels = linear_panels(w);
    const struct session_share fours = session_share(c, (n_panels + FOUR - 1) / FOUR);
    const size_t p0 = fours.begin * FOUR;
    const size_t p1 = fours.end * FOUR < n_panels ? fours.end * FOUR : n_panels;

    session_tell(c, a, w, n);
    if (p0 < p1)
        c->s->k->multiply(to + p0 * LINEAR_PANEL, ldc, a, w, relu, 0, n, p0, p1);
    session_wait(c);
}

void session_multiply(const struct session_crew *c, float *to, size_t ldc,
                      const struct kernels_input *a, const struct linear *w, bool relu,
                      size_t n)
{
    const struct session_share rows = session_share(c, n);

    if (w->type == LINEAR_INT8) {
        c->s->k->quantise(a, rows.begin, rows.end - rows.begin);
        session_wait(c);
    }
    multiply_share(c, to, ldc, a, w, relu, n);
}

static unsigned form_of(const struct linear *w)
{
    return w->type == LINEAR_INT8 ? KERNELS_BYTE : KERNELS_REAL;
}

static void norm(const struct session_crew *c, const float *f,
                 const struct network_norm *norm, const struct linear *w, size_t n)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, n);
    const struct kernels_norm how = {.x = s->x,
                                     .f = f,
                                     .gain = norm->gain,
                                     .bias = norm->bias,
                                     .stride = s->d_stride,
                                     .epsilon = (float)s->net->config.norm_epsilon};

    s->k->norm(&s->y, &how, form_of(w), rows.begin, rows.end - rows.begin);
    if (is_post(s)) /* the next residual is what was normalised */
        memcpy(s->x + rows.begin * s->d_stride, s->y.real + rows.begin * s->y.stride,
               (rows.end - rows.begin) * s->d_stride * sizeof *s->x);
    session_wait(c);
}

void session_begin(const struct session_crew *c, const struct linear *w, size_t n)
{
    struct session *s = c->s;
    const struct session_share rows = session_share(c, n);

    if (!is_post(s))
        return;
    memcpy(s->y.real + rows.begin * s->y.stride, s->x + rows.begin * s->d_stride,
           (rows.end - rows.begin) * s->d_stride * sizeof *s->x);
    if (w->type == LINEAR_INT8)
        s->k->quantise(&s->y, rows.begin, rows.end - rows.begin);
    session_wait(c);
}

void session_enter(const struct session_crew *c, const float *f,
                   const struct network_norm *of, const struct linear *w, size_t n)
{
    if (!is_post(c->s))
        norm(c, f, of, w, n);
}

void session_leave(const struct session_crew *c, const struct network_norm *of,
                   const struct linear *next, size_t n)
{
    if (is_post(c->s))
        norm(c, c->s->f, of, next, n);
}

void session_multiply_normed(const struct session_crew *c, float *to, size_t ldc,
                             const struct linear *w, bool relu, size_t n)
{
    multiply_share(c, to, ldc, &c->s->y, w, relu, n);
}

void session_feed_forward(const struct session_crew *c, const struct network_ffn *w,
                          size_t n)
{
    struct session *s = c->s;
    const enum activation kind = s->net->config.arch.activation;
    const struct session_share rows = session_share(c, n);
    const bool is_relu = kind == ACTIVATION_RELU;

    if (s->up) {
        session_multiply_normed(c, s->up, s->up_stride, &w->up, false, n);
        s->k->gate(&s->h, s->up, s->up_stride, kind, rows.begin, rows.end - rows.begin);
    } else {
        session_multiply_normed(c, s->h.real, s->h.stride, &w->up, is_relu, n);
        if (!is_relu)
            s->k->activate(&s->h, kind, rows.begin, rows.end - rows.begin);
    }
    if (s->up || !is_relu)
        session_wait(c);
    session_multiply(c, s->f, s->d_stride, &s->h, &w->down, false, n);
}

void session_decode(const struct session_crew *c, const struct session_attention *how,
                    const void *job, size_t n, size_t n_layers)
{
    struct session *s = c->s;
    const struct network_stack *d = &s->net->decoder;
    const struct linear *output = network_output(s->net);
    const float *f = NULL;

    session_begin(c, &d->layer[0].self.in, n);
    for (size_t l = 0; l < n_layers; l++, f = s->f) {
        const struct network_layer *w = &d->layer[l];
        const bool is_last = l + 1 == d->n_layers;
        session_enter(c, f, &w->self.norm, &w->self.in, n);
        session_multiply_normed(c, s->wide, s->wide_stride, &w->self.in, false, n);
        how->self(c, job, l);
        session_multiply(c, s->f, s->d_stride, &s->y, &w->self.out, false, n);
        session_leave(c, &w->self.norm, &w->cross.in, n);
        session_enter(c, s->f, &w->cross.norm, &w->cross.in, n);
        session_multiply_normed(c, s->wide, s->wide_stride, &w->cross.in, false, n);
        how->cross(c, job, l);
        session_multiply(c, s->f, s->d_stride, &s->y, &w->cross.out, false, n);
        session_leave(c, &w->cross.norm, &w->ff.up, n);
        session_enter(c, s->f, &w->ff.norm, &w->ff.up, n);
        session_feed_forward(c, &w->ff, n);
        session_leave(c, &w->ff.norm, is_last ? output : &d->layer[l + 1].self.in, n);
    }
    session_enter(c, f, &d->end, output, n);
    session_tell(c, &s->y, output, n);
}
