/*
 * A checkpoint of TensorFlow with what stands beside it in a run directory: weights under
 * the reference's names, without moments, so that training begins anew from them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "foreign/writers.h"
#include "format/le.h"
#include "format/tf/checkpoint_dir.h"
#include "format/tf/meta_graph.h"
#include "format/tf/tensor_bundle.h"
#include "format/tf/tf_checkpoint.h"

static status check(const struct model_config *c, struct err *err)
{
    (void)c, (void)err; /* config.yaml says all of it */
    return OK;
}

static int by_name(const void *a, const void *b)
{
    const struct param *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static status put_param(struct tensor_bundle_writer *w, const struct param *t,
                        const float *flat, struct err *err)
{
    const uint64_t dims[2] = {t->rows, t->cols};

    TRY(tensor_bundle_add(w, t->name, TENSOR_FLOAT, dims + 2 - t->n_dims, t->n_dims,
                          err));
    for (size_t r = 0; r < t->rows; r++)
        TRY(tensor_bundle_add_bytes(w, flat + t->at + r * t->stride,
                                    t->cols * sizeof *flat, err));
    return OK;
}

static status put_all(struct tensor_bundle_writer *w, const struct foreign *f,
                      int64_t step, struct err *err)
{
    RELEASED_BY(mem_release) const struct param **sorted = NULL;
    const size_t n = f->params.n_list;
    unsigned char bytes[8];

    TRY(mem_alloc(&sorted, n, sizeof(const struct param *), err));
    for (size_t i = 0; i < n; i++)
        sorted[i] = &f->params.list[i];
    qsort(sorted, n, sizeof(const struct param *), by_name);
    for (size_t i = 0; i < n; i++)
        TRY(put_param(w, sorted[i], f->flat, err));
    le_put64(bytes, (uint64_t)step);
    TRY(tensor_bundle_add(w, "global_step", TENSOR_INT64, NULL, 0, err));
    return tensor_bundle_add_bytes(w, bytes, sizeof bytes, err);
}

static status write_checkpoint(const struct writers_job *j, const char *name,
                               int64_t step, struct err *err)
{
    const char *const all[] = {name};
    char prefix[FILE_PATH_MAX], pointer[FILE_PATH_MAX];
    struct tensor_bundle_writer w;

    TRY(file_join(prefix, sizeof prefix, j->dir, name, err));
    TRY(file_join(pointer, sizeof pointer, j->dir, CHECKPOINT_DIR_POINTER, err));
    TRY(tensor_bundle_begin(&w, prefix, err));
    if (put_all(&w, j->model, step, err) != OK) {
        tensor_bundle_abort(&w);
        return err->code;
    }
    TRY(tensor_bundle_finish(&w, err));
    TRY(meta_graph_write(prefix, "ForwardPass/", err));
    return tf_checkpoint_write(pointer, name, all, 1, err);
}

static status write_config(const struct writers_job *j, struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    const struct model_config *c = &j->model->config;
    struct architecture_options arch;

    opt_dump(model_config_table, c, &text);
    if (!architecture_is_reference(&c->arch)) {
        architecture_to_options(&arch, &c->arch);
        opt_dump(architecture_table, &arch, &text);
    }
    str_printf(&text, "source_lang: \"%s\"\ntarget_lang: \"%s\"\n", j->model->source,
               j->model->target);
    return writers_text(j, "config.yaml", &text, err);
}

static status write_readme(const struct writers_job *j, const char *name, struct err *err)
{
    static const char body[] =
        "With the package `tensorflow`, in this directory:\n\n"
        "```python\n"
        "import tensorflow\n"
        "\n"
        "checkpoint = tensorflow.train.load_checkpoint(\"%s\")\n"
        "for name, shape in sorted(checkpoint.get_variable_to_shape_map().items()):\n"
        "    print(name, shape)\n"
        "```\n\n"
        "`ferry translate` reads the directory as it is, and OpenSeq2Seq its "
        "checkpoint.\n"
        "\n"
        "- `%s.*`: weights under the names of the reference, without an optimizer's\n"
        "- `checkpoint`: which checkpoint is the newest\n"
        "- `config.yaml`: the shape of the model\n"
        "- `vocab.model` (and `vocab.target.model`, where targets are cut otherwise): "
        "the\n"
        "  SentencePiece model that cuts text into tokens\n";
    RELEASED_BY(str_release) struct str text = str_new(0);

    str_printf(&text, body, name, name);
    TRY(str_check(&text, "README.md", err));
    return writers_readme(j, "TensorFlow", str_text(&text), err);
}

static status write(struct writers_job *j, struct err *err)
{
    const int64_t step = j->options->step > 0 ? j->options->step : 0;
    const struct spm *spm = j->model->spm;
    char name[64];

    snprintf(name, sizeof name, "model.ckpt-%" PRId64, step);
    TRY(write_config(j, err));
    TRY(writers_bytes(j, READERS_OWN_TOKENIZER, spm_bytes(spm), err));
    if (spm_target(spm) != spm)
        TRY(writers_bytes(j, CHECKPOINT_DIR_TARGET, spm_bytes(spm_target(spm)), err));
    TRY(write_checkpoint(j, name, step, err));
    return write_readme(j, name, err);
}

const struct writers_format export_tensorflow = {
    .name = "tensorflow", .types = "float32", .check = check, .write = write};
