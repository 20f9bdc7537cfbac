/*
 * One optimizer update. Data moves down the page and never back up: corpus to batch to
 * device to loss to gradient to all ranks' gradient to parameters. Each call enters one
 * room. Ranks divide the pairs of an update; what each adds up, tokens and losses and
 * gradients, is summed over them before anything is divided, so that any number of ranks
 * makes the same update.
 */
#include "train/step.h"

#include "base/clock.h"
#include "base/rng.h"
#include "train/facts.h"
#include "train/update/upload.h"

bool step_is_saved(const struct trainer *t, const struct prefetch_item *item)
{
    const struct train_config *c = &t->config;
    const int64_t step = t->state.step + 1;
    const bool ends = c->max_epochs && item->after.epoch >= (uint64_t)c->max_epochs;

    return (c->save_every && step % c->save_every == 0) ||
           (c->eval_every && step % c->eval_every == 0) || step == c->max_steps || ends ||
           t->is_signalled;
}

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
                              .loss_scale = (double)t->state.scale.scale,
                              .want_grad = true};
}

status step_apply(struct trainer *t, struct record_step *rec, double n_target,
                  struct err *err)
{
    peers_phase(&t->peers, t->state.step, PHASE_UPDATE);
    const struct optim_update update = {t->state.step, rec->rate, n_target,
                                        rec->loss_scale};
    const status result =
        optim_step(&t->optim, t->model.flat, t->model.grad, update, &rec->grad_norm, err);
    if (result == OK || result == ERR_NUMERIC)
        TRY(loss_scale_update(&t->state.scale, &t->device, t->model.grad,
                              n_target * rec->loss_scale, result == OK, err));
    if (result == OK && t->gradients.shards)
        return reducer_allgather(t->gradients.reducer, t->model.flat.mem, err);
    return result;
}

/* An update of all ranks. */
static status update_together(struct trainer *t, struct record_step *rec,
                              const struct prefetch_item *item, double square,
                              struct err *err)
{
    const struct ranks_own mine = facts_own(rec, square, &t->saving);

    if (t->gradients.reducer) {
        facts_tell(&t->peers, rec, &mine, dataset_check_has_failed(&t->data.check));
        peers_phase(&t->peers, t->state.step, PHASE_EXCHANGE);
        TRY(facts_exchange(&t->peers, &t->gradients, rec, &mine, err));
    }
    BUG_ON(rec->target_tokens !=
           (double)item->update_tgt); /* every pair of the update, once */
    struct clock_lap clock = clock_start();
    const status result = step_apply(t, rec, rec->target_tokens, err);
    if (result == OK)
        moving_average_follow(&t->average, t->model.flat, t->state.step, 1);
    rec->t_update += clock_next(&clock);
    return result;
}

status train_step(struct trainer *t, struct record_step *rec, struct err *err)
{
    const double t_start = clock_now();
    const struct model_run run = run_of(t);
    const bool is_alone = local_sgd_is_on(&t->local);
    struct clock_lap clock = clock_start();
    struct flops_batch work = {0};
    struct prefetch_item item;
    struct model_hook hook;
    double square;

    *rec = (struct record_step){.steps = 1,
                                .epoch = (double)t->state.cursor.epoch,
                                .rate = schedule_rate(&t->schedule, t->state.step),
                                .loss_scale = loss_scale_factor(&t->state.scale)};
    model_zero_grads(&t->model); /* the only place where gradients begin */
    do {
        rec->t_backward += clock_next(&clock);
        peers_phase(&t->peers, t->state.step, PHASE_DATA);
        TRY(prefetch_next(t->data.prefetch, &item, err));
        const struct model_batch batch = upload_batch(item.batch);
        rec->t_data += clock_next(&clock);
        if (item.is_first)
            gradients_begin(&t->gradients, is_alone, step_is_saved(t, &item));
        if (!batch.n_sents) { /* fewer pairs than ranks */
            model_write_zero_grads(&t->model);
            break;
        }
        peers_phase(&t->peers, t->state.step, PHASE_COMPUTE);
        model_forward(&t->model, &batch, &run);
        rec->t_forward += clock_next(&clock);
        model_backward(&t->model, item.is_last
                                      ? gradients_hook(&t->gradients, &hook, &batch)
                                      : NULL);
        facts_add(rec, &work, &t->model, t->micro.losses, item.batch);
    } while (!item.is_last);
    TRY(gradients_measure(&t->gradients, &square, err));
    rec->t_backward += clock_next(&clock);
    facts_count(rec, &t->config.model, &work);

    const status result = is_alone ? step_alone(t, rec, &item, square, err)
                                   : update_together(t, rec, &item, square, err);
    rec->t_compute = rec->t_forward + rec->t_backward;
    rec->t_step = clock_now() - t_start;
    t->state.cursor = item.after;
    t->state.step += result == OK;
    t->state.n_skipped += rec->skipped > 0;
    rec->step = (double)t->state.step;
    return result;
}
