#include "adapt/origin.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "decode/loaded.h"

static status take(struct origin *o, const struct model_config *config,
                   const struct model_dir_languages *lang, const struct spm *spm,
                   struct err *err)
{
    const struct line source = spm_bytes(spm), target = spm_target_bytes(spm);

    o->config = *config;
    o->lang = *lang;
    str_add(&o->tokenizer, source.text, source.n_bytes);
    str_add(&o->target, target.text, target.n_bytes);
    TRY(str_check(&o->tokenizer, "the tokenizer", err));
    return str_check(&o->target, "the tokenizer of targets", err);
}

/* What the run's config.yaml says of it. */
static status read_run(struct origin *o, const struct model_dir *dir, struct err *err)
{
    RELEASED_BY(mem_release) struct train_config *c = NULL;
    char path[FILE_PATH_MAX];

    TRY(mem_alloc(&c, 1, sizeof *c, err));
    TRY(train_config_defaults(c, err));
    if (dir) {
        TRY(file_join(path, sizeof path, dir->dir, "config.yaml", err));
        TRY(opt_file(train_config_table, c, path, OPT_SKIP_UNKNOWN, err));
    }
    o->label_smoothing = c->label_smoothing;
    o->attention_dropout = c->attention_dropout;
    o->relu_dropout = c->relu_dropout;
    o->residual_dropout = c->residual_dropout;
    return OK;
}

static status open_directory(struct origin *o, const char *model, const char *checkpoint,
                             struct err *err)
{
    RELEASED_BY(model_dir_close) struct model_dir dir = {0};

    TRY(model_dir_open(&dir, model, checkpoint, err));
    TRY(file_absolute(o->path, dir.prefix, err));
    TRY(read_run(o, &dir, err));
    return take(o, &dir.config, &dir.lang, dir.spm, err);
}

static status open_file(struct origin *o, const char *model, struct err *err)
{
    RELEASED_BY(loaded_close) struct loaded file = {0};

    TRY(loaded_open(&file, model,
                    (struct loaded_options){.checkpoint = "last", .device = "cpu"}, err));
    TRY(file_absolute(o->path, model, err));
    TRY(read_run(o, NULL, err));
    return take(o, &file.network->config, &file.lang, file.spm, err);
}

/* Before any text is read: would training take it? */
static status check_trainable(const struct origin *o, struct err *err)
{
    struct device device = {0};
    struct model m = {0};
    status result =
        device_open(&device, "cpu", (struct device_options){.threads = 1}, err);

    THEN(result, model_open(&m, &device, &o->config, true, err));
    model_close(&m);
    device_close(&device);
    return result;
}

status origin_open(struct origin *o, const char *model, const char *checkpoint,
                   struct err *err)
{
    *o = (struct origin){.tokenizer = str_new(0), .target = str_new(0)};
    status result = packed_model_is(model) || foreign_is(model)
                        ? open_file(o, model, err)
                        : open_directory(o, model, checkpoint, err);

    THEN(result, check_trainable(o, err));
    if (result == OK)
        return OK;
    origin_close(o);
    return err_wrap(err, "%s", model);
}

void origin_close(struct origin *o)
{
    str_release(&o->tokenizer);
    str_release(&o->target);
}

status origin_write_tokenizers(const struct origin *o, const char *path, struct err *err)
{
    const struct line source = {str_text(&o->tokenizer), o->tokenizer.len};
    const struct line target = {str_text(&o->target), o->target.len};

    return packed_model_write_tokenizers(&o->config, source, target, path, err);
}
