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
#include "dist/exchange/embed_rows.h"
#include "dist/exchange/reducer.h"
#include "recipe/flops.h"
#include "train/run/stop.h"
#include "train/trainer.h"
#include "train/update/upload.h"

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
    rec->source_tokens += (double)b->n_src;
    rec->target_tokens += (double)b->n_tgt;
    rec->sentences += (double)b->n_sents;
}

/* Whether a checkpoint of the state after this update may be written: then nothing of
 * the gradient may stay behind in a residual. */
static bool is_saved_next(const struct trainer *t, const struct prefetch_item *item)
{
    const struct train_config *c = &t->config;
    const int64_t step = t->state.step + 1;
    const bool ends = c->max_epochs && item->after.epoch >= (uint64_t)c->max_epochs;

    return (c->save_every && step % c->save_every == 0) ||
           (c->eval_every && step % c->eval_every == 0) || step == c->max_steps || ends ||
           t->is_told;
}

/* Weights follow the optimizer at once, their average slowly: the decay grows with the
 * number of updates, so that early weights are forgotten. It is the decay of one update,
 * of which n_updates have passed. */
static void follow_average(struct trainer *t, int64_t n_updates)
{
    const double n = (double)t->state.step, young = (1 + n) / (10 + n);
    const double decay =
        young < t->config.moving_average ? young : t->config.moving_average;

    if (t->average.mem)
        t->device.k->average(&t->device, t->average, t->model.flat,
                             n_updates == 1 ? decay : pow(decay, (double)n_updates));
}

/* The gradient where the network finds it: on NVIDIA cards where it lies, otherwise a
 * GPU's comes to the host, slice by slice. */
static float *seen_by_network(struct trainer *t)
{
    return t->mirror ? t->mirror : t->model.grad.mem;
}

static void fetch_slice(struct trainer *t, size_t first, size_t n)
{
    if (t->mirror)
        device_download(&t->device, t->mirror + first, mat_cols(t->model.grad, first, n));
}

/* Rows of the embedding that this batch does not touch can be reduced before backward
 * finishes. NULL when the gradient is not in the host's memory. */
static struct embed_rows *early_rows(struct trainer *t)
{
    return t->mirror ? NULL : reducer_embed_rows(t->reducer);
}

/* Backward writes the rows that these sentences name; the output layer is through with
 * all of them. */
static void mark_rows(struct trainer *t, const struct batch *b)
{
    struct embed_rows *rows = early_rows(t);

    if (!rows)
        return;
    embed_rows_mark_none(rows);
    embed_rows_mark(rows, b->src_id, b->n_src);
    embed_rows_mark(rows, b->tgt_in, b->n_tgt);
    t->device.k->sumsq(&t->device, &t->early_sq,
                       mat_cols(t->model.grad, rows->first, rows->n_rows * rows->stride));
    t->early_sq -= embed_rows_square(rows, t->model.grad.mem);
}

/* A finished slice of the gradient: this rank's own part of its norm, before the reducer
 * may have it. */
static void on_ready(void *trainer, size_t first, size_t n)
{
    struct trainer *t = trainer;
    struct device *d = &t->device;
    const struct embed_rows *rows = early_rows(t);
    double *sq = &t->slice_sq[t->n_slices++];

    BUG_ON(t->n_slices > t->most_slices);
    if (rows && rows->first == first)
        *sq = t->early_sq + embed_rows_square(rows, t->model.grad.mem);
    else
        d->k->sumsq(d, sq, mat_cols(t->model.grad, first, n));
    fetch_slice(t, first, n);
    reducer_ready(t->reducer, first, n);
}

/* The sum of squares of this rank's own gradient. */
static double own_square(const struct trainer *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->n_slices; i++)
        sum += t->slice_sq[i];
    return sum;
}

static void begin_exchange(struct trainer *t, const struct prefetch_item *item)
{
    t->n_slices = 0;
    if (train_is_local(t))
        reducer_begin_node(t->reducer, seen_by_network(t));
    else
        reducer_begin(t->reducer, seen_by_network(t), is_saved_next(t, item));
}

/* This rank's part of an update, forward and backward. The last micro-batch's backward
 * sends what it finishes. */
static status compute(struct trainer *t, struct record_step *rec,
                      struct flops_batch *work, struct prefetch_item *item,
                      struct err *err)
{
    const struct model_run run = run_of(t);
    const struct model_hook hook = {on_ready, t};
    struct clock_lap clock = clock_start();

