#include "pack/exporting.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "decode/packed_model.h"
#include "format/new_dir.h"

OPT_TABLE(exporting_options, struct exporting_config, EXPORTING_OPTIONS);

struct work {
    const struct exporting_config *c;
    struct foreign model; /* whatever it was */
    int64_t step;
    struct str notes, licence;
};

static status take_memory(struct foreign *f, struct err *err)
{
    TRY(params_open(&f->params, &f->config, err));
    return mem_alloc(&f->flat, f->params.n_flat, sizeof *f->flat, err);
}

static void take_languages(struct foreign *f, const char *source, const char *target)
{
    snprintf(f->source, sizeof f->source, "%.15s", source);
    snprintf(f->target, sizeof f->target, "%.15s", target);
}

/* No format says which layers share their weights: each gets a copy. */
static status read_tied(struct work *w, struct model_dir *d, struct err *err)
{
    struct foreign *f = &w->model;
    RELEASED_BY(mem_release) float *flat = NULL;
    RELEASED_BY(params_close) struct params tied = {0};

    TRY(params_open(&tied, &d->config, err));
    TRY(mem_alloc(&flat, tied.n_flat, sizeof *flat, err));
    TRY(model_dir_read_weights(d, &tied, w->c->average, flat, err));
    params_untie(&tied, flat, &f->params, f->flat);
    str_puts(&w->notes,
             "Its layers share weights; what is written has a copy of them for "
             "each layer.\n");
    return OK;
}

static status take_run(struct work *w, struct model_dir *d, struct err *err)
{
    struct foreign *f = &w->model;

    f->config = d->config;
    f->config.tying = (struct tying){0};
    w->step = d->step;
    take_languages(f, d->lang.source, d->lang.target);
    if (*d->note)
        str_printf(&w->notes, "%s.\n", d->note);
    TRY(take_memory(f, err));
    if (tying_is_on(&d->config.tying))
        TRY(read_tied(w, d, err));
    else
        TRY(model_dir_read_weights(d, &f->params, w->c->average, f->flat, err));
    f->spm = d->spm;
    d->spm = NULL;
    return OK;
}

static status read_run(struct work *w, const char *path, struct err *err)
{
    struct model_dir d;

    TRY(model_dir_open(&d, path, w->c->checkpoint, err));
    const status result = take_run(w, &d, err);
    model_dir_close(&d);
    return result;
}

static status take_packed(struct work *w, struct packed_model *m, struct err *err)
{
    const struct line licence = packed_model_text(m, PACKED_MODEL_LICENCE);
    struct foreign *f = &w->model;

    str_add(&w->licence, licence.text, licence.n_bytes);
    f->config = m->config;
    w->step = m->options.step;
    take_languages(f, m->options.source_lang, m->options.target_lang);
    TRY(take_memory(f, err));
    if (!network_unpack(&m->network, &f->params, f->flat))
        str_puts(&w->notes,
                 "The weights come from a packed model in int8: they are what its "
                 "numbers stand for, and the precision that int8 took is not in them.\n");
    if (m->has_shortlist)
        str_puts(&w->notes, "The shortlist of the packed model is not in it.\n");
    f->spm = m->spm;
    m->spm = NULL;
    return OK;
}

static status read_packed(struct work *w, const char *path, struct err *err)
{
    struct packed_model m;

    TRY(packed_model_open(&m, path, err));
    const status result = take_packed(w, &m, err);
    packed_model_close(&m);
    return result;
}

static status read_model(struct work *w, const char *path, struct err *err)
{
    w->step = -1;
    if (packed_model_is(path))
        return read_packed(w, path, err);
    return foreign_is(path) ? foreign_open(&w->model, path, err) : read_run(w, path, err);
}

static void tell(const struct work *w, FILE *out)
{
    const struct model_config *c = &w->model.config;

    fprintf(out, "%s  %lld and %lld layers of width %lld, vocabulary %lld, %s, %s\n",
            w->c->to, (long long)c->encoder_layers, (long long)c->decoder_layers,
            (long long)c->d_model, (long long)c->vocab_size,
            c->arch.norm == NORM_PRE ? "pre-norm" : "post-norm", w->c->quantization);
    fputs(str_text(&w->notes), out);
    fprintf(out, "%s  README.md there says how to load it\n", w->c->out);
}

static status run(struct work *w, const char *model, const char *made_by, FILE *out,
                  struct err *err)
{
    TRY(new_dir_check(w->c->out, err));
    TRY(read_model(w, model, err));
    TRY(str_check(&w->licence, "the licence", err));
    const struct export_options o = {.to = w->c->to,
                                     .type = w->c->quantization,
                                     .made_by = made_by,
                                     .step = w->step,
                                     .licence = {w->licence.data, w->licence.len}};
    TRY(export_write(&w->model, &o, w->c->out, &w->notes, err));
    tell(w, out);
    return OK;
}

status exporting_run(const struct exporting_config *c, const char *model,
                     const char *made_by, FILE *out, struct err *err)
{
    struct work w = {.c = c, .notes = str_new(0), .licence = str_new(0)};
    const status result = run(&w, model, made_by, out, err);

    foreign_close(&w.model);
    str_release(&w.notes);
    str_release(&w.licence);
    return result;
}
