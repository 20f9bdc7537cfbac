/* weighed - the usual data of toy_run.h with weights, for tests. */
#pragma once

#include "corpus/corpus.h"
#include "toy_run.h"

static inline float weighed_unlike(uint32_t pair)
{
    return (float[]){0.5F, 1, 2, 0.1F, 3}[pair % 5];
}

static inline float weighed_one(uint32_t pair)
{
    (void)pair;
    return 1;
}

static inline float weighed_two(uint32_t pair)
{
    (void)pair;
    return 2;
}

/* Pairs of the usual data, in place: as they are or `weight` each, or each so often. */
static inline void weighed_make(float (*weight)(uint32_t), bool repeated)
{
    struct corpus_file_writer w;
    struct err err = {0};
    struct corpus c;

    CHECK_OK(corpus_open(&c, test_path("data/train.bin"), &err), &err);
    CHECK_OK((repeated ? corpus_file_create : corpus_file_create_weighted)(
                 &w, test_path("data/other.bin"), c.vocab, c.tokenizer_hash, &err),
             &err);
    for (uint32_t i = 0; i < c.n_pairs; i++) {
        const struct sentence in[] = {corpus_source(&c, i), corpus_target(&c, i)};
        int32_t id[2][256];
        for (int s = 0; s < 2; s++)
            for (size_t k = 0; k < in[s].len; k++)
                id[s][k] = in[s].token[k];
        const struct corpus_file_side side[] = {{id[0], in[0].len}, {id[1], in[1].len}};
        for (int k = 0; repeated && k < (int)weight(i); k++)
            CHECK_OK(corpus_file_add(&w, side[0], side[1], &err), &err);
        if (!repeated)
            CHECK_OK(corpus_file_add_weighted(&w, side[0], side[1], weight(i), &err),
                     &err);
    }
    CHECK_OK(corpus_file_commit(&w, &err), &err);
    corpus_close(&c);
    CHECK(rename(test_path("data/other.bin"), test_path("data/train.bin")) == 0);
}
