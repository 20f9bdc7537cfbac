/*
 * One optimizer update. Data moves down the page and never back up: corpus to batch to
 * device to loss to gradient to all ranks' gradient to parameters. Each call enters one
 * room. Ranks divide the pairs of an update; what each adds up, tokens and losses and
 * gradients, is summed over them before anything is divided, so that any number of ranks
 * makes the same update.
 */
#include <math.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dist/reducer.h"
#include "recipe/flops.h"
#include "train/stop.h"
#include "train/trainer.h"
#include "train/upload.h"

/* Training's view of the model: dropout on, its masks a function of seed and step. */
static struct model_run run_of(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    return (struct model_run){.drop_attention = c->attention_dropout,
                              .drop_relu = c->relu_dropout,
                              .drop_residual = c->residual_dropout,
                              .drop_key = rng_hash(rng_key((uint64_t)c->seed, "dropout"),
                                                   (uint64_t)t->state.step),
                              .smooth = c->label_smoothing,
                              .want_grad = true};
}

/* Token losses are added in double, sentence by sentence, so that the sum does not
 * depend on how an update was cut into micro-batches. */
static void add_facts(struct trainer *t, const struct batch *b, struct record_step *rec,
                      struct flops_batch *work)
{
    model_losses(&t->model, t->losses);
    for (size_t i = 0; i < b->n_tgt; i++)
        rec->loss += (double)t->losses[i];
    for (size_t s = 0; s < b->n_sents; s++)
        flops_add(work, (size_t)(b->src_at[s + 1] - b->src_at[s]),
                  (size_t)(b->tgt_at[s + 1] - b->tgt_at[s]));
    rec->n_source += b->n_src;
    rec->n_target += b->n_tgt;
    rec->n_sents += b->n_sents;
}

/* Whether a checkpoint of the state after this update may be written: then nothing of
 * the gradient may stay behind in a residual. */
static bool is_saved_next(const struct trainer *t, const struct feeder_item *item)
{
    const struct train_config *c = &t->config;
    const int64_t step = t->state.step + 1;
    const bool ends = c->max_epochs && item->after.epoch >= (uint64_t)c->max_epochs;

    return (c->save_every && step % c->save_every == 0) ||
           (c->eval_every && step % c->eval_every == 0) || step == c->max_steps || ends;
}

/* Weights follow the optimizer at once, their average slowly: the decay grows with the
 * number of updates, so that early weights are forgotten. */
static void follow_average(struct trainer *t)
{
    const double n = (double)t->state.step, young = (1 + n) / (10 + n);
    const double decay =
        young < t->config.moving_average ? young : t->config.moving_average;

    if (t->average.mem)
        t->device.k->average(&t->device, t->average, t->model.flat, decay);
}

/* What is told about finished slices of the gradient: this rank's own norm, before the
 * reducer may have it. */
struct watch {
    struct trainer *t;
    double sum; /* of squares */
};

static void on_ready(void *ctx, size_t first, size_t n)
{
    struct watch *w = ctx;
    struct device *d = &w->t->device;
    double part = 0;

    d->k->sumsq(d, &part, mat_cols(w->t->model.grad, first, n));
    w->sum += part;
    reducer_ready(w->t->reducer, first, n);
}

/* This rank's part of an update, forward and backward. The last micro-batch's backward
 * sends what it finishes. */
static status compute(struct trainer *t, struct record_step *rec,
                      struct flops_batch *work, struct watch *watch,
                      struct feeder_item *item, struct err *err)
{
    const struct model_run run = run_of(t);
    const struct model_hook hook = {on_ready, watch};
    struct clock_lap clock = clock_start();

