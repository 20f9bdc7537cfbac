#include "text/subword/spm_train.h"

#include <stdlib.h>

#include <jansson.h>

#include "base/rng.h"
#include "text/subword/script.h"

#include "hostile.h"
#include "test.h"

static struct word_counts *count_lines(const json_t *lines, size_t n_tables)
{
    struct word_counts *table[3];
    const json_t *line;
    size_t i;
    struct err err = {0};

    for (size_t k = 0; k < n_tables; k++)
        CHECK_OK(word_counts_new(&table[k], (struct word_counts_options){0}, &err), &err);
    json_array_foreach(lines, i, line)
    {
        const struct line text = {json_string_value(line), json_string_length(line)};
        CHECK_OK(word_counts_add(table[i % n_tables], text, &err), &err);
    }
    for (size_t k = 1; k < n_tables; k++) {
        CHECK_OK(word_counts_merge(table[0], table[k], &err), &err);
        word_counts_free(table[k]);
    }
    CHECK_OK(word_counts_finish(table[0], &err), &err);
    return table[0];
}

static void check_pieces(const struct spm *spm, const json_t *pieces, size_t corpus)
{
    if (spm_size(spm) != json_array_size(pieces))
        test_fail(__FILE__, __LINE__, "corpus %zu: %zu pieces, want %zu", corpus,
                  spm_size(spm), json_array_size(pieces));
    for (size_t i = 0; i < spm_size(spm); i++) {
        const char *got = spm_piece(spm, (int32_t)i);
        const char *want = json_string_value(json_array_get(pieces, i));
        if (strcmp(got, want) != 0)
            test_fail(__FILE__, __LINE__, "corpus %zu: piece %zu is '%s', want '%s'",
                      corpus, i, got, want);
    }
}

TEST(a_hundred_corpora_full_of_ties_give_the_pieces_that_python_gets)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("spm_learned.json"), JSON_ALLOW_NUL, &why);
    const json_t *corpus;
    size_t i;
    struct err err = {0};

    CHECK(json_array_size(root) == 100);
    json_array_foreach(root, i, corpus)
    {
        const json_t *pieces = json_object_get(corpus, "pieces");
        const struct spm_train_options o = {.vocab_size = json_array_size(pieces),
                                            .is_at_most = i % 2};
        struct word_counts *words =
            count_lines(json_object_get(corpus, "lines"), i % 10 ? 1 : 3);
        struct spm *spm;
        CHECK_OK(spm_train_words(&spm, o, words, &err), &err);
        check_pieces(spm, pieces, i);
        spm_free(spm);
        word_counts_free(words);
    }
    json_decref(root);
}

TEST(hostile_text_is_learned_from_and_gives_a_model_that_loads)
{
    struct word_counts *words;
    struct str line = str_new(0);
    struct spm *spm, *again;
    struct err err = {0};

    CHECK_OK(word_counts_new(&words, (struct word_counts_options){0}, &err), &err);
    for (size_t i = 0; i < 800; i++) {
        hostile_line(&line, rng_key(test_seed(), "learn"), i);
        CHECK_OK(word_counts_add(words, (struct line){str_text(&line), line.len}, &err),
                 &err);
    }
    CHECK_OK(word_counts_finish(words, &err), &err);
    CHECK(word_counts_seen(words).n_reserved > 0); /* U+2585 is among the ranges */
    CHECK_OK(spm_train_words(
                 &spm,
                 (struct spm_train_options){.vocab_size = 30000, .is_at_most = true},
                 words, &err),
             &err);
    CHECK_OK(spm_train_words(&again,
                             (struct spm_train_options){.vocab_size = spm_size(spm)},
                             words, &err),
             &err);
    CHECK(spm_size(spm) == spm_size(again) && spm_size(spm) > 1000);
    for (int32_t i = 0; (size_t)i < spm_size(spm); i++)
        CHECK_STR(spm_piece(spm, i), spm_piece(again, i));
    CHECK_OK(spm_check_special(spm, &err), &err);
    spm_free(spm);
    spm_free(again);
    word_counts_free(words);
    str_release(&line);
}

TEST(no_words_are_refused)
{
    struct word_counts *words;
    struct spm *spm;
    struct err err = {0};

    CHECK_OK(word_counts_new(&words, (struct word_counts_options){0}, &err), &err);
    CHECK_OK(word_counts_add(words, (struct line){" \t ", 3}, &err), &err);
    CHECK_OK(word_counts_finish(words, &err), &err);
    CHECK_FAILS(
        spm_train_words(&spm, (struct spm_train_options){.vocab_size = 100}, words, &err),
        &err, ERR_FORMAT, "no text");
    CHECK(spm == NULL);
    word_counts_free(words);
}

TEST(scripts_are_those_of_unicode_nine)
{
    CHECK(script_of('a') == script_of(0xE9) && script_of('a') != script_of(0x430));
    CHECK(script_of('1') == SCRIPT_COMMON && script_of(0x20BF) == SCRIPT_COMMON);
    CHECK(script_of(0x301) == SCRIPT_ANY);
    CHECK(script_of(0x3042) == script_of(0x4E00) &&
          script_of(0x30FC) == script_of(0x30AB));
    CHECK(script_of(0x1C80) == script_of(0x430)); /* Unicode 9 */
    CHECK(script_of(0x1C90) == SCRIPT_COMMON);    /* Unicode 11 */
    CHECK(script_of(0) == SCRIPT_COMMON && script_of(0x10FFFF) == SCRIPT_COMMON);
}
