#include "model/weights.h"

#include <stdlib.h>

#include "base/mem.h"
#include "recipe/params.h"

/* `beside` tensors of equal shape that lie side by side, as one matrix; none where the
 * model has no such tensor. */
static struct mat view(const struct params *p, struct weights_flat all, enum param_id id,
                       int layer, size_t beside)
{
    if (!params_has(p, id))
        return (struct mat){0};
    const struct param *t = params_get(p, id, layer);
    const struct mat flat = params_is_float(t) ? all.real : all.half;

    return (struct mat){flat.mem,         flat.at + t->at, t->rows,
                        t->cols * beside, t->stride,       flat.type};
}

#define VIEW(id, beside) view(p, flat, PARAM_##id, layer, beside)
#define NORM(id)                               \
    {                                          \
        VIEW(id##_gain, 1), VIEW(id##_bias, 1) \
    }

/* What layers of both stacks have. */
#define LAYER(stack)                                     \
    (struct weights_layer)                               \
    {                                                    \
        .self = {.norm = NORM(stack##_att_norm),         \
                 .in = VIEW(stack##_q, 3),               \
                 .in_bias = VIEW(stack##_q_bias, 3),     \
                 .out = VIEW(stack##_out, 1),            \
                 .out_bias = VIEW(stack##_out_bias, 1)}, \
        .ff = {.norm = NORM(stack##_ff_norm),            \
               .w1 = VIEW(stack##_ff1, n_up),            \
               .b1 = VIEW(stack##_ff1_bias, n_up),       \
               .w2 = VIEW(stack##_ff2, 1),               \
               .b2 = VIEW(stack##_ff2_bias, 1)},         \
    }

static struct weights_layer view_layer(const struct params *p, struct weights_flat flat,
                                       enum stack stack, int layer)
{
    const size_t n_up = params_has(p, PARAM_enc_ff_gate) ? 2 : 1;

    if (stack == STACK_ENCODER)
        return LAYER(enc);
    struct weights_layer w = LAYER(dec);
    w.cross = (struct weights_attention){.norm = NORM(dec_cross_norm),
                                         .in = VIEW(cross_q, 1),
                                         .in_bias = VIEW(cross_q_bias, 1),
                                         .kv = VIEW(cross_k, 2),
                                         .kv_bias = VIEW(cross_k_bias, 2),
                                         .out = VIEW(cross_out, 1),
                                         .out_bias = VIEW(cross_out_bias, 1)};
    return w;
}

status weights_open(struct weights *w, const struct params *p,
                    const struct model_config *c, struct weights_flat flat,
                    struct err *err)
{
    const int layer = 0;

    const struct mat source = VIEW(embed, 1);
    const struct mat target =
        params_has(p, PARAM_target_embed) ? VIEW(target_embed, 1) : source;
    *w = (struct weights){
        .output = params_has(p, PARAM_output) ? VIEW(output, 1) : target,
        .output_bias = VIEW(output_bias, 1),
        .stack = {{source, VIEW(enc_positions, 1), NULL, NORM(enc_end)},
                  {target, VIEW(dec_positions, 1), NULL, NORM(dec_end)}}};
    for (enum stack s = 0; s < N_STACKS; s++) {
        const int n = stack_layers(c, s);
        struct weights_layer **list = &w->stack[s].layer;
        if (mem_alloc(list, (size_t)n, sizeof **list, err) != OK) {
            weights_close(w);
            return err->code;
        }
        for (int l = 0; l < n; l++)
            (*list)[l] = view_layer(p, flat, s, l);
    }
    return OK;
}

void weights_close(struct weights *w)
{
    free(w->stack[STACK_ENCODER].layer);
    free(w->stack[STACK_DECODER].layer);
    *w = (struct weights){0};
}
