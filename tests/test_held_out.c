/* Held-out sets that prepare draws, what they share with training, and languages. */
#include <stdlib.h>

#include "base/file.h"
#include "base/lines.h"
#include "base/table.h"
#include "corpus/dataset.h"
#include "preparing.h"

enum { PAIRS = 600, VALID = 40, TEST_PAIRS = 50 };

/* Every third target and every fifth source is that of another pair too. */
static const char *write_pairs(const char *name, bool is_twice_and_backwards)
{
    FILE *f = fopen(test_path(name), "we");
    const int n = is_twice_and_backwards ? 2 * PAIRS : PAIRS;

    CHECK(f != NULL);
    for (int k = 0; k < n; k++) {
        const int i = is_twice_and_backwards ? PAIRS - 1 - k / 2 : k;
        fprintf(f, "source line %d runs\tthe target %d of it sits\n",
                i % 5 ? i : i / 10 * 10, i % 3 ? i : i / 9 * 9);
    }
    CHECK(fclose(f) == 0);
    return test_path(name);
}

static struct prepare_config usual(const char *out)
{
    struct prepare_config c = preparing_defaults(out, "150");

    preparing_set(&c, "pairs", write_pairs("train.tsv", false));
    preparing_set(&c, "valid", "40");
    preparing_set(&c, "test", "50");
    preparing_set(&c, "reference_names", "true");
    preparing_set(&c, "source_lang", "aa");
    preparing_set(&c, "target_lang", "bb");
    return c;
}

/* The lines of a file of the directory, into a set; all must be new if `is_new`. */
static size_t add_lines(struct table_set *set, const char *dir, const char *name,
                        const struct table_set *other)
{
    struct err err = {0};
    struct lines lines;
    struct line line;
    char path[FILE_PATH_MAX];
    size_t n = 0;

    CHECK_OK(file_join(path, sizeof path, dir, name, &err), &err);
    CHECK_OK(lines_open(&lines, path, &err), &err);
    for (; lines_next(&lines, &line); n++) {
        const uint64_t hash = table_hash(line.text, line.n_bytes);
        if (other && table_set_has(other, hash))
            test_fail(__FILE__, __LINE__, "%s has '%.*s'", name, (int)line.n_bytes,
                      line.text);
        CHECK_OK(table_set_add(set, hash, &err), &err);
    }
    lines_close(&lines);
    return n;
}

/* No sentence of either side is in two of the sets. */
static void check_apart(const char *dir)
{
    static const char *const names[2][3] = {
        {"test.source", "valid.source", "train.clean.aa"},
        {"test.target", "valid.target", "train.clean.bb"}};

    for (int side = 0; side < 2; side++) {
        struct table_set seen = {0}, own = {0};
        CHECK(add_lines(&seen, dir, names[side][0], NULL) == TEST_PAIRS);
        CHECK(seen.table.n == TEST_PAIRS);
        CHECK(add_lines(&own, dir, names[side][1], &seen) == VALID);
        CHECK(own.table.n == VALID);
        CHECK(add_lines(&seen, dir, names[side][1], NULL) == VALID);
        CHECK(add_lines(&own, dir, names[side][2], &seen) > 300);
        table_set_release(&seen);
        table_set_release(&own);
    }
}

TEST(drawn_sets_share_no_sentence_of_either_side_with_training_or_each_other)
{
    const struct prepare_config c = usual("data");
    const struct prepare_stats s = preparing_run(&c);
    struct dataset d;
    struct err err = {0};

    CHECK(s.set[PREPARE_VALID].n_pairs == VALID);
    CHECK(s.set[PREPARE_TEST].n_pairs == TEST_PAIRS);
    CHECK(s.n_reason[FILTER_DRAWN] == VALID + TEST_PAIRS);
    CHECK(s.n_reason[FILTER_HELD_OUT] > 10);
    CHECK(prepare_stats_read(&s) == PAIRS);
    for (int part = 0; part < N_OVERLAP; part++) {
        CHECK(s.overlap[PREPARE_VALID][part] == 0);
        CHECK(s.overlap[PREPARE_TEST][part] == 0);
    }
    CHECK(s.overlap_removed[PREPARE_TEST][OVERLAP_SOURCE] > 0);
    check_apart(c.out);
    CHECK_OK(dataset_open(&d, c.out, &err), &err);
    CHECK(d.train.n_pairs == s.n_reason[CLEAN_KEEP] && d.valid.is_there);
    CHECK(strcmp(d.source_lang, "aa") == 0 && strcmp(d.target_lang, "bb") == 0);
    dataset_close(&d);
}

