/*
 * The backward pass: forward.c read from the bottom to the top. `dx` is the gradient of
 * the residual stream, `df` that of the sub-layer output that was added to it, `dy` that
 * of a normalised input. Weight gradients accumulate; docs/gradients.md derives each
 * line.
 */
#include <math.h>

#include "model/activations.h"
#include "model/model.h"

/* The gradient of the stream and of the output below the sub-layer at hand. */
struct back {
    struct mat dx, df, dy;
    bool is_top; /* nothing has flowed into dx yet */
};

/*
 * Through the normalisation of `a` and the residual under it. df_bias and drop belong to
 * the sub-layer below; at the bottom of a stack there is none, and df is not wanted.
 */
static void norm_back(struct model *m, struct back *b, const struct act_norm *a,
                      const struct weights_norm *w, const struct weights_norm *g,
                      struct mat df_bias, const struct drop *below)
{
    struct device *d = m->device;
    const struct mat none = {0};
    const struct drop quiet = {0};

    d->k->norm_backward(d, b->dx, below ? b->df : none, g->gain, g->bias, df_bias, b->dy,
                        b->is_top ? none : b->dx, a->x, a->stats, w->gain,
                        below ? *below : quiet);
    b->is_top = false;
}

/* The gradient of a weight, g += x' dy; it is stored where nothing was added before. */
static void add_product(struct model *m, struct mat g, struct mat x, struct mat dy)
{
    m->device->k->gemm(m->device, g, x, dy, true, false, 1, m->is_fresh ? 0 : 1);
}

static void ffn_back(struct model *m, struct back *b, const struct act_ffn *a,
                     const struct weights_ffn *w, const struct weights_ffn *g)
{
    struct device *d = m->device;
    const struct mat dh = mat_rows(m->act->dh, 0, a->h.rows);

    add_product(m, g->w2, a->h, b->df);
    d->k->gemm(d, dh, b->df, w->w2, false, true, 1, 0);
    d->k->relu_backward(d, dh, g->b1, a->h, m->act->run.drop_relu);
    add_product(m, g->w1, a->norm.y, dh);
    d->k->gemm(d, b->dy, dh, w->w1, false, true, 1, 0);
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
    const bool is_last = layer == stack_layers(&m->config, stack) - 1;

    add_product(m, g->out, a->ctx, b->df);
    d->k->gemm(d, dctx, b->df, w->out, false, true, 1, 0);
    d->k->attention_backward(
        d, mat_cols(din, 0, D), mat_cols(dkv, 0, D), mat_cols(dkv, D, D), dctx, a->ctx,
        a->lse, mat_cols(a->in, 0, D), mat_cols(kv, 0, D), mat_cols(kv, D, D),
        activations_attend(m, stack, layer, cross));
    add_product(m, g->in, a->norm.y, din);
    d->k->gemm(d, b->dy, din, w->in, false, true, 1, 0);
    if (!cross)
        return;
    add_product(m, g->kv, m->act->stack[STACK_ENCODER].end.y, dkv);
    d->k->gemm(d, m->act->dmemory, dkv, w->kv, false, true, 1, is_last ? 0 : 1);
}

/* Tell the hook that one block of the flat gradient is final. */
static void ready(struct model *m, const struct model_hook *hook, enum param_id first,
                  enum param_id last, int layer)
{
    if (!hook || !hook->ready)
        return;
    const struct param *a = params_get(&m->params, first, layer);
    const struct param *z = params_get(&m->params, last, layer);
    hook->ready(hook->ctx, a->at, z->at + z->rows * z->stride - a->at);
}

static void layer_back(struct model *m, struct back *b, enum stack stack, int l)
{
    const struct act_layer *a = &m->act->stack[stack].layer[l];
    const struct weights_layer *w = &m->w.stack[stack].layer[l];
    const struct weights_layer *g = &m->g.stack[stack].layer[l];
    const bool has_cross = stack == STACK_DECODER;
    const struct mat none = {0};
    struct drop below =
        activations_drop(m->act, stack, l, has_cross ? ACT_CROSS_OUT : ACT_SELF_OUT);

    if (m->recompute && l < stack_layers(&m->config, stack) - 1)
        model_recompute(m, stack, l);
    ffn_back(m, b, &a->ff, &w->ff, &g->ff);
    norm_back(m, b, &a->ff.norm, &w->ff.norm, &g->ff.norm, none, &below);
    if (has_cross) {
        attention_back(m, b, &a->cross, &w->cross, &g->cross, stack, l, true);
        below = activations_drop(m->act, stack, l, ACT_SELF_OUT);
        norm_back(m, b, &a->cross.norm, &w->cross.norm, &g->cross.norm, none, &below);
    }
    attention_back(m, b, &a->self, &w->self, &g->self, stack, l, false);
    below = activations_drop(m->act, stack, l - 1, ACT_FF_OUT);
    norm_back(m, b, &a->self.norm, &w->self.norm, &g->self.norm, l ? g[-1].ff.b2 : none,
              l ? &below : NULL);
}

static void stack_back(struct model *m, enum stack stack, const struct model_hook *hook)
{
    static const enum param_id of_end[][2] = {{PARAM_enc_end_gain, PARAM_enc_end_bias},
                                              {PARAM_dec_end_gain, PARAM_dec_end_bias}};
    static const enum param_id of_layer[][2] = {
        {PARAM_enc_att_norm_gain, PARAM_enc_ff2_bias},
        {PARAM_dec_att_norm_gain, PARAM_dec_ff2_bias}};
    struct device *d = m->device;
    const struct act_stack *a = &m->act->stack[stack];
    const struct weights_stack *w = &m->w.stack[stack], *g = &m->g.stack[stack];
    const int last = stack_layers(&m->config, stack) - 1;
    const struct drop below = activations_drop(m->act, stack, last, ACT_FF_OUT);
    const size_t N = a->id.n;
    const struct mat dy = mat_rows(m->act->dy, 0, N);
    struct back b = {.dx = mat_rows(m->act->dx, 0, N),
                     .df = mat_rows(m->act->df, 0, N),
                     .dy = stack == STACK_ENCODER ? m->act->dmemory : dy,
                     .is_top = true};

    norm_back(m, &b, &a->end, &w->end, &g->end, g->layer[last].ff.b2, &below);
    b.dy = dy;
    ready(m, hook, of_end[stack][0], of_end[stack][1], 0);
    for (int l = last; l >= 0; l--) {
        layer_back(m, &b, stack, l);
        ready(m, hook, of_layer[stack][0], of_layer[stack][1], l);
    }
    d->k->embed_backward(d, m->g.embed, b.dx, a->id, sqrt((double)m->config.d_model),
                         activations_drop(m->act, stack, 0, ACT_EMBED));
}

void model_backward(struct model *m, const struct model_hook *hook)
{
    BUG_ON(!m->grad.mem || !m->act->run.want_grad);
    stack_back(m, STACK_DECODER, hook);
    stack_back(m, STACK_ENCODER, hook);
    m->is_fresh = false;
    ready(m, hook, PARAM_embed, PARAM_embed, 0);
}
