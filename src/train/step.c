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
#include "recipe/flops.h"
#include "train/trainer.h"
#include "train/update/layer_drop.h"

/* Whether a checkpoint of the state after this update is due: then nothing of the
 * gradient may stay behind in a residual. */
static bool is_saved_after(const struct trainer *t, const struct prefetch_item *item)
{
    const struct train_config *c = &t->config;
    const int64_t step = t->state.step + 1;
    const bool ends = c->max_epochs && item->after.epoch >= (uint64_t)c->max_epochs;

    return (c->save_every && step % c->save_every == 0) ||
           (c->eval_every && step % c->eval_every == 0) || step == c->max_steps || ends;
}

/* What is in the loss of two views of a pair: docs/quality.md. */
static struct views views_of(const struct train_config *c)
{
    if (c->simcut > 0)
        return (struct views){{1, 0}, {c->simcut, 0}};
    if (c->rdrop > 0)
        return (struct views){{0.5, 0.5}, {c->rdrop / 4, c->rdrop / 4}};
    return (struct views){0};
}

static struct inputs_rule inputs_of(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    return (struct inputs_rule){.word_dropout = c->word_dropout,
                                .cut = c->simcut > 0 ? c->simcut_rate : 0,
                                .has_views = train_config_has_views(c),
                                .seed = (uint64_t)c->seed,
                                .step = (uint64_t)t->state.step};
}

/* Training's view of the model: dropout on, its masks a function of seed and step. */
static struct model_run run_of(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    const uint64_t seed = (uint64_t)c->seed, step = (uint64_t)t->state.step;
    const struct layer_drop drop = {seed, step, c->layer_drop};

    return (struct model_run){
        .drop_attention = c->attention_dropout,
        .drop_relu = c->relu_dropout,
        .drop_residual = c->residual_dropout,
        .drop_key = rng_hash(rng_key(seed, "dropout"), step),
        .left_out = {layer_drop_mask(drop, "encoder", c->model.encoder_layers),
                     layer_drop_mask(drop, "decoder", c->model.decoder_layers)},
        .smooth = c->label_smoothing,
        .has_prior = train_config_has_prior(c),
        .views = views_of(c),
        .loss_scale = (double)t->state.scale.scale,
        .want_grad = true};
}

/* From the gradient of n_target tokens, each as often as its pair counts, to the next
 * weights. */
static status apply(struct trainer *t, struct record_step *rec, double n_target,
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
    if (result == OK && t->optim.shards)
        return reducer_allgather(t->gradients.reducer, t->model.flat.mem, err);
    return result;
}

/* Token losses are added in double, sentence by sentence, so that the sum does not
 * depend on how an update was cut into micro-batches. Tokens count once and arithmetic
 * as often as there are views. */
static void add_batch(struct trainer *t, struct record_step *rec,
                      struct flops_batch *work, const struct batch *b)
{
    const int n_views = train_config_has_views(&t->config) ? 2 : 1;
    const float *loss = t->micro.losses, *gap = loss + b->n_tgt;

    model_losses(&t->model, t->micro.losses);
    for (size_t i = 0; i < b->n_tgt; i++) {
        rec->loss += (double)loss[i];
        rec->disagreement += n_views == 2 ? (double)gap[i] : 0;
    }
    for (size_t s = 0; s < b->n_sents; s++) {
        const size_t n_tgt = (size_t)(b->tgt_at[s + 1] - b->tgt_at[s]);
        rec->target_weight += (b->weight ? (double)b->weight[s] : 1) * (double)n_tgt;
        for (int v = 0; v < n_views; v++)
            flops_add(work, (size_t)(b->src_at[s + 1] - b->src_at[s]), n_tgt);
    }
    rec->source_tokens += (double)b->n_src;
    rec->target_tokens += (double)b->n_tgt;
    rec->sentences += (double)b->n_sents;
    rec->pairs += batch_hash(b, (uint64_t)t->state.step);
}

