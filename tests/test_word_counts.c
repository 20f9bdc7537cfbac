#include "text/subword/word_counts.h"

#include <stdlib.h>

#include "base/rng.h"

#include "hostile.h"
#include "test.h"

static struct word_counts *open_counts(size_t max_bytes)
{
    struct word_counts *w;
    struct err err = {0};

    CHECK_OK(
        word_counts_new(&w, (struct word_counts_options){.max_bytes = max_bytes}, &err),
        &err);
    return w;
}

static void add(struct word_counts *w, const char *text)
{
    struct err err = {0};

    CHECK_OK(word_counts_add(w, (struct line){text, strlen(text)}, &err), &err);
}

static void finish(struct word_counts *w)
{
    struct err err = {0};

    CHECK_OK(word_counts_finish(w, &err), &err);
}

static uint64_t count_of(const struct word_counts *w, const char *word)
{
    for (size_t i = 0; i < word_counts_size(w); i++) {
        const struct word_counts_word x = word_counts_at(w, i);
        if (x.text.n_bytes == strlen(word) &&
            memcmp(x.text.text, word, x.text.n_bytes) == 0)
            return x.count;
    }
    return 0;
}

TEST(words_are_counted_as_they_are_normalised)
{
    struct word_counts *w = open_counts(0);

    add(w, "  the  river\tthe \xEF\xAC\x81ne r\xC3\xADver ");
    add(w, "ri\xCC\x81ver THE");
    add(w, "");
    add(w, " ");
    finish(w);
    CHECK(count_of(w, "the") == 2 && count_of(w, "THE") == 1);
    CHECK(count_of(w, "fine") == 1);
    CHECK(count_of(w, "r\xC3\xADver") == 2); /* one composed, one with a mark */
    CHECK(count_of(w, "river") == 1 && word_counts_size(w) == 5);
    CHECK(word_counts_seen(w).n_lines == 3);
    word_counts_free(w);
}

TEST(long_lines_and_reserved_characters_are_left_out_and_counted)
{
    struct word_counts *w;
    struct err err = {0};

    static char longest[4192 + 2];

    memset(longest, 'x', sizeof longest - 1);
    CHECK_OK(word_counts_new(&w, (struct word_counts_options){0}, &err), &err);
    add(w, longest);
    longest[4192] = '\0';
    add(w, longest);
    add(w, "a \xE2\x96\x85");
    finish(w);
    CHECK(word_counts_size(w) == 1 && count_of(w, longest) == 1);
    CHECK(word_counts_seen(w).n_lines == 3);
    CHECK(word_counts_seen(w).n_too_long == 1 && word_counts_seen(w).n_reserved == 1);
    word_counts_free(w);
}

TEST(space_marks_part_words_and_names_of_specials_become_tabs)
{
    struct word_counts *w = open_counts(0);

    add(w, "a\xE2\x96\x81"
           "b x<s>y</s><unk><pad> <s");
    finish(w);
    CHECK(count_of(w, "a") == 1 && count_of(w, "b") == 1);
    CHECK(count_of(w, "x\ty\t\t\t") == 1 && count_of(w, "<s") == 1);
    word_counts_free(w);
}

static int by_text(const void *x, const void *y)
{
    const struct word_counts_word *a = x, *b = y;
    const size_t n =
        a->text.n_bytes < b->text.n_bytes ? a->text.n_bytes : b->text.n_bytes;
    const int d = n ? memcmp(a->text.text, b->text.text, n) : 0;

    return d ? d
             : (a->text.n_bytes > b->text.n_bytes) - (a->text.n_bytes < b->text.n_bytes);
}

static struct word_counts_word *sorted(const struct word_counts *w)
{
    const size_t n = word_counts_size(w);
    struct word_counts_word *list = calloc(n + 1, sizeof *list);

    CHECK(list);
    for (size_t i = 0; i < n; i++)
        list[i] = word_counts_at(w, i);
    qsort(list, n, sizeof *list, by_text);
    return list;
}

static void check_same(const struct word_counts *a, const struct word_counts *b)
{
    struct word_counts_word *x = sorted(a), *y = sorted(b);

    CHECK(word_counts_size(a) == word_counts_size(b));
    for (size_t i = 0; i < word_counts_size(a); i++)
        CHECK(by_text(&x[i], &y[i]) == 0 && x[i].count == y[i].count);
    free(x);
    free(y);
}

