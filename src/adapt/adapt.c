#include "adapt/adapt.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/blend.h"
#include "adapt/gain.h"
#include "adapt/notes.h"
#include "adapt/origin.h"
#include "adapt/text.h"
#include "base/mem.h"
#include "dist/comm/comm.h"
#include "format/json_text.h"
#include "pack/packing.h"
#include "train/trainer.h"

OPT_TABLE(adapt_options, struct adapt_config, ADAPT_OPTIONS);

static const char *const names[BLEND_TEXTS] = {"new", "general"};

/* What is open while a model is adapted. */
struct work {
    const struct adapt_config *c;
    const char *model, *made_by;
    FILE *out, *console;
    struct progress progress;
    struct notes notes;
    struct origin origin;
    struct text text[BLEND_TEXTS];
    size_t n_texts;
    struct dataset data[BLEND_TEXTS];
    struct tuning tuning;
    struct gain gain[BLEND_TEXTS];
    char tokenizer[FILE_PATH_MAX], blend[FILE_PATH_MAX], packed[FILE_PATH_MAX];
    bool is_stopped;
};

/* ---- what was asked for ---- */

static status check_text(const char *pairs, const char *source, const char *target,
                         const char *prefix, struct err *err)
{
    const bool is_one = *pairs && !*source && !*target;

    if (is_one || (!*pairs && *source && *target))
        return OK;
    return err_set(err, ERR_USAGE,
                   "name the %s text as %s=FILE, or as %ssource=FILE and %starget=FILE",
                   *prefix ? "general" : "new", *prefix ? "mix" : "pairs", prefix,
                   prefix);
}

static status check_config(const struct adapt_config *c, struct err *err)
{
    if (!*c->run)
        return err_set(err, ERR_USAGE,
                       "run is not set; give run=DIR, where the adapted model goes");
    TRY(check_text(c->pairs, c->source, c->target, "", err));
    return *c->mix || *c->mix_source || *c->mix_target
               ? check_text(c->mix, c->mix_source, c->mix_target, "mix_", err)
               : OK;
}

static status set_paths(struct work *w, struct err *err)
{
    const char *run = w->c->run;

    TRY(file_join(w->tokenizer, sizeof w->tokenizer, run, "tokenizer.ferry", err));
    TRY(file_join(w->blend, sizeof w->blend, run, "data", err));
    if (*w->c->out)
        snprintf(w->packed, sizeof w->packed, "%s", w->c->out);
    else
        TRY(file_join(w->packed, sizeof w->packed, run, "adapted.ferry", err));
    return OK;
}

/* Options of `ferry prepare` for a text. */
static status set_text(struct work *w, size_t i, const char *pairs, const char *source,
                       const char *target, const char *columns, struct err *err)
{
    const struct adapt_config *c = w->c;
    struct prepare_config *p = &w->text[i].how;
    const char *const lang[] = {*c->source_lang ? c->source_lang : w->origin.lang.source,
                                *c->target_lang ? c->target_lang : w->origin.lang.target};
    char dir[FILE_PATH_MAX];

    w->text[i].what = names[i];
    w->gain[i].text = names[i];
    TRY(file_join(dir, sizeof dir, c->run, names[i], err));
    TRY(opt_defaults(prepare_config_table, p, err));
    snprintf(p->pairs, sizeof p->pairs, "%s", pairs);
    snprintf(p->source, sizeof p->source, "%s", source);
    snprintf(p->target, sizeof p->target, "%s", target);
    snprintf(p->columns, sizeof p->columns, "%s", columns);
    snprintf(p->out, sizeof p->out, "%s", dir);
    snprintf(p->tokenizer, sizeof p->tokenizer, "%s", w->tokenizer);
    snprintf(p->source_lang, sizeof p->source_lang, "%s", lang[0]);
    snprintf(p->target_lang, sizeof p->target_lang, "%s", lang[1]);
    p->seed = c->seed;
    p->threads = c->threads;
    return OK;
}