    model_zero_grads(&t->model); /* the only place where gradients begin */
    rec->t_backward += clock_next(&clock);
    do {
        train_phase(t, PHASE_DATA);
        TRY(prefetch_next(t->prefetch, item, err));
        const struct model_batch batch = upload_batch(item->batch);
        rec->t_data += clock_next(&clock);
        if (item->is_first && t->reducer)
            begin_exchange(t, item);
        if (!batch.n_sents) { /* fewer pairs than ranks */
            model_write_zero_grads(&t->model);
            break;
        }

        train_phase(t, PHASE_COMPUTE);
        model_forward(&t->model, &batch, &run);
        rec->t_forward += clock_next(&clock);
        if (item->is_last && t->reducer)
            mark_rows(t, item->batch);
        model_backward(&t->model, item->is_last && t->reducer ? &hook : NULL);
        add_facts(t, item->batch, rec, work);
        rec->t_backward += clock_next(&clock);
    } while (!item->is_last);
    if (!t->reducer)
        return OK;
    if (!t->n_slices)
        fetch_slice(t, 0, t->model.grad.cols); /* zeros: no hook has been called */
    TRY(device_sync(&t->device, err));         /* brings the norms of slices */
    rec->t_backward += clock_next(&clock);
    return OK;
}

/* What this rank tells the others. */
static struct ranks_own own_facts(const struct trainer *t, const struct record_step *rec)
{
    const double n = rec->target_tokens;
    const bool has_written =
        t->is_saving && t->saver && saver_phase(t->saver) == SAVER_WRITTEN;

    return (struct ranks_own){.mean_loss = n > 0 ? rec->loss / n : 0,
                              .grad_norm =
                                  n > 0 ? sqrt(own_square(t)) / n / rec->loss_scale : 0,
                              .n_tokens = n,
                              .has_written = has_written,
                              .save_failed = has_written && !saver_is_whole(t->saver)};
}

static void add_sums(struct trainer *t, const struct record_step *rec,
                     const struct ranks_own *mine)
{
    struct ranks_sums *sum = &t->apart;

    record_add_sums(sum->of_step, rec);
    sum->n_stop = stop_requested();
    sum->n_damaged = dataset_check_has_failed(&t->check);
    sum->n_written = mine->has_written;
}

static status finish_exchange(struct trainer *t, struct record_step *rec,
                              const struct reducer_facts *facts, struct err *err)
{
    struct reducer_times times;

    train_phase(t, PHASE_EXCHANGE);
    TRY(reducer_finish(t->reducer, facts, &times, err));
    if (t->mirror)
        device_upload(&t->device, t->model.grad, t->mirror);
    rec->t_comm += times.t_exposed;
    rec->t_hidden += times.t_hidden;
    return OK;
}

/* The sum of what t->apart holds on every rank in t->sum, and of each its own. */
static status meet(struct trainer *t, struct record_step *rec,
                   const struct ranks_own *mine, struct err *err)
{
    t->sum = t->apart;
    t->apart = (struct ranks_sums){0};
    const struct reducer_facts facts = {.sum = t->sum.of_step,
                                        .n_sum = RANKS_N_SUMS,
                                        .mine = &mine->mean_loss,
                                        .n_mine = RANKS_N_OWN,
                                        .all = &t->own->mean_loss};
    TRY(finish_exchange(t, rec, &facts, err));
    /* the update's record is that of all ranks, as if one had made it */
    record_take_sums(rec, t->sum.of_step);
    return OK;
}

/* The next update's factor of the loss. A skipped update leaves err as it is. */
static status follow_scale(struct trainer *t, const struct record_step *rec,
                           double n_target, bool is_finite, struct err *err)
{
    double max = is_finite ? 1 : (double)INFINITY;

    if (is_finite && t->state.scale.rule == LOSS_SCALE_LOGMAX) {
        t->device.k->maxabs(&t->device, &max, t->model.grad);
        TRY(device_sync(&t->device, err));
        max /= n_target * rec->loss_scale;
    }
    loss_scale_follow(&t->state.scale, max);
    return OK;
}

/* From the summed gradient to the next weights, the same on every rank that added. */
static status apply(struct trainer *t, struct record_step *rec, double n_target,
                    struct err *err)
{
    train_phase(t, PHASE_UPDATE);
    rec->rate = schedule_rate(&t->schedule, t->state.step);
    const struct optim_update update = {t->state.step, rec->rate, n_target,
                                        rec->loss_scale};
    const status result =
        optim_step(&t->optim, t->model.flat, t->model.grad, update, &rec->grad_norm, err);
    if (result == OK || result == ERR_NUMERIC)
        TRY(follow_scale(t, rec, n_target, result == OK, err));
    if (result != OK)
        return result;
    if (t->shards)
        TRY(reducer_spread(t->reducer, t->model.flat.mem, err));
    return OK;
}