    model_zero_grads(&t->model); /* the only place where gradients are cleared */
    do {
        TRY(feeder_next(t->feeder, item, err));
        const struct model_batch batch = upload_batch(item->batch);
        rec->t_data += clock_next(&clock);
        if (item->is_first && t->reducer)
            reducer_begin(t->reducer, t->model.grad.mem, is_saved_next(t, item));
        if (!batch.n_sents)
            break; /* fewer pairs than ranks */

        model_forward(&t->model, &batch, &run);
        rec->t_forward += clock_next(&clock);
        model_backward(&t->model, item->is_last && t->reducer ? &hook : NULL);
        add_facts(t, item->batch, rec, work);
        rec->t_backward += clock_next(&clock);
    } while (!item->is_last);
    return OK;
}

/* From one rank's gradient and facts to everybody's. */
static status exchange(struct trainer *t, struct record_step *rec, double grad_sum,
                       struct err *err)
{
    const double n = (double)rec->n_target;
    const enum saver_phase phase = t->is_saving && t->saver ? saver_phase(t->saver) : 0;
    const bool failed = phase == SAVER_WRITTEN && !saver_is_whole(t->saver);
    const struct ranks_own mine = {.mean_loss = n > 0 ? rec->loss / n : 0,
                                   .grad_norm = n > 0 ? sqrt(grad_sum) / n : 0,
                                   .n_tokens = n,
                                   .save_failed = failed};
    struct reducer_times times;

    t->sum = (struct ranks_sums){.loss = rec->loss,
                                 .n_source = (double)rec->n_source,
                                 .n_target = n,
                                 .n_sents = (double)rec->n_sents,
                                 .flops = rec->flops,
                                 .linear_flops = rec->linear_flops,
                                 .n_stop = stop_requested(),
                                 .n_written = phase == SAVER_WRITTEN,
                                 .n_failed = failed};
    if (!t->reducer)
        return OK;
    const struct reducer_facts facts = {.sum = &t->sum.loss,
                                        .n_sum = RANKS_N_SUMS,
                                        .mine = &mine.mean_loss,
                                        .n_mine = RANKS_N_OWN,
                                        .all = &t->own->mean_loss};
    TRY(reducer_finish(t->reducer, &facts, &times, err));
    rec->t_comm = times.t_exposed;
    rec->t_hidden = times.t_hidden;
    rec->loss = t->sum.loss;
    rec->n_source = (uint64_t)t->sum.n_source;
    rec->n_target = (uint64_t)t->sum.n_target;
    rec->n_sents = (uint64_t)t->sum.n_sents;
    rec->flops = t->sum.flops;
    rec->linear_flops = t->sum.linear_flops;
    return OK;
}

/* From the summed gradient to the next weights, the same on every rank. */
static status apply(struct trainer *t, struct record_step *rec, struct err *err)
{
    rec->rate = schedule_rate(&t->schedule, t->state.step);
    const struct optim_update update = {t->state.step, rec->rate, (double)rec->n_target};
    TRY(optim_step(&t->optim, t->model.flat, t->model.grad, update, &rec->grad_norm,
                   err));
    if (t->shards)
        TRY(reducer_spread(t->reducer, t->model.flat.mem, err));
    follow_average(t);
    return OK;
}

status train_step(struct trainer *t, struct record_step *rec, struct err *err)
{
    const double t_start = clock_now();
    struct watch watch = {.t = t};
    struct flops_batch work = {0};
    struct feeder_item item;

    *rec = (struct record_step){.n_steps = 1, .epoch = t->state.cursor.epoch};
    TRY(compute(t, rec, &work, &watch, &item, err));
    const struct flops flops = flops_training(&t->config.model, &work);
    rec->flops = flops_total(flops);
    rec->linear_flops = flops.linear + flops.output;
    TRY(exchange(t, rec, watch.sum, err));
    BUG_ON(rec->n_target != item.update_tgt); /* every pair of the update, once */

    struct clock_lap clock = clock_start();
    const status result = apply(t, rec, err);
    rec->t_update = clock_next(&clock);
    rec->t_step = clock.t_last - t_start;
    t->state.cursor = item.after;
    t->state.step += result == OK;
    rec->step = t->state.step;
    return result;
}
