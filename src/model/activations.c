#include "model/activations.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"

status activations_open(struct activations **out, const struct model_config *c,
                        struct device *d, struct err *err)
{
    struct activations *a;

    *out = NULL;
    TRY(mem_alloc(&a, 1, sizeof *a, err));
    a->arena.device = d;
    if (mem_alloc(&a->enc, (size_t)c->encoder_layers, sizeof *a->enc, err) != OK ||
        mem_alloc(&a->dec, (size_t)c->decoder_layers, sizeof *a->dec, err) != OK) {
        activations_close(a);
        return err->code;
    }
    *out = a;
    return OK;
}

void activations_close(struct activations *a)
{
    if (!a)
        return;
    device_free(a->arena.device, a->arena.mem);
    free(a->enc);
    free(a->dec);
    free(a);
}

static struct act_norm place_norm(struct device_arena *arena, size_t N, size_t D)
{
    return (struct act_norm){.x = device_arena_half(arena, N, D),
                             .y = device_arena_half(arena, N, D),
                             .stats = device_arena_mat(arena, N, 2)};
}

static struct act_attention place_attention(struct device_arena *arena, size_t N,
                                            size_t D, size_t H, size_t n_in, size_t Ns)
{
    struct act_attention a = {.norm = place_norm(arena, N, D),
                              .in = device_arena_half(arena, N, n_in * D),
                              .ctx = device_arena_half(arena, N, D),
                              .lse = device_arena_mat(arena, N, H)};

    if (Ns)
        a.kv = device_arena_half(arena, Ns, 2 * D);
    return a;
}

static struct act_ffn place_ffn(struct device_arena *arena, size_t N, size_t D, size_t F)
{
    return (struct act_ffn){.norm = place_norm(arena, N, D),
                            .h = device_arena_half(arena, N, F)};
}

static void place_ids(struct activations *a, size_t n_sents, size_t n_src, size_t n_tgt)
{
    struct device_arena *arena = &a->arena;

    a->src_at = device_arena_ids(arena, n_sents + 1);
    a->tgt_at = device_arena_ids(arena, n_sents + 1);
    a->src_id = device_arena_ids(arena, n_src);
    a->src_pos = device_arena_ids(arena, n_src);
    a->src_pair = device_arena_ids(arena, n_src);
    a->tgt_in = device_arena_ids(arena, n_tgt);
    a->tgt_pos = device_arena_ids(arena, n_tgt);
    a->tgt_pair = device_arena_ids(arena, n_tgt);
    a->tgt_label = device_arena_ids(arena, n_tgt);
    a->best = device_arena_ids(arena, n_tgt);
}

static void place_backward(struct activations *a, const struct model_config *c, size_t Ns,
                           size_t N)
{
    const size_t D = (size_t)c->d_model;
    struct device_arena *arena = &a->arena;

    a->dx = device_arena_half(arena, N, D);
    a->df = device_arena_half(arena, N, D);
    a->dy = device_arena_half(arena, N, D);
    a->dctx = device_arena_half(arena, N, D);
    a->din = device_arena_half(arena, N, 3 * D);
    a->dkv = device_arena_half(arena, Ns, 2 * D);
    a->dh = device_arena_half(arena, N, (size_t)c->d_ff);
    a->dmemory = device_arena_half(arena, Ns, D);
}

bool activations_shared(const struct model *m, bool want_grad)
{
    return m->recompute || !want_grad;
}

/* Layers above the first share its buffers, all but the residual inputs. */
static void share_encoder(struct activations *a, int layer, size_t N, size_t D)
{
    struct act_encoder *e = &a->enc[layer];

    *e = a->enc[0];
    e->self.norm.x = device_arena_half(&a->arena, N, D);
    e->ff.norm.x = device_arena_half(&a->arena, N, D);
}

static void share_decoder(struct activations *a, int layer, size_t N, size_t D)
{
    struct act_decoder *e = &a->dec[layer];

    *e = a->dec[0];
    e->self.norm.x = device_arena_half(&a->arena, N, D);
    e->cross.norm.x = device_arena_half(&a->arena, N, D);
    e->ff.norm.x = device_arena_half(&a->arena, N, D);
}

