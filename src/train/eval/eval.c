#include "train/eval/eval.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/progress.h"
#include "base/utf8.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"
#include "decode/model_dir.h"
#include "decode/packed_model.h"
#include "foreign/foreign.h"
#include "train/eval/eval_parts.h"
#include "train/eval/evaluate.h"
#include "train/log/record.h"
#include "train/run/config.h"

#define OF_SCORE(kind, field, ...) \
    OPT_ROW(kind, offsetof(opt_owner, score.field), field, __VA_ARGS__)
#define ALL_OPTIONS(X) EVAL_OPTIONS(X) SCORE_TEXT_OPTIONS(OF_SCORE)

OPT_TABLE(eval_options, struct eval_config, ALL_OPTIONS);

/* Everything that is open while a set is evaluated. */
struct eval {
    const struct eval_config *config;
    struct train_config *train; /* how the run was trained */
    struct model_dir dir;
    struct dataset data;
    struct device device;
    struct model model;
    struct translator translator;
    struct translations out;
    struct references more;
    FILE *console;
};

static status read_train_config(struct eval *e, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(mem_alloc(&e->train, 1, sizeof *e->train, err));
    TRY(train_config_defaults(e->train, err));
    TRY(file_join(path, sizeof path, e->dir.dir, "config.yaml", err));
    return opt_file(train_config_table, e->train, path, OPT_SKIP_UNKNOWN, err);
}

static status open_translator(struct eval *e, struct err *err)
{
    struct translate_config how;

    TRY(opt_defaults(translate_config_table, &how, err));
    how.beam = e->config->beam;
    how.alpha = e->config->alpha;
    how.split = e->config->split;
    TRY(translate_open(&e->translator, &e->model, e->dir.spm, &how, err));
    e->translator.lang = e->dir.lang.source;
    return OK;
}

/* The same number of pieces is not enough: another tokenizer's ids are other words. */
status eval_check_vocabulary(const struct dataset *data, const char *dir,
                             const struct spm *spm, int64_t vocab_size, const char *where,
                             struct err *err)
{
    const uint64_t hash = dataset_tokenizer_hash(spm_bytes(spm), spm_target_bytes(spm));

    if (data->n_target > (uint32_t)vocab_size)
        return err_set(err, ERR_FORMAT,
                       "the vocabulary of %s has %u pieces, the model %lld: they do not "
                       "match",
                       dir, data->n_target, (long long)vocab_size);
    if (data->tokenizer_hash != hash)
        return err_set(err, ERR_FORMAT,
                       "the tokenizer of %s is not that of the model in %s; prepare the "
                       "text with tokenizer=%s/vocab.model",
                       dir, where, where);
    return OK;
}

static status open_all(struct eval *e, const char *run, struct err *err)
{
    const struct device_options options = {.threads = (size_t)e->config->threads,
                                           .pin = true};
    char note[POOL_NOTE];

    TRY(model_dir_open(&e->dir, run, e->config->checkpoint, err));
    if (*e->dir.note) {
        struct progress console = progress_to(e->console);
        progress_note(&console, e->dir.note);
    }
    TRY(read_train_config(e, err));
    const char *data = *e->config->data ? e->config->data : e->train->data;
    if (!*data)
        return err_set(err, ERR_USAGE,
                       "%s does not say which data it was trained on; "
                       "give data=DIR",
                       run);
    TRY(dataset_open(&e->data, data, err));
    TRY(eval_check_vocabulary(&e->data, data, e->dir.spm, e->dir.config.vocab_size,
                              e->dir.dir, err));
    dataset_read_as(&e->data, &e->dir.config.arch);
    TRY(device_open(&e->device, e->config->device, options, err));
    if (pool_crowded(note, 1, pool_size(e->device.pool)))
        fprintf(e->console, "%s\n", note);
    TRY(model_open(&e->model, &e->device, &e->dir.config, false, err));
    TRY(model_dir_load_weights(&e->model, &e->dir, e->config->average, err));
    return open_translator(e, err);
}

static void close_all(struct eval *e)
{
    references_close(&e->more);
    translate_release(&e->out);
    translate_close(&e->translator);
    model_close(&e->model);
    device_close(&e->device);
    dataset_close(&e->data);
    model_dir_close(&e->dir);
    free(e->train);
}

static const struct dataset_set *set_of(const struct eval *e)
{
    return strcmp(e->config->set, "test") == 0 ? &e->data.test : &e->data.valid;
}

static status measure(struct eval *e, struct evaluate_result *r, struct err *err)
{
    const struct dataset_set *set = set_of(e);
    const struct evaluate_options o = {.smooth = e->train->label_smoothing,
                                       .batch_tokens = (size_t)e->train->eval_tokens,
                                       .max_length = EVALUATE_LENGTH,
                                       .group = (size_t)e->train->eval_group,
                                       .text_pairs = (size_t)e->config->pairs,
                                       .text = measures_text(&e->config->score),
                                       .more = &e->more};
    struct progress bar = progress_to(e->console);

    if (!set->is_there)
        return err_set(err, ERR_USAGE, "the data has no %s set", e->config->set);
    TRY(dataset_verify_set(set, e->config->set, err));
    TRY(references_open(&e->more, e->config->references, set->source.n, err));
    TRY(evaluate_loss(r, &e->model, set, &o, err));
    if (!e->config->bleu)
        return OK;
    progress_begin(&bar, "translating", "lines", set->source.n);
    e->translator.progress = &bar;
    const status result = evaluate_text(r, &e->out, &e->translator, set, &o, err);
    e->translator.progress = NULL;
    if (result == OK)
        progress_end(&bar, r->n_translated);
    return result;
}

