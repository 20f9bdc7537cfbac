#include <unistd.h>

#include "corpus/prefetch.h"
#include "toy_corpus.h"

enum { PAIRS = 150, MAX_LENGTH = 24 };

static const struct order_rule rule = {
    .seed = 3, .max_length = MAX_LENGTH, .batch_tokens = 200};
static const struct batch_limit limit = {.n_src = 90, .n_tgt = 80};

static const struct shard_rule alone = {0};

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

    CHECK_OK(order_open(&order, c, rule, &err), &err);
    CHECK_OK(prefetch_open(&f, c, rule, alone, limit, from, &err), &err);
    for (int u = 0; u < n_updates; u++) {
        const struct order_update update = order_next(&order, &at);
        for (size_t i = 0, n; i < update.n_pairs; i += n) {
            const size_t left = update.n_pairs - i;
            n = batch_cut(c, update.pair + i, left, MAX_LENGTH, limit);
            CHECK_OK(batch_gather(&want, c, update.pair + i, n, MAX_LENGTH, &err), &err);
            CHECK_OK(prefetch_next(f, &item, &err), &err);
            CHECK(same_batch(item.batch, &want));
            CHECK(item.is_first == (i == 0) && item.is_last == (n == left));
            CHECK(item.update_pairs == update.n_pairs);
            CHECK(item.update_tgt == update.n_tgt);
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
    CHECK_OK(prefetch_open(&f, &c, rule, alone, limit, (struct order_cursor){0}, &err),
             &err);
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
    CHECK_OK(prefetch_open(&f, &c, rule, alone, limit, (struct order_cursor){0}, &err),
             &err);
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
        CHECK_OK(
            prefetch_open(&f, &c, rule, alone, limit, (struct order_cursor){0}, &err),
            &err);
        for (int i = 0; i < n; i++)
            CHECK_OK(prefetch_next(f, &item, &err), &err);
        prefetch_close(f);
    }
    prefetch_close(NULL);
    corpus_close(&c);
}

TEST(a_prefetcher_refuses_what_the_order_refuses)
{
    struct order_rule bad = rule;
    struct corpus c;
    struct prefetch *f;
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    bad.batch_tokens = 0;
    CHECK_FAILS(prefetch_open(&f, &c, bad, alone, limit, (struct order_cursor){0}, &err),
                &err, ERR_USAGE, "batch_tokens");
    CHECK(!f);
    CHECK_FAILS(
        prefetch_open(&f, &c, rule, alone, limit, (struct order_cursor){0, PAIRS}, &err),
        &err, ERR_FORMAT, "checkpoint");
    CHECK(!f);
    corpus_close(&c);
}

/* What rank `rank` of `size` is given over the first n_updates: how often each pair, and
 * in seen_at the update in which it came. */
static void follow_rank(const struct corpus *c, struct order_rule how, int rank, int size,
                        int n_updates, int *times, int *seen_at)
{
    const struct shard_rule share = {.rank = rank, .size = size};
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};

    CHECK_OK(prefetch_open(&f, c, how, share, limit, (struct order_cursor){0}, &err),
             &err);
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
            struct order_rule how = rule;
            int one[PAIRS] = {0}, all[PAIRS] = {0}, at_one[PAIRS] = {0}, at[PAIRS] = {0};
            how.batch_tokens = tokens[k];
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
    const struct order_rule any_length = {.max_length = SIZE_MAX, .batch_sentences = 1};
    struct prefetch *f;
    struct prefetch_item item;
    struct err err = {0};

    CHECK_OK(prefetch_open(&f, &c, any_length, alone, (struct batch_limit){0},
                           (struct order_cursor){0}, &err),
             &err);
    for (int i = 0; i < 3; i++) {
        err = (struct err){0};
        CHECK_FAILS(prefetch_next(f, &item, &err), &err, ERR_USAGE, "too large");
    }
    prefetch_close(f);
}
