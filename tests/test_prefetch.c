#include <unistd.h>

#include "corpus/prefetch.h"
#include "toy_corpus.h"

enum { PAIRS = 150, MAX_LENGTH = 24 };

static const struct prefetch_rule rule = {
    .order = {.seed = 3, .max_length = MAX_LENGTH, .batch_tokens = 200},
    .limit = {.n_src = 90, .n_tgt = 80}};

static bool same_batch(const struct batch *a, const struct batch *b)
{
    return a->n_sents == b->n_sents && a->n_src == b->n_src && a->n_tgt == b->n_tgt &&
           a->max_src == b->max_src && a->max_tgt == b->max_tgt &&
           memcmp(a->block, b->block, a->n_block * sizeof *a->block) == 0;
}

/* Walk the order without a thread beside the prefetcher for n updates. */
static void compare(const struct corpus *c, struct order_cursor from, int n_updates)
{
    struct prefetch *f;
    struct prefetch_item item;
    struct order order;
    struct order_cursor at = from;
    struct batch want = {0};
    struct err err = {0};

    CHECK_OK(order_open(&order, c, rule.order, &err), &err);
    CHECK_OK(prefetch_open(&f, c, rule, from, &err), &err);
    for (int u = 0; u < n_updates; u++) {
        const struct order_update update = order_next(&order, &at);
        for (size_t i = 0, n; i < update.n_pairs; i += n) {
            const size_t left = update.n_pairs - i;
            n = batch_cut(c, update.pair + i, left, MAX_LENGTH, rule.limit);
            CHECK_OK(batch_gather(&want, c, update.pair + i, n, MAX_LENGTH, &err), &err);
            CHECK_OK(prefetch_next(f, &item, &err), &err);
            CHECK(same_batch(item.batch, &want));
            CHECK(item.is_first == (i == 0) && item.is_last == (n == left));
            CHECK(item.update_pairs == update.n_pairs);
            CHECK(item.node_tgt == update.n_tgt);
            CHECK(item.ends_epoch == update.ends_epoch);
            CHECK(item.after.epoch == at.epoch && item.after.next == at.next);
        }
    }
    prefetch_close(f);
    order_close(&order);
    batch_release(&want);
}

TEST(a_prefetcher_gives_what_the_order_gives)
{
    struct corpus c;

    toy_corpus(&c, PAIRS, test_seed());
    compare(&c, (struct order_cursor){0}, 100);
    corpus_close(&c);
}

TEST(a_prefetcher_continues_from_a_saved_cursor)
{
    struct corpus c;
    struct prefetch *f;
    struct prefetch_item item;
    struct order_cursor saved;
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    CHECK_OK(prefetch_open(&f, &c, rule, (struct order_cursor){0}, &err), &err);
    for (int u = 0; u < 7;) {
        CHECK_OK(prefetch_next(f, &item, &err), &err);
        u += item.is_last;
        saved = item.after;
    }
    prefetch_close(f);
    compare(&c, saved, 40);
    corpus_close(&c);
}

TEST(a_held_batch_stays_while_others_are_made)
{
    struct corpus c;
    struct prefetch *f;
    struct prefetch_item item;
    struct batch want = {0};
    uint32_t pair[PAIRS];
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    CHECK_OK(prefetch_open(&f, &c, rule, (struct order_cursor){0}, &err), &err);
    for (int i = 0; i < 20; i++) {
        CHECK_OK(prefetch_next(f, &item, &err), &err);
        usleep(2000); /* the thread fills the rest of the ring meanwhile */
        for (size_t s = 0; s < item.batch->n_sents; s++)
            pair[s] = (uint32_t)item.batch->pair[s];
        CHECK_OK(batch_gather(&want, &c, pair, item.batch->n_sents, MAX_LENGTH, &err),
                 &err);
        CHECK(same_batch(item.batch, &want));
    }
    prefetch_close(f);
    batch_release(&want);
    corpus_close(&c);
}

TEST(a_prefetcher_closes_at_any_time)
{
    struct corpus c;
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    for (int n = 0; n < 20; n++) {
        struct prefetch *f;
        struct prefetch_item item;
        CHECK_OK(prefetch_open(&f, &c, rule, (struct order_cursor){0}, &err), &err);
        for (int i = 0; i < n; i++)
            CHECK_OK(prefetch_next(f, &item, &err), &err);
        prefetch_close(f);
    }
    prefetch_close(NULL);
    corpus_close(&c);
}