static status set_texts(struct work *w, struct err *err)
{
    const struct adapt_config *c = w->c;

    w->n_texts = *c->mix || *c->mix_source ? 2 : 1;
    TRY(set_text(w, 0, c->pairs, c->source, c->target, c->columns, err));
    return w->n_texts == 1 ? OK
                           : set_text(w, 1, c->mix, c->mix_source, c->mix_target,
                                      c->mix_columns, err);
}

/* ---- the beginning ---- */

/* A model that has changed since is not the one that was scored before. */
static status open_origin(struct work *w, struct err *err)
{
    const char *before = json_string_value(notes_get(&w->notes, "begun", "init_from"));

    TRY(origin_open(&w->origin, before ? before : w->model, w->c->checkpoint, err));
    if (!before)
        notes_set(&w->notes, "begun", "init_from", json_text(w->origin.path));
    return OK;
}

/* Files that have changed would be mixed with what was made of them before. */
static status find_texts(struct work *w, struct err *err)
{
    char hash[24];

    for (size_t i = 0; i < w->n_texts; i++) {
        struct text *t = &w->text[i];
        TRY(text_find(t, err));
        snprintf(hash, sizeof hash, "%016" PRIx64, t->fingerprint);
        const char *was = json_string_value(notes_get(&w->notes, "files", t->what));
        if (was && strcmp(was, hash) != 0)
            return err_set(err, ERR_USAGE,
                           "files of the %s text have changed since %s was begun: put "
                           "them back, or name another run directory",
                           t->what, w->c->run);
        notes_set(&w->notes, "files", t->what, json_string(hash));
        if (!text_is_ready(t))
            TRY(text_look(t, &w->progress, err));
    }
    return OK;
}

/* Everything that can be wrong is looked at before anything is written. */
static status begin(struct work *w, struct err *err)
{
    static const char *const free_options[] = {"out",     "precision", "device",
                                               "threads", "run",       NULL};

    TRY(check_config(w->c, err));
    TRY(set_paths(w, err));
    TRY(notes_open(&w->notes, w->c->run, err));
    TRY(notes_begin(&w->notes, adapt_options, w->c, free_options, w->model, err));
    TRY(open_origin(w, err));
    TRY(set_texts(w, err));
    TRY(find_texts(w, err));
    if (*w->c->out)
        TRY(file_check_output(w->packed, err));
    TRY(file_make_dirs(w->c->run, err));
    return notes_write(&w->notes, err);
}

/* ---- texts ---- */

static status prepare_texts(struct work *w, struct err *err)
{
    TRY(origin_write_tokenizers(&w->origin, w->tokenizer, err));
    for (size_t i = 0; i < w->n_texts; i++) {
        struct text *t = &w->text[i];
        struct dataset *d = &w->data[i];
        if (!text_is_ready(t))
            TRY(text_prepare(t, &w->progress, err));
        TRY(dataset_open(d, t->how.out, err));
        w->gain[i].n_pairs = d->test.corpus.n_pairs;
        notes_set(&w->notes, "pairs", t->what,
                  json_pack("{s:I, s:I, s:I}", "train", (json_int_t)d->train.n_pairs,
                            "valid", (json_int_t)d->valid.corpus.n_pairs, "test",
                            (json_int_t)d->test.corpus.n_pairs));
        fprintf(w->console, "%s text: %u pairs to train on, %u to validate, %u to test\n",
                t->what, d->train.n_pairs, d->valid.corpus.n_pairs,
                d->test.corpus.n_pairs);
    }
    return OK;
}

