/* An update is parted between ranks without loss, and evenly. */
#include <stdlib.h>

#include "corpus/shard.h"
#include "toy_corpus.h"

enum { PAIRS = 400, MAX_LENGTH = 30 };

static size_t target_tokens(const struct corpus *c, uint32_t i)
{
    return corpus_clip(corpus_target(c, i).len, MAX_LENGTH);
}

struct parts {
    int owner[PAIRS]; /* -1: nobody's yet */
    size_t tokens[16], n_pairs[16], node_tgt[16];
};

/* All ranks' parts of the update that is the pairs 0..n-1. */
static void part(struct parts *p, const struct corpus *c, size_t n, int size,
                 const int *node)
{
    uint32_t pair[PAIRS];
    struct order_update u = {.pair = pair, .n_pairs = n};

    *p = (struct parts){0};
    for (size_t i = 0; i < n; i++) {
        pair[i] = (uint32_t)i;
        p->owner[i] = -1;
        u.n_tgt += target_tokens(c, (uint32_t)i);
    }
    for (int rank = 0; rank < size; rank++) {
        struct shard s;
        struct shard_part mine;
        struct err err = {0};
        CHECK_OK(shard_open(&s, (struct shard_rule){rank, size, node}, &err), &err);
        CHECK_OK(shard_take(&s, &mine, &u, c, MAX_LENGTH, &err), &err);
        for (size_t i = 0; i < mine.n_pairs; i++) {
            CHECK(p->owner[mine.pair[i]] == -1);
            CHECK(i == 0 || mine.pair[i] > mine.pair[i - 1]); /* order is kept */
            p->owner[mine.pair[i]] = rank;
            p->tokens[rank] += target_tokens(c, mine.pair[i]);
        }
        p->n_pairs[rank] = mine.n_pairs;
        p->node_tgt[rank] = mine.node_tgt;
        shard_close(&s);
    }
    for (size_t i = 0; i < n; i++)
        CHECK(p->owner[i] >= 0);
}

TEST(every_pair_has_one_owner_and_loads_differ_by_less_than_a_pair)
{
    struct corpus c;
    struct parts p;

    toy_corpus(&c, PAIRS, test_seed());
    for (int size = 1; size <= 7; size++)
        for (size_t n = 1; n <= PAIRS; n += 57) {
            size_t least = SIZE_MAX, most = 0;
            part(&p, &c, n, size, NULL);
            for (int r = 0; r < size; r++) {
                least = p.tokens[r] < least ? p.tokens[r] : least;
                most = p.tokens[r] > most ? p.tokens[r] : most;
            }
            CHECK(most - least <= MAX_LENGTH);
            CHECK(n < 50 || most - least <= 4); /* short pairs fill the gaps */
        }
    corpus_close(&c);
}

TEST(with_fewer_pairs_than_ranks_some_ranks_have_none)
{
    struct corpus c;
    struct parts p;
    size_t n_empty = 0;

    toy_corpus(&c, PAIRS, test_seed());
    part(&p, &c, 3, 7, NULL);
    for (int r = 0; r < 7; r++)
        n_empty += p.n_pairs[r] == 0;
    CHECK(n_empty == 4);
    corpus_close(&c);
}

TEST(a_node_knows_the_tokens_of_its_ranks)
{
    static const int node[] = {0, 1, 0, 1, 2};
    struct corpus c;
    struct parts p;

    toy_corpus(&c, PAIRS, test_seed());
    part(&p, &c, 100, 5, node);
    CHECK(p.node_tgt[0] == p.tokens[0] + p.tokens[2] && p.node_tgt[2] == p.node_tgt[0]);
    CHECK(p.node_tgt[1] == p.tokens[1] + p.tokens[3] && p.node_tgt[4] == p.tokens[4]);
    part(&p, &c, 100, 5, NULL);
    CHECK(p.node_tgt[0] ==
          p.tokens[0] + p.tokens[1] + p.tokens[2] + p.tokens[3] + p.tokens[4]);
    corpus_close(&c);
}