/* Hostile lines, dealt out to n tables in turn and merged. */
static struct word_counts *count_hostile(size_t n_lines, size_t n_tables,
                                         size_t max_bytes)
{
    struct word_counts *table[4];
    struct str line = str_new(0);
    struct err err = {0};

    for (size_t i = 0; i < n_tables; i++)
        table[i] = open_counts(max_bytes);
    for (size_t i = 0; i < n_lines; i++) {
        hostile_line(&line, rng_key(test_seed(), "words"), i % (n_lines / 2));
        CHECK_OK(word_counts_add(table[i % n_tables],
                                 (struct line){str_text(&line), line.len}, &err),
                 &err);
    }
    for (size_t i = 1; i < n_tables; i++) {
        CHECK_OK(word_counts_merge(table[0], table[i], &err), &err);
        word_counts_free(table[i]);
    }
    str_release(&line);
    finish(table[0]);
    return table[0];
}

TEST(tables_that_are_merged_equal_one_table)
{
    struct word_counts *one = count_hostile(3000, 1, 0),
                       *four = count_hostile(3000, 4, 0);

    check_same(one, four);
    CHECK(word_counts_seen(one).n_lines == word_counts_seen(four).n_lines);
    CHECK(word_counts_seen(one).n_too_long == word_counts_seen(four).n_too_long);
    word_counts_free(one);
    word_counts_free(four);
}

/* The bytes that the words of a table count for, as its limit counts them. */
static size_t bytes_of(const struct word_counts *w)
{
    size_t n = 0;

    for (size_t i = 0; i < word_counts_size(w); i++)
        n += word_counts_at(w, i).text.n_bytes + 36;
    return n;
}

/* The count that each word of `part` has in `all`. */
static void check_counts(const struct word_counts *part, const struct word_counts *all)
{
    struct word_counts_word *x = sorted(part), *y = sorted(all);

    for (size_t i = 0, k = 0; i < word_counts_size(part); i++, k++) {
        while (k < word_counts_size(all) && by_text(&x[i], &y[k]) > 0)
            k++;
        CHECK(k < word_counts_size(all) && by_text(&x[i], &y[k]) == 0);
        CHECK(x[i].count == y[k].count);
    }
    free(x);
    free(y);
}

TEST(the_rarest_words_are_forgotten_whatever_the_number_of_tables)
{
    struct word_counts *all = count_hostile(3000, 1, 0);
    const size_t limit = bytes_of(all) / 3;
    struct word_counts *one = count_hostile(3000, 1, limit),
                       *three = count_hostile(3000, 3, limit);
    const struct word_counts_seen seen = word_counts_seen(one);
    uint64_t n_rare = 0;

    check_same(one, three);
    check_counts(one, all);
    CHECK(bytes_of(one) <= limit && word_counts_size(one) > 0);
    CHECK(seen.n_forgotten == word_counts_size(all) - word_counts_size(one));
    for (size_t i = 0; i < word_counts_size(all); i++)
        n_rare += word_counts_at(all, i).count <= seen.n_forgotten_below;
    CHECK(seen.n_forgotten == n_rare && seen.n_forgotten_below > 0);
    for (size_t i = 0; i < word_counts_size(one); i++)
        CHECK(word_counts_at(one, i).count > seen.n_forgotten_below);
    word_counts_free(all);
    word_counts_free(one);
    word_counts_free(three);
}

TEST(a_folder_for_temporary_files_that_is_missing_is_named_as_the_trouble)
{
    struct word_counts *w = open_counts(100);
    struct err err = {0};
    status s = OK;

    setenv("TMPDIR", test_path("absent"), 1);
    for (int i = 0; s == OK && i < 100; i++) {
        char text[16];
        const int n = snprintf(text, sizeof text, "word%d", i);
        s = word_counts_add(w, (struct line){text, (size_t)n}, &err);
    }
    unsetenv("TMPDIR");
    CHECK_FAILS(s, &err, ERR_IO, "TMPDIR");
    word_counts_free(w);
}
