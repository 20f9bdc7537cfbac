#include <dirent.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/rng.h"
#include "corpus/dataset.h"
#include "preparing.h"
#include "text/subword/spm.h"

enum { LINES = 300 };

static const char *const stems[] = {"ship",   "river",   "water", "crossing",
                                    "ferry",  "bank",    "light", "stone",
                                    "bridge", "morning", "north", "wind"};
static const char *const ends[] = {"", "s", "en", "er", "ung", "lich"};

/* A line of 2 to 10 words; side and number are part of it, so that lines are unique.
 * The target has a letter of its own. */
static void write_line(FILE *f, const char *side, int i)
{
    struct rng rng = rng_open(rng_hash(rng_key(test_seed(), side), (uint64_t)i));
    const uint64_t n = 1 + rng_below(&rng, 8);

    fprintf(f, "%s %d", side, i);
    for (uint64_t w = 1; w < n; w++)
        fprintf(f, " %s%s", stems[rng_below(&rng, 12)], ends[rng_below(&rng, 6)]);
    fputs(*side == 'd' ? "\u00df\n" : "\n", f);
}

static const char *write_text(const char *name, const char *side, int first, int n)
{
    const char *path = test_path(name);
    FILE *f = fopen(path, "we");

    CHECK(f != NULL);
    for (int i = first; i < first + n; i++)
        write_line(f, side, i);
    CHECK(fclose(f) == 0);
    return path;
}

static const char *write_bytes(const char *name, const char *bytes)
{
    const char *path = test_path(name);
    struct err err = {0};

    CHECK_OK(file_write(path, bytes, strlen(bytes), &err), &err);
    return path;
}

/* 300 training pairs into the directory `out`. */
static struct prepare_config usual(const char *out)
{
    struct prepare_config c = preparing_defaults(out, "150");

    preparing_set(&c, "source", write_text("train.en", "en", 0, LINES));
    preparing_set(&c, "target", write_text("train.de", "de", 0, LINES));
    return c;
}

static status run(const struct prepare_config *c, struct prepare_stats *stats,
                  struct err *err)
{
    struct progress silent = {0};

    *err = (struct err){0};
    return prepare_run(c, &silent, stats, err);
}

static void check_no_leftovers(const char *out)
{
    DIR *d = opendir(test_path(out));

    CHECK(d != NULL);
    for (struct dirent *e; (e = readdir(d));)
        if (strstr(e->d_name, ".tmp-"))
            test_fail(__FILE__, __LINE__, "%s was left behind", e->d_name);
    closedir(d);
}

/* The text of one side of a pair. */
static void decode(struct str *out, const struct spm *spm, struct sentence s)
{
    int32_t id[500];
    struct err err = {0};

    str_reset(out);
    for (size_t i = 0; i < s.len; i++)
        id[i] = s.token[i];
    CHECK_OK(spm_decode(spm, id, s.len, out, &err), &err);
}

TEST(every_training_pair_comes_out_once_and_still_matched)
{
    const struct prepare_config c = usual("data");
    struct str source = str_new(0), target = str_new(0);
    bool seen[LINES] = {0};
    size_t n_moved = 0;
    struct prepare_stats stats;
    struct dataset d;
    struct spm *spm;
    struct err err = {0};

    stats = preparing_run(&c);
    CHECK_OK(dataset_open(&d, c.out, &err), &err);
    CHECK_OK(spm_load(&spm, d.tokenizer, &err), &err);
    CHECK(d.n_source == 150 && d.n_target == 150 && spm_size(spm) == 150 &&
          d.train.n_pairs == LINES);
    CHECK(!d.valid.is_there && !d.test.is_there);
    for (uint32_t i = 0; i < LINES; i++) {
        decode(&source, spm, corpus_source(&d.train, i));
        decode(&target, spm, corpus_target(&d.train, i));
        CHECK(memcmp(source.data, "en ", 3) == 0 && memcmp(target.data, "de ", 3) == 0);
        const long k = strtol(source.data + 3, NULL, 10);
        CHECK(k == strtol(target.data + 3, NULL, 10) && k < LINES && !seen[k]);
        seen[k] = true;
        n_moved += k != (long)i;
    }
    CHECK(n_moved > LINES / 2);
    CHECK(stats.set[PREPARE_TRAIN].side[PAIRS_SOURCE].n_unknown == 0);
    CHECK(stats.set[PREPARE_TRAIN].side[PAIRS_TARGET].n_unknown == 0);
    spm_free(spm);
    str_release(&source);
    str_release(&target);
    dataset_close(&d);
    dataset_close(&d);
    check_no_leftovers("data");
}

