#include "decode/loaded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* The kernels for a processor; NULL: it is to run on a device, which is open then. */
static status choose_device(struct loaded *l, struct err *err)
{
    const struct device_options options = {.threads = l->options.n_threads};
    const char *kind = l->options.device;

    if (strcmp(kind, "auto") != 0 || l->options.is_shared)
        l->kernels = kernels_choose(kind);
    if (l->kernels)
        return OK;
    if (l->options.is_shared)
        return err_set(err, ERR_USAGE,
                       "device = %s: many callers share a model on processors alone; "
                       "leave it out, or give device=cpu",
                       kind);
    TRY(device_open(&l->device, kind, options, err));
    if (l->device.gpu)
        return OK;
    device_close(&l->device);
    l->kernels = kernels_choose("cpu");
    return OK;
}

/* Every tensor is read and packed; the plain copy of the weights goes again. */
static status pack_weights(struct loaded *l, struct err *err)
{
    RELEASED_BY(mem_release) float *flat = NULL;
    struct params p;

    TRY(params_open(&p, &l->dir.config, err));
    status result = mem_alloc(&flat, p.n_flat, sizeof *flat, err);
    THEN(result, model_dir_read_weights(&l->dir, &p, l->options.average, flat, err));
    THEN(result, network_open(&l->own, &l->dir.config, err));
    THEN(result, network_pack(&l->own, &p, flat, (struct network_types){0}, err));
    params_close(&p);
    l->network = &l->own;
    return result;
}

static status load_directory(struct loaded *l, const char *path, struct err *err)
{
    TRY(model_dir_open(&l->dir, path, l->options.checkpoint, err));
    l->spm = l->dir.spm;
    l->lang = l->dir.lang;
    l->note = l->dir.note;
    TRY(choose_device(l, err));
    if (l->kernels)
        return pack_weights(l, err);
    TRY(model_open(&l->model, &l->device, &l->dir.config, false, err));
    return model_dir_load_weights(&l->model, &l->dir, l->options.average, err);
}

static status load_foreign(struct loaded *l, const char *path, struct err *err)
{
    struct foreign *f = &l->foreign;

    l->kernels = kernels_choose(l->options.device);
    if (!l->kernels)
        return err_set(err, ERR_USAGE,
                       "device = %s: models of other programs run on processors",
                       l->options.device);
    TRY(l->options.in_memory ? foreign_open_in_memory(f, path, err)
                             : foreign_open(f, path, err));
    l->spm = f->spm;
    memcpy(l->lang.source, f->source, sizeof l->lang.source);
    memcpy(l->lang.target, f->target, sizeof l->lang.target);
    TRY(network_open(&l->own, &f->config, err));
    TRY(network_pack(&l->own, &f->params, f->flat, (struct network_types){0}, err));
    l->network = &l->own;
    foreign_drop_weights(f);
    return OK;
}

static status load_file(struct loaded *l, const char *path, struct err *err)
{
    TRY(packed_model_open(&l->file, path, err));
    l->spm = l->file.spm;
    snprintf(l->lang.source, sizeof l->lang.source, "%.15s", l->file.options.source_lang);
    snprintf(l->lang.target, sizeof l->lang.target, "%.15s", l->file.options.target_lang);
    l->network = &l->file.network;
    l->kernels = kernels_choose(l->options.device);
    if (!l->kernels)
        return err_set(err, ERR_USAGE,
                       "device = %s: a packed model runs on processors; translate the "
                       "run directory it was made of instead",
                       l->options.device);
    return OK;
}

/* ---- ensembles ---- */

static bool is_same_text(struct line x, struct line y)
{
    return x.n_bytes == y.n_bytes && memcmp(x.text, y.text, x.n_bytes) == 0;
}

static bool is_same_vocabulary(const struct loaded *a, const struct loaded *b)
{
    const struct model_config *x = &a->network->config, *y = &b->network->config;

    return is_same_text(spm_bytes(a->spm), spm_bytes(b->spm)) &&
           is_same_text(spm_bytes(spm_target(a->spm)), spm_bytes(spm_target(b->spm))) &&
           x->vocab_size == y->vocab_size &&
           model_config_source_vocab(x) == model_config_source_vocab(y);
}

/* What is translated is at most as long as the first model can take. */
static status check_longest(const struct loaded *l, const struct loaded *other,
                            const char *path, struct err *err)
{
    const size_t first = architecture_longest(&l->network->config.arch);
    const size_t longest = architecture_longest(&other->network->config.arch);

    if (longest >= first)
        return OK;
    return err_set(err, ERR_USAGE,
                   "%s takes sentences of %zu tokens, the first model longer ones; give "
                   "the model that takes the fewest first",
                   path, longest);
}

