#include <stdlib.h>

#include "base/mem.h"
#include "corpus/order.h"
#include "toy_corpus.h"

enum { PAIRS = 101, MAX_LENGTH = 20 };

static const struct order_rule by_tokens = {
    .seed = 7, .max_length = MAX_LENGTH, .batch_tokens = 60};
static const struct order_rule by_sentences = {
    .seed = 7, .max_length = MAX_LENGTH, .batch_sentences = 8};

static size_t target_tokens(const struct corpus *c, uint32_t i)
{
    const size_t len = corpus_target(c, i).len;

    return len == 0 ? 3 : len > MAX_LENGTH - 2 ? MAX_LENGTH : len + 2;
}

/* The updates of n_epochs, flattened: pair ids, and where each update ends. */
struct trace {
    uint32_t pair[4 * PAIRS];
    size_t end[4 * PAIRS];
    struct order_cursor after[4 * PAIRS];
    size_t n_pairs, n_updates;
};

static void follow(struct trace *t, struct order *o, struct order_cursor *at,
                   uint64_t n_epochs)
{
    *t = (struct trace){0};
    while (at->epoch < n_epochs) {
        const struct order_update u = order_next(o, at);
        memcpy(t->pair + t->n_pairs, u.pair, u.n_pairs * sizeof *u.pair);
        t->n_pairs += u.n_pairs;
        t->end[t->n_updates] = t->n_pairs;
        t->after[t->n_updates++] = *at;
        CHECK(u.ends_epoch == (at->next == 0));
    }
}

static void open_order(struct order *o, const struct corpus *c, struct order_rule rule)
{
    struct err err = {0};

    CHECK_OK(order_open(o, c, rule, &err), &err);
}

static void check_epochs_are_permutations(struct order_rule rule)
{
    struct corpus c;
    struct order o;
    struct trace t;
    struct order_cursor at = {0};

    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, rule);
    follow(&t, &o, &at, 3);
    CHECK(t.n_pairs == 3 * (size_t)PAIRS);
    for (int epoch = 0; epoch < 3; epoch++) {
        bool seen[PAIRS] = {0};
        for (int i = 0; i < PAIRS; i++) {
            const uint32_t pair = t.pair[epoch * PAIRS + i];
            CHECK(pair < PAIRS && !seen[pair]);
            seen[pair] = true;
        }
    }
    CHECK(memcmp(t.pair, t.pair + PAIRS, PAIRS * sizeof *t.pair) != 0);
    order_close(&o);
    corpus_close(&c);
}

TEST(every_pair_comes_exactly_once_an_epoch)
{
    check_epochs_are_permutations(by_tokens);
    check_epochs_are_permutations(by_sentences);
}

TEST(an_update_holds_as_many_target_tokens_as_fit)
{
    struct corpus c;
    struct order o;
    struct order_cursor at = {0};

    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, by_tokens);
    while (at.epoch == 0) {
        const struct order_update u = order_next(&o, &at);
        size_t n_tgt = 0;
        for (size_t i = 0; i < u.n_pairs; i++)
            n_tgt += target_tokens(&c, u.pair[i]);
        CHECK(u.n_pairs >= 1 && u.n_tgt == n_tgt && n_tgt <= by_tokens.batch_tokens);
        if (!u.ends_epoch)
            CHECK(n_tgt + target_tokens(&c, u.pair[u.n_pairs]) > by_tokens.batch_tokens);
    }
    order_close(&o);
    corpus_close(&c);
}

TEST(an_update_of_sentences_counts_pairs)
{
    struct corpus c;
    struct order o;
    struct order_cursor at = {0};

    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, by_sentences);
    for (int i = 0; i < PAIRS / 8; i++)
        CHECK(order_next(&o, &at).n_pairs == 8);
    const struct order_update last = order_next(&o, &at);
    CHECK(last.n_pairs == PAIRS % 8 && last.ends_epoch && at.epoch == 1 && at.next == 0);
    order_close(&o);
    corpus_close(&c);
}

TEST(a_pair_longer_than_an_update_gets_one_of_its_own)
{
    struct order_rule tiny = by_tokens;
    struct corpus c;
    struct order o;
    struct trace t;
    struct order_cursor at = {0};

    tiny.batch_tokens = 1;
    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, tiny);
    follow(&t, &o, &at, 1);
    CHECK(t.n_updates == PAIRS && t.n_pairs == PAIRS);
    order_close(&o);
    corpus_close(&c);
}

TEST(resuming_at_any_cursor_continues_the_same_updates)
{
    struct corpus c;
    struct order o;
    struct trace whole, rest;
    struct order_cursor at = {0};

    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, by_tokens);
    follow(&whole, &o, &at, 2);
    order_close(&o);
    for (size_t u = 0; u + 1 < whole.n_updates; u++) {
        const size_t done = whole.end[u];
        at = whole.after[u];
        open_order(&o, &c, by_tokens);
        follow(&rest, &o, &at, 2);
        order_close(&o);
        CHECK(rest.n_pairs == whole.n_pairs - done);
        CHECK(memcmp(rest.pair, whole.pair + done, rest.n_pairs * sizeof *rest.pair) ==
              0);
        CHECK(rest.n_updates == whole.n_updates - u - 1);
        for (size_t i = 0; i < rest.n_updates; i++)
            CHECK(rest.end[i] + done == whole.end[u + 1 + i]);
    }
    corpus_close(&c);
}