TEST(the_same_seed_gives_the_same_bytes_and_another_another_order)
{
    struct prepare_config a = usual("a"), b = usual("b"), c = usual("c");

    preparing_set(&c, "seed", "2");
    preparing_run(&a);
    preparing_run(&b);
    preparing_run(&c);
    CHECK(preparing_same(test_path("a/train.bin"), test_path("b/train.bin")));
    CHECK(preparing_same(test_path("a/vocab.model"), test_path("b/vocab.model")));
    CHECK(preparing_same(test_path("a/vocab.vocab"), test_path("b/vocab.vocab")));
    CHECK(!preparing_same(test_path("a/train.bin"), test_path("c/train.bin")));
}

TEST(held_out_sets_keep_every_line_in_order)
{
    struct prepare_config c = usual("data");
    struct str text = str_new(0);
    struct prepare_stats stats;
    struct dataset d;
    struct spm *spm;
    struct err err = {0};

    preparing_set(&c, "valid_source",
                  write_bytes("v.en", "ship | ship\n\nriver  river\nwind"));
    preparing_set(&c, "valid_target", write_bytes("v.de", "a\nwater\n\nstone stone\n"));
    preparing_set(&c, "test_source", write_text("t.en", "en", 1000, 20));
    preparing_set(&c, "test_target", write_text("t.de", "de", 1000, 20));
    stats = preparing_run(&c);
    CHECK_OK(dataset_open(&d, c.out, &err), &err);
    CHECK_OK(spm_load(&spm, d.tokenizer, &err), &err);
    CHECK(d.valid.is_there && d.valid.corpus.n_pairs == 4 && d.valid.source.n == 4);
    CHECK(d.valid.target.line[3].n_bytes == 11);
    CHECK(memcmp(d.valid.source.line[2].text, "river  river", 12) == 0);
    CHECK(corpus_source(&d.valid.corpus, 1).len == 0);
    CHECK(corpus_target(&d.valid.corpus, 2).len == 0);
    decode(&text, spm, corpus_target(&d.valid.corpus, 1));
    CHECK_STR(str_text(&text), "water");
    CHECK(d.test.is_there && d.test.corpus.n_pairs == 20);
    for (uint32_t i = 0; i < 20; i++) {
        decode(&text, spm, corpus_source(&d.test.corpus, i));
        CHECK(strtol(text.data + 3, NULL, 10) == 1000 + (long)i);
        CHECK(text.len == d.test.source.line[i].n_bytes);
        CHECK(memcmp(text.data, d.test.source.line[i].text, text.len) == 0);
    }
    CHECK(stats.set[PREPARE_VALID].side[PAIRS_SOURCE].n_unknown == 1); /* the bar */
    str_release(&text);
    spm_free(spm);
    dataset_close(&d);
}

/* The number at a path of keys in prepare.json. */
static json_int_t number(const json_t *all, const char *a, const char *b, const char *c)
{
    const json_t *at = json_object_get(all, a);

    at = b ? json_object_get(at, b) : at;
    at = c ? json_object_get(at, c) : at;
    CHECK(json_is_integer(at));
    return json_integer_value(at);
}