static status blend_texts(struct work *w, struct err *err)
{
    const struct adapt_config *c = w->c;
    const struct dataset *general = w->n_texts == 2 ? &w->data[1] : NULL;
    const struct tuning_text t = {.n_new = w->data[0].train.n_pairs,
                                  .n_general = general ? general->train.n_pairs : 0,
                                  .mix_ratio = c->mix_ratio,
                                  .d_model = w->origin.config.d_model,
                                  .passes = c->passes,
                                  .rate = c->rate};
    char mark[FILE_PATH_MAX];

    w->tuning = tuning_choose(&t);
    TRY(file_join(mark, sizeof mark, w->blend, DATASET_MARK, err));
    if (file_exists(mark))
        return OK;
    const struct blend b = {
        .text = {&w->data[0], general}, .first = w->text[0].how.out, .how = w->tuning};
    return blend_write(&b, w->blend, err);
}

/* ---- scores ---- */

/* Of every text, unless an earlier start has measured it. */
static status measure(struct work *w, const char *when, const char *model,
                      const char *checkpoint, struct err *err)
{
    const struct gain_how how = {checkpoint, (size_t)w->c->threads, &w->progress};

    for (size_t i = 0; i < w->n_texts; i++) {
        struct gain *g = &w->gain[i];
        struct gain_score *s = strcmp(when, "before") == 0 ? &g->before : &g->after;
        *s = gain_of_json(notes_get(&w->notes, when, g->text));
        if (s->is_there)
            continue;
        TRY(gain_measure(s, model, &w->data[i].test, how, err));
        notes_set(&w->notes, when, g->text, gain_json(s));
        TRY(notes_write(&w->notes, err));
    }
    return OK;
}

/* ---- training ---- */

static status configure(const struct work *w, struct train_config *t, struct err *err)
{
    const struct adapt_config *c = w->c;
    const struct origin *o = &w->origin;
    RELEASED_BY(dataset_close) struct dataset d = {0};

    TRY(train_config_defaults(t, err));
    TRY(dataset_open(&d, w->blend, err));
    const struct tuning_size size = blend_measure(&d.train);
    const size_t most = architecture_longest(&o->config.arch);
    tuning_set(t, &w->tuning, &size);
    if ((size_t)t->max_length > most)
        t->max_length = (int64_t)most;
    t->model = o->config;
    architecture_to_options(&t->arch, &o->config.arch);
    t->label_smoothing = o->label_smoothing;
    t->attention_dropout = o->attention_dropout;
    t->relu_dropout = o->relu_dropout;
    t->residual_dropout = o->residual_dropout;
    t->patience = c->patience;
    t->seed = c->seed;
    t->threads = c->threads;
    snprintf(t->device, sizeof t->device, "%s", c->device);
    snprintf(t->data, sizeof t->data, "%s", w->blend);
    snprintf(t->run, sizeof t->run, "%s", c->run);
    snprintf(t->init_from, sizeof t->init_from, "%s", o->path);
    return OK;
}

static void note_tuning(struct work *w, const struct train_config *t)
{
    struct notes *n = &w->notes;

    notes_set(n, "training", "passes", json_integer(w->tuning.passes));
    notes_set(n, "training", "general_pairs_a_pass",
              json_integer((json_int_t)w->tuning.n_drawn));
    notes_set(n, "training", "rate", json_real(w->tuning.rate));
    notes_set(n, "training", "warmup_steps", json_integer(t->schedule.warmup_steps));
    notes_set(n, "training", "batch_tokens", json_integer(t->batch_tokens));
    notes_set(n, "training", "max_steps", json_integer(t->max_steps));
}

/* By this process alone; `ferry launch -- train run=RUN` may have made a part of it. */
static status train_alone(struct work *w, const struct train_config *t, struct err *err)
{
    struct comm comm;
    struct train_host host = {.comm = &comm, .console = w->console};

    TRY(comm_open(&comm, (struct comm_options){.kind = "self"}, err));
    const status result = train_run(t, &host, err);
    comm_close(&comm);
    w->is_stopped = result == OK && trainer_is_to_stop();
    return result;
}

