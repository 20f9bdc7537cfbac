/*
 * Multiply-adds a token and layer, D model width, F feed-forward width:
 *
 *   source  4D^2 (q, k, v, out) + 2DF in the encoder, 2D^2 (k, v of the cross attention)
 *           in every decoder layer; 3DF where feed-forward layers have a gate
 *   target  4D^2 (self attention) + 2D^2 (q, out of the cross attention) + 2DF, and VD
 *           once for the logits
 *   pair    of query and key: D for the weight and D for the value, over all heads
 */
#include "recipe/flops.h"

#include "recipe/model_config.h"

void flops_add(struct flops_batch *b, size_t S, size_t T)
{
    const double s = (double)S, t = (double)T;

    b->source += s;
    b->target += t;
    b->source_pairs += s * s;
    b->target_pairs += t * (t + 1) / 2;
    b->cross_pairs += s * t;
}

struct flops flops_forward(const struct model_config *c, const struct flops_batch *b)
{
    const double D = (double)c->d_model, F = (double)c->d_ff, V = (double)c->vocab_size;
    const double encoder = (double)c->encoder_layers, decoder = (double)c->decoder_layers;
    const double inner = (c->arch.is_gated ? 3 : 2) * D * F;
    const double source = encoder * (4 * D * D + inner) + decoder * 2 * D * D;
    const double target = decoder * (6 * D * D + inner);
    const double pairs =
        encoder * b->source_pairs + decoder * (b->target_pairs + b->cross_pairs);

    return (struct flops){.linear = 2 * (b->source * source + b->target * target),
                          .output = 2 * b->target * V * D,
                          .attention = 2 * pairs * 2 * D};
}

struct flops flops_training(const struct model_config *c, const struct flops_batch *b)
{
    const struct flops f = flops_forward(c, b);

    return (struct flops){3 * f.linear, 3 * f.output, 3 * f.attention};
}

double flops_total(struct flops f)
{
    return f.linear + f.output + f.attention;
}

struct flops_bytes flops_bytes(size_t n_params)
{
    const double P = (double)n_params;

    return (struct flops_bytes){.weights = 4 * P,
                                .gradient = 4 * P,
                                .moments = 8 * P,
                                .checkpoint = 12 * P + 8 + 4 + 4};
}
