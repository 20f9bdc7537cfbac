#include "recipe/tying.h"

#include <string.h>

OPT_TABLE(tying_table, struct tying, TYING_OPTIONS);

static bool is_order(const struct tying *t, const char *name)
{
    return strcmp(t->layer_order, name) == 0;
}

bool tying_same(const struct tying *a, const struct tying *b)
{
    if (!tying_is_on(a) && !tying_is_on(b))
        return true;
    return a->unique_encoder_layers == b->unique_encoder_layers &&
           a->unique_decoder_layers == b->unique_decoder_layers &&
           strcmp(a->layer_order, b->layer_order) == 0;
}

static status check_stack(const char *stack, int64_t unique, int64_t layers,
                          struct err *err)
{
    if (unique < layers)
        return OK;
    return err_set(err, ERR_USAGE,
                   "unique_%s_layers = %lld of %lld layers: want fewer sets of weights "
                   "than layers, or 0, which gives each layer its own",
                   stack, (long long)unique, (long long)layers);
}

status tying_check(const struct tying *t, int64_t encoder_layers, int64_t decoder_layers,
                   struct err *err)
{
    TRY(check_stack("encoder", t->unique_encoder_layers, encoder_layers, err));
    TRY(check_stack("decoder", t->unique_decoder_layers, decoder_layers, err));
    if (tying_is_on(t) || !*t->layer_order || is_order(t, "cycle"))
        return OK;
    return err_set(err, ERR_USAGE,
                   "layer_order = %s, but no layers share weights; give "
                   "unique_encoder_layers or unique_decoder_layers as well",
                   t->layer_order);
}

int tying_sets(int64_t unique, int layers)
{
    return unique ? (int)unique : layers;
}

int tying_set(const struct tying *t, int64_t unique, int layers, int layer)
{
    const int n = tying_sets(unique, layers);

    if (is_order(t, "sequence"))
        return layer * n / layers;
    const int last_round = (layers + n - 1) / n * n - n;
    if (is_order(t, "cycle_rev") && layer >= last_round)
        return n - 1 - layer % n;
    return layer % n;
}