TEST(prepare_json_says_what_was_dropped_and_why)
{
    struct prepare_config c = usual("data");
    struct prepare_stats stats;
    FILE *f = fopen(c.source, "ae"), *g = fopen(c.target, "ae");

    CHECK(f && g);
    fputs("\n one two three four five six seven eight nine ten \nsolo\n\xff\xfe x\n", f);
    fputs("text\none\n1 2 3 4 5 6 7 8 9\nx\n", g);
    CHECK(fclose(f) == 0 && fclose(g) == 0);
    preparing_set(&c, "max_words", "9");
    preparing_set(&c, "ratio", "8");
    stats = preparing_run(&c);

    json_t *all = json_load_file(test_path("data/prepare.json"), 0, NULL);
    const json_int_t n_kept = (json_int_t)stats.set[PREPARE_TRAIN].n_pairs;
    CHECK(json_is_object(all));
    CHECK(number(all, "pairs_in", NULL, NULL) == LINES + 4);
    CHECK(number(all, "pairs_kept", NULL, NULL) == n_kept);
    CHECK(number(all, "sets", "train", "pairs") == n_kept);
    CHECK(number(all, "dropped", "empty", NULL) == 1);
    CHECK(number(all, "dropped", "long", NULL) >= 1);
    CHECK(number(all, "dropped", "ratio", NULL) >= 1);
    CHECK(number(all, "dropped", "encoding", NULL) == 1);
    CHECK(number(all, "vocabulary", "pieces", NULL) == 150);
    CHECK(number(all, "options", "max_words", NULL) == 9);
    CHECK(number(all, "sets", "train", "bytes") ==
          file_bytes(test_path("data/train.bin")));
    json_int_t n = number(all, "pairs_kept", NULL, NULL);
    const char *reason;
    json_t *count;
    json_object_foreach(json_object_get(all, "dropped"), reason, count) n +=
        json_integer_value(count);
    CHECK(n == LINES + 4);
    const json_t *input = json_object_get(
        json_array_get(
            json_object_get(json_object_get(json_object_get(all, "sets"), "train"),
                            "inputs"),
            0),
        "source");
    CHECK_STR(json_string_value(json_object_get(input, "path")), c.source);
    CHECK(number(input, "lines", NULL, NULL) == LINES + 4);
    CHECK(number(input, "bytes", NULL, NULL) == file_bytes(c.source));
    CHECK(json_is_real(json_object_get(json_object_get(all, "seconds"), "total")));
    json_decref(all);
}

TEST(several_files_are_one_corpus)
{
    struct prepare_config whole = usual("whole"), parts = usual("parts");
    char list[2][OPT_TEXT_MAX];

    snprintf(list[0], sizeof list[0], "%s,%s", write_text("p1.en", "en", 0, 100),
             write_text("p2.en", "en", 100, LINES - 100));
    snprintf(list[1], sizeof list[1], "%s,%s", write_text("p1.de", "de", 0, 100),
             write_text("p2.de", "de", 100, LINES - 100));
    preparing_set(&parts, "source", list[0]);
    preparing_set(&parts, "target", list[1]);
    preparing_run(&whole);
    preparing_run(&parts);
    CHECK(preparing_same(test_path("whole/train.bin"), test_path("parts/train.bin")));
    preparing_set(&parts, "target", whole.target);
    preparing_refused(&parts, ERR_USAGE, "2 source files");
    snprintf(list[1], sizeof list[1], "%.900s,", whole.target);
    preparing_set(&parts, "target", list[1]);
    preparing_refused(&parts, ERR_USAGE, "file 2 of a list");
}

TEST(an_existing_tokenizer_is_used_as_it_is)
{
    struct prepare_config first = usual("first"), second = usual("second");
    struct prepare_stats stats;

    preparing_run(&first);
    preparing_set(&second, "tokenizer", test_path("first/vocab.model"));
    preparing_set(&second, "vocab_size", "65536"); /* has no say then */
    stats = preparing_run(&second);
    CHECK(!stats.is_learned && stats.n_pieces == 150);
    CHECK(
        preparing_same(test_path("first/vocab.model"), test_path("second/vocab.model")));
    CHECK(
        preparing_same(test_path("first/vocab.vocab"), test_path("second/vocab.vocab")));
    CHECK(preparing_same(test_path("first/train.bin"), test_path("second/train.bin")));
    preparing_set(&second, "tokenizer", second.source);
    preparing_refused(&second, ERR_FORMAT, "train.en");
    preparing_set(&second, "tokenizer", test_path("no.model"));
    preparing_refused(&second, ERR_IO, "no.model");
}

TEST(a_directory_may_be_prepared_again_from_its_own_files)
{
    struct prepare_config c = usual("data");
    struct dataset d;
    struct err err = {0};

    preparing_set(&c, "valid_source", write_text("v.en", "en", 500, 10));
    preparing_set(&c, "valid_target", write_text("v.de", "de", 500, 10));
    preparing_run(&c);
    preparing_set(&c, "valid_source", test_path("data/valid.source"));
    preparing_set(&c, "valid_target", test_path("data/valid.target"));
    preparing_set(&c, "tokenizer", test_path("data/vocab.model"));
    preparing_run(&c);
    CHECK(preparing_same(test_path("data/valid.source"), test_path("v.en")));
    preparing_set(&c, "valid_source", "");
    preparing_set(&c, "valid_target", "");
    preparing_run(&c);
    CHECK_OK(dataset_open(&d, c.out, &err), &err);
    CHECK(!d.valid.is_there); /* the old set does not linger */
    CHECK(!file_exists(test_path("data/valid.source")));
    dataset_close(&d);
}

