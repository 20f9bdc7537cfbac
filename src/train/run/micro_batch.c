#include "train/run/micro_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/mem.h"

/* Larger micro-batches than this are not faster on a CPU, they only take memory. A card
 * is faster the more it has at once. */
enum { ENOUGH = 4096 };

/* Rows of the model for a token. */
static size_t views_of(const struct micro_batch *b)
{
    return train_config_has_views(b->config) ? 2 : 1;
}

/* Sources may be half as long again as targets before they cut a micro-batch; the
 * shortest side is S, one token, EOS, or without S where no sentence has it. */
static struct model_shape shape_of(const struct micro_batch *b, size_t n_tgt)
{
    const size_t longest = (size_t)b->config->max_length, k = views_of(b);
    const size_t shortest = CORPUS_MIN_LENGTH - b->model->config.arch.has_no_begin;

    return (struct model_shape){.n_sents = k * (n_tgt / shortest + 1),
                                .n_src = k * MAX(n_tgt + n_tgt / 2, longest),
                                .n_tgt = k * MAX(n_tgt, longest),
                                .max_len = longest,
                                .want_grad = true};
}

static size_t step_bytes(const struct micro_batch *b, size_t n_tgt)
{
    return model_measure(b->model, shape_of(b, n_tgt));
}

static double mib(size_t n_bytes)
{
    return (double)n_bytes / 1048576;
}

static size_t budget_of(const struct micro_batch *b, int n_sharing)
{
    if (b->config->memory_mib)
        return (size_t)b->config->memory_mib << 20;
    const size_t free_bytes = device_free_bytes(b->model->device);
    return free_bytes ? free_bytes / MAX((size_t)n_sharing, 1) / 4 * 3 : SIZE_MAX;
}

/* The most target tokens an update can have. Varied ones are counted before, and with
 * half as many again most of them are one micro-batch still. */
static size_t update_tokens(const struct micro_batch *b)
{
    const struct train_config *c = b->config;
    const size_t n = (size_t)c->batch_tokens;

    if (n)
        return variation_is_on(&c->variation) ? n + n / 2 : n;
    return (size_t)c->batch_sentences * (size_t)c->max_length;
}

/* The largest micro-batch that would be used if memory were no matter. */
static size_t wanted_tokens(const struct micro_batch *b)
{
    const size_t n = update_tokens(b),
                 own = b->model->device->card ? n : ENOUGH / views_of(b);

    if (b->config->micro_tokens)
        return MIN(n, (size_t)b->config->micro_tokens);
    return MIN(n, b->before ? b->before : own);
}

bool micro_batch_leaves(const struct micro_batch *b, size_t n_bytes)
{
    return step_bytes(b, wanted_tokens(b)) + n_bytes <= b->budget;
}

/* Who chose a size shall know that it does not fit, and what does. */
static status choose_limit(const struct micro_batch *b, size_t *n_tgt, struct err *err)
{
    const size_t want = wanted_tokens(b);
    size_t n = want;

    while (n > 1 && step_bytes(b, n) > b->budget)
        n -= n / 16 + 1;
    if (step_bytes(b, n) > b->budget)
        return err_set(err, ERR_MEMORY,
                       "one sentence of max_length = %lld tokens needs %.0f MiB for a "
                       "training step, %.0f MiB are allowed; lower max_length or raise "
                       "memory_mib",
                       (long long)b->config->max_length, mib(step_bytes(b, n)),
                       mib(b->budget));
    if (b->config->micro_tokens && n < want)
        return err_set(err, ERR_MEMORY,
                       "micro_tokens = %zu need %.0f MiB for a training step, %.0f MiB "
                       "are allowed: %zu fit",
                       want, mib(step_bytes(b, want)), mib(b->budget), n);
    *n_tgt = n;
    return OK;
}

status micro_batch_advise(const struct micro_batch *b, status result, struct err *err)
{
    const size_t now = b->limit.n_tgt, n = now / 2;

    if (result != ERR_MEMORY || !n || !b->model->device->gpu)
        return result;
    const size_t used = strlen(err->msg);
    snprintf(
        err->msg + used, sizeof err->msg - used,
        "; %zu target tokens were at once: set micro_tokens = %zu or memory_mib = %zu",
        now, n, (step_bytes(b, n) >> 20) + 1);
    return result;
}

status micro_batch_choose(struct micro_batch *b, int n_sharing, size_t before,
                          size_t *n_tgt, struct err *err)
{
    b->budget = budget_of(b, n_sharing); /* what was free before we took any of it */
    b->before = before;
    return choose_limit(b, n_tgt, err);
}

bool micro_batch_compare(const struct micro_batch *b, char text[MICRO_BATCH_TEXT])
{
    const size_t now = b->limit.n_tgt, before = b->before;
    char why[80] = "another rank has no memory for more";

    if (!before || now == before)
        return false;
    if (now == (size_t)b->config->micro_tokens)
        snprintf(why, sizeof why, "micro_tokens is set");
    else if (step_bytes(b, before) > b->budget)
        snprintf(why, sizeof why, "those need %.0f MiB, %.0f MiB are allowed",
                 mib(step_bytes(b, before)), mib(b->budget));
    snprintf(
        text, MICRO_BATCH_TEXT,
        "micro-batches have %zu target tokens from here on, %zu before the stop (%s): "
        "sums of gradients round differently",
        now, before, why);
    return true;
}

status micro_batch_reserve(struct micro_batch *b, size_t n_tgt, struct err *err)
{
    const struct model_shape shape = shape_of(b, n_tgt);

    b->limit = (struct batch_limit){.n_src = n_tgt + n_tgt / 2, .n_tgt = n_tgt};
    TRY(mem_alloc(&b->losses, shape.n_tgt, sizeof *b->losses, err));
    return micro_batch_advise(b, model_reserve(b->model, shape, err), err);
}

void micro_batch_release(struct micro_batch *b)
{
    free(b->losses);
    b->losses = NULL;
}
