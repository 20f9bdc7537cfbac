/*
 * Several corpora as one, and shares of them in the epochs of a training: what is read of
 * the text, and what comes out of the order of the data.
 */
#include "corpus/mix.h"

#include <stdlib.h>
#include <string.h>

#include "corpus/batch.h"
#include "corpus/order.h"
#include "toy_corpus.h"

static const char *const names[] = {"original", "bt", "a:b"};

static status reads(struct mix *m, const char *text, struct err *err)
{
    return mix_read(m, text, names, 3, err);
}

TEST(a_mix_is_read_stage_by_stage)
{
    struct err err = {0};
    struct mix m;

    CHECK_OK(reads(&m, " bt:1 until 2; a:b:3 , original:1.5 until 10 ;original:1", &err),
             &err);
    CHECK(m.n == 3 && m.stage[0].end == 2 && m.stage[1].end == 10 &&
          m.stage[2].end == UINT64_MAX);
    CHECK(m.stage[0].n == 1 && m.stage[0].part[0].corpus == 1);
    CHECK(m.stage[1].n == 2 && m.stage[1].part[0].corpus == 2 &&
          m.stage[1].part[0].share == 3 && m.stage[1].part[1].corpus == 0 &&
          m.stage[1].part[1].share == 1.5);
    CHECK(mix_stage_of(&m, 0) == &m.stage[0] && mix_stage_of(&m, 1) == &m.stage[0] &&
          mix_stage_of(&m, 2) == &m.stage[1] && mix_stage_of(&m, 9) == &m.stage[1] &&
          mix_stage_of(&m, 10) == &m.stage[2] &&
          mix_stage_of(&m, UINT64_MAX - 1) == &m.stage[2]);
    CHECK_OK(reads(&m, "  ", &err), &err);
    CHECK(m.n == 0);
}

TEST(a_mix_that_cannot_be_is_refused_in_a_sentence)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"bt", "'bt' is not NAME:SHARE"},
        {"bt:0", "a share above 0"},
        {"bt:-1", "a share above 0"},
        {"bt:nan", "a share above 0"},
        {"bt:1e999", "a share above 0"},
        {"bt:1,", "'' is not NAME:SHARE"},
        {"bt:1;", "'' is not NAME:SHARE"},
        {"bt:1,bt:2", "names bt twice"},
        {"news:1", "no corpus is called 'news'"},
        {"bt:1; original:1", "stage 1 of 2 needs `until EPOCH`"},
        {"bt:1 until 2; bt:1 until 2; original:1", "stage 2 ends with epoch 2"},
        {"bt:1 until 0; original:1", "stage 1 ends with epoch 0"},
        {"bt:1 until 1.5; original:1", "'1.5' is not the number of an epoch"},
        {"bt:1 until x; original:1", "'x' is not the number of an epoch"},
        {"bt:1 until 3", "nothing is said of the epochs after 3"},
    };
    struct mix m;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        CHECK_FAILS(reads(&m, cases[i].text, &err), &err, ERR_USAGE, cases[i].says);
    }
}

TEST(counts_follow_the_shares_and_add_up_over_stages)
{
    const size_t n_pairs[] = {100, 1000, 7};
    struct err err = {0};
    struct mix m;

    CHECK_OK(reads(&m, "bt:1 until 2; original:0.6,bt:0.4,a:b:0.0001", &err), &err);
    CHECK(mix_count(&m.stage[0], 0, n_pairs) == 1000);
    CHECK(mix_count(&m.stage[1], 0, n_pairs) == 100);
    CHECK(mix_count(&m.stage[1], 1, n_pairs) == 67); /* 100 * 0.4 / 0.6 */
    CHECK(mix_count(&m.stage[1], 2, n_pairs) == 1);  /* never none */
    CHECK(mix_used(&m, 1, 0, n_pairs) == 0 && mix_used(&m, 1, 1, n_pairs) == 1000);
    CHECK(mix_used(&m, 1, 2, n_pairs) == 2000 && mix_used(&m, 1, 5, n_pairs) == 2201);
    CHECK(mix_used(&m, 0, 2, n_pairs) == 0 && mix_used(&m, 0, 5, n_pairs) == 300);
}

/* ---- several corpora as one ---- */

enum { N_PARTS = 3 };
static const uint32_t sizes[N_PARTS] = {50, 20, 9};

