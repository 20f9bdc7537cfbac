/*
 * Our own names and shapes in safetensors, for whoever writes a program of their own:
 * nothing is left out, so that `ferry` reads all of it back.
 */
#include "foreign/writers.h"

static status check(const struct model_config *c, struct err *err)
{
    (void)c, (void)err;
    return OK;
}

static json_t *value_of(const struct opt *o, const void *options)
{
    const void *at = (const char *)options + o->at;

    switch (o->type) {
    case OPT_INT:
        return json_integer((json_int_t) * (const int64_t *)at);
    case OPT_REAL:
        return json_real(*(const double *)at);
    case OPT_BOOL:
        return json_boolean(*(const bool *)at);
    default:
        return json_string(at);
    }
}

static void put_options(json_t *root, struct opt_table t, const void *options)
{
    for (size_t i = 0; i < t.n; i++)
        json_object_set_new(root, t.opt[i].name, value_of(&t.opt[i], options));
}

static status write_config(const struct writers_job *j, struct err *err)
{
    const struct foreign *f = j->model;
    struct architecture_options arch;
    json_t *root =
        json_pack("{s:s, s:[s], s:s, s:s}", "model_type", "ferry", "architectures",
                  READERS_OWN_KIND, "source_lang", f->source, "target_lang", f->target);

    if (!root)
        return err_set(err, ERR_MEMORY, "cannot write config.json: out of memory");
    architecture_to_options(&arch, &f->config.arch);
    put_options(root, model_config_table, &f->config);
    put_options(root, architecture_table, &arch);
    return writers_json(j, "config.json", root, err);
}

static status write_weights(const struct writers_job *j, struct err *err)
{
    const struct foreign *f = j->model;
    RELEASED_BY(pour_release)
    struct pour p = {.names = foreign_own_rows,
                     .params = &f->params,
                     .flat = f->flat,
                     .type = j->type};

    TRY(pour_weights(&p, err));
    return writers_tensors(j, &p, TENSORS_SAFETENSORS, READERS_OWN_WEIGHTS, err);
}

static status write_tokenizers(const struct writers_job *j, struct err *err)
{
    const struct spm *spm = j->model->spm, *target = spm_target(spm);

    TRY(writers_bytes(j, READERS_OWN_TOKENIZER, spm_bytes(spm), err));
    return target == spm ? OK
                         : writers_bytes(j, READERS_OWN_TARGET, spm_bytes(target), err);
}

static status write(struct writers_job *j, struct err *err)
{
    static const char body[] =
        "With the packages `safetensors`, `numpy` and `sentencepiece`, in this "
        "directory:\n\n"
        "```python\n"
        "import json\n"
        "import sentencepiece\n"
        "from safetensors.numpy import load_file\n"
        "\n"
        "config = json.load(open(\"config.json\"))\n"
        "weights = load_file(\"model.safetensors\")\n"
        "pieces = sentencepiece.SentencePieceProcessor(model_file=\"vocab.model\")\n"
        "for name, array in weights.items():\n"
        "    print(name, array.dtype, array.shape)\n"
        "```\n\n"
        "`ferry translate` reads the directory as it is.\n\n"
        "- `model.safetensors`: weights under Ferry's names; kernels are [inputs, "
        "outputs]\n"
        "- `config.json`: shape and architecture of the model\n"
        "- `vocab.model` (and `target.model`, where targets are cut otherwise): the\n"
        "  SentencePiece model that cuts text into tokens, whose numbers are the rows of "
        "the tables\n";

    TRY(write_config(j, err));
    TRY(write_weights(j, err));
    TRY(write_tokenizers(j, err));
    return writers_readme(j, "programs that read safetensors", body, err);
}

const struct writers_format export_safetensors = {.name = "safetensors",
                                                  .types = "float32|float16|bfloat16",
                                                  .check = check,
                                                  .write = write};
