#include "align/ttable.h"
#include "toy_bitext.h"
#include "toy_ttable.h"

/* As many pairs of ids as can be: noise, with the dictionary in it. */
static void draw_noise(struct corpus *c)
{
    enum { VOCAB = 500, LEN = 10, PAIRS = 4000 };
    struct rng rng = rng_open(rng_key(test_seed(), "noise"));
    struct toy_bitext b;

    toy_bitext_begin(&b, "noise.bin", VOCAB);
    for (int k = 0; k < PAIRS; k++) {
        int32_t source[LEN], target[LEN];
        for (int i = 0; i < LEN; i++) {
            source[i] = 4 + (int32_t)rng_below(&rng, VOCAB - 4);
            target[i] = rng_below(&rng, 4) ? source[i] ^ 1
                                           : 4 + (int32_t)rng_below(&rng, VOCAB - 4);
        }
        toy_bitext_add(&b, source, LEN, target, LEN);
    }
    toy_bitext_open(&b, c);
}

TEST(memory_is_bounded_and_the_table_still_good)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable one, two;
    struct err err = {0};

    draw_noise(&c);
    toy_learn(&one, &c, &o);
    CHECK(one.n_cut == 0 && one.n_cells > 100000);
    ttable_release(&one);
    o.memory_bytes = 1500000;
    toy_learn(&one, &c, &o);
    CHECK(one.n_cut > one.n_cells && one.n_cells > 10000);
    CHECK(one.n_cells * 20 < o.memory_bytes);
    CHECK(strstr(one.note, "were left out to stay within 1 MiB"));
    for (uint32_t e = 4; e < 500; e++) {
        uint16_t id;
        float prob;
        CHECK(ttable_best(&one, e, 1, &id, &prob) == 1 && id == (e ^ 1));
    }
    toy_learn_threads(&two, &c, o, 2);
    toy_check_same(&one, &two);
    ttable_release(&one);
    ttable_release(&two);
    o.memory_bytes = 300000;
    CHECK_FAILS(ttable_learn(&one, &c, &o, &err), &err, ERR_USAGE,
                "KiB are too little memory to align a corpus of 4000 pairs");
    corpus_close(&c);
}

/* 20,000 pairs of ten words: 800 KB of postings, for which this bound leaves 150. */
TEST(a_list_of_pairs_that_does_not_fit_is_made_in_parts)
{
    struct ttable_options o = ttable_defaults();
    struct corpus c;
    struct ttable whole, parts;

    toy_bitext(&c, 20000, 20, false);
    toy_learn(&whole, &c, &o);
    o.memory_bytes = 900000;
    toy_learn(&parts, &c, &o);
    toy_check_same(&whole, &parts);
    ttable_release(&whole);
    ttable_release(&parts);
    corpus_close(&c);
}
