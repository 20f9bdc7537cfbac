/* The written corpus as a whole: size, determinism, splits, and how hard it is. */
#include "sample/sample.h"

#include <stdlib.h>

#include "base/file.h"
#include "sample/gloss.h"
#include "score/bleu.h"
#include "test.h"

/* The lines of one file; they point into the map. */
struct text {
    struct file_map map;
    const char **line; /* not terminated: n_bytes[i] long */
    size_t *n_bytes, n;
};

static void text_open(struct text *t, const char *dir, const char *name)
{
    struct err err = {0};
    char path[FILE_PATH_MAX];

    CHECK_OK(file_join(path, sizeof path, dir, name, &err), &err);
    *t = (struct text){0};
    CHECK_OK(file_map_open(&t->map, path, &err), &err);
    const char *at = (const char *)t->map.data, *end = at + t->map.n_bytes;
    t->line = calloc(t->map.n_bytes, sizeof *t->line);
    t->n_bytes = calloc(t->map.n_bytes, sizeof *t->n_bytes);
    CHECK(t->line && t->n_bytes);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        CHECK(stop);
        t->line[t->n] = at;
        t->n_bytes[t->n++] = (size_t)(stop - at);
        at = stop + 1;
    }
}

static void text_close(struct text *t)
{
    file_map_close(&t->map);
    free(t->line);
    free(t->n_bytes);
}

static struct sample_options options(int64_t pairs, int64_t held_out, int64_t seed)
{
    return (struct sample_options){
        .pairs = pairs, .valid = held_out, .test = held_out, .seed = seed};
}

static struct sample_stats write_corpus(const struct sample_options *o, const char *dir)
{
    struct sample_stats stats;
    struct err err = {0};

    CHECK_OK(sample_write(o, dir, &stats, &err), &err);
    return stats;
}

static bool same_file(const char *dir_a, const char *dir_b, const char *name)
{
    struct text a, b;

    text_open(&a, dir_a, name);
    text_open(&b, dir_b, name);
    const bool same = a.map.n_bytes == b.map.n_bytes &&
                      memcmp(a.map.data, b.map.data, a.map.n_bytes) == 0;
    text_close(&a);
    text_close(&b);
    return same;
}

static struct sample_options defaults(void)
{
    struct sample_options o;
    struct err err = {0};

    CHECK_OK(opt_defaults(sample_options_table, &o, &err), &err);
    return o;
}

TEST(the_default_corpus_has_its_size_and_600_types_a_side)
{
    const struct sample_options o = defaults();
    const struct sample_stats s = write_corpus(&o, test_dir());
    const char *names[] = {"train.en", "train.de", "valid.en",
                           "valid.de", "test.en",  "test.de"};
    const uint64_t want[] = {30000, 30000, 1000, 1000, 1000, 1000};

    for (size_t i = 0; i < 6; i++) {
        struct text t;
        text_open(&t, test_dir(), names[i]);
        CHECK(t.n == want[i]);
        CHECK(s.n_pairs[i / 2] == want[i]);
        text_close(&t);
    }
    CHECK(s.n_types[SIDE_EN] >= 600 && s.n_types[SIDE_DE] >= 600);
    for (size_t side = 0; side < N_SIDES; side++) {
        const double mean = (double)s.n_words[side] / 32000;
        CHECK(mean > 8 && mean < 12);
    }
}

TEST(a_seed_gives_the_same_bytes_and_another_seed_others)
{
    const struct sample_options one = options(500, 50, 1), two = options(500, 50, 2);
    char a[FILE_PATH_MAX], b[FILE_PATH_MAX], c[FILE_PATH_MAX];

    snprintf(a, sizeof a, "%s", test_path("a"));
    snprintf(b, sizeof b, "%s", test_path("b/deep"));
    snprintf(c, sizeof c, "%s", test_path("c"));
    write_corpus(&one, a);
    write_corpus(&one, b);
    write_corpus(&two, c);
    CHECK(same_file(a, b, "train.en") && same_file(a, b, "train.de"));
    CHECK(same_file(a, b, "valid.de") && same_file(a, b, "test.en"));
    CHECK(!same_file(a, c, "train.en") && !same_file(a, c, "test.de"));
}

struct entry {
    const char *line;
    size_t n;
};

