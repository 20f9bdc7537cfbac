/*
 * The backward pass: forward.c read from the bottom to the top. Weight gradients
 * accumulate; docs/gradients.md derives each line.
 *
 *   norms in front   dx is the gradient of the residual stream, df that of the sub-layer
 *                    output that was added to it, dy that of a normalised input
 *   norms behind     dy is the gradient of the stream, which norms leave; dx that of the
 *                    sum in front of the norm, onto which the sub-layer adds what flows
 *                    through it: then it is the stream's below, and the two change places
 */
#include "model/activations.h"
#include "model/model.h"

struct back {
    struct mat dx, df, dy;
    bool is_top; /* norms in front: nothing has flowed into dx yet */
    bool stores; /* nothing was added to the gradients of this layer's matrices */
};

static bool is_post(const struct model *m)
{
    return m->config.arch.norm == NORM_POST;
}

/*
 * Through the normalisation of `a` and the residual under it, which added the output of a
 * sub-layer with this bias and dropout; at the bottom of a stack there is none, and df is
 * not wanted.
 */
static void norm_back(struct model *m, struct back *b, const struct act_norm *a,
                      const struct weights_norm *w, const struct weights_norm *g,
                      struct mat df_bias, const struct drop *added)
{
    struct device *d = m->device;
    const struct mat none = {0};
    const struct drop quiet = {0};

    d->k->norm_backward(d, b->dx, added ? b->df : none, g->gain, g->bias, df_bias, b->dy,
                        b->is_top || is_post(m) ? none : b->dx, a->x, a->stats, w->gain,
                        added ? *added : quiet);
    b->is_top = false;
}

/* The gradient of a weight, g += x' dy; it is stored where nothing was added before. */
static void add_product(struct model *m, const struct back *b, struct mat g, struct mat x,
                        struct mat dy)
{
    m->device->k->gemm(m->device, g, x, dy, true, false, 1, b->stores ? 0 : 1);
}

static void add_bias(struct model *m, struct mat g, struct mat dy)
{
    if (g.mem)
        m->device->k->bias_backward(m->device, g, dy);
}

/* Out of a sub-layer's first product, dz w' becomes dy; behind, it joins what flows past
 * the sub-layer. */
static void leave_down(struct model *m, struct back *b, struct mat dz, struct mat w)
{
    struct device *d = m->device;

    if (!is_post(m)) {
        d->k->gemm(d, b->dy, dz, w, false, true, 1, 0);
        return;
    }
    d->k->gemm(d, b->dx, dz, w, false, true, 1, 1);
    const struct mat dx = b->dx;
    b->dx = b->dy;
    b->dy = dx;
}

static void ffn_back(struct model *m, struct back *b, const struct act_ffn *a,
                     const struct weights_ffn *w, const struct weights_ffn *g,
                     enum stack stack, int layer)
{
    struct device *d = m->device;
    const struct mat dh = mat_rows(m->act->dh, 0, a->h.rows);
    const bool is_plain = model_is_plain(&m->config);
    const struct mat dz = is_plain ? dh : a->z;
    const struct drop drop = activations_drop(m->act, stack, layer, ACT_RELU);

    add_product(m, b, g->w2, a->h, b->df);
    d->k->gemm(d, dh, b->df, w->w2, false, true, 1, 0);
    if (is_plain)
        d->k->relu_backward(d, dh, g->b1, a->h, drop.rate);
    else
        d->k->activate_backward(d, dz, g->b1, dh, a->z, m->config.arch.activation, drop);
    add_product(m, b, g->w1, model_input_again(m, stack, layer, ACT_FF), dz);
    leave_down(m, b, dz, w->w1);
}

