/* A packed model, or one of another program, knows nothing of its training: the loss is
 * the plain cross entropy, without smoothing, and nothing is noted in a log. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "decode/loaded.h"
#include "decode/pairs/scorer.h"
#include "train/eval/eval_parts.h"

struct work {
    const struct eval_config *c;
    struct loaded model;
    struct dataset data;
    struct translator translator;
    struct translations found;
    struct references more;
    struct scorer *scorer;
    struct progress progress;
};

static status open_all(struct work *w, const char *path, struct err *err)
{
    const struct eval_config *c = w->c;
    struct translate_config how;

    if (*c->output)
        TRY(file_check_output(c->output, err));
    if (!*c->data)
        return err_set(err, ERR_USAGE,
                       "the model does not say which data it was trained on; give "
                       "data=DIR");
    TRY(loaded_open(&w->model, path,
                    (struct loaded_options){.checkpoint = c->checkpoint,
                                            .average = c->average,
                                            .device = c->device,
                                            .n_threads = (size_t)c->threads,
                                            .has_shortlist = true},
                    err));
    TRY(dataset_open(&w->data, c->data, err));
    TRY(eval_check_vocabulary(&w->data, c->data, w->model.spm,
                              w->model.network->config.vocab_size, path, err));
    TRY(opt_defaults(translate_config_table, &how, err));
    how.beam = c->beam;
    how.alpha = c->alpha;
    how.split = c->split;
    TRY(loaded_translator(&w->model, &w->translator, &how, NULL, err));
    return scorer_open(
        &w->scorer, w->model.network, w->model.spm,
        (struct scorer_options){w->model.kernels, (size_t)c->threads, EVALUATE_LENGTH},
        err);
}

/* Mean of -log P over tokens, some hundred pairs at a time. */
static status measure_loss(struct work *w, const struct dataset_set *set,
                           struct evaluate_result *r, struct err *err)
{
    enum { WINDOW = 512 };
    /* the S of a target is certain where the model does not see it, and not counted */
    const size_t unseen = w->model.network->config.arch.has_no_begin;
    struct scorer_ids pair[WINDOW];
    double sum = 0;

    for (uint32_t first = 0; first < set->corpus.n_pairs; first += WINDOW) {
        const uint32_t left = set->corpus.n_pairs - first;
        const uint32_t n = left < WINDOW ? left : WINDOW;
        for (uint32_t i = 0; i < n; i++) {
            const struct sentence s = corpus_source(&set->corpus, first + i);
            const struct sentence t = corpus_target(&set->corpus, first + i);
            pair[i] = (struct scorer_ids){s.token, t.token, s.len, t.len};
        }
        TRY(scorer_run_ids(w->scorer, pair, n, err));
        for (uint32_t i = 0; i < n; i++) {
            const struct scorer_pair p = scorer_get(w->scorer, i);
            sum -= p.sum;
            r->n_tokens += p.n - unseen;
        }
    }
    r->n_pairs = set->corpus.n_pairs;
    r->valid_loss = sum / (double)r->n_tokens;
    return OK;
}

static status measure(struct work *w, struct evaluate_result *r, struct err *err)
{
    const bool is_test = strcmp(w->c->set, "test") == 0;
    const struct dataset_set *set = is_test ? &w->data.test : &w->data.valid;
    const struct evaluate_options o = {.text_pairs = (size_t)w->c->pairs,
                                       .text = measures_text(&w->c->score),
                                       .more = &w->more};

    if (!set->is_there || !set->corpus.n_pairs)
        return err_set(err, ERR_USAGE, "the data has no %s set", w->c->set);
    TRY(dataset_verify_set(set, w->c->set, err));
    TRY(references_open(&w->more, w->c->references, set->source.n, err));
    TRY(measure_loss(w, set, r, err));
    if (!w->c->bleu)
        return OK;
    progress_begin(&w->progress, "translating", "lines", set->source.n);
    w->translator.progress = &w->progress;
    TRY(evaluate_text(r, &w->found, &w->translator, set, &o, err));
    progress_end(&w->progress, r->n_translated);
    return OK;
}

/* With the keys of a run's `test` entry, but for cross_entropy, which is not in it. */
static void print_json(const struct work *w, const struct evaluate_result *r, FILE *out)
{
    json_auto_t *line = json_pack("{s:s, s:i, s:f}", "name", w->c->set, "sentences",
                                  (int)r->n_pairs, "cross_entropy", r->valid_loss);
    if (r->has_text) {
        json_auto_t *text = json_pack(
            "{s:f, s:s, s:f, s:f, s:f, s:f, s:f}", "bleu", r->score[METRIC_BLEU],
            "bleu_signature", r->signature[METRIC_BLEU], "chrf", r->score[METRIC_CHRF],
            "chrf_words", r->score[METRIC_CHRF_WORDS], "ter", r->score[METRIC_TER],
            "repeating", r->repeating, "length_ratio", r->length_ratio);
        json_object_update(line, text);
    }
    json_dumpf(line, out, JSON_PRESERVE_ORDER);
    fputc('\n', out);
}

static void print(const struct work *w, const struct evaluate_result *r, FILE *out)
{
    if (w->c->json) {
        print_json(w, r, out);
        return;
    }
    fprintf(out, "%-18s %zu sentences, %zu target tokens\n",
            strcmp(w->c->set, "test") == 0 ? "test set" : "valid set", r->n_pairs,
            r->n_tokens);
    fprintf(out, "cross entropy      %.4f  per token, without smoothing\n",
            r->valid_loss);
    eval_print_text(r, out);
}

static status run(struct work *w, const char *path, FILE *out, struct err *err)
{
    struct evaluate_result r = {0};

    TRY(open_all(w, path, err));
    TRY(measure(w, &r, err));
    if (*w->c->output && w->c->bleu)
        TRY(eval_write(w->c->output, &w->found, err));
    print(w, &r, out);
    return eval_at_least(w->c, &r, err);
}

status eval_packed(const struct eval_config *c, const char *path, FILE *out,
                   FILE *console, struct err *err)
{
    struct work w = {.c = c, .progress = progress_to(console)};
    const status result = run(&w, path, out, err);

    scorer_close(w.scorer);
    references_close(&w.more);
    translate_release(&w.found);
    translate_close(&w.translator);
    dataset_close(&w.data);
    loaded_close(&w.model);
    return result;
}
