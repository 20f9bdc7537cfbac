/*
 * The forward pass, top to bottom. Each sub-layer is
 *
 *   x' = x + drop(f(norm(x)))      norms in front
 *   x' = norm(x + drop(f(x)))      norms behind
 *
 * In front, the residual of one sub-layer is added by the normalisation of the next
 * (norm_forward), so that the stream is touched once between two products; behind, by the
 * sub-layer's own.
 */
#include "model/activations.h"
#include "model/model.h"

/* What flows between two sub-layers: the stream, and the output not yet added to it. */
struct stream {
    struct mat x;
    struct mat f, f_bias; /* f none at the bottom of a stack */
    struct drop drop;
};

static bool is_post(const struct model *m)
{
    return m->config.arch.norm == NORM_POST;
}

static void add_and_norm(struct model *m, struct act_norm *a, struct stream *s,
                         const struct weights_norm *w)
{
    struct device *d = m->device;

    if (!s->f.mem)
        a->x = s->x; /* nothing to add: the sub-layer reads the stream where it is */
    d->k->norm_forward(d, a->x, a->y, a->stats, s->x, s->f, s->f_bias, w->gain, w->bias,
                       m->config.norm_epsilon, s->drop);
    s->x = is_post(m) ? a->y : a->x;
    s->f = (struct mat){0};
}

/* What the sub-layer reads. */
static struct mat enter(struct model *m, struct act_norm *a, struct stream *s,
                        const struct weights_norm *w)
{
    if (is_post(m))
        return s->x;
    add_and_norm(m, a, s, w);
    return a->y;
}

static void leave(struct model *m, struct act_norm *a, struct stream *s,
                  const struct weights_norm *w)
{
    if (is_post(m))
        add_and_norm(m, a, s, w);
}

static void product(struct model *m, struct mat to, struct mat x, struct mat w,
                    struct mat bias)
{
    struct device *d = m->device;

    d->k->gemm(d, to, x, w, false, false, 1, 0);
    if (bias.mem)
        d->k->bias_forward(d, to, bias);
}

/* Everything of an attention to y that its backward reads. */
static void attention_inner(struct model *m, struct act_attention *a,
                            const struct weights_attention *w, struct mat y,
                            enum stack stack, int layer, bool cross)
{
    struct device *d = m->device;
    const size_t D = (size_t)m->config.d_model;
    const struct mat kv = cross ? a->kv : mat_cols(a->in, D, 2 * D);

    product(m, a->in, y, w->in, w->in_bias);
    if (cross)
        product(m, a->kv, m->act->stack[STACK_ENCODER].out, w->kv, w->kv_bias);
    d->k->attention_forward(d, a->ctx, a->lse, mat_cols(a->in, 0, D), mat_cols(kv, 0, D),
                            mat_cols(kv, D, D),
                            activations_attend(m, stack, layer, cross));
}

/* The sub-layer's output, for the next normalisation to add. */
static void put_output(struct model *m, struct stream *s, struct mat in, struct mat w,
                       struct mat bias, struct drop drop)
{
    s->f = mat_rows(m->act->f, 0, in.rows);
    m->device->k->gemm(m->device, s->f, in, w, false, false, 1, 0);
    s->f_bias = bias;
    s->drop = drop;
}

static void attention(struct model *m, struct act_attention *a,
                      const struct weights_attention *w, struct stream *s,
                      enum stack stack, int layer, bool cross)
{
    const enum act_site site = cross ? ACT_CROSS_OUT : ACT_SELF_OUT;
    const struct mat y = enter(m, &a->norm, s, &w->norm);

    attention_inner(m, a, w, y, stack, layer, cross);
    put_output(m, s, a->ctx, w->out, w->out_bias,
               activations_drop(m->act, stack, layer, site));
    leave(m, &a->norm, s, &w->norm);
}

static void ffn_inner(struct model *m, struct act_ffn *a, const struct weights_ffn *w,
                      struct mat y, enum stack stack, int layer)
{
    struct device *d = m->device;
    const struct drop drop = activations_drop(m->act, stack, layer, ACT_RELU);

    if (!model_is_plain(&m->config)) {
        d->k->gemm(d, a->z, y, w->w1, false, false, 1, 0);
        d->k->activate_forward(d, a->h, a->z, w->b1, m->config.arch.activation, drop);
        return;
    }
    if (!m->act->run.want_grad && m->act->run.drop_relu <= 0) {
        d->k->gemm_relu(d, a->h, y, w->w1, w->b1);
        return;
    }
    d->k->gemm(d, a->h, y, w->w1, false, false, 1, 0);
    d->k->relu_forward(d, a->h, w->b1, drop);
}

static void feed_forward(struct model *m, struct act_ffn *a, const struct weights_ffn *w,
                         struct stream *s, enum stack stack, int layer)
{
    const struct mat y = enter(m, &a->norm, s, &w->norm);

    ffn_inner(m, a, w, y, stack, layer);
    put_output(m, s, a->h, w->w2, w->b2,
               activations_drop(m->act, stack, layer, ACT_FF_OUT));
    leave(m, &a->norm, s, &w->norm);
}