TEST(a_prefetcher_refuses_what_the_order_refuses)
{
    struct prefetch_rule bad = rule;
    struct corpus c;
    struct prefetch *f;
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    bad.order.batch_tokens = 0;
    CHECK_FAILS(prefetch_open(&f, &c, bad, (struct order_cursor){0}, &err), &err,
                ERR_USAGE, "batch_tokens");
    CHECK(!f);
    CHECK_FAILS(prefetch_open(&f, &c, rule, (struct order_cursor){0, PAIRS}, &err), &err,
                ERR_FORMAT, "checkpoint");
    CHECK(!f);
    corpus_close(&c);
}

/* What rank `rank` of `size` is given over the first n_updates: how often each pair, and
 * in seen_at the update in which it came. */
static void follow_rank(const struct corpus *c, struct prefetch_rule how, int rank,
                        int size, int n_updates, int *times, int *seen_at)
{
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};

    how.shard = (struct shard_rule){.rank = rank, .size = size};
    CHECK_OK(prefetch_open(&f, c, how, (struct order_cursor){0}, &err), &err);
    for (int u = 0; u < n_updates; u += item.is_last) {
        CHECK_OK(prefetch_next(f, &item, &err), &err);
        CHECK(item.batch->n_sents > 0 || (item.is_first && item.is_last));
        for (size_t s = 0; s < item.batch->n_sents; s++) {
            times[item.batch->pair[s]]++;
            seen_at[item.batch->pair[s]] = u;
        }
    }
    prefetch_close(f);
}

TEST(ranks_together_are_given_each_update_once)
{
    static const size_t tokens[] = {200, 30}; /* the second: fewer pairs than ranks */
    struct corpus c;

    toy_corpus(&c, PAIRS, test_seed());
    for (size_t k = 0; k < 2; k++)
        for (int size = 1; size <= 7; size++) {
            struct prefetch_rule how = rule;
            int one[PAIRS] = {0}, all[PAIRS] = {0}, at_one[PAIRS] = {0}, at[PAIRS] = {0};
            how.order.batch_tokens = tokens[k];
            follow_rank(&c, how, 0, 1, 10, one, at_one);
            for (int rank = 0; rank < size; rank++)
                follow_rank(&c, how, rank, size, 10, all, at);
            for (int i = 0; i < PAIRS; i++)
                CHECK(all[i] == one[i] && at[i] == at_one[i]);
        }
    corpus_close(&c);
}

/* A corpus in memory that claims more tokens than a batch can count. */
TEST(a_failure_of_the_thread_comes_out_at_every_call)
{
    static const uint64_t start[] = {0, 1, (uint64_t)1 << 32};
    static const uint16_t token[] = {4, 5};
    const struct corpus c = {
        .start = start, .token = token, .n_tokens = start[2], .n_pairs = 1, .vocab = 10};
    const struct prefetch_rule any_length = {
        .order = {.max_length = SIZE_MAX, .batch_sentences = 1}};
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};

    CHECK_OK(prefetch_open(&f, &c, any_length, (struct order_cursor){0}, &err), &err);
    for (int i = 0; i < 3; i++) {
        err = (struct err){0};
        CHECK_FAILS(prefetch_next(f, &item, &err), &err, ERR_USAGE, "too large");
    }
    prefetch_close(f);
}

/* --- varied text --- */

enum { MOST_VARIED = 2 * TOY_LONGEST + 3 };

/* Other ids for each epoch, some of them more than max_length has room for. */
static status stretch(void *ctx, uint64_t epoch, uint32_t pair,
                      const struct sentence in[VARIED_SIDES],
                      struct sentence out[VARIED_SIDES], struct err *err)
{
    uint16_t(*made)[MOST_VARIED] = ctx;

    (void)err;
    for (int s = 0; s < VARIED_SIDES; s++) {
        struct rng rng = rng_open(rng_hash(rng_hash(epoch, pair), (uint64_t)s));
        out[s] = (struct sentence){made[s], in[s].len + rng_below(&rng, in[s].len + 4)};
        for (size_t i = 0; i < out[s].len; i++)
            made[s][i] = (uint16_t)(4 + rng_below(&rng, TOY_VOCAB - 4));
    }
    return OK;
}

/* What stretch() makes of a side of a pair, as the batch should have it. */
static void check_side(uint64_t epoch, uint32_t pair, const struct corpus *c, int side,
                       const int32_t *id, size_t n)
{
    uint16_t made[VARIED_SIDES][MOST_VARIED];
    const struct sentence in[] = {corpus_source(c, pair), corpus_target(c, pair)};
    struct sentence out[VARIED_SIDES];
    struct err err = {0};

    CHECK_OK(stretch(made, epoch, pair, in, out, &err), &err);
    CHECK(n == corpus_rows(c, out[side].len, MAX_LENGTH));
    for (size_t i = 0; i + 2 < n && i < out[side].len; i++)
        CHECK(id[1 + i] == out[side].token[i]);
}

