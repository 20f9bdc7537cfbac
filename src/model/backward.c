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

static struct back back_of(struct activations *a, size_t N)
{
    return (struct back){.dx = mat_rows(a->dx, 0, N),
                         .df = mat_rows(a->df, 0, N),
                         .dy = mat_rows(a->dy, 0, N),
                         .is_top = true};
}

/*
 * Through the normalisation of `a` and the residual under it. df_bias and drop belong to
 * the sub-layer below; at the bottom of a stack there is none, and df is not wanted.
 */
static void norm_back(struct model *m, struct back *b, const struct act_norm *a,
                      struct mat gain, struct mat dgain, struct mat dbias,
                      struct mat df_bias, const struct drop *below)
{
    struct device *d = m->device;
    const struct mat none = {0};
    const struct drop quiet = {0};

    d->k->norm_backward(d, b->dx, below ? b->df : none, dgain, dbias, df_bias, b->dy,
                        b->is_top ? none : b->dx, a->x, a->stats, gain,
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

static void self_back(struct model *m, struct back *b, const struct act_attention *a,
                      const struct weights_attention *w,
                      const struct weights_attention *g, struct attend how)
{
    struct device *d = m->device;
    const size_t D = (size_t)m->config.d_model, N = a->ctx.rows;
    const struct mat dctx = mat_rows(m->act->dctx, 0, N),
                     din = mat_rows(m->act->din, 0, N);

    add_product(m, g->out, a->ctx, b->df);
    d->k->gemm(d, dctx, b->df, w->out, false, true, 1, 0);
    d->k->attention_backward(d, mat_cols(din, 0, D), mat_cols(din, D, D),
                             mat_cols(din, 2 * D, D), dctx, a->ctx, a->lse,
                             mat_cols(a->in, 0, D), mat_cols(a->in, D, D),
                             mat_cols(a->in, 2 * D, D), how);
    add_product(m, g->in, a->norm.y, din);
    d->k->gemm(d, b->dy, din, w->in, false, true, 1, 0);
}

/* The memory's gradient is summed over the decoder layers, the last one first. */
static void cross_back(struct model *m, struct back *b, const struct act_attention *a,
                       const struct weights_attention *w,
                       const struct weights_attention *g, struct attend how,
                       bool is_first)
{
    struct device *d = m->device;
    const size_t D = (size_t)m->config.d_model, N = a->ctx.rows;
    const struct mat memory = m->act->enc_end.y, dkv = m->act->dkv;
    const struct mat dctx = mat_rows(m->act->dctx, 0, N);
    const struct mat dq = {m->act->din.mem, m->act->din.at, N, D, D, m->act->din.type};

    add_product(m, g->out, a->ctx, b->df);
    d->k->gemm(d, dctx, b->df, w->out, false, true, 1, 0);
    d->k->attention_backward(d, dq, mat_cols(dkv, 0, D), mat_cols(dkv, D, D), dctx,
                             a->ctx, a->lse, a->in, mat_cols(a->kv, 0, D),
                             mat_cols(a->kv, D, D), how);
    add_product(m, g->in, a->norm.y, dq);
    d->k->gemm(d, b->dy, dq, w->in, false, true, 1, 0);
    add_product(m, g->kv, memory, dkv);
    d->k->gemm(d, m->act->dmemory, dkv, w->kv, false, true, 1, is_first ? 0 : 1);
}

static void embed_back(struct model *m, struct back *b, struct ids id,
                       enum act_stack stack)
{
    struct device *d = m->device;

    d->k->embed_backward(d, m->g.embed, b->dx, id, sqrt((double)m->config.d_model),
                         activations_drop(m->act, stack, 0, ACT_EMBED));
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

static void decoder_back(struct model *m, const struct model_hook *hook)
{
    struct activations *a = m->act;
    const int L = (int)m->config.decoder_layers;
    struct back b = back_of(a, a->batch.n_tgt);
    const struct mat none = {0};
    struct drop below = activations_drop(m->act, ACT_DECODER, L - 1, ACT_FF_OUT);

    norm_back(m, &b, &a->dec_end, m->w.dec_gain, m->g.dec_gain, m->g.dec_bias,
              m->g.dec[L - 1].ff.b2, &below);
    ready(m, hook, PARAM_dec_end_gain, PARAM_dec_end_bias, 0);
    for (int l = L - 1; l >= 0; l--) {
        const struct weights_decoder *w = &m->w.dec[l], *g = &m->g.dec[l];
        const struct act_decoder *act = &a->dec[l];

        if (m->recompute && l < L - 1)
            model_recompute_decoder(m, l);
        ffn_back(m, &b, &act->ff, &w->ff, &g->ff);
        below = activations_drop(m->act, ACT_DECODER, l, ACT_CROSS_OUT);
        norm_back(m, &b, &act->ff.norm, w->ff.gain, g->ff.gain, g->ff.bias, none, &below);

        cross_back(m, &b, &act->cross, &w->cross, &g->cross,
                   activations_attend(m, ACT_DECODER, l, true), l == L - 1);
        below = activations_drop(m->act, ACT_DECODER, l, ACT_SELF_OUT);
        norm_back(m, &b, &act->cross.norm, w->cross.gain, g->cross.gain, g->cross.bias,
                  none, &below);

        self_back(m, &b, &act->self, &w->self, &g->self,
                  activations_attend(m, ACT_DECODER, l, false));
        below = activations_drop(m->act, ACT_DECODER, l - 1, ACT_FF_OUT);
        norm_back(m, &b, &act->self.norm, w->self.gain, g->self.gain, g->self.bias,
                  l ? m->g.dec[l - 1].ff.b2 : none, l ? &below : NULL);
        ready(m, hook, PARAM_dec_att_norm_gain, PARAM_dec_ff2_bias, l);
    }
    embed_back(m, &b, a->tgt_in, ACT_DECODER);
}

static void encoder_back(struct model *m, const struct model_hook *hook)
{
    struct activations *a = m->act;
    const int L = (int)m->config.encoder_layers;
    struct back b = back_of(a, a->batch.n_src);
    const struct mat none = {0}, dy = b.dy;
    struct drop below = activations_drop(m->act, ACT_ENCODER, L - 1, ACT_FF_OUT);

    b.dy = a->dmemory;
    norm_back(m, &b, &a->enc_end, m->w.enc_gain, m->g.enc_gain, m->g.enc_bias,
              m->g.enc[L - 1].ff.b2, &below);
    b.dy = dy;
    ready(m, hook, PARAM_enc_end_gain, PARAM_enc_end_bias, 0);
    for (int l = L - 1; l >= 0; l--) {
        const struct weights_encoder *w = &m->w.enc[l], *g = &m->g.enc[l];
        const struct act_encoder *act = &a->enc[l];

        if (m->recompute && l < L - 1)
            model_recompute_encoder(m, l);
        ffn_back(m, &b, &act->ff, &w->ff, &g->ff);
        below = activations_drop(m->act, ACT_ENCODER, l, ACT_SELF_OUT);
        norm_back(m, &b, &act->ff.norm, w->ff.gain, g->ff.gain, g->ff.bias, none, &below);

        self_back(m, &b, &act->self, &w->self, &g->self,
                  activations_attend(m, ACT_ENCODER, l, false));
        below = activations_drop(m->act, ACT_ENCODER, l - 1, ACT_FF_OUT);
        norm_back(m, &b, &act->self.norm, w->self.gain, g->self.gain, g->self.bias,
                  l ? m->g.enc[l - 1].ff.b2 : none, l ? &below : NULL);
        ready(m, hook, PARAM_enc_att_norm_gain, PARAM_enc_ff2_bias, l);
    }
    embed_back(m, &b, a->src_id, ACT_ENCODER);
}

void model_backward(struct model *m, const struct model_hook *hook)
{
    BUG_ON(!m->grad.mem || !m->act->run.want_grad);
    decoder_back(m, hook);
    encoder_back(m, hook);
    m->is_fresh = false;
    ready(m, hook, PARAM_embed, PARAM_embed, 0);
}