/* The memory's gradient is summed over the decoder layers, the last one first. */
static void attention_back(struct model *m, struct back *b, const struct act_attention *a,
                           const struct weights_attention *w,
                           const struct weights_attention *g, enum stack stack, int layer,
                           bool cross)
{
    struct device *d = m->device;
    const size_t D = (size_t)m->config.d_model, N = a->ctx.rows, width = a->in.cols;
    const struct mat room = m->act->din, dctx = mat_rows(m->act->dctx, 0, N);
    const struct mat din = {room.mem, room.at, N, width, width, room.type};
    const struct mat kv = cross ? a->kv : mat_cols(a->in, D, 2 * D);
    const struct mat dkv = cross ? m->act->dkv : mat_cols(din, D, 2 * D);
    const bool is_last = layer == m->act->stack[stack].n_layers - 1;

    add_product(m, b, g->out, a->ctx, b->df);
    d->k->gemm(d, dctx, b->df, w->out, false, true, 1, 0);
    d->k->attention_backward(
        d, mat_cols(din, 0, D), mat_cols(dkv, 0, D), mat_cols(dkv, D, D), dctx, a->ctx,
        a->lse, mat_cols(a->in, 0, D), mat_cols(kv, 0, D), mat_cols(kv, D, D),
        activations_attend(m, stack, layer, cross));
    add_product(m, b, g->in,
                model_input_again(m, stack, layer, cross ? ACT_CROSS : ACT_SELF), din);
    add_bias(m, g->in_bias, din);
    leave_down(m, b, din, w->in);
    if (!cross)
        return;
    add_product(m, b, g->kv, m->act->stack[STACK_ENCODER].out, dkv);
    add_bias(m, g->kv_bias, dkv);
    d->k->gemm(d, m->act->dmemory, dkv, w->kv, false, true, 1, is_last ? 0 : 1);
}

/* Tell the hook that one block of the flat gradient is final. */
static void ready(struct model *m, const struct model_hook *hook, enum param_block block,
                  int set)
{
    size_t first, end;

    if (hook && hook->ready && params_range(&m->params, block, set, &first, &end))
        hook->ready(hook->ctx, first, end - first);
}

/* A layer's sub-layers from the top: what the norm of one is behind, in its gradient. */
struct added {
    struct mat bias; /* gradient of the bias */
    struct drop drop;
};

static struct added added_by(struct model *m, enum stack stack, int l,
                             enum act_sublayer which)
{
    const struct weights_layer *g = activations_layer(m->act, &m->g, stack, l);
    const enum act_site site = which == ACT_SELF    ? ACT_SELF_OUT
                               : which == ACT_CROSS ? ACT_CROSS_OUT
                                                    : ACT_FF_OUT;

    return (struct added){.bias = which == ACT_SELF    ? g->self.out_bias
                                  : which == ACT_CROSS ? g->cross.out_bias
                                                       : g->ff.b2,
                          .drop = activations_drop(m->act, stack, l, site)};
}

/* Through the norm of sub-layer `which`: in front of it, the residual added the output of
 * the one below; behind it, its own. */
static void sublayer_norm_back(struct model *m, struct back *b, enum stack stack, int l,
                               enum act_sublayer which)
{
    const struct act_layer *a = &m->act->stack[stack].layer[l];
    const struct weights_layer *w = activations_layer(m->act, &m->w, stack, l);
    const struct weights_layer *g = activations_layer(m->act, &m->g, stack, l);
    const struct act_norm *norm[] = {&a->self.norm, &a->cross.norm, &a->ff.norm};
    const struct weights_norm *of[] = {&w->self.norm, &w->cross.norm, &w->ff.norm};
    const struct weights_norm *to[] = {&g->self.norm, &g->cross.norm, &g->ff.norm};
    const enum act_sublayer below[] = {ACT_FF, ACT_SELF,
                                       stack == STACK_DECODER ? ACT_CROSS : ACT_SELF};
    const int layer = is_post(m) || which != ACT_SELF ? l : l - 1;

    if (layer < 0) {
        norm_back(m, b, norm[which], of[which], to[which], (struct mat){0}, NULL);
        return;
    }
    const struct added added =
        added_by(m, stack, layer, is_post(m) ? which : below[which]);
    norm_back(m, b, norm[which], of[which], to[which], added.bias, &added.drop);
}

static void sublayer_back(struct model *m, struct back *b, enum stack stack, int l,
                          enum act_sublayer which)
{
    const struct act_layer *a = &m->act->stack[stack].layer[l];
    const struct weights_layer *w = activations_layer(m->act, &m->w, stack, l);
    const struct weights_layer *g = activations_layer(m->act, &m->g, stack, l);