static bool same(const char *a, const char *b, const char *name)
{
    char left[FILE_PATH_MAX], right[FILE_PATH_MAX];
    struct err err = {0};

    CHECK_OK(file_join(left, sizeof left, a, name, &err), &err);
    CHECK_OK(file_join(right, sizeof right, b, name, &err), &err);
    return preparing_same(left, right);
}

TEST(drawn_sets_follow_from_the_seed_and_not_from_the_threads)
{
    static const char *const files[] = {"train.bin",    "valid.bin",   "test.bin",
                                        "valid.source", "test.target", "vocab.model"};
    struct prepare_config c = usual("one");
    char one[FILE_PATH_MAX];

    snprintf(one, sizeof one, "%s", c.out);
    preparing_set(&c, "threads", "1");
    (void)preparing_run(&c);
    preparing_set(&c, "out", test_path("three"));
    preparing_set(&c, "threads", "3");
    (void)preparing_run(&c);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        CHECK(same(one, c.out, files[i]));
    preparing_set(&c, "out", test_path("other"));
    preparing_set(&c, "seed", "2");
    (void)preparing_run(&c);
    CHECK(!same(one, c.out, "valid.source") && !same(one, c.out, "test.source"));
}

TEST(a_test_set_depends_neither_on_the_other_set_nor_on_order_and_repetition)
{
    struct prepare_config c = usual("one");
    char one[FILE_PATH_MAX];

    snprintf(one, sizeof one, "%s", c.out);
    (void)preparing_run(&c);
    preparing_set(&c, "pairs", write_pairs("twice.tsv", true));
    preparing_set(&c, "valid", "60");
    preparing_set(&c, "out", test_path("two"));
    struct prepare_stats s = preparing_run(&c);
    CHECK(same(one, c.out, "test.source") && same(one, c.out, "test.target"));
    CHECK(s.set[PREPARE_VALID].n_pairs == 60);
    preparing_set(&c, "duplicates", "exact");
    s = preparing_run(&c);
    CHECK(same(one, c.out, "test.source") && same(one, c.out, "test.target"));
    CHECK(s.n_reason[FILTER_DUPLICATE] == PAIRS);
}

TEST(a_drawn_set_shares_nothing_with_a_given_one)
{
    struct prepare_config c = usual("data");
    FILE *f = fopen(test_path("test.tsv"), "we");

    CHECK(f != NULL);
    for (int i = 1; i < 30; i++)
        fprintf(f, "source line %d runs\tanother %d\n", 20 * i + 1, i);
    CHECK(fclose(f) == 0);
    preparing_set(&c, "test", "0");
    preparing_set(&c, "test_pairs", test_path("test.tsv"));
    const struct prepare_stats s = preparing_run(&c);
    const uint64_t n_left = s.overlap[PREPARE_TEST][OVERLAP_SOURCE]; /* held_out=keep */
    CHECK(n_left > 20 && n_left + s.overlap_removed[PREPARE_TEST][OVERLAP_SOURCE] == 29);
    struct table_set given = {0}, drawn = {0};
    CHECK(add_lines(&given, c.out, "test.source", NULL) == 29);
    CHECK(add_lines(&drawn, c.out, "valid.source", &given) == VALID);
    table_set_release(&given);
    table_set_release(&drawn);
}