/* Of the layers that the update has. */
static struct flops flops_of(const struct trainer *t, const struct model_run *run,
                             const struct flops_batch *work)
{
    struct model_config c = t->config.model;

    c.encoder_layers -= __builtin_popcountll(run->left_out[STACK_ENCODER]);
    c.decoder_layers -= __builtin_popcountll(run->left_out[STACK_DECODER]);
    return flops_training(&c, work);
}

/* What this rank tells the others of its update; square: of its gradient. It is added to
 * what waits for the next exchange. */
static struct ranks_own tell_ranks(struct trainer *t, const struct record_step *rec,
                                   double square)
{
    const double n = rec->target_tokens, weight = rec->target_weight;
    struct ranks_sums *sum = &t->peers.mine;
    bool failed;
    const bool has_written = saving_has_written(&t->saving, &failed);

    record_add_sums(sum->of_step, rec);
    sum->n_stop = trainer_is_to_stop();
    sum->n_lost = trainer_has_lost(t);
    sum->n_written = has_written;
    sum->pairs[0] += (double)(rec->pairs & UINT32_MAX);
    sum->pairs[1] += (double)(rec->pairs >> 32);
    return (struct ranks_own){.mean_loss = n > 0 ? rec->loss / n : 0,
                              .grad_norm =
                                  n > 0 ? sqrt(square) / weight / rec->loss_scale : 0,
                              .n_tokens = n,
                              .save_failed = failed};
}

/* Finish the exchange of gradients. With `mine` the facts travel too, and rec becomes the
 * record of all ranks; of nodes that train alone nothing is known until they do. */
static status exchange(struct trainer *t, struct record_step *rec,
                       const struct ranks_own *mine, struct err *err)
{
    struct peers *p = &t->peers;
    struct ranks_sums sum = mine ? p->mine : (struct ranks_sums){0};
    struct ranks_most most = mine ? ranks_most_of(p->comm, mine) : (struct ranks_most){0};
    const struct reducer_facts facts = {.sum = sum.of_step,
                                        .n_sum = RANKS_N_SUMS,
                                        .most = &most.loss,
                                        .n_most = RANKS_N_MOST};
    struct reducer_times times;

    peers_phase(p, t->state.step, PHASE_EXCHANGE);
    TRY(gradients_finish(&t->gradients, mine ? &facts : NULL, &times, err));
    rec->t_comm += times.t_exposed;
    rec->t_hidden += times.t_hidden;
    record_take_sums(rec, sum.of_step);
    rec->pairs = (uint64_t)sum.pairs[0] + ((uint64_t)sum.pairs[1] << 32);
    if (mine) {
        p->sum = sum;
        p->most = most;
        p->own = *mine;
        p->mine = (struct ranks_sums){0};
    }
    return OK;
}

/* An update of all ranks. */
static status update_together(struct trainer *t, struct record_step *rec,
                              const struct prefetch_item *item, double square,
                              struct err *err)
{
    if (t->gradients.reducer) {
        const struct ranks_own mine = tell_ranks(t, rec, square);
        TRY(exchange(t, rec, &mine, err));
    }
    BUG_ON(rec->sentences !=
           (double)item->update_pairs); /* every pair of the update, once */
    struct clock_lap clock = clock_start();
    if (layer_gradients_are_due(&t->layers, t->state.step + 1))
        TRY(layer_gradients_take(&t->layers, &t->device, t->model.grad,
                                 rec->target_weight * rec->loss_scale, err));
    const status result = apply(t, rec, rec->target_weight, err);
    if (result == OK)
        moving_average_follow(&t->average, t->model.flat, t->state.step, 1);
    rec->t_update += clock_next(&clock);
    return result;
}

/* Updates that are not finite are skipped, so healthy nodes have finite weights. If the
 * sum is not finite, all nodes see that and end before it reaches their weights. */