static status train(struct work *w, struct err *err)
{
    RELEASED_BY(mem_release) struct train_config *t = NULL;

    if (json_is_true(notes_get(&w->notes, "training", "is_done")))
        return OK;
    TRY(mem_alloc(&t, 1, sizeof *t, err));
    TRY(configure(w, t, err));
    note_tuning(w, t);
    TRY(notes_write(&w->notes, err));
    fprintf(w->console,
            "at most %" PRId64 " passes over the new pairs, %" PRIu64
            " general pairs beside each; rate %.2g, %" PRId64 " updates\n",
            w->tuning.passes, w->tuning.n_drawn, w->tuning.rate, t->max_steps);
    TRY(train_alone(w, t, err));
    if (w->is_stopped)
        return OK;
    notes_set(&w->notes, "training", "is_done", json_true());
    return notes_write(&w->notes, err);
}

/* ---- the end ---- */

static status pack(struct work *w, struct err *err)
{
    struct packing_config p;

    TRY(opt_defaults(packing_options, &p, err));
    snprintf(p.out, sizeof p.out, "%s", w->packed);
    snprintf(p.precision, sizeof p.precision, "%s", w->c->precision);
    snprintf(p.data, sizeof p.data, "%s", w->blend);
    p.threads = w->c->threads;
    return packing_run(&p, w->c->run, w->made_by, w->out, w->console, err);
}

/* What the numbers mean, if they do not speak for themselves. */
static void put_verdict(const struct work *w, struct str *out)
{
    const struct gain *n = &w->gain[0], *g = &w->gain[1];

    if (n->after.bleu < n->before.bleu)
        str_puts(out, "The new text is translated worse than before: it may be too "
                      "little, or too much alike; the first model is the better one.\n");
    if (w->n_texts == 1)
        str_puts(out, "What the model has forgotten was not measured, for there was no "
                      "general text: mix=FILE names some, which is also mixed in so "
                      "that less is forgotten.\n");
    else if (g->after.bleu < g->before.bleu - 1)
        str_puts(out, "More than 1 BLEU was lost on general text: a larger mix_ratio, or "
                      "a smaller rate, loses less.\n");
}

static status tell(struct work *w, struct err *err)
{
    RELEASED_BY(str_release) struct str page = str_new(0), text = str_new(0);
    char path[FILE_PATH_MAX];

    str_printf(&page, "# %s, adapted\n\n", w->model);
    gain_table(&page, w->gain, w->n_texts, true);
    str_putc(&page, '\n');
    gain_signatures(&page);
    str_puts(&page, ".\n\n");
    put_verdict(w, &page);
    gain_table(&text, w->gain, w->n_texts, false);
    put_verdict(w, &text);
    TRY(str_check(&text, "the scores", err));
    fputs(str_text(&text), w->out);
    TRY(file_join(path, sizeof path, w->c->run, "adapt.md", err));
    return file_write_str(path, &page, err);
}

static status run(struct work *w, struct err *err)
{
    TRY(begin(w, err));
    TRY(prepare_texts(w, err));
    TRY(blend_texts(w, err));
    TRY(measure(w, "before", w->origin.path, w->c->checkpoint, err));
    TRY(train(w, err));
    if (w->is_stopped)
        return OK;
    TRY(measure(w, "after", w->c->run, MODEL_DIR_CHECKPOINT, err));
    TRY(pack(w, err));
    return tell(w, err);
}

status adapt_run(const struct adapt_config *c, const char *model, const char *made_by,
                 FILE *out, FILE *console, struct err *err)
{
    struct work w = {.c = c,
                     .model = model,
                     .made_by = made_by,
                     .out = out,
                     .console = console,
                     .progress = progress_to(console)};
    const status result = run(&w, err);

    if (w.progress.is_open) /* the error gets a line of its own */
        fputc('\n', console);
    for (int i = 0; i < BLEND_TEXTS; i++)
        dataset_close(&w.data[i]);
    origin_close(&w.origin);
    notes_close(&w.notes);
    return result;
}
