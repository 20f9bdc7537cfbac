/*
 * One optimizer update. Data moves down the page and never back up: corpus to batch to
 * device to loss to gradient to parameters. Each call enters one room.
 */
#include "base/clock.h"
#include "base/rng.h"
#include "recipe/flops.h"
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

status train_step(struct trainer *t, struct record_step *rec, struct err *err)
{
    const struct model_run run = run_of(t);
    struct clock_lap clock = clock_start();
    const double t_start = clock.t_last;
    struct flops_batch work = {0};
    struct feeder_item item;

    *rec = (struct record_step){.n_steps = 1, .epoch = t->state.cursor.epoch};
    model_zero_grads(&t->model); /* the only place where gradients are cleared */
    do {
        TRY(feeder_next(t->feeder, &item, err));
        const struct model_batch batch = upload_batch(item.batch);
        rec->t_data += clock_next(&clock);

        model_forward(&t->model, &batch, &run);
        rec->t_forward += clock_next(&clock);
        model_backward(&t->model, NULL);
        add_facts(t, item.batch, rec, &work);
        rec->t_backward += clock_next(&clock);
    } while (!item.is_last);

    rec->rate = schedule_rate(&t->schedule, t->state.step);
    const struct optim_update update = {t->state.step, rec->rate, (double)rec->n_target};
    const status result =
        optim_step(&t->optim, t->model.flat, t->model.grad, update, &rec->grad_norm, err);
    if (result == OK)
        follow_average(t);
    rec->t_update = clock_next(&clock);
    rec->t_step = clock.t_last - t_start;
    const struct flops flops = flops_training(&t->config.model, &work);
    rec->flops = flops_total(flops);
    rec->linear_flops = flops.linear + flops.output;

    t->state.cursor = item.after;
    t->state.step += result == OK;
    rec->step = t->state.step;
    return result;
}