static status check_change(struct trainer *t, struct err *err)
{
    char who[PEERS_TEXT_MAX];
    double square;

    t->device.k->sumsq(&t->device, &square, t->model.grad);
    TRY(device_sync(&t->device, err));
    if (isfinite(square))
        return OK;
    TRY(peers_find_odd(&t->peers, who, err));
    t->peers.is_agreed = true;
    return err_set(err, ERR_DEVICE,
                   "step %lld: weights that a node brought to the average are not finite "
                   "(%s); its memory, processor or network may be faulty",
                   (long long)t->state.step + 1,
                   who[0] ? who : "no rank's loss tells whose");
}

/* All nodes go on from the same weights. */
static status average_nodes(struct trainer *t, struct record_step *rec,
                            const struct ranks_own *mine, bool is_flush, struct err *err)
{
    const struct comm *c = t->peers.comm;
    const struct mat weights = t->model.flat, change = t->model.grad;
    struct clock_lap clock = clock_start();

    TRY(local_sgd_change(&t->local, change, weights, c->local_rank == 0, err));
    rec->t_update += clock_next(&clock);
    gradients_send(&t->gradients, is_flush);
    TRY(exchange(t, rec, mine, err));
    (void)clock_next(&clock);
    TRY(check_change(t, err));
    TRY(local_sgd_step(&t->local, weights, change, (size_t)c->n_nodes, err));
    moving_average_follow(&t->average, weights, t->state.step,
                          t->state.step + 1 - t->local.synced_at);
    t->local.synced_at = t->state.step + 1;
    rec->t_update += clock_next(&clock);
    return OK;
}

/*
 * Local SGD: an update of this node alone, after which it may be time to average. All
 * nodes count the same steps, so a skipped update counts too. What the ranks measured is
 * exchanged with the averaging.
 */
static status update_alone(struct trainer *t, struct record_step *rec,
                           const struct prefetch_item *item, double square,
                           struct err *err)
{
    struct ranks_own mine = tell_ranks(t, rec, square);
    const bool is_saved = is_saved_after(t, item);
    status result = OK;

    TRY(exchange(t, rec, NULL, err));
    struct clock_lap clock = clock_start();
    if (item->node_tgt) /* a node without a pair has no gradient to follow */
        result = apply(t, rec, item->node_weight, err);
    if (result != OK && result != ERR_NUMERIC)
        return result;
    rec->skipped = result == ERR_NUMERIC;
    mine.n_skipped = rec->skipped > 0 ? (double)t->state.skipped_in_a_row + 1 : 0;
    rec->t_update += clock_next(&clock);
    t->local.is_synced = is_saved || (t->state.step + 1) % t->local.steps == 0;
    return t->local.is_synced ? average_nodes(t, rec, &mine, is_saved, err) : OK;
}

status train_step(struct trainer *t, struct record_step *rec, struct err *err)
{
    const double t_start = clock_now();
    const struct model_run run = run_of(t);
    const struct inputs_rule rule = inputs_of(t);
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
        struct model_batch batch;
        TRY(inputs_show(&t->inputs, &batch, &rule, item.batch, err));
        rec->t_data += clock_next(&clock);
        if (item.is_first)
            gradients_begin(&t->gradients, is_alone, is_saved_after(t, &item));
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
        add_batch(t, rec, &work, item.batch);
    } while (!item.is_last);
    TRY(gradients_measure(&t->gradients, &square, err));
    rec->t_backward += clock_next(&clock);
    const struct flops flops = flops_of(t, &run, &work);
    rec->flops = flops_total(flops);
    rec->linear_flops = flops.linear + flops.output;

    const status result = is_alone ? update_alone(t, rec, &item, square, err)
                                   : update_together(t, rec, &item, square, err);
    rec->t_compute = rec->t_forward + rec->t_backward;
    rec->t_step = clock_now() - t_start;
    t->state.cursor = item.after;
    t->state.step += result == OK;
    t->state.n_skipped += rec->skipped > 0;
    t->state.pairs_hash += result == OK ? rec->pairs : 0;
    rec->pairs_hash = t->state.pairs_hash;
    rec->step = (double)t->state.step;
    return result;
}