static void place_encoder(struct activations *a, const struct model_config *c, size_t N,
                          bool share)
{
    const size_t D = (size_t)c->d_model, F = (size_t)c->d_ff, H = (size_t)c->heads;

    for (int l = 0; l < (int)c->encoder_layers; l++)
        if (share && l > 0)
            share_encoder(a, l, N, D);
        else
            a->enc[l] = (struct act_encoder){place_attention(&a->arena, N, D, H, 3, 0),
                                             place_ffn(&a->arena, N, D, F)};
}

static void place_decoder(struct activations *a, const struct model_config *c, size_t N,
                          size_t Ns, bool share)
{
    const size_t D = (size_t)c->d_model, F = (size_t)c->d_ff, H = (size_t)c->heads;

    for (int l = 0; l < (int)c->decoder_layers; l++)
        if (share && l > 0)
            share_decoder(a, l, N, D);
        else
            a->dec[l] = (struct act_decoder){place_attention(&a->arena, N, D, H, 3, 0),
                                             place_attention(&a->arena, N, D, H, 1, Ns),
                                             place_ffn(&a->arena, N, D, F)};
}

void activations_place(struct activations *a, const struct model_config *c,
                       size_t n_sents, size_t n_src, size_t n_tgt, bool want_grad,
                       bool share)
{
    const size_t D = (size_t)c->d_model, N = n_src > n_tgt ? n_src : n_tgt;
    struct device_arena *arena = &a->arena;

    arena->at = 0;
    place_ids(a, n_sents, n_src, n_tgt);
    place_encoder(a, c, n_src, share);
    a->enc_end = place_norm(arena, n_src, D);
    if (n_tgt)
        place_decoder(a, c, n_tgt, n_src, share);
    a->dec_end = place_norm(arena, n_tgt, D);
    a->f = device_arena_half(arena, N, D);
    a->loss = device_arena_mat(arena, n_tgt, 1);
    a->logits = device_arena_half(arena, n_tgt < ACT_CHUNK ? n_tgt : ACT_CHUNK,
                                  (size_t)c->vocab_size);
    if (want_grad)
        place_backward(a, c, n_src, N);
}

static double rate_of(const struct model_run *run, enum act_site site)
{
    if (site == ACT_SELF_WEIGHTS || site == ACT_CROSS_WEIGHTS)
        return run->drop_attention;
    return site == ACT_RELU ? run->drop_relu : run->drop_residual;
}

struct drop activations_drop(const struct activations *a, enum act_stack stack, int layer,
                             enum act_site site)
{
    const uint64_t stream = ((uint64_t)layer * 2 + stack) * ACT_N_SITES + site;
    const bool encoder = stack == ACT_ENCODER;

    return (struct drop){.key = rng_hash(a->run.drop_key, stream),
                         .rate = rate_of(&a->run, site),
                         .pair = encoder ? a->src_pair : a->tgt_pair,
                         .pos = encoder ? a->src_pos : a->tgt_pos};
}

struct attend activations_attend(const struct model *m, enum act_stack stack, int layer,
                                 bool cross)
{
    const struct activations *a = m->act;
    const bool encoder = stack == ACT_ENCODER;
    const enum act_site site = cross ? ACT_CROSS_WEIGHTS : ACT_SELF_WEIGHTS;

    return (struct attend){.q_at = encoder ? a->src_at : a->tgt_at,
                           .k_at = encoder || cross ? a->src_at : a->tgt_at,
                           .n_sents = a->batch.n_sents,
                           .heads = (size_t)m->config.heads,
                           .max_q = encoder ? a->batch.max_src : a->batch.max_tgt,
                           .max_k =
                               encoder || cross ? a->batch.max_src : a->batch.max_tgt,
                           .causal = !encoder && !cross,
                           .drop = activations_drop(a, stack, layer, site)};
}
