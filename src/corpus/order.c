#include "corpus/order.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"

/* The pairs of every epoch, in file order. */
static size_t list_pairs(const struct order *o)
{
    const size_t max = o->rule.max_length - 2;
    size_t n = 0;

    for (uint32_t i = 0; i < o->corpus->n_pairs; i++)
        if (!o->rule.drop_overlong || (corpus_source(o->corpus, i).len <= max &&
                                       corpus_target(o->corpus, i).len <= max))
            o->pair[n++] = i;
    return n;
}

static status check_rule(const struct order_rule *r, struct err *err)
{
    if (r->max_length < CORPUS_MIN_LENGTH)
        return err_set(err, ERR_USAGE,
                       "max_length = %zu: want at least %d (both specials and a token)",
                       r->max_length, CORPUS_MIN_LENGTH);
    if (!r->batch_tokens == !r->batch_sentences)
        return err_set(err, ERR_USAGE,
                       "batch_tokens = %zu and batch_sentences = %zu: set exactly one",
                       r->batch_tokens, r->batch_sentences);
    return OK;
}

status order_open(struct order *o, const struct corpus *corpus, struct order_rule rule,
                  struct err *err)
{
    *o = (struct order){.corpus = corpus, .rule = rule, .epoch = UINT64_MAX};
    TRY(check_rule(&rule, err));
    TRY(mem_alloc(&o->pair, corpus->n_pairs, sizeof *o->pair, err));
    o->n_pairs = list_pairs(o);
    o->n_dropped = corpus->n_pairs - o->n_pairs;
    if (o->n_pairs)
        return OK;
    order_close(o);
    if (corpus->n_pairs)
        return err_set(err, ERR_USAGE,
                       "max_length = %zu drops every one of the %u pairs of the corpus",
                       rule.max_length, corpus->n_pairs);
    return err_set(err, ERR_FORMAT, "the corpus has no pairs");
}

void order_close(struct order *o)
{
    free(o->pair);
    *o = (struct order){0};
}

status order_check(const struct order *o, struct order_cursor cursor, struct err *err)
{
    if (cursor.next >= o->n_pairs || cursor.epoch == UINT64_MAX)
        return err_set(err, ERR_FORMAT,
                       "the checkpoint is at pair %llu of an epoch, this corpus has "
                       "%zu; was it prepared again?",
                       (unsigned long long)cursor.next, o->n_pairs);
    return OK;
}

/*
 * Each epoch shuffles the list in file order, not the last epoch's result, so that it
 * can be reached without its predecessors.
 */
static void enter_epoch(struct order *o, uint64_t epoch)
{
    if (o->epoch == epoch)
        return;
    o->epoch = epoch;
    list_pairs(o);
    if (o->rule.in_file_order)
        return;
    struct rng rng = rng_open(rng_hash(rng_key(o->rule.seed, "order"), epoch));
    rng_shuffle(&rng, o->pair, o->n_pairs);
}

struct order_update order_next(struct order *o, struct order_cursor *cursor)
{
    const struct order_rule *rule = &o->rule;

    BUG_ON(cursor->next >= o->n_pairs);
    enter_epoch(o, cursor->epoch);

    struct order_update u = {.pair = o->pair + cursor->next};
    const size_t left = o->n_pairs - (size_t)cursor->next;
    for (; u.n_pairs < left; u.n_pairs++) {
        const uint32_t i = u.pair[u.n_pairs];
        const size_t T =
            corpus_rows(o->corpus, corpus_target(o->corpus, i).len, rule->max_length);
        if (rule->batch_sentences && u.n_pairs == rule->batch_sentences)
            break;
        if (rule->batch_tokens && u.n_pairs && u.n_tgt + T > rule->batch_tokens)
            break;
        u.n_src +=
            corpus_rows(o->corpus, corpus_source(o->corpus, i).len, rule->max_length);
        u.n_tgt += T;
    }
    u.ends_epoch = u.n_pairs == left;
    cursor->next += u.n_pairs;
    if (u.ends_epoch)
        *cursor = (struct order_cursor){.epoch = cursor->epoch + 1};
    return u;
}
