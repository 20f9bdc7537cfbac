#include "recipe/model_config.h"

OPT_TABLE(model_config_table, struct model_config, MODEL_OPTIONS);

status model_config_defaults(struct model_config *c, struct err *err)
{
    *c = (struct model_config){0};
    return opt_defaults(model_config_table, c, err);
}

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
    const bool is_shared =
        c->arch.tables == TABLES_ONE || c->arch.tables == TABLES_INPUTS;
    if (is_shared && model_config_source_vocab(c) != c->vocab_size)
        return err_set(err, ERR_USAGE,
                       "source_vocab_size = %lld, vocab_size = %lld: a table that source "
                       "and target share has one size; want tables = target or separate",
                       (long long)c->arch.source_vocab, (long long)c->vocab_size);
    if (model_config_source_vocab(c) < 4 || c->arch.start > c->vocab_size)
        return err_set(
            err, ERR_USAGE,
            "source_vocab_size = %lld, decoder_start = %lld: want at least four "
            "sources, and a start within the vocabulary of %lld",
            (long long)c->arch.source_vocab, (long long)c->arch.start - 1,
            (long long)c->vocab_size);
    return tying_check(&c->tying, c->encoder_layers, c->decoder_layers, err);
}
