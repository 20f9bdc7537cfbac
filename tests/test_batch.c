#include <stdlib.h>

#include "corpus/batch.h"
#include "toy_corpus.h"

enum { MAX_LENGTH = 6 };

#define SAME(got, n, ...)                                                        \
    do {                                                                         \
        const int32_t want_[] = {__VA_ARGS__};                                   \
        CHECK((n) == sizeof want_ / sizeof *want_);                              \
        for (size_t i_ = 0; i_ < sizeof want_ / sizeof *want_; i_++)             \
            if ((got)[i_] != want_[i_])                                          \
                test_fail(__FILE__, __LINE__, "%s[%zu] = %d, want %d", #got, i_, \
                          (got)[i_], want_[i_]);                                 \
    } while (0)

/* (10 11 | 20), (12 13 14 15 16 | 21 22 23 24 25), (empty | empty) */
static void open_small(struct corpus *c)
{
    const int32_t src[] = {10, 11, 12, 13, 14, 15, 16}, tgt[] = {20, 21, 22, 23, 24, 25};
    const struct corpus_file_side empty = {NULL, 0};
    const char *path = test_path("batch.bin");
    struct corpus_file_writer w;
    struct err err = {0};

    CHECK_OK(corpus_file_create(&w, path, 30, 0, &err), &err);
    CHECK_OK(corpus_file_add(&w, (struct corpus_file_side){src, 2},
                             (struct corpus_file_side){tgt, 1}, &err),
             &err);
    CHECK_OK(corpus_file_add(&w, (struct corpus_file_side){src + 2, 5},
                             (struct corpus_file_side){tgt + 1, 5}, &err),
             &err);
    CHECK_OK(corpus_file_add(&w, empty, empty, &err), &err);
    CHECK_OK(corpus_file_commit(&w, &err), &err);
    CHECK_OK(corpus_open(c, path, &err), &err);
}

static uint64_t hash_of(const struct corpus *c, const uint32_t *pairs, size_t n,
                        uint64_t step)
{
    struct batch b = {0};
    struct err err = {0};

    CHECK_OK(batch_gather(&b, c, pairs, n, MAX_LENGTH, &err), &err);
    const uint64_t hash = batch_hash(&b, step);
    batch_release(&b);
    return hash;
}

TEST(the_hash_of_an_update_tells_its_pairs_and_not_who_trained_on_them)
{
    struct corpus c;

    open_small(&c);
    const uint64_t whole = hash_of(&c, (uint32_t[]){0, 1, 2}, 3, 7);
    CHECK(whole != 0 && whole == hash_of(&c, (uint32_t[]){2, 0, 1}, 3, 7));
    CHECK(whole == hash_of(&c, (uint32_t[]){2, 0}, 2, 7) +
                       hash_of(&c, (uint32_t[]){1}, 1, 7) +
                       hash_of(&c, (uint32_t[]){0}, 0, 7));
    CHECK(whole != hash_of(&c, (uint32_t[]){0, 1}, 2, 7)); /* one left out */
    CHECK(whole != hash_of(&c, (uint32_t[]){0, 1, 1}, 3, 7));
    CHECK(whole != hash_of(&c, (uint32_t[]){0, 1, 2, 2}, 4, 7)); /* one twice */
    CHECK(whole != hash_of(&c, (uint32_t[]){0, 1, 2}, 3, 8));
    /* in another update of the two */
    CHECK(whole + hash_of(&c, (uint32_t[]){0}, 1, 8) !=
          hash_of(&c, (uint32_t[]){0, 1}, 2, 7) + hash_of(&c, (uint32_t[]){0, 2}, 2, 8));
    corpus_close(&c);
}