    if (is_post(m))
        sublayer_norm_back(m, b, stack, l, which);
    if (which == ACT_FF)
        ffn_back(m, b, &a->ff, &w->ff, &g->ff, stack, l);
    else if (which == ACT_CROSS)
        attention_back(m, b, &a->cross, &w->cross, &g->cross, stack, l, true);
    else
        attention_back(m, b, &a->self, &w->self, &g->self, stack, l, false);
    if (!is_post(m))
        sublayer_norm_back(m, b, stack, l, which);
}

static void layer_back(struct model *m, struct back *b, enum stack stack, int l)
{
    if (m->recompute && l < m->act->stack[stack].n_layers - 1)
        model_recompute(m, stack, l);
    sublayer_back(m, b, stack, l, ACT_FF);
    if (stack == STACK_DECODER)
        sublayer_back(m, b, stack, l, ACT_CROSS);
    sublayer_back(m, b, stack, l, ACT_SELF);
}

/* The gradient of a layer, or of all layers of a set, that the pass went without. */
static void leave_out(struct model *m, enum param_block block, int set)
{
    size_t first, end;

    if (m->is_fresh && params_range(&m->params, block, set, &first, &end))
        m->device->k->fill(m->device, mat_cols(m->grad, first, end - first), 0);
}

static void embed_back(struct model *m, enum stack stack, struct mat dx)
{
    struct device *d = m->device;
    const struct act_stack *a = &m->act->stack[stack];
    const struct weights_stack *g = &m->g.stack[stack];
    const struct drop drop = activations_drop(m->act, stack, 0, ACT_EMBED);

    d->k->embed_backward(d, g->table, dx, a->id, m->embed_scale, drop);
    if (g->positions.mem)
        d->k->embed_backward(d, g->positions, dx, a->pos, 1, drop);
}

/*
 * All layers of a stack. What layers share is stored by the first of them that the pass
 * meets, the others add to it, and it is final behind the lowest one.
 */
static void layers_back(struct model *m, struct back *b, enum stack stack,
                        const struct model_hook *hook)
{
    const struct act_stack *a = &m->act->stack[stack];
    const enum param_block block = stack == STACK_ENCODER ? BLOCK_ENCODER : BLOCK_DECODER;
    bool met[ACT_LAYERS] = {false};

    for (int l = stack_layers(&m->config, stack) - 1, i = a->n_layers - 1; l >= 0; l--) {
        const int set = params_set(&m->params, block, l);
        const bool is_there = i >= 0 && a->of[i] == l;
        const bool is_lowest = l == params_lowest(&m->params, block, set);
        b->stores = m->is_fresh && !met[set];
        met[set] |= is_there;
        if (is_there)
            layer_back(m, b, stack, i--);
        else if (is_lowest && !met[set])
            leave_out(m, block, set);
        if (is_lowest)
            ready(m, hook, block, set);
    }
}

static void stack_back(struct model *m, enum stack stack, const struct model_hook *hook)
{
    const bool is_encoder = stack == STACK_ENCODER;
    const struct act_stack *a = &m->act->stack[stack];
    const struct weights_stack *w = &m->w.stack[stack], *g = &m->g.stack[stack];
    const int last = a->n_layers - 1;
    const size_t N = a->id.n;
    const struct mat dy = mat_rows(m->act->dy, 0, N);
    struct back b = {.dx = mat_rows(m->act->dx, 0, N),
                     .df = mat_rows(m->act->df, 0, N),
                     .dy = is_encoder ? m->act->dmemory : dy,
                     .is_top = true};

    if (!is_post(m)) {
        const struct added top = added_by(m, stack, last, ACT_FF);
        norm_back(m, &b, &a->end, &w->end, &g->end, top.bias, &top.drop);
        b.dy = dy;
        ready(m, hook, is_encoder ? BLOCK_ENCODER_END : BLOCK_DECODER_END, 0);
    }
    layers_back(m, &b, stack, hook);
    embed_back(m, stack, is_post(m) ? b.dy : b.dx);
}

void model_backward(struct model *m, const struct model_hook *hook)
{
    BUG_ON(!m->grad.mem || !m->act->run.want_grad);
    stack_back(m, STACK_DECODER, hook);
    stack_back(m, STACK_ENCODER, hook);
    m->is_fresh = false;
    ready(m, hook, BLOCK_EMBED, 0);
}
