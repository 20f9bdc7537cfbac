#include "recipe/model_config.h"

OPT_TABLE(model_config_table, struct model_config, MODEL_OPTIONS);

status model_config_check(const struct model_config *c, struct err *err)
{
    if (c->vocab_size < 4)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %lld: a model needs at least the "
                       "four special tokens",
                       (long long)c->vocab_size);
    if (c->d_model % 2 != 0)
        return err_set(err, ERR_USAGE, "d_model = %lld: want an even number",
                       (long long)c->d_model);
    if (c->d_model % c->heads != 0)
        return err_set(err, ERR_USAGE, "d_model = %lld is not a multiple of heads = %lld",
                       (long long)c->d_model, (long long)c->heads);
    return OK;
}
