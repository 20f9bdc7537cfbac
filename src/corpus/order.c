#include "corpus/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

/* The pairs of [from, end) that may be used, in file order. */
static size_t list_pairs(const struct order *o, uint32_t *list, uint32_t from,
                         uint32_t end)
{
    const size_t max = o->rule.max_length - 2;
    size_t n = 0;

    for (uint32_t i = from; i < end; i++)
        if (!o->rule.drop_overlong || (corpus_source(o->corpus, i).len <= max &&
                                       corpus_target(o->corpus, i).len <= max))
            list[n++] = i;
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

/* ---- a mix ---- */

static size_t n_parts(const struct order *o)
{
    return o->corpus->n_parts ? o->corpus->n_parts : 1;
}

static uint32_t part_pairs(const struct order *o, size_t k)
{
    return o->corpus->n_parts ? o->corpus->part[k].n_pairs : o->corpus->n_pairs;
}

static size_t stage_pairs(const struct order *o, const struct mix_stage *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += mix_count(s, i, o->n_kept);
    return n;
}

static size_t epoch_pairs(const struct order *o, uint64_t epoch)
{
    return o->rule.mix ? stage_pairs(o, mix_stage_of(o->rule.mix, epoch)) : o->n_pairs;
}

/* Every part that a stage uses has a pair, and an epoch is no longer than a corpus. */
static status check_stage(const struct order *o, size_t number, struct err *err)
{
    const struct mix_stage *s = &o->rule.mix->stage[number];

    for (size_t i = 0; i < s->n; i++)
        if (!o->n_kept[s->part[i].corpus])
            return err_set(err, ERR_USAGE,
                           "mix: corpus %zu has no pair that max_length = %zu does not "
                           "drop",
                           s->part[i].corpus + 1, o->rule.max_length);
    if (stage_pairs(o, s) <= INT32_MAX)
        return OK;
    return err_set(err, ERR_USAGE,
                   "mix: an epoch of stage %zu has more than %d pairs; name a smaller "
                   "corpus first, whose pass is an epoch",
                   number + 1, INT32_MAX);
}

static status open_mix(struct order *o, struct err *err)
{
    uint32_t from = 0, longest = 0;
    size_t n = 0, most = 0;

    BUG_ON(o->rule.in_file_order || n_parts(o) > MIX_CORPORA);
    TRY(mem_alloc(&o->kept, o->corpus->n_pairs, sizeof *o->kept, err));
    for (size_t k = 0; k < n_parts(o); k++) {
        const uint32_t end = from + part_pairs(o, k);
        o->n_kept[k] = list_pairs(o, o->kept + n, from, end);
        longest = o->n_kept[k] > longest ? (uint32_t)o->n_kept[k] : longest;
        n += o->n_kept[k];
        from = end;
    }
    o->n_dropped = o->corpus->n_pairs - n;
    for (size_t i = 0; i < o->rule.mix->n; i++) {
        TRY(check_stage(o, i, err));
        const size_t in_epoch = stage_pairs(o, &o->rule.mix->stage[i]);
        most = in_epoch > most ? in_epoch : most;
    }
    TRY(mem_alloc(&o->passed, longest, sizeof *o->passed, err));
    TRY(mem_alloc(&o->pair, most, sizeof *o->pair, err));
    o->n_pairs = epoch_pairs(o, 0);
    return OK;
}

/* The next `n` pairs of part k, behind the `used` that earlier epochs had. */
static void take(struct order *o, size_t k, uint64_t used, size_t n, uint32_t *out)
{
    const uint64_t key = rng_hash(rng_key(o->rule.seed, "mix"), k);
    const size_t n_kept = o->n_kept[k];
    const uint32_t *kept = o->kept;

    for (size_t i = 0; i < k; i++)
        kept += o->n_kept[i];
    while (n) {
        const size_t at = (size_t)(used % n_kept), left = n_kept - at,
                     now = n < left ? n : left;
        struct rng rng = rng_open(rng_hash(key, used / n_kept));
        memcpy(o->passed, kept, n_kept * sizeof *kept);
        rng_shuffle(&rng, o->passed, n_kept);
        memcpy(out, o->passed + at, now * sizeof *out);
        out += now;
        used += now;
        n -= now;
    }
}

static void list_mixed(struct order *o, uint64_t epoch)
{
    const struct mix_stage *s = mix_stage_of(o->rule.mix, epoch);

    o->n_pairs = 0;
    for (size_t i = 0; i < s->n; i++) {
        const size_t k = s->part[i].corpus, n = mix_count(s, i, o->n_kept);
        take(o, k, mix_used(o->rule.mix, k, epoch, o->n_kept), n, o->pair + o->n_pairs);
        o->n_pairs += n;
    }
}

/* ---- all orders ---- */

static status open_all(struct order *o, struct err *err)
{
    const struct corpus *corpus = o->corpus;

    TRY(check_rule(&o->rule, err));
    if (o->rule.mix)
        return open_mix(o, err);
    TRY(mem_alloc(&o->pair, corpus->n_pairs, sizeof *o->pair, err));
    o->n_pairs = list_pairs(o, o->pair, 0, corpus->n_pairs);
    o->n_dropped = corpus->n_pairs - o->n_pairs;
    if (o->n_pairs)
        return OK;
    if (corpus->n_pairs)
        return err_set(err, ERR_USAGE,
                       "max_length = %zu drops every one of the %u pairs of the corpus",
                       o->rule.max_length, corpus->n_pairs);
    return err_set(err, ERR_FORMAT, "the corpus has no pairs");
}

status order_open(struct order *o, const struct corpus *corpus, struct order_rule rule,
                  struct err *err)
{
    *o = (struct order){.corpus = corpus, .rule = rule, .epoch = UINT64_MAX};
    const status result = open_all(o, err);
    if (result != OK)
        order_close(o);
    return result;
}

void order_close(struct order *o)
{
    free(o->pair);
    free(o->kept);
    free(o->passed);
    *o = (struct order){0};
}

status order_check(const struct order *o, struct order_cursor cursor, struct err *err)
{
    const size_t n_pairs = epoch_pairs(o, cursor.epoch);

    if (cursor.next >= n_pairs || cursor.epoch == UINT64_MAX)
        return err_set(err, ERR_FORMAT,
                       "the checkpoint is at pair %llu of an epoch, this corpus has "
                       "%zu; was it prepared again?",
                       (unsigned long long)cursor.next, n_pairs);
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
    if (o->rule.mix)
        list_mixed(o, epoch);
    else
        list_pairs(o, o->pair, 0, o->corpus->n_pairs);
    if (o->rule.in_file_order)
        return;
    struct rng rng = rng_open(rng_hash(rng_key(o->rule.seed, "order"), epoch));
    rng_shuffle(&rng, o->pair, o->n_pairs);
}

struct order_update order_next(struct order *o, struct order_cursor *cursor)
{
    const struct order_rule *rule = &o->rule;

    enter_epoch(o, cursor->epoch);
    BUG_ON(cursor->next >= o->n_pairs);

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