TEST(sets_that_cannot_be_drawn_are_refused)
{
    struct prepare_config c = usual("data");

    preparing_set(&c, "valid_source", test_path("none"));
    preparing_set(&c, "valid_target", test_path("none"));
    preparing_refused(&c, ERR_USAGE, "valid = 40 draws a set from the training text");
    c = usual("data");
    preparing_set(&c, "valid", "200");
    preparing_refused(&c, ERR_USAGE,
                      "valid + test = 250 is more than a third of the 600 pairs");
    c = usual("data");
    FILE *f = fopen(test_path("train.tsv"), "we");
    CHECK(f != NULL);
    for (int i = 0; i < PAIRS; i++)
        fprintf(f, "a line\tthe target %d of it sits\n", i);
    CHECK(fclose(f) == 0);
    preparing_refused(&c, ERR_USAGE, "test = 50: only 1 pairs could be drawn");
    CHECK(!file_exists(test_path("data/prepare.json")));
}

TEST(a_near_duplicate_that_goes_is_not_counted_as_overlap)
{
    struct prepare_config c = preparing_defaults("data", "0");
    FILE *f = fopen(test_path("train.tsv"), "we");

    CHECK(f != NULL);
    fputs("a ship is here\tein Schiff ist hier\n", f);
    fputs("A ship is here!\tEin Schiff ist hier!\n", f);  /* goes, is in the test set */
    fputs("the river is wide\tder Fluss ist breit\n", f); /* stays, its source is there */
    CHECK(fclose(f) == 0);
    f = fopen(test_path("test.tsv"), "we");
    CHECK(f != NULL);
    fputs("A ship is here!\tEin Schiff ist hier!\n", f);
    fputs("the river is wide\tder Strom ist breit\n", f);
    CHECK(fclose(f) == 0);
    preparing_set(&c, "pairs", test_path("train.tsv"));
    preparing_set(&c, "test_pairs", test_path("test.tsv"));
    preparing_set(&c, "duplicates", "near");
    const struct prepare_stats s = preparing_run(&c);
    CHECK(s.n_reason[FILTER_NEAR] == 1);
    CHECK(s.overlap[PREPARE_TEST][OVERLAP_PAIR] == 0);
    CHECK(s.overlap[PREPARE_TEST][OVERLAP_SOURCE] == 1);
    CHECK(s.overlap[PREPARE_TEST][OVERLAP_TARGET] == 0);
    CHECK(s.overlap_removed[PREPARE_TEST][OVERLAP_PAIR] == 0); /* not because of it */
}

TEST(overlap_that_goes_with_a_drawn_pair_is_not_left)
{
    enum { GIVEN = 200 };
    struct prepare_config c = usual("data");
    FILE *f = fopen(test_path("train.tsv"), "we"),
         *g = fopen(test_path("test.tsv"), "we");

    CHECK(f && g);
    for (int i = 0; i < GIVEN; i++) { /* only the first of two with a target is drawn */
        fprintf(f, "source %d\ttarget %d\ngiven %d\ttarget %d\n", i, i, i, i);
        fprintf(g, "given %d\tanother %d\n", i, i);
    }
    CHECK(fclose(f) == 0 && fclose(g) == 0);
    preparing_set(&c, "test", "0");
    preparing_set(&c, "test_pairs", test_path("test.tsv"));
    const struct prepare_stats s = preparing_run(&c);
    CHECK(s.n_reason[FILTER_DRAWN] == VALID && s.n_reason[FILTER_HELD_OUT] == VALID);
    CHECK(s.overlap[PREPARE_TEST][OVERLAP_SOURCE] == GIVEN - VALID);
    CHECK(s.overlap_removed[PREPARE_TEST][OVERLAP_SOURCE] == VALID);
    CHECK(s.overlap[PREPARE_VALID][OVERLAP_TARGET] == 0);
    CHECK(s.overlap_removed[PREPARE_VALID][OVERLAP_TARGET] == VALID);
}

TEST(held_out_pairs_that_leave_nothing_to_train_on_are_refused)
{
    struct prepare_config c = preparing_defaults("data", "0");
    FILE *f = fopen(test_path("train.tsv"), "we");

    CHECK(f != NULL);
    for (int i = 0; i < 10; i++)
        fprintf(f, "source line %d runs\tyes\n", i);
    CHECK(fclose(f) == 0);
    preparing_set(&c, "pairs", test_path("train.tsv"));
    preparing_set(&c, "valid", "1");
    preparing_refused(&c, ERR_FORMAT,
                      "no pairs are left of 10 without those of the held-out sets: 9 "
                      "because the pair, or a side, is in a held-out set, 1 because");
    CHECK(!file_exists(test_path("data/prepare.json")));
}

