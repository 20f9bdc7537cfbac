#include "foreign/writers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

status writers_refuse(const char *program, const char *what, struct err *err)
{
    return err_set(err, ERR_USAGE, "the model cannot be exported so: %s has %s", program,
                   what);
}

status writers_bytes(const struct writers_job *j, const char *name, struct line bytes,
                     struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, j->dir, name, err));
    return file_write(path, bytes.text, bytes.n_bytes, err);
}

status writers_text(const struct writers_job *j, const char *name, const struct str *text,
                    struct err *err)
{
    TRY(str_check(text, name, err));
    return writers_bytes(j, name, (struct line){str_text(text), text->len}, err);
}

status writers_json(const struct writers_job *j, const char *name, json_t *root,
                    struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    char *dumped = root ? json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;

    json_decref(root);
    if (!dumped)
        return err_set(err, ERR_MEMORY, "cannot write %s: out of memory", name);
    str_printf(&text, "%s\n", dumped);
    free(dumped);
    return writers_text(j, name, &text, err);
}

status writers_tensors(const struct writers_job *j, struct pour *p,
                       enum tensors_format format, const char *name, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_join(path, sizeof path, j->dir, name, err));
    return pour_write(p, format, path, err);
}

status writers_tokenizers(const struct writers_job *j, struct err *err)
{
    const struct spm *spm = j->model->spm;

    TRY(writers_bytes(j, "source.spm", spm_bytes(spm), err));
    return writers_bytes(j, "target.spm", spm_bytes(spm_target(spm)), err);
}

bool writers_is_one(const struct writers_job *j)
{
    const enum architecture_tables tables = j->model->config.arch.tables;

    return tables == TABLES_ONE || tables == TABLES_INPUTS;
}

size_t writers_n_words(const struct writers_job *j, enum writers_side side)
{
    const struct model_config *c = &j->model->config;

    return (size_t)(side == WRITERS_SOURCE ? model_config_source_vocab(c)
                                           : c->vocab_size);
}

const char *writers_word(const struct writers_job *j, enum writers_side side, size_t id,
                         char name[WRITERS_NAME])
{
    static const char *const specials[ID_N_SPECIAL] = {
        [ID_PAD] = "<pad>", [ID_EOS] = "</s>", [ID_BOS] = "<s>", [ID_UNK] = "<unk>"};
    const struct spm *spm = j->model->spm;

    if (side == WRITERS_TARGET)
        spm = spm_target(spm);
    if (id < ID_N_SPECIAL)
        return specials[id];
    if (id < spm_size(spm))
        return spm_piece(spm, (int32_t)id);
    snprintf(name, WRITERS_NAME, "<token %zu>", id);
    return name;
}

bool writers_starts_at_zero(const struct writers_job *j)
{
    const struct foreign *f = j->model;
    const enum param_id id =
        architecture_has_target_table(&f->config.arch) ? PARAM_target_embed : PARAM_embed;
    const struct param *t = params_get(&f->params, id, 0);
    const int32_t start = f->config.arch.start;

    for (size_t c = 0; start && c < t->cols; c++)
        if (f->flat[t->at + (size_t)(start - 1) * t->stride + c] != 0)
            return false;
    return true;
}

void writers_note_epsilon(struct writers_job *j, const char *program, double epsilon)
{
    const double ours = j->model->config.norm_epsilon;

    if (fabs(ours - epsilon) > 1e-9)
        str_printf(j->notes,
                   "%s normalises with an epsilon of %g, the model with %g: "
                   "log-probabilities differ in the fifth digit or so.\n",
                   program, epsilon, ours);
}

void writers_note_positions(struct writers_job *j)
{
    const struct architecture *a = &j->model->config.arch;

    if (a->positions == POSITIONS_LEARNED)
        str_printf(
            j->notes,
            "The model has learned %lld positions: cut sentences of more tokens.\n",
            (long long)a->max_positions);
}

static void put_lines(struct str *out, const char *before, const char *lines)
{
    while (*lines) {
        const int n = (int)strcspn(lines, "\n");
        str_printf(out, "%s%.*s\n", before, n, lines);
        lines += n + (lines[n] == '\n');
    }
}

status writers_readme(const struct writers_job *j, const char *program, const char *body,
                      struct err *err)
{
    RELEASED_BY(str_release) struct str text = str_new(0);
    const struct model_config *c = &j->model->config;
    const struct foreign *f = j->model;

    str_printf(&text, "# A translation model for %s\n\n", program);
    if (*f->source && *f->target)
        str_printf(&text, "From %s to %s. ", f->source, f->target);
    str_printf(&text,
               "A Transformer of %lld encoder and %lld decoder layers of width %lld, "
               "vocabulary %lld, weights in %s.\nWritten by %s.\n\n",
               (long long)c->encoder_layers, (long long)c->decoder_layers,
               (long long)c->d_model, (long long)c->vocab_size, j->type->name,
               j->options->made_by);
    str_puts(&text, body);
    if (j->notes->len) {
        str_puts(&text, "\n## Notes\n\n");
        put_lines(&text, "- ", str_text(j->notes));
    }
    return writers_text(j, "README.md", &text, err);
}

/* ---- weights ---- */

static void copy_param(const struct param *to, float *out, const struct param *from,
                       const float *flat)
{
    for (size_t r = 0; r < from->rows; r++)
        memcpy(out + to->at + r * to->stride, flat + from->at + r * from->stride,
               from->cols * sizeof *out);
}

status writers_widen(struct foreign *f, const struct model_config *config,
                     struct err *err)
{
    struct params p = {0};
    float *flat = NULL;

    TRY(params_open(&p, config, err));
    if (mem_alloc(&flat, p.n_flat, sizeof *flat, err) != OK) {
        params_close(&p);
        return err->code;
    }
    for (size_t i = 0; i < f->params.n_list; i++) {
        const struct param *from = &f->params.list[i];
        copy_param(params_get(&p, from->id, from->layer), flat, from, f->flat);
    }
    params_close(&f->params);
    foreign_drop_weights(f);
    f->config = *config;
    f->params = p;
    f->flat = flat;
    return OK;
}
