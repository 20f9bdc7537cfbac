#include "train/facts.h"

#include <math.h>

#include "train/run/stop.h"

/* Token losses are added in double, sentence by sentence, so that the sum does not
 * depend on how an update was cut into micro-batches. */
void facts_add(struct record_step *rec, struct flops_batch *work, struct model *m,
               float *losses, const struct batch *b)
{
    model_losses(m, losses);
    for (size_t i = 0; i < b->n_tgt; i++)
        rec->loss += (double)losses[i];
    for (size_t s = 0; s < b->n_sents; s++)
        flops_add(work, (size_t)(b->src_at[s + 1] - b->src_at[s]),
                  (size_t)(b->tgt_at[s + 1] - b->tgt_at[s]));
    rec->source_tokens += (double)b->n_src;
    rec->target_tokens += (double)b->n_tgt;
    rec->sentences += (double)b->n_sents;
}

void facts_count(struct record_step *rec, const struct model_config *c,
                 const struct flops_batch *work)
{
    const struct flops flops = flops_training(c, work);

    rec->flops = flops_total(flops);
    rec->linear_flops = flops.linear + flops.output;
}

struct ranks_own facts_own(const struct record_step *rec, double square,
                           const struct saving *saving)
{
    const double n = rec->target_tokens;
    bool failed;
    const bool has_written = saving_has_written(saving, &failed);

    return (struct ranks_own){.mean_loss = n > 0 ? rec->loss / n : 0,
                              .grad_norm = n > 0 ? sqrt(square) / n / rec->loss_scale : 0,
                              .n_tokens = n,
                              .has_written = has_written,
                              .save_failed = failed};
}

void facts_tell(struct peers *p, const struct record_step *rec,
                const struct ranks_own *mine, bool is_damaged)
{
    struct ranks_sums *sum = &p->mine;

    record_add_sums(sum->of_step, rec);
    sum->n_stop = stop_requested();
    sum->n_damaged = is_damaged;
    sum->n_written = mine->has_written;
}

/* Of nodes that train alone nothing is known until they exchange it. */
status facts_exchange(struct peers *p, struct gradients *g, struct record_step *rec,
                      const struct ranks_own *mine, struct err *err)
{
    struct ranks_sums sum = mine ? p->mine : (struct ranks_sums){0};
    const struct reducer_facts facts = {.sum = sum.of_step,
                                        .n_sum = RANKS_N_SUMS,
                                        .mine = mine ? &mine->mean_loss : NULL,
                                        .n_mine = RANKS_N_OWN,
                                        .all = &p->own->mean_loss};
    struct reducer_times times;

    TRY(gradients_finish(g, mine ? &facts : NULL, &times, err));
    rec->t_comm += times.t_exposed;
    rec->t_hidden += times.t_hidden;
    record_take_sums(rec, sum.of_step);
    if (mine) {
        p->sum = sum;
        p->mine = (struct ranks_sums){0};
    }
    return OK;
}