/* 12,000 pairs that are near duplicates, or share their target: one of them can be drawn.
 * Among them 600 that have nothing in common. */
static const char *write_few_of_many(const char *name, bool is_near, bool is_backwards)
{
    enum { EACH = 21, ALL = EACH * PAIRS };
    FILE *f = fopen(test_path(name), "we");

    CHECK(f != NULL);
    for (int k = 0; k < ALL; k++) {
        const int i = is_backwards ? ALL - 1 - k : k, own = i / EACH;
        const int a = own / 100, b = own / 10 % 10, c = own % 10;
        if (i % EACH == 0)
            fprintf(f, "own %c%c%c\tof it %c%c%c\n", 'a' + a, 'a' + b, 'a' + c, 'k' + a,
                    'k' + b, 'k' + c);
        else if (is_near)
            fprintf(f, "line %05d\ttarget %05d\n", i, i);
        else
            fprintf(f, "line %05d\tyes\n", i);
    }
    CHECK(fclose(f) == 0);
    return test_path(name);
}

TEST(sets_are_drawn_from_the_few_pairs_that_can_be)
{
    struct prepare_config c = usual("near");
    char one[FILE_PATH_MAX];

    preparing_set(&c, "pairs", write_few_of_many("a.tsv", true, false));
    preparing_set(&c, "duplicates", "near");
    struct prepare_stats s = preparing_run(&c);
    CHECK(s.set[PREPARE_VALID].n_pairs == VALID && s.set[PREPARE_TEST].n_pairs == 50);
    CHECK(s.n_reason[FILTER_NEAR] == 11999);
    CHECK(s.n_reason[CLEAN_KEEP] + s.n_reason[FILTER_DRAWN] == PAIRS + 1);

    c = usual("shared");
    snprintf(one, sizeof one, "%s", c.out);
    preparing_set(&c, "pairs", write_few_of_many("b.tsv", false, false));
    s = preparing_run(&c);
    CHECK(s.set[PREPARE_VALID].n_pairs == VALID && s.set[PREPARE_TEST].n_pairs == 50);
    check_apart(c.out);
    preparing_set(&c, "pairs", write_few_of_many("c.tsv", false, true));
    preparing_set(&c, "out", test_path("backwards"));
    preparing_set(&c, "valid", "60");
    (void)preparing_run(&c);
    CHECK(same(one, c.out, "test.source") && same(one, c.out, "test.target"));
}

TEST(the_vocabulary_grows_with_the_corpus)
{
    size_t before = 0;

    CHECK(prepare_vocab_size(30000) == 1024);
    CHECK(prepare_vocab_size(1000000) == 8000);
    CHECK(prepare_vocab_size(4000000) == 32768);
    CHECK(prepare_vocab_size(1000000000) == 32768);
    for (uint64_t n = 1; n < 10000000; n += 1 + n / 10) {
        const size_t size = prepare_vocab_size(n);
        CHECK(size >= before && size >= 256 && size % 64 == 0);
        before = size;
    }
}

TEST(a_vocabulary_by_size_has_room_for_many_characters)
{
    struct prepare_config c = preparing_defaults("data", "0");
    FILE *f = fopen(test_path("han.tsv"), "we");

    CHECK(f != NULL);
    for (int i = 0; i < 500; i++) /* 1,500 different ideographs */
        fprintf(f, "%c%c%c%c%c%c%c%c%c\tword %d\n", 0xE5, 0x80 + i / 64, 0x80 + i % 64,
                0xE6, 0x80 + i / 64, 0x80 + i % 64, 0xE7, 0x80 + i / 64, 0x80 + i % 64,
                i);
    CHECK(fclose(f) == 0);
    preparing_set(&c, "pairs", test_path("han.tsv"));
    const struct prepare_stats s = preparing_run(&c);
    CHECK(s.n_pieces > 1500 && s.n_pieces < 2000);
}

