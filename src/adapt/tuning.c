#include "adapt/tuning.h"

#include <math.h>
#include <stdio.h>

enum {
    HELD_OUT_MOST = 1000,
    PASSES_MOST = 8, /* of a text of some thousand pairs */
    PASSES_LEAST = 2,
    PASSED = 40000, /* new pairs that all passes have together, in between */
    BATCH_MOST = 4096,
    BATCH_LEAST = 256,
    UPDATES = 100, /* of a pass, at least, unless that takes tiny batches */
    WARMUP_MOST = 200,
    EVALUATIONS = 2, /* of a pass */
    LINES = 4,       /* of the log, between two evaluations */
    LENGTH_MOST = 256,
    BLEU_PAIRS = 200
};

uint64_t tuning_held_out(uint64_t n_pairs)
{
    const uint64_t n = n_pairs / 20;

    return n < 1 ? 1 : n > HELD_OUT_MOST ? HELD_OUT_MOST : n;
}

static double between(double least, double x, double most)
{
    return fmin(fmax(least, x), most);
}

struct tuning tuning_choose(const struct tuning_text *t)
{
    const double n = (double)t->n_new;
    const double share = t->n_general ? 1 : 0.5; /* without general text: half of it */
    const double passes = between(PASSES_LEAST, PASSED / fmax(n, 1), PASSES_MOST);

    return (struct tuning){
        .passes = t->passes ? t->passes : (int64_t)fmax(1, round(passes * share)),
        .n_drawn = t->n_general ? (uint64_t)llround(n * t->mix_ratio) : 0,
        .rate = t->rate > 0 ? t->rate : share * 0.05 / (double)t->d_model};
}

static int64_t at_least_one(double x)
{
    return x < 1 ? 1 : (int64_t)x;
}

static void set_rate(struct schedule_config *s, double rate, double steps)
{
    snprintf(s->lr_policy, sizeof s->lr_policy, "poly_decay");
    s->learning_rate = rate;
    s->warmup_steps = at_least_one(fmin(steps / 10, WARMUP_MOST));
    s->begin_decay_at = at_least_one(steps / 2); /* constant until then */
    s->power = 1;
    s->min_lr = rate / 10;
}

void tuning_set(struct train_config *c, const struct tuning *t,
                const struct tuning_size *size)
{
    const double target = (double)size->n_target;
    const size_t length = (size->longest + 2 + 15) / 16 * 16;

    c->batch_tokens = BATCH_MOST;
    while (c->batch_tokens > BATCH_LEAST &&
           target / (double)t->passes / (double)c->batch_tokens < UPDATES)
        c->batch_tokens /= 2;
    const double steps = ceil(target / (double)c->batch_tokens);
    c->max_steps = at_least_one(steps);
    c->max_length = (int64_t)(length < LENGTH_MOST ? length : LENGTH_MOST);
    set_rate(&c->schedule, t->rate, steps);
    snprintf(c->optim.optimizer, sizeof c->optim.optimizer, "adam");
    c->optim.beta2 = 0.98;
    c->moving_average = steps >= 2000 ? 0.998 : 0.99;
    c->eval_every = c->save_every = at_least_one(steps / (double)t->passes / EVALUATIONS);
    c->log_every = c->summary_every = at_least_one((double)c->eval_every / LINES);
    c->eval_bleu_pairs = BLEU_PAIRS;
    c->keep_last = c->keep_best = 2;
}
