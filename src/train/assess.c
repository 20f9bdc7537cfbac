/*
 * An evaluation of a run: the validation set measured with the weights or their average,
 * recorded, and judged: is it the best so far?
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "train/eval/evaluate.h"
#include "train/trainer.h"

/*
 * Exchange the weights with their average, for an evaluation and back again. The bytes
 * go through the host in pieces, so that no third copy of the weights is needed.
 */
static status swap_average(struct trainer *t, struct err *err)
{
    enum { PIECE = 1 << 20 };
    const size_t n = t->model.flat.cols, bytes = t->device.real_bytes;
    char *a;

    if (!t->average.mem)
        return OK;
    TRY(mem_alloc(&a, (size_t)2 * PIECE, bytes, err));
    for (size_t at = 0; at < n; at += PIECE) {
        const size_t k = n - at < PIECE ? n - at : PIECE;
        const struct mat w = mat_cols(t->model.flat, at, k);
        const struct mat v = mat_cols(t->average, at, k);
        device_download(&t->device, a, w);
        device_download(&t->device, a + PIECE * bytes, v);
        device_upload(&t->device, w, a + PIECE * bytes);
        device_upload(&t->device, v, a);
    }
    free(a);
    return OK;
}

static status show_samples(struct trainer *t, const struct translations *out,
                           struct err *err)
{
    const struct dataset_set *set = &t->data.valid;

    for (size_t i = 0; i < out->n_lines && i < (size_t)t->config.eval_samples; i++) {
        char source[1024], reference[1024];
        snprintf(source, sizeof source, "%.*s", (int)set->source.line[i].n_bytes,
                 set->source.line[i].text);
        snprintf(reference, sizeof reference, "%.*s", (int)set->target.line[i].n_bytes,
                 set->target.line[i].text);
        const struct runlog_sample sample = {.step = (double)t->state.step,
                                             .source = source,
                                             .reference = reference,
                                             .translation = translations_text(out, i, 0)};
        TRY(record_sample(&t->record, sample, err));
    }
    return OK;
}

static status measure(struct trainer *t, struct evaluate_result *r, struct err *err)
{
    const struct train_config *c = &t->config;
    const struct evaluate_options o = {.smooth = c->label_smoothing,
                                       .batch_tokens = (size_t)c->eval_tokens,
                                       .max_length = EVALUATE_LENGTH,
                                       .group = (size_t)c->eval_group,
                                       .bleu_pairs = (size_t)c->eval_bleu_pairs,
                                       .comm = t->comm};
    struct translations out = {0};

    status result = evaluate_loss(r, &t->model, &t->data.valid, &o, err);
    if (result == OK && c->eval_bleu)
        result = evaluate_bleu(r, &out, &t->translator, &t->data.valid, &o, err);
    if (result == OK)
        result = show_samples(t, &out, err);
    translations_release(&out);
    return result;
}

static bool is_better(const struct state_best *best, double value, double sign)
{
    return isfinite(value) && (!best->is_there || sign * value > sign * best->value);
}

/* Best so far by this measure? Then keep this model among the best. */
static bool judge_by(struct trainer *t, struct state_best *best, bool by_bleu,
                     double value)
{
    if (!is_better(best, value, by_bleu ? 1 : -1))
        return false;
    *best = (struct state_best){true, value, t->state.step};
    train_save_want_best(t, by_bleu, value);
    return true;
}

/* Both measures have their best models; patience follows one of them. */
static void judge(struct trainer *t, const struct evaluate_result *r)
{
    struct state *s = &t->state;

    const bool by_loss = judge_by(t, &s->loss, false, r->valid_loss);
    const bool by_bleu = r->has_bleu && judge_by(t, &s->bleu, true, r->bleu);
    const bool is_best = strcmp(t->config.best_metric, "bleu") == 0 ? by_bleu : by_loss;
    s->evals_since_best = is_best ? 0 : s->evals_since_best + 1;
    t->wants_stop = t->config.patience && s->evals_since_best >= t->config.patience;
}

status train_assess(struct trainer *t, struct err *err)
{
    const double t_start = clock_now();
    struct evaluate_result r = {0};

    if (!t->data.valid.is_there || t->evaluated_at == t->state.step)
        return OK;
    t->evaluated_at = t->state.step;
    train_phase(t, PHASE_EVALUATE);
    record_evaluating(&t->record);
    TRY(swap_average(t, err));
    const status measured = measure(t, &r, err);
    struct err ignored;
    if (swap_average(t, measured == OK ? err : &ignored) != OK || measured != OK)
        return measured == OK ? err->code : measured;
    const struct runlog_eval e = {.step = (double)t->state.step,
                                  .valid_loss = r.valid_loss,
                                  .eval_loss = r.eval_loss,
                                  .forced_bleu = r.forced_bleu,
                                  .bleu = r.has_bleu ? r.bleu : NAN,
                                  .bleu_signature = r.has_bleu ? r.signature : NULL,
                                  .seconds = clock_now() - t_start};
    TRY(record_evaluated(&t->record, e, err));
    judge(t, &r);
    return OK;
}
