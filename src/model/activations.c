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
    for (enum stack s = 0; s < N_STACKS; s++) {
        struct act_layer **list = &a->stack[s].layer;
        if (mem_alloc(list, (size_t)stack_layers(c, s), sizeof **list, err) != OK) {
            activations_close(a);
            return err->code;
        }
    }
    *out = a;
    return OK;
}

void activations_close(struct activations *a)
{
    if (!a)
        return;
    device_free(a->arena.device, a->arena.mem);
    free(a->stack[STACK_ENCODER].layer);
    free(a->stack[STACK_DECODER].layer);
    free(a);
}

void activations_choose(struct activations *a, const struct model_config *c,
                        const uint64_t left_out[N_STACKS])
{
    for (enum stack s = 0; s < N_STACKS; s++) {
        struct act_stack *stack = &a->stack[s];
        const int n = stack_layers(c, s);
        BUG_ON(n > ACT_LAYERS);
        stack->n_layers = 0;
        for (int l = 0; l < n; l++)
            if (!(left_out[s] >> l & 1))
                stack->of[stack->n_layers++] = (uint8_t)l;
        BUG_ON(!stack->n_layers);
    }
}

/* y: the one that sub-layers share, or none. */
static struct act_norm place_norm(struct device_arena *arena, size_t N, size_t D,
                                  struct mat y)
{
    return (struct act_norm){.x = device_arena_half(arena, N, D),
                             .y = y.cols ? mat_rows(y, 0, N)
                                         : device_arena_half(arena, N, D),
                             .stats = device_arena_mat(arena, N, 2)};
}

static struct act_attention place_attention(struct device_arena *arena, size_t N,
                                            size_t D, size_t H, size_t n_in, size_t Ns,
                                            struct mat y)
{
    struct act_attention a = {.norm = place_norm(arena, N, D, y),
                              .in = device_arena_half(arena, N, n_in * D),
                              .ctx = device_arena_half(arena, N, D),
                              .lse = device_arena_mat(arena, N, H)};

    if (Ns)
        a.kv = device_arena_half(arena, Ns, 2 * D);
    return a;
}

/* What follows is placed where it began at `at` once more; *end: behind the longest. */
static void place_again(struct device_arena *arena, size_t at, size_t *end)
{
    *end = arena->at > *end ? arena->at : *end;
    arena->at = at;
}

/* Gradients inside an attention, and in their place those inside a feed-forward layer. */
static void place_inside(struct activations *a, const struct model_config *c, size_t Ns,
                         size_t N)
{
    const size_t D = (size_t)c->d_model;
    struct device_arena *arena = &a->arena;
    const size_t at = arena->at;
    size_t end = 0;

    a->din = device_arena_half(arena, N, 3 * D);
    a->dkv = device_arena_half(arena, Ns, 2 * D);
    place_again(arena, at, &end);
    a->dh = device_arena_half(arena, N, (size_t)c->d_ff);
    place_again(arena, at, &end);
    arena->at = end;
}

/*
 * What lives no longer than a sub-layer, or than a stack's backward pass; in its place
 * the logits, which are there between forward and backward. f is read by forward alone
 * and has the place of its gradient. With norms in front all sub-layers share one y,
 * which backward computes again when it has done with dctx.
 */
static void place_passing(struct activations *a, const struct model_config *c, size_t Ns,
                          size_t Nt, bool want_grad)
{
    const size_t D = (size_t)c->d_model, N = Ns > Nt ? Ns : Nt;
    struct device_arena *arena = &a->arena;
    const size_t at = arena->at;
    size_t end = 0;

    a->logits =
        device_arena_half(arena, Nt < ACT_CHUNK ? Nt : ACT_CHUNK, (size_t)c->vocab_size);
    place_again(arena, at, &end);
    a->f = a->df = device_arena_half(arena, N, D);
    if (want_grad || c->arch.norm == NORM_PRE)
        a->dctx = device_arena_half(arena, N, D);
    a->y = c->arch.norm == NORM_PRE ? a->dctx : (struct mat){0};
    if (want_grad) {
        a->dx = device_arena_half(arena, N, D);
        a->dmemory = device_arena_half(arena, Ns, D);
        place_inside(a, c, Ns, N);
    }
    place_again(arena, at, &end);
    arena->at = end;
    if (want_grad) /* the output layer writes it */
        a->dy = device_arena_half(arena, N, D);
}

bool activations_shared(const struct model *m, bool want_grad)
{
    return m->recompute || !want_grad;
}

static void place_ids(struct device_arena *arena, struct act_stack *s, size_t n_sents,
                      size_t N)
{
    s->at = device_arena_ids(arena, n_sents + 1);
    s->id = device_arena_ids(arena, N);
    s->pos = device_arena_ids(arena, N);
    s->pair = device_arena_ids(arena, N);
}

static struct act_ffn place_ffn(struct device_arena *arena, const struct model_config *c,
                                size_t N, struct mat y)
{
    const size_t D = (size_t)c->d_model, F = (size_t)c->d_ff;
    struct act_ffn a = {.norm = place_norm(arena, N, D, y)};

    if (!model_is_plain(c))
        a.z = device_arena_half(arena, N, c->arch.is_gated ? 2 * F : F);
    a.h = device_arena_half(arena, N, F);
    return a;
}

