/* toy_corpus - small packed corpora for tests, in the test's own directory. */
#pragma once

#include "base/rng.h"
#include "corpus/corpus.h"
#include "test.h"

enum { TOY_VOCAB = 100, TOY_HASH = 0x5eed, TOY_LONGEST = 40 };

/* n pairs of random lengths 0..TOY_LONGEST, the same for a seed. */
static inline void toy_corpus(struct corpus *c, uint32_t n, uint64_t seed)
{
    struct rng rng = rng_open(rng_key(seed, "toy corpus"));
    const char *path = test_path("toy.bin");
    struct corpus_file_writer w;
    struct err err = {0};

    CHECK_OK(corpus_file_create(&w, path, TOY_VOCAB, TOY_HASH, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        int32_t id[2][TOY_LONGEST];
        struct corpus_file_side side[2];
        for (int s = 0; s < 2; s++) {
            side[s] = (struct corpus_file_side){id[s],
                                                (size_t)rng_below(&rng, TOY_LONGEST + 1)};
            for (size_t t = 0; t < side[s].n; t++)
                id[s][t] = (int32_t)(4 + rng_below(&rng, TOY_VOCAB - 4));
        }
        CHECK_OK(corpus_file_add(&w, side[0], side[1], &err), &err);
    }
    CHECK_OK(corpus_file_commit(&w, &err), &err);
    CHECK_OK(corpus_open(c, path, &err), &err);
}