static status add_model(struct loaded *l, const char *path, struct err *err)
{
    struct loaded_options options = l->options;
    struct loaded *other = &l->more[l->n_more];

    if (!*path)
        return err_set(err, ERR_USAGE,
                       "ensemble = %s: want paths of models, a comma between them",
                       l->options.ensemble);
    if (l->n_more == LOADED_MOST)
        return err_set(err, ERR_USAGE, "ensemble has more than %d models", LOADED_MOST);
    options.ensemble = NULL;
    options.is_shared = false;
    if (strcmp(options.device, "auto") == 0)
        options.device = "cpu"; /* as the first one is */
    TRY(loaded_open(other, path, options, err));
    l->nets[l->n_more++] = other->network;
    if (!is_same_vocabulary(l, other))
        return err_set(err, ERR_USAGE,
                       "%s has another vocabulary than the first model; those of an "
                       "ensemble must share one",
                       path);
    return check_longest(l, other, path, err);
}

static status load_more(struct loaded *l, struct err *err)
{
    RELEASED_BY(mem_release) char *list = NULL;
    const char *all = l->options.ensemble;

    if (!all || !*all)
        return OK;
    if (!l->kernels)
        return err_set(err, ERR_USAGE,
                       "ensemble works on the processor alone: leave it out, or give "
                       "device=cpu");
    TRY(mem_alloc(&list, strlen(all) + 1, 1, err));
    memcpy(list, all, strlen(all) + 1);
    TRY(mem_alloc(&l->more, LOADED_MOST, sizeof *l->more, err));
    TRY(mem_alloc(&l->nets, LOADED_MOST, sizeof(const struct network *), err));
    for (char *path = list, *end; path; path = end) {
        end = strchr(path, ',');
        if (end)
            *end++ = '\0';
        TRY(add_model(l, path, err));
    }
    return OK;
}

static const struct shortlist *shortlist_of(const struct loaded *l)
{
    const bool has_one = l->options.has_shortlist && l->file.has_shortlist;

    return has_one && !l->n_more ? &l->file.shortlist : NULL;
}

/* What many translators have in common. Their encoders remember fewer words each. */
static status open_shared(struct loaded *l, struct err *err)
{
    enum { CACHE_BYTES = 2 << 20 };
    const struct hub_options options = {.kernels = l->kernels,
                                        .n_threads = l->options.n_threads,
                                        .more = {l->nets, l->n_more}};
    struct translate_shared *s = &l->shared;

    if (!l->options.is_shared)
        return OK;
    s->shortlist = shortlist_of(l);
    s->network = l->network;
    s->kernels = l->kernels;
    TRY(pieces_open(&s->pieces, l->spm, CACHE_BYTES, err));
    return hub_open(&s->hub, l->network, options, err);
}

status loaded_open(struct loaded *l, const char *path, struct loaded_options options,
                   struct err *err)
{
    *l = (struct loaded){.options = options, .note = ""};
    status result = packed_model_is(path) ? load_file(l, path, err)
                    : foreign_is(path)    ? load_foreign(l, path, err)
                                          : load_directory(l, path, err);
    THEN(result, load_more(l, err));
    THEN(result, open_shared(l, err));
    if (result != OK)
        loaded_close(l);
    return result;
}

void loaded_close(struct loaded *l)
{
    hub_close(l->shared.hub);
    pieces_close(l->shared.pieces);
    for (size_t i = 0; i < l->n_more; i++)
        loaded_close(&l->more[i]);
    free(l->more);
    free(l->nets);
    network_close(&l->own);
    packed_model_close(&l->file);
    foreign_close(&l->foreign);
    model_close(&l->model);
    device_close(&l->device);
    model_dir_close(&l->dir);
    *l = (struct loaded){0};
}

status loaded_translator(const struct loaded *l, struct translator *t,
                         const struct translate_config *c,
                         const atomic_bool *is_cancelled, struct err *err)
{
    const struct engine_options engine = {.kernels = l->kernels,
                                          .n_threads = l->options.n_threads,
                                          .n_workers = l->options.n_workers,
                                          .shortlist = shortlist_of(l),
                                          .more = {l->nets, l->n_more}};

    if (l->shared.hub)
        TRY(translate_open_shared(t, &l->shared, c, is_cancelled, err));
    else if (l->kernels)
        TRY(translate_open_packed(t, l->network, l->spm, c, engine, err));
    else
        TRY(translate_open(t, (struct model *)&l->model, l->spm, c, err));
    t->search->is_cancelled = is_cancelled;
    t->lang = l->lang.source;
    if (l->network == &l->file.network && l->file.options.alignment_layer >= 0)
        t->alignment_layer = (int)l->file.options.alignment_layer;
    return OK;
}