TEST(options_that_cannot_be_are_named)
{
    struct prepare_config c = usual("data");

    preparing_set(&c, "valid_source", "x");
    preparing_refused(&c, ERR_USAGE, "valid_source is given without valid_target");
    c = usual("data");
    preparing_set(&c, "test_target", "x");
    preparing_refused(&c, ERR_USAGE, "test_target is given without test_source");
    c = usual("data");
    preparing_set(&c, "source", "");
    preparing_refused(&c, ERR_USAGE, "source is missing");
    c = usual("data");
    preparing_set(&c, "target", "");
    preparing_refused(&c, ERR_USAGE, "target is missing");
    c = usual("data");
    preparing_set(&c, "out", "");
    preparing_refused(&c, ERR_USAGE, "out is missing");
    c = usual("data");
    preparing_set(&c, "min_words", "81");
    preparing_refused(&c, ERR_USAGE, "min_words = 81 exceeds max_words = 80");
    CHECK(!file_exists(test_path("data")));
}

TEST(inputs_that_cannot_be_are_named_before_anything_is_made)
{
    struct prepare_config c = usual("data");

    preparing_set(&c, "target", write_text("short.de", "de", 0, LINES - 1));
    preparing_refused(&c, ERR_FORMAT, "train.en has 300 lines and ");
    preparing_refused(&c, ERR_FORMAT, "short.de has 299;");
    preparing_set(&c, "target", test_path("none.de"));
    preparing_refused(&c, ERR_IO, "none.de: No such file");
    preparing_set(&c, "target", test_dir());
    preparing_refused(&c, ERR_IO, "not a regular file");
    preparing_set(&c, "target", write_bytes("empty.de", ""));
    preparing_refused(&c, ERR_FORMAT, "empty.de: the file is empty");
    c = usual("data");
    preparing_set(&c, "valid_source", c.source);
    preparing_set(&c, "valid_target", write_bytes("one.de", "one\n"));
    preparing_refused(&c, ERR_FORMAT, "has 300 lines and");
    CHECK(!file_exists(test_path("data")));
}

TEST(a_corpus_that_cleaning_empties_is_an_error)
{
    struct prepare_config c = usual("data");

    preparing_set(&c, "source", write_bytes("a.en", "\n \n\t\n"));
    preparing_set(&c, "target", write_bytes("a.de", "x\ny\nz\n"));
    preparing_refused(&c, ERR_FORMAT, "no pairs are left of 3 after cleaning: 3 because");
}

TEST(text_that_has_no_pieces_is_dropped_for_that)
{
    struct prepare_config c = usual("data");
    struct prepare_stats stats;
    FILE *f = fopen(c.source, "ae"), *g = fopen(c.target, "ae");

    CHECK(f && g);
    fputs("\x01\n", f); /* a word to the cleaner, nothing to SentencePiece */
    fputs("text\n", g);
    CHECK(fclose(f) == 0 && fclose(g) == 0);
    stats = preparing_run(&c);
    CHECK(stats.n_reason[FILTER_PIECES] == 1 && stats.n_reason[CLEAN_KEEP] == LINES);
    CHECK(stats.set[PREPARE_TRAIN].n_pairs == LINES);
}

TEST(a_vocabulary_too_large_for_the_text_names_one_that_works)
{
    struct prepare_config c = usual("data");
    struct prepare_stats stats;
    struct err err;

    preparing_set(&c, "vocab_size", "60000");
    CHECK_FAILS(run(&c, &stats, &err), &err, ERR_USAGE, "vocab_size = 60000");
    const char *only = strstr(err.msg, "only ");
    CHECK(only != NULL);
    char number_text[16];
    snprintf(number_text, sizeof number_text, "%ld", strtol(only + 5, NULL, 10));
    preparing_set(&c, "vocab_size", number_text);
    preparing_run(&c);
    preparing_set(&c, "vocab_size", "10");
    preparing_refused(&c, ERR_USAGE, "at least");
}

