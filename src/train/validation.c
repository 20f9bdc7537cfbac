/* The validation sets between two steps: measured, recorded, and judged for patience and
 * the best models. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "train/eval/evaluate.h"
#include "train/trainer.h"

enum { SAMPLE_MAX = 1024 }; /* bytes of a sentence in the log, with its NUL */

/* The whole letters of a line that fit. */
static const char *sample_text(char text[SAMPLE_MAX], struct line line)
{
    size_t shown;
    const size_t n = utf8_fit(line.text, line.n_bytes, SIZE_MAX, SAMPLE_MAX - 1, &shown);

    memcpy(text, line.text, n);
    text[n] = '\0';
    return text;
}

static status show_samples(struct trainer *t, const struct translations *out,
                           struct err *err)
{
    char source[SAMPLE_MAX], reference[SAMPLE_MAX];

    for (size_t i = 0; i < out->n_lines && i < (size_t)t->config.eval_samples; i++) {
        const struct runlog_sample sample = {
            .step = (double)t->state.step,
            .source = sample_text(source, t->data.sets.valid.source.line[i]),
            .reference = sample_text(reference, t->data.sets.valid.target.line[i]),
            .translation = translate_get(out, i, 0)};
        TRY(record_sample(&t->record, sample, err));
    }
    return OK;
}

/* ---- measuring ---- */

/* is_shown: samples of its translations go to the log. */
static status measure(struct trainer *t, struct evaluate_result *r,
                      const struct dataset_set *set, bool is_shown, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct evaluate_options o = {.smooth = c->label_smoothing,
                                       .batch_tokens = (size_t)c->eval_tokens,
                                       .max_length = EVALUATE_LENGTH,
                                       .group = (size_t)c->eval_group,
                                       .text_pairs = (size_t)c->eval_bleu_pairs,
                                       .text = measures_text(&c->score),
                                       .n_shown = is_shown ? (size_t)c->eval_samples : 0,
                                       .comm = t->peers.comm};
    struct translations out = {0};

    *r = (struct evaluate_result){0};
    status result = evaluate_loss(r, &t->model, set, &o, err);
    if (result == OK && c->eval_bleu)
        result = evaluate_text(r, &out, &t->translator, set, &o, err);
    if (is_shown)
        THEN(result, show_samples(t, &out, err));
    translate_release(&out);
    return result;
}

static status measure_valid(struct trainer *t, struct evaluate_result *r, struct err *err)
{
    const double t_start = clock_now();

    TRY(measure(t, r, &t->data.sets.valid, true, err));
    const struct runlog_eval eval = {
        .step = (double)t->state.step,
        .valid_loss = r->valid_loss,
        .eval_loss = r->eval_loss,
        .forced_bleu = r->forced_bleu,
        .bleu = evaluate_measure(r, METRIC_BLEU),
        .bleu_signature = r->has_text ? r->signature[METRIC_BLEU] : NULL,
        .chrf = evaluate_measure(r, METRIC_CHRF),
        .chrf_words = evaluate_measure(r, METRIC_CHRF_WORDS),
        .ter = evaluate_measure(r, METRIC_TER),
        .repeating = r->has_text ? r->repeating : (double)NAN,
        .length_ratio = r->has_text ? r->length_ratio : (double)NAN,
        .seconds = clock_now() - t_start};
    return record_evaluated(&t->record, eval, err);
}

static status measure_also(struct trainer *t, struct evaluate_result *r, size_t i,
                           struct err *err)
{
    const double t_start = clock_now();

    TRY(measure(t, r, &t->data.also_valid[i].valid, false, err));
    const struct runlog_valid valid = {
        .step = (double)t->state.step,
        .name = t->data.valid_list.item[i].name,
        .valid_loss = r->valid_loss,
        .bleu = evaluate_measure(r, METRIC_BLEU),
        .chrf = evaluate_measure(r, METRIC_CHRF),
        .chrf_words = evaluate_measure(r, METRIC_CHRF_WORDS),
        .ter = evaluate_measure(r, METRIC_TER),
        .repeating = r->has_text ? r->repeating : (double)NAN,
        .length_ratio = r->has_text ? r->length_ratio : (double)NAN,
        .sentences = (double)r->n_pairs,
        .seconds = clock_now() - t_start};
    return record_also_evaluated(&t->record, valid, err);
}

/* All sets; *chosen is of the one that best_set names. */
static status measure_all(struct trainer *t, struct evaluate_result *main,
                          struct evaluate_result *chosen, struct err *err)
{
    TRY(measure_valid(t, main, err));
    *chosen = *main;
    for (size_t i = 0; i < t->data.valid_list.n; i++) {
        struct evaluate_result r;
        TRY(measure_also(t, &r, i, err));
        if (strcmp(t->config.best_set, t->data.valid_list.item[i].name) == 0)
            *chosen = r;
    }
    return OK;
}

/* ---- judging ---- */

/* Best so far by this measure? Then keep this model among the best. */
static bool judge_by(struct trainer *t, struct state_best *best, unsigned m,
                     const char *kind, const struct evaluate_result *r)
{
    const double value = evaluate_measure(r, m);

    if (!isfinite(value) ||
        (best->is_there && !measures_is_better(m, value, best->value)))
        return false;
    *best = (struct state_best){true, value, t->state.step};
    saving_want_best(&t->saving, kind, value);
    return true;
}

void validation_patience(struct trainer *t)
{
    const int64_t most = t->config.patience;

    t->is_patience_used = most && t->state.evals_since_best >= most;
}

/* Loss and BLEU of the validation set have their best models, and so has the measure that
 * was chosen; patience follows this one. */
static void judge(struct trainer *t, const struct evaluate_result *main,
                  const struct evaluate_result *chosen)
{
    const char *kind = saving_kind(&t->config);
    const unsigned m = measures_find(t->config.best_metric);
    struct state *s = &t->state;

    const bool by_loss = judge_by(t, &s->loss, MEASURE_LOSS, SAVING_BEST_LOSS, main);
    const bool by_bleu = judge_by(t, &s->bleu, METRIC_BLEU, SAVING_BEST_BLEU, main);
    bool is_best = strcmp(kind, SAVING_BEST_LOSS) == 0 ? by_loss : by_bleu;
    if (strcmp(kind, SAVING_BEST) == 0)
        is_best = judge_by(t, &s->chosen, m, kind, chosen);
    s->evals_since_best = is_best ? 0 : s->evals_since_best + 1;
    validation_patience(t);
}

status validation_run(struct trainer *t, struct err *err)
{
    struct evaluate_result main, chosen;
    struct err ignored;

    if (!t->data.sets.valid.is_there || t->evaluated_at == t->state.step)
        return OK;
    t->evaluated_at = t->state.step;
    peers_phase(&t->peers, t->state.step, PHASE_EVALUATE);
    record_evaluating(&t->record);
    TRY(moving_average_swap(&t->average, t->model.flat, err));
    const status measured = measure_all(t, &main, &chosen, err);
    const status swapped =
        moving_average_swap(&t->average, t->model.flat, measured == OK ? err : &ignored);
    TRY(measured);
    TRY(swapped);
    judge(t, &main, &chosen);
    return OK;
}
