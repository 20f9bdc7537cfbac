#include "fetch/debian.h"

#include "base/str.h"
#include "test.h"

static struct err err;
static struct str got;
static struct debian_align_stats stats;

static status keep(void *to, const char *const text[N_FETCH_SIDES], struct err *unused)
{
    (void)to;
    (void)unused;
    str_printf(&got, "%s = %s\n", text[FETCH_EN], text[FETCH_DE]);
    return OK;
}

static const char *align(const char *en, const char *de)
{
    const char *const text[N_FETCH_SIDES] = {en, de};
    const size_t n[N_FETCH_SIDES] = {strlen(en), strlen(de)};

    str_reset(&got);
    stats = (struct debian_align_stats){0};
    CHECK_OK(debian_align(text, n, &stats, keep, NULL, &err), &err);
    return str_text(&got);
}

TEST(titles_and_sentences_are_paired)
{
    CHECK_STR(align("the  title\n One line\n goes on. Two!\n .\n Three.",
                    "der Titel\n Eine Zeile geht\n weiter. Zwei!\n .\n Drei."),
              "the title = der Titel\nOne line goes on. = Eine Zeile geht weiter.\n"
              "Two! = Zwei!\nThree. = Drei.\n");
    CHECK(stats.n_titles == 1 && stats.n_sentences == 3 && stats.n_paragraphs == 0);
}

TEST(unequal_numbers_of_sentences_keep_the_paragraph_whole)
{
    CHECK_STR(align("t\n One. Two.", "T\n Eins, Zwei."),
              "t = T\nOne. Two. = Eins, Zwei.\n");
    CHECK(stats.n_paragraphs == 1);
}

TEST(unequal_numbers_of_paragraphs_leave_the_title)
{
    CHECK_STR(align("t\n One.\n .\n Two.", "T\n Eins."), "t = T\n");
    CHECK(stats.n_unequal == 1);
    CHECK_STR(align("t\n One.", "T"), "t = T\n");
    CHECK(stats.n_unequal == 1);
}

TEST(list_items_stand_for_themselves)
{
    CHECK_STR(align("t\n It has:\n  * one\n    and a half\n  - two\n After.",
                    "T\n Es hat:\n  * eins\n    und halb\n  * zwei\n Danach."),
              "t = T\nIt has: = Es hat:\none and a half = eins und halb\ntwo = zwei\n"
              "After. = Danach.\n");
    CHECK(stats.n_items == 2);
    CHECK_STR(align("t\n Has:\n  * one\n .\n End.", "T\n Hat:\n eins\n .\n Ende."),
              "t = T\nEnd. = Ende.\n");
    CHECK(stats.n_unlike == 1);
}

TEST(a_word_divided_at_the_line_end_is_one_word)
{
    CHECK_STR(align("t\n filter\n graphs.", "T\n Filter-\n Graphen."),
              "t = T\nfilter graphs. = Filter-Graphen.\n");
    CHECK_STR(align("t\n x.", "T\n Text-\n und Bild."), "t = T\nx. = Text- und Bild.\n");
}

TEST(sentences_end_where_readers_end_them)
{
    CHECK(debian_align_sentence("An ox. C") == 6);
    CHECK(debian_align_sentence("An ox.) C") == 7);
    CHECK(debian_align_sentence("A b? \xc3\x9c") == 4);
    CHECK(debian_align_sentence("A b! c") == 6);
    CHECK(debian_align_sentence("See e.g. That one.") == 18);
    CHECK(debian_align_sentence("am 1. Mai z. B. Hier.") == 21);
    CHECK(debian_align_sentence("runs .NET and v1.2 on it") == 24);
    CHECK(debian_align_sentence("") == 0);
}

TEST(empty_texts_align_to_nothing)
{
    CHECK_STR(align("", ""), "");
    CHECK_STR(align("t\n .\n .", "T\n .\n ."), "t = T\n");
}

static void add(struct debian_pairs *p, enum fetch_set set, const char *en,
                const char *de)
{
    const char *const text[N_FETCH_SIDES] = {en, de};

    CHECK_OK(debian_pairs_add(p, set, text, &err), &err);
}

TEST(held_out_pairs_share_no_side_with_training)
{
    struct debian_pairs p = {0};
    uint64_t n[N_FETCH_SETS];

    add(&p, FETCH_TEST, "shared", "anders");
    add(&p, FETCH_TEST, "own", "eigen");
    add(&p, FETCH_TEST, "of valid", "neu");
    add(&p, FETCH_VALID, "of valid", "alt");
    add(&p, FETCH_VALID, "x", "geteilt");
    add(&p, FETCH_TRAIN, "shared", "geteilt");
    add(&p, FETCH_TRAIN, "shared", "geteilt");
    add(&p, FETCH_TRAIN, "same", "same");
    add(&p, FETCH_TRAIN, "12 3", "456");
    add(&p, FETCH_TRAIN, "word", "<trans>");
    CHECK_OK(debian_pairs_part(&p, n, &err), &err);
    CHECK(n[FETCH_TRAIN] == 1 && n[FETCH_VALID] == 1 && n[FETCH_TEST] == 1);
    CHECK(p.n == 3 && p.n_shared == 3);
    CHECK(p.n_again == 1 && p.n_equal == 1 && p.n_empty == 2);
    debian_pairs_release(&p);
}

TEST(a_package_has_one_set_and_most_are_for_training)
{
    size_t n[N_FETCH_SETS] = {0};
    char name[32];

    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "package-%d", i);
        n[debian_pairs_set_of(name, strlen(name))]++;
    }
    CHECK(n[FETCH_VALID] > 150 && n[FETCH_VALID] < 250);
    CHECK(n[FETCH_TEST] > 150 && n[FETCH_TEST] < 250);
    str_release(&got);
}
