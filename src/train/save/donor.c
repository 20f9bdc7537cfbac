#include "train/save/donor.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "decode/packed_model.h"
#include "foreign/foreign.h"

bool donor_is(const char *path)
{
    return packed_model_is(path) || foreign_is(path);
}

/* Every option that differs, as it would be typed. */
static void put_others(struct opt_table t, const void *has, const void *wants,
                       struct str *out)
{
    RELEASED_BY(str_release) struct str one = str_new(0);
    RELEASED_BY(str_release) struct str other = str_new(0);

    for (size_t i = 0; i < t.n; i++) {
        str_reset(&one);
        str_reset(&other);
        opt_value(&t.opt[i], has, &one);
        opt_value(&t.opt[i], wants, &other);
        if (strcmp(str_text(&one), str_text(&other)) != 0)
            str_printf(out, " %s=%s", t.opt[i].name, str_text(&other));
    }
}

/* A vocabulary of sources that is as large as the targets' may be said or not. */
static struct architecture_options options_of(const struct model_config *c)
{
    struct architecture_options o;

    architecture_to_options(&o, &c->arch);
    o.source_vocab_size = model_config_source_vocab(c);
    return o;
}

static status check_shape(const struct model_config *has,
                          const struct model_config *donor, const char *path,
                          struct err *err)
{
    const struct architecture_options a = options_of(has), b = options_of(donor);
    RELEASED_BY(str_release) struct str others = str_new(0);

    put_others(model_config_table, has, donor, &others);
    put_others(architecture_table, &a, &b, &others);
    if (has->tying.unique_encoder_layers)
        str_puts(&others, " unique_encoder_layers=0");
    if (has->tying.unique_decoder_layers)
        str_puts(&others, " unique_decoder_layers=0");
    if (!others.len)
        return OK;
    return err_set(err, ERR_USAGE, "%s is another model; train it with%s", path,
                   str_text(&others));
}

/* Its numbers of tokens are those of its tokenizers. */
static status check_tokenizers(const struct spm *spm, const struct dataset *data,
                               const char *path, bool is_packed, struct err *err)
{
    if (data->tokenizer_hash ==
        dataset_tokenizer_hash(spm_bytes(spm), spm_target_bytes(spm)))
        return OK;
    return err_set(err, ERR_USAGE,
                   "the data was not cut by the tokenizer of %s; prepare it with "
                   "tokenizer=%s%s",
                   path, is_packed ? path : "FILE.ferry",
                   is_packed ? "" : ", which `ferry import` makes of the model");
}

static status take_packed(struct model *m, struct packed_model *from, const char *path,
                          const struct dataset *data, const char **note, struct err *err)
{
    RELEASED_BY(mem_release) float *flat = NULL;

    TRY(packed_model_open(from, path, err));
    TRY(check_shape(&m->config, &from->config, path, err));
    TRY(check_tokenizers(from->spm, data, path, true, err));
    TRY(mem_alloc(&flat, m->params.n_flat, sizeof *flat, err));
    if (!network_unpack(&from->network, &m->params, flat))
        *note = "init_from holds weights in int8, which are rounded: a model in float is "
                "a better beginning";
    return model_set_weights(m, flat, err);
}

static status take_foreign(struct model *m, struct foreign *from, const char *path,
                           const struct dataset *data, struct err *err)
{
    TRY(foreign_open(from, path, err));
    TRY(check_shape(&m->config, &from->config, path, err));
    TRY(check_tokenizers(from->spm, data, path, false, err));
    return model_set_weights(m, from->flat, err);
}

status donor_check(const struct model_config *has, const char *path, struct err *err)
{
    RELEASED_BY(packed_model_close) struct packed_model packed = {0};
    RELEASED_BY(foreign_close) struct foreign foreign = {0};
    const bool is_packed = packed_model_is(path);
    status result = is_packed ? packed_model_open(&packed, path, err)
                              : foreign_open(&foreign, path, err);

    THEN(result,
         check_shape(has, is_packed ? &packed.config : &foreign.config, path, err));
    return result == OK ? OK : err_wrap(err, "init_from");
}

status donor_take(struct model *m, const char *path, const struct dataset *data,
                  const char **note, struct err *err)
{
    RELEASED_BY(packed_model_close) struct packed_model packed = {0};
    RELEASED_BY(foreign_close) struct foreign foreign = {0};
    const status result = packed_model_is(path)
                              ? take_packed(m, &packed, path, data, note, err)
                              : take_foreign(m, &foreign, path, data, err);

    return result == OK ? OK : err_wrap(err, "init_from");
}
