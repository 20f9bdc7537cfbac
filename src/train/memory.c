/*
 * How large a micro-batch may be: the step's memory is measured by the code that lays it
 * out, before the first update, and the update is cut to what fits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train/trainer.h"

/* Larger micro-batches than this are not faster on a CPU, they only take memory. A card
 * is faster the more it has at once. */
enum { ENOUGH = 4096 };

/* The shortest side is S, one token, EOS: no micro-batch has more sentences than this. */
static size_t most_sentences(size_t n_tgt)
{
    return n_tgt / CORPUS_MIN_LENGTH + 1;
}

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Sources may be half as long again as targets before they cut a micro-batch. */
static struct model_shape shape_of(const struct trainer *t, size_t n_tgt)
{
    const size_t longest = (size_t)t->config.max_length;

    return (struct model_shape){.n_sents = most_sentences(n_tgt),
                                .n_src = max_size(n_tgt + n_tgt / 2, longest),
                                .n_tgt = max_size(n_tgt, longest),
                                .max_len = longest,
                                .want_grad = true};
}

static size_t budget_of(struct trainer *t)
{
    if (t->config.memory_mib)
        return (size_t)t->config.memory_mib << 20;
    const size_t free_bytes = device_free_bytes(&t->device);
    const size_t n_sharing = max_size((size_t)t->preflight.n_sharing, 1);
    return free_bytes ? free_bytes / n_sharing / 4 * 3 : SIZE_MAX;
}

/* The most target tokens an update can have. */
static size_t update_tokens(const struct trainer *t)
{
    const struct train_config *c = &t->config;

    if (c->batch_tokens)
        return (size_t)c->batch_tokens;
    return (size_t)c->batch_sentences * (size_t)c->max_length;
}

/* The largest micro-batch that would be used if memory were no matter. */
static size_t wanted_tokens(const struct trainer *t)
{
    const size_t n = update_tokens(t), own = t->device.card ? n : ENOUGH;
    const size_t most = t->config.micro_tokens ? (size_t)t->config.micro_tokens : own;

    return n < most ? n : most;
}

bool train_memory_fits(struct trainer *t, size_t n_bytes)
{
    return model_measure(&t->model, shape_of(t, wanted_tokens(t))) + n_bytes <= t->budget;
}

/* Who chose a size shall know that it does not fit, and what does. */
static status refuse_choice(struct trainer *t, size_t n_fits, struct err *err)
{
    const size_t n = wanted_tokens(t);

    return err_set(err, ERR_MEMORY,
                   "micro_tokens = %zu need %.0f MiB for a training step, %.0f MiB are "
                   "allowed: %zu fit",
                   n, (double)model_measure(&t->model, shape_of(t, n)) / 1048576,
                   (double)t->budget / 1048576, n_fits);
}

static status choose_limit(struct trainer *t, size_t *n_tgt, struct err *err)
{
    const size_t budget = t->budget, longest = (size_t)t->config.max_length;
    size_t n = wanted_tokens(t);

    while (n > 1 && model_measure(&t->model, shape_of(t, n)) > budget)
        n -= n / 16 + 1;
    if (model_measure(&t->model, shape_of(t, n)) > budget)
        return err_set(err, ERR_MEMORY,
                       "one sentence of max_length = %zu tokens needs %.0f MiB for a "
                       "training step, %.0f MiB are allowed; lower max_length or raise "
                       "memory_mib",
                       longest,
                       (double)model_measure(&t->model, shape_of(t, n)) / 1048576,
                       (double)budget / 1048576);
    if (t->config.micro_tokens && n < wanted_tokens(t))
        return refuse_choice(t, n, err);
    *n_tgt = n;
    return OK;
}

status train_memory_advise(struct trainer *t, status result, struct err *err)
{
    const size_t now = t->limit.n_tgt, n = now / 2;

    if (result != ERR_MEMORY || !n || !t->device.driver)
        return result;
    const size_t bytes = model_measure(&t->model, shape_of(t, n)),
                 used = strlen(err->msg);
    snprintf(
        err->msg + used, sizeof err->msg - used,
        "; %zu target tokens were at once: set micro_tokens = %zu or memory_mib = %zu",
        now, n, (bytes >> 20) + 1);
    return result;
}

status train_reserve(struct trainer *t, struct err *err)
{
    size_t n_tgt = 0;

    t->budget = budget_of(t); /* what was free before we took any of it */
    TRY(choose_limit(t, &n_tgt, err));
    const struct model_shape shape = shape_of(t, n_tgt);
    t->limit = (struct batch_limit){.n_src = n_tgt + n_tgt / 2, .n_tgt = n_tgt};
    TRY(mem_alloc(&t->losses, shape.n_tgt, sizeof *t->losses, err));
    return train_memory_advise(t, model_reserve(&t->model, shape, err), err);
}