static void join(struct corpus *c)
{
    struct corpus more;
    struct err err = {0};

    toy_corpus(c, sizes[0], 1);
    for (uint64_t i = 1; i < N_PARTS; i++) {
        toy_corpus(&more, sizes[i], i + 1);
        CHECK_OK(corpus_append(c, &more, &err), &err);
        CHECK(!more.data && !more.map.data);
    }
}

static bool same(struct sentence a, struct sentence b)
{
    return a.len == b.len && memcmp(a.token, b.token, a.len * sizeof *a.token) == 0;
}

TEST(pairs_of_appended_corpora_follow_one_another)
{
    struct corpus all;
    uint32_t at = 0;
    uint64_t n_tokens = 0;
    struct batch batch = {0};
    struct err err = {0};

    join(&all);
    for (uint64_t i = 0; i < N_PARTS; i++) {
        struct corpus alone;
        toy_corpus(&alone, sizes[i], i + 1);
        for (uint32_t k = 0; k < sizes[i]; k++, at++) {
            CHECK(same(corpus_source(&all, at), corpus_source(&alone, k)));
            CHECK(same(corpus_target(&all, at), corpus_target(&alone, k)));
            CHECK(corpus_has_pair(&all, at));
            CHECK_OK(batch_gather(&batch, &all, &at, 1, 64, &err), &err);
            CHECK(batch.pair[0] == (int32_t)at && batch.src_pair[0] == (int32_t)at);
        }
        n_tokens += alone.n_tokens;
        corpus_close(&alone);
    }
    CHECK(all.n_pairs == at && all.n_tokens == n_tokens && all.vocab == TOY_VOCAB &&
          all.tokenizer_hash == TOY_HASH);
    CHECK_OK(corpus_file_verify(&all, &err), &err);
    batch_release(&batch);
    corpus_close(&all);
}

TEST(the_checksum_of_several_corpora_tells_their_order)
{
    struct corpus a, b, c, d;
    struct err err = {0};

    toy_corpus(&a, 5, 1);
    toy_corpus(&b, 5, 2);
    toy_corpus(&c, 5, 2);
    toy_corpus(&d, 5, 1);
    CHECK_OK(corpus_append(&a, &b, &err), &err);
    CHECK_OK(corpus_append(&c, &d, &err), &err);
    CHECK(a.checksum != c.checksum && a.checksum != a.part[0].checksum);
    corpus_close(&a);
    corpus_close(&c);
}

TEST(damage_in_one_of_several_corpora_is_found_and_the_corpus_named)
{
    struct corpus all;
    struct err err = {0};

    join(&all);
    unsigned char *bytes = malloc(all.part[1].n_bytes);
    CHECK(bytes);
    memcpy(bytes, all.part[1].data, all.part[1].n_bytes);
    bytes[CORPUS_FILE_HEAD + 3] ^= 1;
    all.part[1].data = bytes;
    CHECK_FAILS(corpus_file_verify(&all, &err), &err, ERR_FORMAT, "corpus 2 of 3");
    free(bytes);
    corpus_close(&all);
}

/* ---- the order ---- */

static const struct order_rule usual = {
    .seed = 7, .max_length = 64, .batch_sentences = 8};

static struct order_rule rule_of(const struct mix *m)
{
    struct order_rule r = usual;

    r.mix = m;
    return r;
}

static int part_of(uint32_t pair)
{
    return pair < sizes[0] ? 0 : pair < sizes[0] + sizes[1] ? 1 : 2;
}

/* Every pair of the epochs in order; returns how many. */
static size_t walk(struct order *o, struct order_cursor from, uint64_t end,
                   uint32_t *list, size_t max)
{
    size_t n = 0;

    while (from.epoch < end) {
        const struct order_update u = order_next(o, &from);
        CHECK(n + u.n_pairs <= max);
        memcpy(list + n, u.pair, u.n_pairs * sizeof *list);
        n += u.n_pairs;
        CHECK(u.ends_epoch == (from.next == 0));
    }
    return n;
}

