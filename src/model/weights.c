#include "model/weights.h"

#include <stdlib.h>

#include "base/mem.h"
#include "recipe/model_config.h"
#include "recipe/params.h"

/* `beside` tensors of equal shape that lie side by side, as one matrix. */
static struct mat view(const struct params *p, struct weights_flat all, enum param_id id,
                       int layer, size_t beside)
{
    const struct param *t = params_get(p, id, layer);
    const struct mat flat = params_is_norm(t) ? all.real : all.half;

    return (struct mat){flat.mem,         flat.at + t->at, t->rows,
                        t->cols * beside, t->stride,       flat.type};
}

#define VIEW(id, beside) view(p, flat, PARAM_##id, layer, beside)

static struct weights_encoder encoder_layer(const struct params *p,
                                            struct weights_flat flat, int layer)
{
    return (struct weights_encoder){
        .self = {.gain = VIEW(enc_att_norm_gain, 1),
                 .bias = VIEW(enc_att_norm_bias, 1),
                 .in = VIEW(enc_q, 3),
                 .out = VIEW(enc_out, 1)},
        .ff = {.gain = VIEW(enc_ff_norm_gain, 1),
               .bias = VIEW(enc_ff_norm_bias, 1),
               .w1 = VIEW(enc_ff1, 1),
               .b1 = VIEW(enc_ff1_bias, 1),
               .w2 = VIEW(enc_ff2, 1),
               .b2 = VIEW(enc_ff2_bias, 1)},
    };
}

static struct weights_decoder decoder_layer(const struct params *p,
                                            struct weights_flat flat, int layer)
{
    return (struct weights_decoder){
        .self = {.gain = VIEW(dec_att_norm_gain, 1),
                 .bias = VIEW(dec_att_norm_bias, 1),
                 .in = VIEW(dec_q, 3),
                 .out = VIEW(dec_out, 1)},
        .cross = {.gain = VIEW(dec_cross_norm_gain, 1),
                  .bias = VIEW(dec_cross_norm_bias, 1),
                  .in = VIEW(cross_q, 1),
                  .kv = VIEW(cross_k, 2),
                  .out = VIEW(cross_out, 1)},
        .ff = {.gain = VIEW(dec_ff_norm_gain, 1),
               .bias = VIEW(dec_ff_norm_bias, 1),
               .w1 = VIEW(dec_ff1, 1),
               .b1 = VIEW(dec_ff1_bias, 1),
               .w2 = VIEW(dec_ff2, 1),
               .b2 = VIEW(dec_ff2_bias, 1)},
    };
}

status weights_open(struct weights *w, const struct params *p,
                    const struct model_config *c, struct weights_flat flat,
                    struct err *err)
{
    const int layer = 0;

    *w = (struct weights){.embed = VIEW(embed, 1),
                          .enc_gain = VIEW(enc_end_gain, 1),
                          .enc_bias = VIEW(enc_end_bias, 1),
                          .dec_gain = VIEW(dec_end_gain, 1),
                          .dec_bias = VIEW(dec_end_bias, 1)};
    if (mem_alloc(&w->enc, (size_t)c->encoder_layers, sizeof *w->enc, err) != OK ||
        mem_alloc(&w->dec, (size_t)c->decoder_layers, sizeof *w->dec, err) != OK) {
        weights_close(w);
        return err->code;
    }
    for (int l = 0; l < (int)c->encoder_layers; l++)
        w->enc[l] = encoder_layer(p, flat, l);
    for (int l = 0; l < (int)c->decoder_layers; l++)
        w->dec[l] = decoder_layer(p, flat, l);
    return OK;
}

void weights_close(struct weights *w)
{
    free(w->enc);
    free(w->dec);
    *w = (struct weights){0};
}
