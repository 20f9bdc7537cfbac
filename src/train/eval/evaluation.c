#include "train/eval/evaluation.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"

status evaluation_open(struct evaluation *e, const struct spm *spm, struct err *err)
{
    struct translate_config how;

    if (!e->config->eval_bleu || !e->set->is_there)
        return OK;
    TRY(opt_defaults(translate_config_table, &how, err));
    how.beam = e->config->eval_beam;
    return translate_open(&e->translator, e->model, spm, &how, err);
}

void evaluation_close(struct evaluation *e)
{
    translate_close(&e->translator);
}

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

static status show_samples(struct evaluation *e, const struct translations *out,
                           struct err *err)
{
    char source[SAMPLE_MAX], reference[SAMPLE_MAX];

    for (size_t i = 0; i < out->n_lines && i < (size_t)e->config->eval_samples; i++) {
        const struct runlog_sample sample = {
            .step = (double)e->state->step,
            .source = sample_text(source, e->set->source.line[i]),
            .reference = sample_text(reference, e->set->target.line[i]),
            .translation = translations_text(out, i, 0)};
        TRY(record_sample(e->record, sample, err));
    }
    return OK;
}

static status measure(struct evaluation *e, struct evaluate_result *r, struct err *err)
{
    const struct train_config *c = e->config;
    const struct evaluate_options o = {.smooth = c->label_smoothing,
                                       .batch_tokens = (size_t)c->eval_tokens,
                                       .max_length = EVALUATE_LENGTH,
                                       .group = (size_t)c->eval_group,
                                       .bleu_pairs = (size_t)c->eval_bleu_pairs,
                                       .comm = e->peers->comm};
    struct translations out = {0};

    status result = evaluate_loss(r, e->model, e->set, &o, err);
    if (result == OK && c->eval_bleu)
        result = evaluate_bleu(r, &out, &e->translator, e->set, &o, err);
    if (result == OK)
        result = show_samples(e, &out, err);
    translations_release(&out);
    return result;
}

/* Best so far by this measure? Then keep this model among the best. */
static bool judge_by(struct evaluation *e, struct state_best *best, bool by_bleu,
                     double value)
{
    const double sign = by_bleu ? 1 : -1;

    if (!isfinite(value) || (best->is_there && !(sign * value > sign * best->value)))
        return false;
    *best = (struct state_best){true, value, e->state->step};
    saving_want_best(e->saving, by_bleu, value);
    return true;
}

/* Both measures have their best models; patience follows one of them. */
static void judge(struct evaluation *e, const struct evaluate_result *r)
{
    const struct train_config *c = e->config;
    struct state *s = e->state;

    const bool by_loss = judge_by(e, &s->loss, false, r->valid_loss);
    const bool by_bleu = r->has_bleu && judge_by(e, &s->bleu, true, r->bleu);
    const bool is_best = strcmp(c->best_metric, "bleu") == 0 ? by_bleu : by_loss;
    s->evals_since_best = is_best ? 0 : s->evals_since_best + 1;
    e->is_patience_used = c->patience && s->evals_since_best >= c->patience;
}

status evaluation_run(struct evaluation *e, struct err *err)
{
    const double t_start = clock_now();
    struct evaluate_result r = {0};
    struct err ignored;

    if (!e->set->is_there || e->evaluated_at == e->state->step)
        return OK;
    e->evaluated_at = e->state->step;
    peers_phase(e->peers, e->state->step, PHASE_EVALUATE);
    record_evaluating(e->record);
    TRY(moving_average_swap(e->average, e->model->flat, err));
    const status measured = measure(e, &r, err);
    const status swapped =
        moving_average_swap(e->average, e->model->flat, measured == OK ? err : &ignored);
    TRY(measured);
    TRY(swapped);
    const struct runlog_eval eval = {.step = (double)e->state->step,
                                     .valid_loss = r.valid_loss,
                                     .eval_loss = r.eval_loss,
                                     .forced_bleu = r.forced_bleu,
                                     .bleu = r.has_bleu ? r.bleu : NAN,
                                     .bleu_signature = r.has_bleu ? r.signature : NULL,
                                     .seconds = clock_now() - t_start};
    TRY(record_evaluated(e->record, eval, err));
    judge(e, &r);
    return OK;
}