TEST(an_epoch_has_the_shares_of_its_stage_and_no_pair_comes_again_before_the_others)
{
    enum { EPOCHS = 9, MOST = 2000 };
    uint32_t list[MOST];
    size_t times[128] = {0};
    struct corpus all;
    struct order o;
    struct mix m;
    struct err err = {0};

    join(&all);
    CHECK_OK(reads(&m, "bt:1 until 2; original:5,bt:3,a:b:1", &err), &err);
    CHECK_OK(order_open(&o, &all, rule_of(&m), &err), &err);
    for (uint64_t e = 0; e < EPOCHS; e++) {
        size_t n[N_PARTS] = {0}, least[N_PARTS], most[N_PARTS] = {0};
        const size_t k = walk(&o, (struct order_cursor){.epoch = e}, e + 1, list, MOST);
        for (size_t i = 0; i < k; i++) {
            n[part_of(list[i])]++;
            times[list[i]]++;
        }
        CHECK(n[0] == (e < 2 ? 0 : 50));
        CHECK(n[1] == (e < 2 ? 20 : 30));
        CHECK(n[2] == (e < 2 ? 0 : 10));
        memset(least, 0x7f, sizeof least);
        for (uint32_t i = 0; i < all.n_pairs; i++) {
            const int p = part_of(i);
            least[p] = times[i] < least[p] ? times[i] : least[p];
            most[p] = times[i] > most[p] ? times[i] : most[p];
        }
        for (int p = 0; p < N_PARTS; p++)
            CHECK(most[p] - least[p] <= 1);
    }
    order_close(&o);
    corpus_close(&all);
}

TEST(a_mix_goes_on_from_any_cursor_and_reaches_any_epoch_alone)
{
    enum { EPOCHS = 5, MOST = 2000 };
    uint32_t whole[MOST], rest[MOST], other[MOST];
    struct order_cursor at = {0};
    struct corpus all;
    struct order o;
    struct mix m;
    struct err err = {0};
    size_t done = 0;

    join(&all);
    CHECK_OK(reads(&m, "a:b:1,bt:2 until 1; original:5,bt:3", &err), &err);
    CHECK_OK(order_open(&o, &all, rule_of(&m), &err), &err);
    const size_t n = walk(&o, at, EPOCHS, whole, MOST);
    while (at.epoch < EPOCHS) {
        struct order fresh;
        CHECK_OK(order_open(&fresh, &all, rule_of(&m), &err), &err);
        CHECK_OK(order_check(&fresh, at, &err), &err);
        CHECK(walk(&fresh, at, EPOCHS, rest, MOST) == n - done);
        CHECK(memcmp(rest, whole + done, (n - done) * sizeof *rest) == 0);
        order_close(&fresh);
        done += order_next(&o, &at).n_pairs;
    }
    order_close(&o);
    struct order_rule seeded = rule_of(&m);
    seeded.seed = 8;
    CHECK_OK(order_open(&o, &all, seeded, &err), &err);
    CHECK(walk(&o, (struct order_cursor){0}, EPOCHS, other, MOST) == n);
    CHECK(memcmp(other, whole, n * sizeof *other) != 0);
    CHECK_FAILS(order_check(&o, (struct order_cursor){1, 80}, &err), &err, ERR_FORMAT,
                "pair 80 of an epoch, this corpus has 80");
    CHECK_OK(order_check(&o, (struct order_cursor){1, 79}, &err), &err);
    order_close(&o);
    corpus_close(&all);
}

TEST(a_mix_leaves_out_the_pairs_that_are_too_long)
{
    enum { MOST = 4000 };
    uint32_t list[MOST];
    struct corpus all;
    struct order o;
    struct mix m;
    struct err err = {0};

    join(&all);
    struct order_rule rule = rule_of(&m);
    rule.max_length = 22;
    rule.drop_overlong = true;
    CHECK_OK(reads(&m, "original:1,bt:1", &err), &err);
    CHECK_OK(order_open(&o, &all, rule, &err), &err);
    const size_t n = walk(&o, (struct order_cursor){0}, 20, list, MOST);
    for (size_t i = 0; i < n; i++)
        CHECK(corpus_source(&all, list[i]).len <= 20 &&
              corpus_target(&all, list[i]).len <= 20);
    CHECK(o.n_kept[0] > 0 && o.n_kept[0] < 50 && n == 40 * o.n_kept[0]);
    order_close(&o);
    rule.max_length = 3; /* 2 of the pairs or none are so short */
    CHECK_FAILS(order_open(&o, &all, rule, &err), &err, ERR_USAGE, "has no pair that");
    corpus_close(&all);
}