/* What a layer that shares has of its own: each x and, where norms behind leave no other
 * way to know them, its statistics. */
static void place_own(struct device_arena *arena, struct act_norm *a, size_t N, size_t D,
                      bool is_post)
{
    a->x = device_arena_half(arena, N, D);
    if (is_post)
        a->stats = device_arena_mat(arena, N, 2);
}

/* Where embeddings and what the stack gives are: with norms behind the last y, which no
 * layer shares, because the last layer's input is still needed beside it. */
static void place_ends(struct device_arena *arena, struct act_stack *s,
                       const struct model_config *c, size_t N)
{
    const size_t D = (size_t)c->d_model;

    if (c->arch.norm == NORM_PRE) {
        s->end = place_norm(arena, N, D, (struct mat){0});
        s->in = s->layer[0].self.norm.x;
        s->out = s->end.y;
        return;
    }
    s->in = device_arena_half(arena, N, D);
    s->out = device_arena_half(arena, N, D);
    s->layer[s->n_layers - 1].ff.norm.y = s->out;
}

/* Ns: rows of the memory, 0 in the encoder. Layers that share have the buffers of the
 * first one, all but their x. */
static void place_stack(struct activations *a, struct act_stack *s,
                        const struct model_config *c, size_t N, size_t Ns, bool share)
{
    struct device_arena *arena = &a->arena;
    const size_t D = (size_t)c->d_model, H = (size_t)c->heads;
    const bool is_post = c->arch.norm == NORM_POST;

    for (struct act_layer *e = s->layer; e < s->layer + s->n_layers; e++) {
        if (e > s->layer && share) {
            *e = *s->layer;
            place_own(arena, &e->self.norm, N, D, is_post);
            if (Ns)
                place_own(arena, &e->cross.norm, N, D, is_post);
            place_own(arena, &e->ff.norm, N, D, is_post);
            continue;
        }
        e->self = place_attention(arena, N, D, H, 3, 0, a->y);
        if (Ns)
            e->cross = place_attention(arena, N, D, H, 1, Ns, a->y);
        e->ff = place_ffn(arena, c, N, a->y);
    }
    place_ends(arena, s, c, N);
}

struct mat activations_input(const struct model *m, enum stack stack, int layer,
                             enum act_sublayer which)
{
    const struct act_stack *s = &m->act->stack[stack];
    const struct act_layer *a = &s->layer[layer];

    if (m->config.arch.norm == NORM_PRE)
        return which == ACT_SELF    ? a->self.norm.y
               : which == ACT_CROSS ? a->cross.norm.y
                                    : a->ff.norm.y;
    if (which == ACT_SELF)
        return layer ? a[-1].ff.norm.y : s->in;
    return which == ACT_FF && stack == STACK_DECODER ? a->cross.norm.y : a->self.norm.y;
}

void activations_place(struct activations *a, const struct model_config *c,
                       size_t n_sents, size_t n_src, size_t n_tgt, bool want_grad,
                       bool share)
{
    struct device_arena *arena = &a->arena;
    struct act_stack *encoder = &a->stack[STACK_ENCODER];
    struct act_stack *decoder = &a->stack[STACK_DECODER];

    arena->at = 0;
    place_ids(arena, encoder, n_sents, n_src);
    place_ids(arena, decoder, n_sents, n_tgt);
    a->tgt_label = device_arena_ids(arena, n_tgt);
    a->best = device_arena_ids(arena, n_tgt);
    place_passing(a, c, n_src, n_tgt, want_grad);
    place_stack(a, encoder, c, n_src, 0, share);
    if (n_tgt)
        place_stack(a, decoder, c, n_tgt, n_src, share);
    a->loss = device_arena_mat(arena, n_tgt, 1);
}

static double rate_of(const struct model_run *run, enum act_site site)
{
    if (site == ACT_SELF_WEIGHTS || site == ACT_CROSS_WEIGHTS)
        return run->drop_attention;
    return site == ACT_RELU ? run->drop_relu : run->drop_residual;
}

struct drop activations_drop(const struct activations *a, enum stack stack, int layer,
                             enum act_site site)
{
    const uint64_t l = a->stack[stack].of[layer];
    const uint64_t stream = (l * 2 + stack) * ACT_N_SITES + site;

    return (struct drop){.key = rng_hash(a->run.drop_key, stream),
                         .rate = rate_of(&a->run, site),
                         .pair = a->stack[stack].pair,
                         .pos = a->stack[stack].pos};
}

struct attend activations_attend(const struct model *m, enum stack stack, int layer,
                                 bool cross)
{
    const struct activations *a = m->act;
    const size_t longest[N_STACKS] = {a->batch.max_src, a->batch.max_tgt};
    const enum stack keys = cross ? STACK_ENCODER : stack;
    const enum act_site site = cross ? ACT_CROSS_WEIGHTS : ACT_SELF_WEIGHTS;

    return (struct attend){.q_at = a->stack[stack].at,
                           .k_at = a->stack[keys].at,
                           .n_sents = a->batch.n_sents,
                           .heads = (size_t)m->config.heads,
                           .max_q = longest[stack],
                           .max_k = longest[keys],
                           .causal = stack == STACK_DECODER && !cross,
                           .drop = activations_drop(a, stack, layer, site)};
}
