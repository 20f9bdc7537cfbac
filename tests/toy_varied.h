/* toy_varied - small trainings on text that every kind of variation changes: words in
 * capitals, numbers, and punctuation at the end. */
#pragma once

#include "toy_run.h"
#include "unigram_model.h"

static inline void toy_varied_write(const char *name, bool german, int first, int n)
{
    static const char *const words[2][12] = {
        {"ship", "river", "bank", "light", "bridge", "wind", "SHIP", "RIVER", "BANK",
         "LIGHT", "BRIDGE", "WIND"},
        {"Schiff", "Fluss", "Ufer", "Licht", "Brücke", "Wind", "SCHIFF", "FLUSS", "UFER",
         "LICHT", "BRÜCKE", "WIND"}};
    FILE *f = fopen(test_path(name), "we");

    CHECK(f);
    for (int i = first; i < first + n; i++) {
        struct rng rng = rng_open(rng_hash(rng_key(7, "varied"), (uint64_t)i));
        const int n_words = 1 + (int)rng_below(&rng, 6);
        fprintf(f, "%d", 10 + i);
        for (int w = 0; w < n_words; w++)
            fprintf(f, " %s", words[german][rng_below(&rng, 12)]);
        fputs(".\n", f);
    }
    CHECK(fclose(f) == 0);
}

/* In "data", by BPE. */
static inline void toy_varied_data(void)
{
    toy_varied_write("train.en", false, 0, 120);
    toy_varied_write("train.de", true, 0, 120);
    toy_varied_write("valid.en", false, 500, 12);
    toy_varied_write("valid.de", true, 500, 12);
    toy_prepare("data", NULL);
}

/* The same by a unigram model. */
static inline void toy_unigram_data(void)
{
    struct spm *bpe, *spm;
    struct err err = {0};

    toy_varied_data();
    CHECK_OK(spm_load(&bpe, test_path("data/vocab.model"), &err), &err);
    spm = unigram_of(bpe);
    CHECK_OK(spm_save(spm, test_path("unigram"), &err), &err);
    toy_prepare("data", "unigram.model");
    spm_free(bpe);
    spm_free(spm);
}