/* y and the statistics of a norm once more, from its x. */
static void norm_again(struct model *m, struct act_norm *a, const struct weights_norm *w)
{
    struct stream s = {.x = a->x};

    add_and_norm(m, a, &s, w);
}

struct mat model_input_again(struct model *m, enum stack stack, int layer,
                             enum act_sublayer which)
{
    struct act_layer *a = &m->act->stack[stack].layer[layer];
    const struct weights_layer *w = activations_layer(m->act, &m->w, stack, layer);

    if (!is_post(m) && which == ACT_SELF)
        norm_again(m, &a->self.norm, &w->self.norm);
    else if (!is_post(m) && which == ACT_CROSS)
        norm_again(m, &a->cross.norm, &w->cross.norm);
    else if (!is_post(m))
        norm_again(m, &a->ff.norm, &w->ff.norm);
    return activations_input(m, stack, layer, which);
}

void model_recompute(struct model *m, enum stack stack, int layer)
{
    struct act_layer *a = &m->act->stack[stack].layer[layer];
    const struct weights_layer *w = activations_layer(m->act, &m->w, stack, layer);

    if (is_post(m) && layer)
        norm_again(m, &a[-1].ff.norm,
                   &activations_layer(m->act, &m->w, stack, layer - 1)->ff.norm);
    norm_again(m, &a->self.norm, &w->self.norm);
    attention_inner(m, &a->self, &w->self, activations_input(m, stack, layer, ACT_SELF),
                    stack, layer, false);
    if (stack == STACK_DECODER) {
        norm_again(m, &a->cross.norm, &w->cross.norm);
        attention_inner(m, &a->cross, &w->cross,
                        activations_input(m, stack, layer, ACT_CROSS), stack, layer,
                        true);
    }
    if (!is_post(m)) /* behind, its y would be the next layer's input */
        norm_again(m, &a->ff.norm, &w->ff.norm);
    ffn_inner(m, &a->ff, &w->ff, activations_input(m, stack, layer, ACT_FF), stack,
              layer);
}

static void run_stack(struct model *m, enum stack stack)
{
    struct device *d = m->device;
    struct act_stack *a = &m->act->stack[stack];
    const struct weights_stack *w = &m->w.stack[stack];
    struct stream s = {.x = a->in};

    d->k->embed_forward(d, s.x, w->table, m->signal[stack], a->id, m->embed_scale,
                        activations_drop(m->act, stack, 0, ACT_EMBED));
    for (int i = 0; i < a->n_layers; i++) {
        struct act_layer *e = &a->layer[i];
        const struct weights_layer *wl = activations_layer(m->act, &m->w, stack, i);
        attention(m, &e->self, &wl->self, &s, stack, i, false);
        if (stack == STACK_DECODER)
            attention(m, &e->cross, &wl->cross, &s, stack, i, true);
        feed_forward(m, &e->ff, &wl->ff, &s, stack, i);
    }
    enter(m, &a->end, &s, &w->end);
}

/* The next rows of one view: what the output layer reads, logits, where dy goes. */
struct chunk {
    struct mat y, z, dy;
};

static struct chunk chunk_logits(struct model *m, size_t row, size_t room, size_t n)
{
    const struct activations *a = m->act;
    struct device *d = m->device;
    struct chunk c = {.y = mat_rows(a->stack[STACK_DECODER].out, row, n),
                      .z = mat_rows(a->logits, room, n)};

    if (a->run.want_grad)
        c.dy = mat_rows(a->dy, row, n);
    d->k->gemm(d, c.z, c.y, m->w.output, false, true, 1, 0);
    if (m->w.output_bias.mem)
        d->k->bias_forward(d, c.z, m->w.output_bias);
    return c;
}

/* dy = dz E,  dE += dz' y,  db += sum_r dz */
static void chunk_back(struct model *m, const struct chunk *c, bool is_first)
{
    struct device *d = m->device;

    if (!m->act->run.want_grad)
        return;
    d->k->gemm(d, c->dy, c->z, m->w.output, false, false, 1, 0);
    d->k->gemm(d, m->g.output, c->z, c->y, true, false, 1,
               m->is_fresh && is_first ? 0 : 1);
    if (m->g.output_bias.mem)
        d->k->bias_backward(d, m->g.output_bias, c->z);
}

static struct smoothing smoothing_of(const struct model *m)
{
    const struct model_run *run = &m->act->run;
    struct smoothing s = {.rate = run->smooth};

    if (run->has_prior) {
        s.prior = m->prior;
        s.entropy = m->prior_entropy;
    }
    return s;
}

static double loss_factor(const struct model_run *run)
{
    const double scale = run->loss_scale > 0 ? run->loss_scale : 1;

    return run->want_grad ? scale : 0;
}

/* Rows of sentences of one weight, which a loss kernel takes at once. */
struct alike {
    size_t n;
    double factor; /* of their gradient */
};