/* The micro-batches of n updates of a rank, which must be cut by their own lengths. */
static void follow_varied(const struct corpus *c, int rank, int size, int n_updates,
                          int *times, size_t *n_tgt)
{
    uint16_t made[VARIED_SIDES][MOST_VARIED];
    struct prefetch_rule how = rule;
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};
    uint64_t epoch = 0;

    how.vary = (struct vary){.make = stretch, .ctx = made, .is_for_node = true};
    how.shard = (struct shard_rule){.rank = rank, .size = size};
    CHECK_OK(prefetch_open(&f, c, how, (struct order_cursor){0}, &err), &err);
    for (int u = 0; u < n_updates; u += item.is_last) {
        CHECK_OK(prefetch_next(f, &item, &err), &err);
        const struct batch *b = item.batch;
        CHECK(b->n_sents <= 1 ||
              (b->n_src <= rule.limit.n_src && b->n_tgt <= rule.limit.n_tgt));
        CHECK(b->max_src <= MAX_LENGTH && b->max_tgt <= MAX_LENGTH);
        for (size_t s = 0; s < b->n_sents; s++) {
            const uint32_t pair = (uint32_t)b->pair[s];
            const size_t src = (size_t)b->src_at[s], tgt = (size_t)b->tgt_at[s];
            check_side(epoch, pair, c, VARIED_SOURCE, b->src_id + src,
                       (size_t)b->src_at[s + 1] - src);
            check_side(epoch, pair, c, VARIED_TARGET, b->tgt_label + tgt,
                       (size_t)b->tgt_at[s + 1] - tgt);
            CHECK(b->src_pair[src] == b->pair[s] && b->tgt_pair[tgt] == b->pair[s]);
            times[pair]++;
        }
        n_tgt[u] += b->n_tgt;
        if (item.is_last)
            n_tgt[n_updates + u] = item.node_tgt;
        epoch += item.is_last && item.ends_epoch;
    }
    prefetch_close(f);
}

TEST(varied_pairs_come_with_their_names_cut_by_their_own_lengths)
{
    enum { UPDATES = 60 }; /* of three epochs */
    struct corpus c;

    toy_corpus(&c, PAIRS, test_seed());
    for (int size = 1; size <= 3; size++) {
        int one[PAIRS] = {0}, all[PAIRS] = {0};
        size_t n_one[2 * UPDATES] = {0}, n_all[2 * UPDATES] = {0};
        follow_varied(&c, 0, 1, UPDATES, one, n_one);
        for (int rank = 0; rank < size; rank++)
            follow_varied(&c, rank, size, UPDATES, all, n_all);
        for (int i = 0; i < PAIRS; i++)
            CHECK(all[i] == one[i] && one[i] > 0);
        for (int u = 0; u < UPDATES; u++) /* the last rank has counted the node's */
            CHECK(n_all[u] == n_one[u] && n_all[UPDATES + u] == n_one[u]);
    }
    corpus_close(&c);
}

TEST(the_tokens_of_a_node_are_counted_only_where_they_are_asked_for)
{
    uint16_t made[VARIED_SIDES][MOST_VARIED];
    struct prefetch_rule how = rule;
    struct corpus c;
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    how.vary = (struct vary){.make = stretch, .ctx = made};
    CHECK_OK(prefetch_open(&f, &c, how, (struct order_cursor){0}, &err), &err);
    CHECK_OK(prefetch_next(f, &item, &err), &err);
    CHECK(item.node_tgt == 0);
    prefetch_close(f);
    corpus_close(&c);
}

static status refuse(void *ctx, uint64_t epoch, uint32_t pair,
                     const struct sentence in[VARIED_SIDES],
                     struct sentence out[VARIED_SIDES], struct err *err)
{
    (void)ctx, (void)epoch, (void)in, (void)out;
    return err_set(err, ERR_MEMORY, "no other words for pair %u", pair);
}

TEST(a_failure_to_vary_and_a_damaged_pair_come_out)
{
    static const uint64_t start[] = {0, 9, 2};
    static const uint16_t token[] = {4, 5};
    const struct corpus damaged = {
        .start = start, .token = token, .n_tokens = 2, .n_pairs = 1, .vocab = 10};
    struct prefetch_rule how = rule;
    struct corpus c;
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    how.vary = (struct vary){.make = refuse};
    CHECK_OK(prefetch_open(&f, &c, how, (struct order_cursor){0}, &err), &err);
    CHECK_FAILS(prefetch_next(f, &item, &err), &err, ERR_MEMORY, "no other words");
    prefetch_close(f);
    CHECK_OK(prefetch_open(&f, &damaged, how, (struct order_cursor){0}, &err), &err);
    CHECK_FAILS(prefetch_next(f, &item, &err), &err, ERR_FORMAT, "damaged at pair 0");
    prefetch_close(f);
    corpus_close(&c);
}
