/* toy_run - small trainings for tests: a data directory and runs in the test's own. */
#pragma once

#include <stdlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "dist/comm/comm.h"
#include "prepare/prepare.h"
#include "test.h"
#include "train/run/config.h"
#include "train/trainer.h"

static inline void toy_write(const char *name, bool german, int first, int n)
{
    static const char *const words[2][8] = {
        {"ship", "river", "bank", "light", "stone", "bridge", "north", "wind"},
        {"Schiff", "Fluss", "Ufer", "Licht", "Stein", "Brücke", "Norden", "Wind"}};
    FILE *f = fopen(test_path(name), "we");

    CHECK(f);
    for (int i = first; i < first + n; i++) {
        struct rng rng = rng_open(rng_hash(rng_key(7, "toy"), (uint64_t)i));
        const int n_words = 1 + (int)rng_below(&rng, 9);
        for (int w = 0; w < n_words; w++)
            fprintf(f, "%s%s", w ? " " : "", words[german][rng_below(&rng, 8)]);
        fprintf(f, " %d\n", i);
    }
    CHECK(fclose(f) == 0);
}

/* A data directory of train.en, train.de, valid.en and valid.de; tokenizer NULL: learn
 * one of 80 pieces. */
static inline void toy_prepare(const char *out, const char *tokenizer)
{
    struct prepare_config c;
    struct prepare_stats stats = {0};
    struct progress silent = {0};
    struct err err = {0};
    const char *const set[][2] = {{"source", "train.en"},
                                  {"target", "train.de"},
                                  {"valid_source", "valid.en"},
                                  {"valid_target", "valid.de"},
                                  {"out", out},
                                  {"tokenizer", tokenizer}};

    CHECK_OK(opt_defaults(prepare_config_table, &c, &err), &err);
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        if (set[i][1])
            CHECK_OK(
                opt_set(prepare_config_table, &c, set[i][0], test_path(set[i][1]), &err),
                &err);
    CHECK_OK(opt_set(prepare_config_table, &c, "vocab_size", "80", &err), &err);
    CHECK_OK(opt_set(prepare_config_table, &c, "fresh", "true", &err), &err);
    CHECK_OK(prepare_run(&c, &silent, &stats, &err), &err);
}

/* 120 training pairs, the first of them number `first`, and 12 validation pairs, the
 * first 500 numbers on, in the directory `out` of the test. */
static inline void toy_data_as(const char *out, int first, const char *tokenizer)
{
    toy_write("train.en", false, first, 120);
    toy_write("train.de", true, first, 120);
    toy_write("valid.en", false, first + 500, 12);
    toy_write("valid.de", true, first + 500, 12);
    toy_prepare(out, tokenizer);
}

/* The usual data, in "data". */
static inline void toy_data(void)
{
    toy_data_as("data", 0, NULL);
}

/* A tiny model on that data in the run directory `run`; more options as "key=value". */
static inline struct train_config *toy_config(const char *run, const char *const *more)
{
    static const char *const usual[] = {
        "d_model=16",       "d_ff=24",          "heads=2",           "encoder_layers=2",
        "decoder_layers=2", "batch_tokens=100", "learning_rate=0.5", "warmup_steps=8",
        "eval_every=0",     "save_every=0",     "eval_bleu=false",   "log_every=5",
        "pin=false",        "threads=1",        "max_length=32",     NULL};
    const char *const *lists[2] = {usual, more};
    struct train_config *c = calloc(1, sizeof *c);
    struct err err = {0};

    CHECK(c);
    CHECK_OK(train_config_defaults(c, &err), &err);
    for (int l = 0; l < 2; l++)
        for (size_t i = 0; lists[l] && lists[l][i]; i++) {
            char key[64];
            const char *sign = strchr(lists[l][i], '=');
            snprintf(key, sizeof key, "%.*s", (int)(sign - lists[l][i]), lists[l][i]);
            CHECK_OK(opt_set(train_config_table, c, key, sign + 1, &err), &err);
        }
    CHECK_OK(opt_set(train_config_table, c, "data", test_path("data"), &err), &err);
    CHECK_OK(opt_set(train_config_table, c, "run", test_path(run), &err), &err);
    return c;
}

/* As a single rank. */
static inline status toy_run_config(const struct train_config *c, struct err *err)
{
    struct comm comm;
    struct train_host host = {.comm = &comm};

    CHECK_OK(comm_open(&comm, (struct comm_options){.kind = "self"}, err), err);
    const status result = train_run(c, &host, err);
    comm_close(&comm);
    return result;
}

static inline status toy_try(const char *run, const char *const *more, struct err *err)
{
    struct train_config *c = toy_config(run, more);
    const status result = toy_run_config(c, err);

    free(c);
    return result;
}

static inline void toy_train(const char *run, const char *const *more)
{
    struct err err = {0};

    CHECK_OK(toy_try(run, more, &err), &err);
}

#define TOY(...) ((const char *const[]){__VA_ARGS__, NULL})