/* Those from `row` on, at most `n`; *sent is the sentence of a row before, or of it. */
static struct alike rows_alike(const struct activations *a, size_t row, size_t n,
                               size_t *sent)
{
    const struct model_batch *b = &a->batch;
    struct alike r = {n, loss_factor(&a->run)};

    if (!b->weight || !a->run.want_grad)
        return r;
    while ((size_t)b->tgt_at[*sent + 1] <= row)
        ++*sent;
    const float weight = b->weight[*sent];
    size_t end = *sent + 1;
    while ((size_t)b->tgt_at[end] < row + n && b->weight[end] == weight)
        end++;
    if ((size_t)b->tgt_at[end] < row + n)
        r.n = (size_t)b->tgt_at[end] - row;
    r.factor *= (double)weight;
    return r;
}

/*
 * Logits z = y E' + b, loss and, with want_grad, the gradients of the output layer, chunk
 * by chunk.
 */
static void output(struct model *m)
{
    struct activations *a = m->act;
    struct device *d = m->device;
    const struct smoothing smooth = smoothing_of(m);
    size_t sent = 0;

    for (size_t at = 0; at < a->batch.n_tgt; at += ACT_CHUNK) {
        const size_t left = a->batch.n_tgt - at, n = left < ACT_CHUNK ? left : ACT_CHUNK;
        const struct ids none = {0};
        const struct chunk c = chunk_logits(m, at, 0, n);
        for (size_t r = 0; r < n;) {
            const struct alike s = rows_alike(a, at + r, n - r, &sent);
            d->k->xent(d, mat_rows(a->loss, at + r, s.n),
                       a->run.want_best ? ids_part(a->best, at + r, s.n) : none,
                       mat_rows(c.z, r, s.n), ids_part(a->tgt_label, at + r, s.n), smooth,
                       s.factor);
            r += s.n;
        }
        chunk_back(m, &c, !at);
    }
}

/* The same of two views, the rows of a chunk side by side. */
static void output_views(struct model *m)
{
    struct activations *a = m->act;
    struct device *d = m->device;
    const struct smoothing smooth = smoothing_of(m);
    const size_t half = a->batch.n_tgt / 2, most = ACT_CHUNK / 2;
    size_t sent = 0;

    for (size_t at = 0; at < half; at += most) {
        const size_t n = half - at < most ? half - at : most;
        const struct chunk one = chunk_logits(m, at, 0, n);
        const struct chunk other = chunk_logits(m, half + at, n, n);
        for (size_t r = 0; r < n;) {
            const struct alike s = rows_alike(a, at + r, n - r, &sent);
            d->k->xent_views(
                d, mat_rows(a->loss, at + r, s.n), mat_rows(a->loss, half + at + r, s.n),
                mat_rows(one.z, r, s.n), mat_rows(other.z, r, s.n),
                ids_part(a->tgt_label, at + r, s.n), smooth, a->run.views, s.factor);
            r += s.n;
        }
        chunk_back(m, &one, !at);
        chunk_back(m, &other, false);
    }
}

static void upload(struct model *m, const struct model_batch *b)
{
    const struct act_stack *source = &m->act->stack[STACK_ENCODER];
    const struct act_stack *target = &m->act->stack[STACK_DECODER];
    struct device *d = m->device;

    device_upload_ids(d, source->at, b->src_at);
    device_upload_ids(d, source->id, b->src_id);
    device_upload_ids(d, source->pos, b->src_pos);
    device_upload_ids(d, source->pair, b->src_pair);
    if (!b->n_tgt)
        return;
    device_upload_ids(d, target->at, b->tgt_at);
    device_upload_ids(d, target->id, b->tgt_in);
    device_upload_ids(d, target->pos, b->tgt_pos);
    device_upload_ids(d, target->pair, b->tgt_pair);
    device_upload_ids(d, m->act->tgt_label, b->tgt_label);
}

static void begin(struct model *m, const struct model_batch *b,
                  const struct model_run *run)
{
    struct activations *a = m->act;

    BUG_ON(b->max_src > m->signal[STACK_ENCODER].rows ||
           b->max_tgt > m->signal[STACK_DECODER].rows);
    BUG_ON(model_has_views(run) && (b->n_sents % 2 || b->n_tgt % 2 || run->want_best));
    BUG_ON(run->has_prior && !m->prior.mem);
    a->batch = *b;
    a->run = *run;
    activations_choose(a, &m->config, run->left_out);
    activations_place(a, &m->config, b->n_sents, b->n_src, b->n_tgt, run->want_grad,
                      activations_shared(m, run->want_grad));
    if (m->half.mem) /* whoever changed the weights need not know of the copy */
        m->device->k->cast(m->device, m->half, m->flat);
    upload(m, b);
}

void model_forward(struct model *m, const struct model_batch *b,
                   const struct model_run *run)
{
    begin(m, b, run);
    run_stack(m, STACK_ENCODER);
    run_stack(m, STACK_DECODER);
    if (model_has_views(run))
        output_views(m);
    else
        output(m);
}

void model_encode(struct model *m, const struct model_batch *b)
{
    const struct model_run quiet = {0};
    struct model_batch source = *b;

    source.n_tgt = source.max_tgt = 0;
    begin(m, &source, &quiet);
    run_stack(m, STACK_ENCODER);
}