static json_t *event_of(const struct eval *e, const struct evaluate_result *r)
{
    char hash[RECORD_HASH];
    const struct runlog_test test = {
        .t = clock_wall(),
        .step = (double)e->dir.step,
        .name = e->config->set,
        .loss = r->valid_loss,
        .eval_loss = r->eval_loss,
        .forced_bleu = r->forced_bleu,
        .bleu = evaluate_measure(r, METRIC_BLEU),
        .bleu_signature = r->has_text ? r->signature[METRIC_BLEU] : NULL,
        .chrf = evaluate_measure(r, METRIC_CHRF),
        .chrf_words = evaluate_measure(r, METRIC_CHRF_WORDS),
        .ter = evaluate_measure(r, METRIC_TER),
        .repeating = r->has_text ? r->repeating : (double)NAN,
        .length_ratio = r->has_text ? r->length_ratio : (double)NAN,
        .sentences = (double)r->n_pairs,
        .text_hash = record_hash(hash, dataset_text_hash(set_of(e))),
        .note = *e->dir.note ? e->dir.note : NULL};

    return journal_object(RUNLOG_KIND_TEST, &test);
}

static void print(const struct eval *e, const struct evaluate_result *r, FILE *out)
{
    char shown[FILE_PATH_MAX];

    utf8_spell(shown, sizeof shown, e->dir.prefix);
    fprintf(out, "checkpoint         %s\n", shown);
    fprintf(out, "%-18s %zu sentences, %zu target tokens\n",
            strcmp(e->config->set, "test") == 0 ? "test set" : "valid set", r->n_pairs,
            r->n_tokens);
    fprintf(out, "loss               %.4f  per token\n", r->valid_loss);
    fprintf(out, "eval_loss          %.4f  as the reference: mean of batch means\n",
            r->eval_loss);
    fprintf(out, "Eval_BLEU_Score    %.4f  as the reference: teacher-forced, on pieces\n",
            r->forced_bleu);
    eval_print_text(r, out);
}

void eval_print_text(const struct evaluate_result *r, FILE *out)
{
    if (!r->has_text)
        return;
    for (enum metric m = 0; m < N_METRIC; m++)
        fprintf(out, "%-18s %.2f   %s\n", r->name[m], r->score[m], r->signature[m]);
    fprintf(out, "repeating          %.2f %%  of the translations repeat themselves\n",
            100 * r->repeating);
    fprintf(out, "length             %.3f  characters by those of the references\n",
            r->length_ratio);
}

status eval_write(const char *path, const struct translations *t, struct err *err)
{
    struct str text = str_new(0);

    for (size_t i = 0; i < t->n_lines; i++) {
        str_puts(&text, translate_get(t, i, 0));
        str_putc(&text, '\n');
    }
    status result = str_check(&text, "the translations", err);
    THEN(result, file_write_output(path, str_text(&text), text.len, err));
    str_release(&text);
    return result;
}

status eval_at_least(const struct eval_config *c, const struct evaluate_result *r,
                     struct err *err)
{
    if (r->has_text && r->score[METRIC_BLEU] < c->at_least)
        return err_set(err, ERR_CHECK, "BLEU is %.2f, at least %.2f was asked for",
                       r->score[METRIC_BLEU], c->at_least);
    return OK;
}

static status evaluate(struct eval *e, const char *run, FILE *out, struct err *err)
{
    struct evaluate_result r = {0};

    if (*e->config->output)
        TRY(file_check_output(e->config->output, err));
    TRY(open_all(e, run, err));
    TRY(measure(e, &r, err));
    if (*e->config->output)
        TRY(eval_write(e->config->output, &e->out, err));
    json_t *event = event_of(e, &r);
    if (e->config->json) {
        json_dumpf(event, out, JSON_PRESERVE_ORDER);
        fputc('\n', out);
    } else {
        print(e, &r, out);
    }
    struct err lost = {0}; /* the run may be somebody else's, and read-only */
    if (record_append(e->dir.dir, event, &lost) != OK)
        fprintf(e->console, "not noted in the run's log: %s\n", lost.msg);
    return eval_at_least(e->config, &r, err);
}

status eval_run(const struct eval_config *c, const char *run, FILE *out, FILE *console,
                struct err *err)
{
    struct eval e = {.config = c, .console = console};

    if (packed_model_is(run) || foreign_is(run))
        return eval_packed(c, run, out, console, err);
    const status result = evaluate(&e, run, out, err);

    close_all(&e);
    return result;
}

status eval_measure(const struct eval_config *c, const char *run,
                    struct evaluate_result *r, struct err *err)
{
    struct eval e = {.config = c};
    status result = open_all(&e, run, err);

    THEN(result, measure(&e, r, err));
    close_all(&e);
    return result;
}