TEST(epochs_may_be_visited_in_any_order)
{
    struct corpus c;
    struct order o;
    uint32_t first[3], again[3];

    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, by_sentences);
    for (uint64_t e = 0; e < 3; e++)
        first[e] = order_next(&o, &(struct order_cursor){.epoch = e}).pair[1];
    for (uint64_t e = 3; e-- > 0;)
        again[e] = order_next(&o, &(struct order_cursor){.epoch = e}).pair[1];
    CHECK(memcmp(first, again, sizeof first) == 0);
    order_close(&o);
    corpus_close(&c);
}

TEST(another_seed_gives_another_order)
{
    struct order_rule other = by_tokens;
    struct corpus c;
    struct order a, b;
    struct trace one, two;
    struct order_cursor at = {0};

    other.seed++;
    toy_corpus(&c, PAIRS, test_seed());
    open_order(&a, &c, by_tokens);
    open_order(&b, &c, other);
    follow(&one, &a, &at, 1);
    at = (struct order_cursor){0};
    follow(&two, &b, &at, 1);
    CHECK(memcmp(one.pair, two.pair, sizeof *one.pair * PAIRS) != 0);
    order_close(&a);
    order_close(&b);
    corpus_close(&c);
}

TEST(file_order_is_kept_when_asked)
{
    struct order_rule rule = by_tokens;
    struct corpus c;
    struct order o;
    struct trace t;
    struct order_cursor at = {0};

    rule.in_file_order = true;
    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, rule);
    follow(&t, &o, &at, 2);
    for (uint32_t i = 0; i < 2 * PAIRS; i++)
        CHECK(t.pair[i] == i % PAIRS);
    order_close(&o);
    corpus_close(&c);
}

TEST(dropping_leaves_out_exactly_the_overlong_pairs)
{
    struct order_rule rule = by_tokens;
    struct corpus c;
    struct order o;
    struct trace t;
    struct order_cursor at = {0};
    bool seen[PAIRS] = {0};
    size_t n_fit = 0;

    rule.drop_overlong = true;
    toy_corpus(&c, PAIRS, test_seed());
    open_order(&o, &c, rule);
    follow(&t, &o, &at, 1);
    for (size_t i = 0; i < t.n_pairs; i++)
        seen[t.pair[i]] = true;
    for (uint32_t i = 0; i < PAIRS; i++) {
        const bool fits = corpus_source(&c, i).len <= MAX_LENGTH - 2 &&
                          corpus_target(&c, i).len <= MAX_LENGTH - 2;
        CHECK(seen[i] == fits);
        n_fit += fits;
    }
    CHECK(n_fit > 0 && n_fit < PAIRS);
    CHECK(o.n_pairs == n_fit && o.n_dropped == PAIRS - n_fit && t.n_pairs == n_fit);
    order_close(&o);
    corpus_close(&c);
}

TEST(rules_and_cursors_that_cannot_be_are_refused)
{
    struct order_rule rule = by_tokens;
    struct corpus c, none;
    struct order o;
    struct err err = {0};

    toy_corpus(&none, 0, 1);
    CHECK_FAILS(order_open(&o, &none, rule, &err), &err, ERR_FORMAT, "no pairs");
    corpus_close(&none);
    toy_corpus(&c, PAIRS, test_seed());
    rule.batch_sentences = 5;
    CHECK_FAILS(order_open(&o, &c, rule, &err), &err, ERR_USAGE, "set exactly one");
    rule.batch_sentences = rule.batch_tokens = 0;
    CHECK_FAILS(order_open(&o, &c, rule, &err), &err, ERR_USAGE, "set exactly one");
    rule.batch_tokens = 10;
    rule.max_length = 2;
    CHECK_FAILS(order_open(&o, &c, rule, &err), &err, ERR_USAGE, "max_length = 2");
    order_close(&o);

    open_order(&o, &c, by_tokens);
    CHECK_OK(order_check(&o, (struct order_cursor){5, PAIRS - 1}, &err), &err);
    CHECK_FAILS(order_check(&o, (struct order_cursor){5, PAIRS}, &err), &err, ERR_FORMAT,
                "pair 101 of an epoch, this corpus has 101");
    CHECK_FAILS(order_check(&o, (struct order_cursor){UINT64_MAX, 0}, &err), &err,
                ERR_FORMAT, "checkpoint");
    order_close(&o);
    order_close(&o);
    corpus_close(&c);
}

TEST(dropping_everything_is_an_error)
{
    const int32_t id[] = {5, 6, 7};
    const struct corpus_file_side side = {id, 3};
    struct order_rule rule = by_tokens;
    struct corpus_file_writer w;
    struct corpus c;
    struct order o;
    struct err err = {0};

    CHECK_OK(corpus_file_create(&w, test_path("long.bin"), 10, 0, &err), &err);
    CHECK_OK(corpus_file_add(&w, side, side, &err), &err);
    CHECK_OK(corpus_file_commit(&w, &err), &err);
    CHECK_OK(corpus_open(&c, test_path("long.bin"), &err), &err);
    rule.max_length = 4;
    rule.drop_overlong = true;
    CHECK_FAILS(order_open(&o, &c, rule, &err), &err, ERR_USAGE, "drops every one");
    order_close(&o);
    corpus_close(&c);
}