/* One update of all ranks together. */
static status update_together(struct trainer *t, struct record_step *rec,
                              const struct prefetch_item *item, struct err *err)
{
    const struct ranks_own mine = own_facts(t, rec);

    add_sums(t, rec, &mine);
    if (t->reducer)
        TRY(meet(t, rec, &mine, err));
    else
        t->apart = (struct ranks_sums){0};
    BUG_ON(rec->target_tokens !=
           (double)item->update_tgt); /* every pair of the update, once */
    struct clock_lap clock = clock_start();
    const status result = apply(t, rec, rec->target_tokens, err);
    if (result == OK)
        follow_average(t, 1);
    rec->t_update += clock_next(&clock);
    return result;
}

/* Gradients that are not finite are left out, so weights stay finite where all is well;
 * otherwise all nodes see the same sum and end before it is in theirs. */
static status check_change(struct trainer *t, struct err *err)
{
    char who[256] = "no rank's loss tells whose";
    double square;

    t->device.k->sumsq(&t->device, &square, t->model.grad);
    TRY(device_sync(&t->device, err));
    if (isfinite(square))
        return OK;
    (void)ranks_find_odd(t->comm, t->own, who, sizeof who);
    t->is_agreed = true;
    return err_set(err, ERR_DEVICE,
                   "step %lld: weights that a node brought to the meeting are not finite "
                   "(%s); its memory, processor or network may be faulty",
                   (long long)t->state.step + 1, who);
}

/* Nodes have trained alone; now all begin again from the same weights. */
static status average(struct trainer *t, struct record_step *rec,
                      const struct ranks_own *mine, bool is_flush, struct err *err)
{
    struct clock_lap clock = clock_start();

    TRY(local_sgd_change(&t->local, t->model.grad, t->model.flat,
                         t->comm->local_rank == 0, err));
    rec->t_update += clock_next(&clock);
    fetch_slice(t, 0, t->model.grad.cols);
    reducer_begin(t->reducer, seen_by_network(t), is_flush);
    TRY(meet(t, rec, mine, err));
    (void)clock_next(&clock);
    TRY(check_change(t, err));
    TRY(local_sgd_step(&t->local, t->model.flat, t->model.grad, (size_t)t->comm->n_nodes,
                       err));
    follow_average(t, t->state.step + 1 - t->met_at);
    t->met_at = t->state.step + 1;
    rec->t_update += clock_next(&clock);
    return OK;
}

/*
 * One update of a node alone. Nodes must stay in step, so one that has to leave out an
 * update counts it all the same. What the ranks did becomes known when the nodes meet.
 */
static status update_apart(struct trainer *t, struct record_step *rec,
                           const struct prefetch_item *item, struct err *err)
{
    struct ranks_own mine = own_facts(t, rec);
    const bool is_saved = is_saved_next(t, item);
    struct clock_lap clock;

    add_sums(t, rec, &mine);
    record_take_sums(rec, (const double[RECORD_SUMS]){0});
    TRY(finish_exchange(t, rec, NULL, err));
    clock = clock_start();
    const status result = apply(t, rec, (double)item->node_tgt, err);
    if (result != OK && result != ERR_NUMERIC)
        return result;
    rec->skipped = result == ERR_NUMERIC;
    mine.n_skipped = rec->skipped > 0 ? (double)t->state.skipped_in_a_row + 1 : 0;
    rec->t_update += clock_next(&clock);
    t->is_synced = is_saved || (t->state.step + 1) % t->config.local_steps == 0;
    return t->is_synced ? average(t, rec, &mine, is_saved, err) : OK;
}

status train_step(struct trainer *t, struct record_step *rec, struct err *err)
{
    const double t_start = clock_now();
    struct flops_batch work = {0};
    struct prefetch_item item;

    *rec = (struct record_step){
        .steps = 1,
        .epoch = (double)t->state.cursor.epoch,
        .loss_scale = t->state.scale.scale > 0 ? (double)t->state.scale.scale : 1};
    TRY(compute(t, rec, &work, &item, err));
    const struct flops flops = flops_training(&t->config.model, &work);
    rec->flops = flops_total(flops);
    rec->linear_flops = flops.linear + flops.output;

    const status result = train_is_local(t) ? update_apart(t, rec, &item, err)
                                            : update_together(t, rec, &item, err);
    rec->t_compute = rec->t_forward + rec->t_backward;
    rec->t_step = clock_now() - t_start;
    t->state.cursor = item.after;
    t->state.step += result == OK;
    t->state.n_skipped += rec->skipped > 0;
    rec->step = (double)t->state.step;
    return result;
}