static const char *const english[] = {"the man is in the house and you are not there",
                                      "what did they say to her when it was over",
                                      "she had not seen this for a long time",
                                      "we have to go home before it is dark"};
static const char *const german[] = {"der Mann ist im Haus und du bist nicht dort",
                                     "was haben sie zu ihr gesagt als es vorbei war",
                                     "sie hatte das lange Zeit nicht gesehen",
                                     "wir müssen nach Hause gehen bevor es dunkel ist"};

static const char *write_side(const char *name, const char *const *text, int n)
{
    FILE *f = fopen(test_path(name), "we");

    CHECK(f != NULL);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s %d %s\n", text[i % 4], i, text[i * 5 / 3 % 4]);
    CHECK(fclose(f) == 0);
    return test_path(name);
}

/* The languages cannot be told by the beginning. */
static const char *write_late_side(const char *name, const char *const *text)
{
    FILE *f = fopen(test_path(name), "we");

    CHECK(f != NULL);
    for (int i = 0; i < 30000; i++)
        fprintf(f, "%s %d\n", i < 21000 ? "" : text[i % 4], i);
    CHECK(fclose(f) == 0);
    return test_path(name);
}

TEST(swapped_sides_are_found_by_the_beginning_of_every_file_or_in_the_end)
{
    struct prepare_config c = preparing_defaults("data", "0");
    char both[OPT_TEXT_MAX];

    preparing_set(&c, "source", write_side("de", german, 400));
    preparing_set(&c, "target", write_side("en", english, 400));
    preparing_set(&c, "valid_source", write_side("valid.en", english, 30));
    preparing_set(&c, "valid_target", write_side("valid.de", german, 30));
    preparing_set(&c, "min_words", "60"); /* cleaning would leave nothing */
    preparing_refused(&c, ERR_USAGE, "the sides of the validation set are swapped");
    preparing_set(&c, "min_words", "1");
    snprintf(both, sizeof both, "%.500s,%.500s", test_path("de"), test_path("en"));
    preparing_set(&c, "source", both);
    snprintf(both, sizeof both, "%.500s,%.500s", test_path("en"), test_path("de"));
    preparing_set(&c, "target", both);
    (void)preparing_run(&c); /* both directions */

    preparing_set(&c, "source", write_late_side("late.de", german));
    preparing_set(&c, "target", write_late_side("late.en", english));
    preparing_refused(&c, ERR_USAGE, "the sides of the validation set are swapped");
}

TEST(languages_are_guessed_or_taken_as_given_and_swapped_sides_refused)
{
    struct prepare_config c = preparing_defaults("data", "0");

    preparing_set(&c, "source", write_side("de", german, 400));
    preparing_set(&c, "target", write_side("en", english, 400));
    preparing_set(&c, "valid_source", write_side("valid.de", german, 30));
    preparing_set(&c, "valid_target", write_side("valid.en", english, 30));
    struct prepare_stats s = preparing_run(&c);
    CHECK(strcmp(s.language[PAIRS_SOURCE].name, "de") == 0);
    CHECK(strcmp(s.language[PAIRS_TARGET].name, "en") == 0);
    CHECK(s.language[PAIRS_TARGET].guess.confidence > 0.9);
    preparing_set(&c, "source_lang", "de-AT");
    s = preparing_run(&c);
    CHECK(strcmp(s.language[PAIRS_SOURCE].name, "de-AT") == 0);
    CHECK(strcmp(s.language[PAIRS_SOURCE].guess.name, "de") == 0);
    preparing_set(&c, "valid_source", test_path("valid.en"));
    preparing_set(&c, "valid_target", test_path("valid.de"));
    preparing_refused(&c, ERR_USAGE, "the sides of the validation set are swapped");
    preparing_set(&c, "check_sides", "false");
    s = preparing_run(&c);
    CHECK(s.set[PREPARE_VALID].n_pairs == 30);
}