static int by_text(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    const int order = memcmp(x->line, y->line, x->n < y->n ? x->n : y->n);

    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* No line of the files, taken together, occurs twice. */
static void check_distinct(const struct text *t, size_t n_texts)
{
    size_t n = 0;

    for (size_t i = 0; i < n_texts; i++)
        n += t[i].n;
    struct entry *all = calloc(n, sizeof *all);
    CHECK(all);
    n = 0;
    for (size_t i = 0; i < n_texts; i++)
        for (size_t k = 0; k < t[i].n; k++)
            all[n++] = (struct entry){t[i].line[k], t[i].n_bytes[k]};
    qsort(all, n, sizeof *all, by_text);
    for (size_t i = 1; i < n; i++)
        if (by_text(&all[i - 1], &all[i]) == 0)
            test_fail(__FILE__, __LINE__, "twice: %.*s", (int)all[i].n, all[i].line);
    free(all);
}

TEST(train_valid_and_test_share_no_sentence_on_either_side)
{
    const struct sample_options o = options(20000, 1000, 3);
    const char *names[2][3] = {{"train.en", "valid.en", "test.en"},
                               {"train.de", "valid.de", "test.de"}};

    write_corpus(&o, test_dir());
    for (size_t side = 0; side < 2; side++) {
        struct text t[3];
        for (size_t i = 0; i < 3; i++)
            text_open(&t[i], test_dir(), names[side][i]);
        check_distinct(t, 3);
        for (size_t i = 0; i < 3; i++)
            text_close(&t[i]);
    }
}

/* So corpora of other seeds and sizes cannot leak into a test set either. */
TEST(the_split_is_a_property_of_the_german_sentence)
{
    const struct sample_options o = options(3000, 200, 4);
    const char *names[] = {"train.de", "valid.de", "test.de"};
    struct str line = str_new(0);

    write_corpus(&o, test_dir());
    for (enum sample_split split = 0; split < N_SPLITS; split++) {
        struct text t;
        text_open(&t, test_dir(), names[split]);
        for (size_t i = 0; i < t.n; i++) {
            str_reset(&line);
            str_add(&line, t.line[i], t.n_bytes[i]);
            CHECK(sample_split_of(str_text(&line)) == split);
        }
        text_close(&t);
    }
    str_release(&line);
}

static struct gloss dictionary;

static double gloss_bleu(const struct text *en, const struct text *de)
{
    const struct bleu_options how = {0};
    struct bleu_stats stats = {0};
    struct str gloss = str_new(0);
    struct err err = {0};

    gloss_open(&dictionary);
    for (size_t i = 0; i < en->n; i++) {
        str_reset(&gloss);
        const struct line line = {en->line[i], en->n_bytes[i]};
        gloss_sentence(&dictionary, line, &gloss);
        CHECK_OK(str_check(&gloss, "gloss", &err), &err);
        const struct line hyp = {str_text(&gloss), gloss.len};
        const struct line ref = {de->line[i], de->n_bytes[i]};
        CHECK_OK(bleu_add(&stats, &how, hyp, &ref, 1, &err), &err);
    }
    str_release(&gloss);
    return bleu_score(&stats, &how).score;
}

TEST(translating_word_for_word_scores_below_30)
{
    const struct sample_options o = defaults();
    struct text en, de;

    write_corpus(&o, test_dir());
    text_open(&en, test_dir(), "test.en");
    text_open(&de, test_dir(), "test.de");
    const double score = gloss_bleu(&en, &de);
    CHECK(score < 30);
    CHECK(score > 5); /* the dictionary is not a straw man: it knows the words */
    text_close(&en);
    text_close(&de);
}

TEST(the_gloss_is_one_german_word_for_each_english_one)
{
    static const char one[] =
        "Yesterday the old man did not see my sister's twenty-one books.";
    static const char two[] = "If it rains, who stays here?";
    struct str out = str_new(0);

    gloss_open(&dictionary);
    gloss_sentence(&dictionary, (struct line){one, strlen(one)}, &out);
    CHECK_STR(str_text(&out), "Gestern der alt Mann nicht sehen mein Schwester "
                              "einundzwanzig Bücher.");
    str_reset(&out);
    gloss_sentence(&dictionary, (struct line){two, strlen(two)}, &out);
    CHECK_STR(str_text(&out), "Wenn es regnet, wer bleibt hier?");
    str_release(&out);
}

struct pair {
    char *en, *de;
};

static int by_english(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->en, ((const struct pair *)b)->en);
}

TEST(an_english_sentence_has_one_german_translation)
{
    enum { N = 40000 };
    static struct sample_generator g;
    struct pair *pair = calloc(N, sizeof *pair);
    size_t n_again = 0;

    CHECK(pair);
    sample_open(&g, test_seed());
    for (size_t i = 0; i < N; i++) {
        struct str en = str_new(0), de = str_new(0);
        sample_pair(&g, i, &en, &de);
        CHECK(!en.bad && !de.bad);
        pair[i] = (struct pair){en.data, de.data};
    }
    qsort(pair, N, sizeof *pair, by_english);
    for (size_t i = 1; i < N; i++)
        if (strcmp(pair[i - 1].en, pair[i].en) == 0) {
            CHECK_STR(pair[i].de, pair[i - 1].de);
            n_again++;
        }
    CHECK(n_again > 0 && n_again < N / 20); /* rich, yet the claim was put to the test */
    for (size_t i = 0; i < N; i++) {
        free(pair[i].en);
        free(pair[i].de);
    }
    free(pair);
}

TEST(a_directory_that_cannot_be_made_is_named_and_nothing_is_left)
{
    const struct sample_options o = options(10, 1, 1);
    struct sample_stats stats;
    struct err err = {0};

    CHECK_OK(file_write(test_path("file"), "x", 1, &err), &err);
    CHECK_FAILS(sample_write(&o, test_path("file/dir"), &stats, &err), &err, ERR_IO,
                "file");
    CHECK_FAILS(sample_write(&o, test_path("file"), &stats, &err), &err, ERR_IO, "file");
}

TEST(a_file_in_the_way_leaves_no_file_half_written)
{
    const struct sample_options o = options(10, 1, 1);
    struct sample_stats stats;
    struct err err = {0};
    char dir[FILE_PATH_MAX];

    snprintf(dir, sizeof dir, "%s", test_path("out"));
    CHECK_OK(file_make_dirs(test_path("out/test.de/occupied"), &err), &err);
    CHECK_FAILS(sample_write(&o, dir, &stats, &err), &err, ERR_IO, "test.de");
    CHECK(file_is_dir(test_path("out/test.de")));
}