TEST(a_place_that_cannot_be_written_is_an_error)
{
    struct prepare_config c = usual("data");

    preparing_set(&c, "out", c.source);
    preparing_refused(&c, ERR_IO, "train.en");
    preparing_set(&c, "out", test_path("train.en/deeper"));
    preparing_refused(&c, ERR_IO, "train.en");
}

TEST(a_failed_run_leaves_an_earlier_directory_whole)
{
    struct prepare_config c = usual("data");
    struct dataset d;
    struct err err = {0};

    preparing_run(&c);
    preparing_set(&c, "vocab_size", "60000");
    preparing_refused(&c, ERR_USAGE, "vocab_size");
    CHECK_OK(dataset_open(&d, c.out, &err), &err);
    dataset_close(&d);
}

/* No file may grow beyond n bytes from here on, as on a full disk. */
static void limit_files(rlim_t n)
{
    const struct rlimit limit = {.rlim_cur = n, .rlim_max = RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
}

TEST(a_full_disk_leaves_an_earlier_directory_whole_and_the_rest_can_be_done_later)
{
    struct prepare_config c = usual("data");
    struct dataset d;
    struct prepare_stats stats;
    struct err err = {0};

    preparing_set(&c, "valid_source", write_text("v.en", "en", 0, 14000));
    preparing_set(&c, "valid_target", write_text("v.de", "de", 0, 14000));
    preparing_run(&c);
    const rlim_t model = (rlim_t)file_bytes(test_path("data/vocab.model"));
    CHECK(file_bytes(test_path("v.en")) > (int64_t)model + (1 << 14));
    preparing_set(&c, "seed", "2");
    for (int i = 0; i < 2; i++) { /* at the first file, and after train.bin */
        limit_files(i == 0 ? 1 << 10 : model + (1 << 14));
        const status s = run(&c, &stats, &err);
        limit_files(RLIM_INFINITY);
        CHECK(s == ERR_IO && strstr(err.msg, "File too large"));
        CHECK_OK(dataset_open(&d, c.out, &err), &err);
        dataset_close(&d);
        check_no_leftovers("data");
    }
    preparing_set(&c, "fresh", "false");
    stats = preparing_run(&c);
    CHECK(stats.stage[PREPARE_CLEAN].is_resumed &&
          !stats.stage[PREPARE_ENCODE].is_resumed);
    CHECK(!file_exists(test_path("data/prepare.work")));
}

TEST(a_directory_that_does_not_fit_together_is_refused)
{
    struct prepare_config c = usual("data"), other = usual("other");
    struct dataset d;
    struct err err = {0};

    CHECK_FAILS(dataset_open(&d, test_path("nowhere"), &err), &err, ERR_IO,
                "nowhere: no such directory");
    preparing_set(&c, "valid_source", write_text("v.en", "en", 500, 10));
    preparing_set(&c, "valid_target", write_text("v.de", "de", 500, 10));
    preparing_set(&other, "vocab_size", "160");
    preparing_run(&c);
    preparing_run(&other);

    CHECK_OK(file_write(test_path("data/valid.target"), "a\nb\n", 4, &err), &err);
    CHECK_FAILS(dataset_open(&d, c.out, &err), &err, ERR_FORMAT,
                "valid.target has 2 lines, its corpus 10 pairs");
    CHECK(!d.train.token && !d.valid.source.line);
    CHECK_OK(file_remove(test_path("data/valid.target"), &err), &err);
    CHECK_FAILS(dataset_open(&d, c.out, &err), &err, ERR_IO, "valid.target");
    CHECK(rename(test_path("other/vocab.model"), test_path("data/vocab.model")) == 0);
    CHECK_FAILS(dataset_open(&d, c.out, &err), &err, ERR_FORMAT,
                "a vocabulary that does not match");
    CHECK_OK(file_remove(test_path("data/train.bin"), &err), &err);
    CHECK_FAILS(dataset_open(&d, c.out, &err), &err, ERR_IO, "train.bin");
    CHECK_OK(file_remove(test_path("data/prepare.json"), &err), &err);
    CHECK_FAILS(dataset_open(&d, c.out, &err), &err, ERR_FORMAT, "was not finished");
    dataset_close(&d);
}
