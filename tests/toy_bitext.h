/*
 * toy_bitext - packed corpora of a language whose dictionary is known: source id e means
 * target id toy_word(e), and neighbours of a sentence sometimes change places.
 */
#pragma once

#include "base/rng.h"
#include "corpus/corpus.h"
#include "test.h"

enum { TOY_FIRST = 4, TOY_WORDS = 40, TOY_BITEXT_VOCAB = 50 };

/* A permutation of the words, which are TOY_FIRST .. TOY_FIRST + TOY_WORDS - 1. */
static inline int32_t toy_word(int32_t e)
{
    return TOY_FIRST + (e - TOY_FIRST) * 7 % TOY_WORDS;
}

/* A corpus being written, and opened from test_path(name). */
struct toy_bitext {
    struct corpus_file_writer writer;
    const char *path;
};

static inline void toy_bitext_begin(struct toy_bitext *t, const char *name, size_t vocab)
{
    struct err err = {0};

    t->path = test_path(name);
    CHECK_OK(corpus_file_create(&t->writer, t->path, vocab, 0, &err), &err);
}

static inline void toy_bitext_add(struct toy_bitext *t, const int32_t *source, size_t S,
                                  const int32_t *target, size_t T)
{
    struct err err = {0};

    CHECK_OK(corpus_file_add(&t->writer, (struct corpus_file_side){source, S},
                             (struct corpus_file_side){target, T}, &err),
             &err);
}

static inline void toy_bitext_open(struct toy_bitext *t, struct corpus *c)
{
    struct err err = {0};

    CHECK_OK(corpus_file_commit(&t->writer, &err), &err);
    CHECK_OK(corpus_open(c, t->path, &err), &err);
}

/* n pairs of 1 to `longest` <= 30 words; is_swapped: target and source change sides. */
static inline void toy_bitext(struct corpus *c, uint32_t n, size_t longest,
                              bool is_swapped)
{
    struct rng rng = rng_open(rng_key(test_seed(), "toy bitext"));
    struct toy_bitext t;

    toy_bitext_begin(&t, is_swapped ? "swapped.bin" : "bitext.bin", TOY_BITEXT_VOCAB);
    for (uint32_t k = 0; k < n; k++) {
        const size_t len = 1 + (size_t)rng_below(&rng, longest);
        int32_t source[30], target[30];
        for (size_t i = 0; i < len; i++) {
            source[i] = TOY_FIRST + (int32_t)rng_below(&rng, TOY_WORDS);
            target[i] = toy_word(source[i]);
        }
        for (size_t i = 0; i + 1 < len; i++)
            if (rng_below(&rng, 4) == 0) {
                const int32_t moved = target[i];
                target[i] = target[i + 1];
                target[i + 1] = moved;
            }
        if (is_swapped)
            toy_bitext_add(&t, target, len, source, len);
        else
            toy_bitext_add(&t, source, len, target, len);
    }
    toy_bitext_open(&t, c);
}
