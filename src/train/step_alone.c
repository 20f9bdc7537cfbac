/*
 * Local SGD: nodes make updates alone, and average the weights every local_steps updates.
 * All nodes count the same steps, so a skipped update counts too. What the ranks measured
 * is exchanged with the averaging.
 */
#include <math.h>

#include "base/clock.h"
#include "train/facts.h"
#include "train/step.h"

/* Updates that are not finite are skipped, so healthy nodes have finite weights. If the
 * sum is not finite, all nodes see that and end before it reaches their weights. */
static status check_change(struct trainer *t, struct err *err)
{
    char who[PEERS_TEXT_MAX] = "no rank's loss tells whose";
    double square;

    t->device.k->sumsq(&t->device, &square, t->model.grad);
    TRY(device_sync(&t->device, err));
    if (isfinite(square))
        return OK;
    (void)ranks_find_odd(t->peers.comm, t->peers.own, who, sizeof who);
    t->peers.is_agreed = true;
    return err_set(err, ERR_DEVICE,
                   "step %lld: weights that a node brought to the average are not finite "
                   "(%s); its memory, processor or network may be faulty",
                   (long long)t->state.step + 1, who);
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
    peers_phase(&t->peers, t->state.step, PHASE_EXCHANGE);
    TRY(facts_exchange(&t->peers, &t->gradients, rec, mine, err));
    (void)clock_next(&clock);
    TRY(check_change(t, err));
    TRY(local_sgd_step(&t->local, weights, change, (size_t)c->n_nodes, err));
    moving_average_follow(&t->average, weights, t->state.step,
                          t->state.step + 1 - t->local.synced_at);
    t->local.synced_at = t->state.step + 1;
    rec->t_update += clock_next(&clock);
    return OK;
}

status step_alone(struct trainer *t, struct record_step *rec,
                  const struct prefetch_item *item, double square, struct err *err)
{
    struct ranks_own mine = facts_own(rec, square, &t->saving);
    const bool is_saved = step_is_saved(t, item);
    status result = OK;

    facts_tell(&t->peers, rec, &mine, dataset_check_has_failed(&t->data.check));
    peers_phase(&t->peers, t->state.step, PHASE_EXCHANGE);
    TRY(facts_exchange(&t->peers, &t->gradients, rec, NULL, err));
    struct clock_lap clock = clock_start();
    if (item->node_tgt) /* a node without a pair has no gradient to follow */
        result = step_apply(t, rec, (double)item->node_tgt, err);
    if (result != OK && result != ERR_NUMERIC)
        return result;
    rec->skipped = result == ERR_NUMERIC;
    mine.n_skipped = rec->skipped > 0 ? (double)t->state.skipped_in_a_row + 1 : 0;
    rec->t_update += clock_next(&clock);
    t->local.is_synced = is_saved || (t->state.step + 1) % t->local.steps == 0;
    return t->local.is_synced ? average_nodes(t, rec, &mine, is_saved, err) : OK;
}