TEST(a_batch_packs_its_pairs_exactly)
{
    const uint32_t pairs[] = {2, 0, 1};
    struct corpus c;
    struct batch b = {0};
    struct err err = {0};

    open_small(&c);
    CHECK_OK(batch_gather(&b, &c, pairs, 3, MAX_LENGTH, &err), &err);
    CHECK(b.max_src == 6 && b.max_tgt == 6);
    SAME(b.pair, b.n_sents, 2, 0, 1);
    SAME(b.src_at, b.n_sents + 1, 0, 3, 7, 13);
    SAME(b.tgt_at, b.n_sents + 1, 0, 3, 6, 12);
    SAME(b.src_id, b.n_src, 2, 3, 1, 2, 10, 11, 1, 2, 12, 13, 14, 15, 1);
    SAME(b.src_pos, b.n_src, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5);
    SAME(b.src_pair, b.n_src, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1);
    SAME(b.tgt_label, b.n_tgt, 2, 3, 1, 2, 20, 1, 2, 21, 22, 23, 24, 1);
    SAME(b.tgt_in, b.n_tgt, -1, 2, 3, -1, 2, 20, -1, 2, 21, 22, 23, 24);
    SAME(b.tgt_pos, b.n_tgt, 0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4, 5);
    SAME(b.tgt_pair, b.n_tgt, 2, 2, 2, 0, 0, 0, 1, 1, 1, 1, 1, 1);
    batch_release(&b);
    batch_release(&b);
    corpus_close(&c);
}

TEST(a_sentence_of_the_greatest_length_is_not_truncated)
{
    const uint32_t pair = 1;
    struct corpus c;
    struct batch b = {0};
    struct err err = {0};

    open_small(&c);
    CHECK_OK(batch_gather(&b, &c, &pair, 1, 7, &err), &err);
    SAME(b.src_id, b.n_src, 2, 12, 13, 14, 15, 16, 1);
    SAME(b.tgt_label, b.n_tgt, 2, 21, 22, 23, 24, 25, 1);
    batch_release(&b);
    corpus_close(&c);
}

TEST(the_arrays_lie_in_one_block_without_gaps)
{
    const uint32_t pairs[] = {0, 1};
    struct corpus c;
    struct batch b = {0};
    struct err err = {0};

    open_small(&c);
    CHECK_OK(batch_gather(&b, &c, pairs, 2, MAX_LENGTH, &err), &err);
    CHECK(b.pair == b.block && b.src_at == b.pair + 2 && b.tgt_at == b.src_at + 3);
    CHECK(b.src_id == b.tgt_at + 3 && b.tgt_pair + b.n_tgt == b.block + b.n_block);
    batch_release(&b);
    corpus_close(&c);
}

TEST(a_warm_batch_is_filled_in_place)
{
    const uint32_t all[] = {0, 1, 2}, one[] = {0};
    struct corpus c;
    struct batch b = {0};
    struct err err = {0};

    open_small(&c);
    CHECK_OK(batch_gather(&b, &c, all, 3, MAX_LENGTH, &err), &err);
    const int32_t *block = b.block;
    CHECK_OK(batch_gather(&b, &c, one, 1, MAX_LENGTH, &err), &err);
    CHECK(b.block == block && b.max_src == 4 && b.max_tgt == 3);
    SAME(b.src_id, b.n_src, 2, 10, 11, 1);
    SAME(b.tgt_in, b.n_tgt, -1, 2, 20);
    batch_release(&b);
    corpus_close(&c);
}

TEST(micro_batches_keep_both_limits)
{
    const uint32_t pairs[] = {0, 1, 2}; /* source 4, 6, 3; target 3, 6, 3 */
    struct corpus c;

    open_small(&c);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){0, 0}) == 3);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){13, 12}) == 3);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){12, 12}) == 2);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){13, 11}) == 2);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){9, 0}) == 1);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){0, 8}) == 1);
    CHECK(batch_cut(&c, pairs, 3, MAX_LENGTH, (struct batch_limit){1, 1}) == 1);
    corpus_close(&c);
}

TEST(cutting_an_update_loses_nothing)
{
    enum { PAIRS = 200 };
    const struct batch_limit limit = {100, 90};
    uint32_t pairs[PAIRS], i = 0;
    struct corpus c;
    struct batch b = {0};
    struct err err = {0};

    toy_corpus(&c, PAIRS, test_seed());
    for (uint32_t p = 0; p < PAIRS; p++)
        pairs[p] = PAIRS - 1 - p;
    while (i < PAIRS) {
        const size_t n = batch_cut(&c, pairs + i, PAIRS - i, 30, limit);
        CHECK(n >= 1 && n <= PAIRS - i);
        CHECK_OK(batch_gather(&b, &c, pairs + i, n, 30, &err), &err);
        CHECK(b.n_src <= limit.n_src && b.n_tgt <= limit.n_tgt);
        for (size_t s = 0; s < n; s++)
            CHECK(b.pair[s] == (int32_t)pairs[i + s]);
        i += (uint32_t)n;
    }
    CHECK(i == PAIRS);
    batch_release(&b);
    corpus_close(&c);
}
