#include "text/profile.h"

#include <stdlib.h>

#include "test.h"

static const char *const german[] = {
    "Der Hund läuft über die Straße und bellt die Katze an.",
    "Ich habe heute keine Zeit, aber morgen können wir uns treffen.",
    "Das Wetter ist schön, und die Kinder spielen im Garten.",
    "Sie wissen nicht, welches Buch er gestern gelesen hat.",
};
static const char *const english[] = {
    "The dog runs across the street and barks at the cat.",
    "I have no time today, but we can meet tomorrow.",
    "The weather is nice, and the children are playing in the garden.",
    "They do not know which book he was reading yesterday.",
};

static struct line line(const char *text)
{
    return (struct line){text, strlen(text)};
}

static void learn(struct profiles *p, const char *name, const char *const *lines,
                  size_t n)
{
    struct profile_counts *c = calloc(1, sizeof *c);
    struct err err = {0};

    for (size_t i = 0; i < n; i++)
        profile_count(c, line(lines[i]));
    CHECK_OK(profile_add(p, name, c, &err), &err);
    free(c);
}

static struct profiles both(void)
{
    struct profiles p = {0};

    learn(&p, "de", german, 4);
    learn(&p, "en", english, 4);
    return p;
}

TEST(a_text_is_in_the_language_of_its_letters)
{
    struct profiles p = both();
    struct profile_guess g[2];

    profile_detect(&p, line("Die Kinder lesen das Buch."), g);
    CHECK_STR(g[0].name, "de");
    CHECK(g[0].confidence > 80 && g[0].confidence + g[1].confidence < 100.001);
    profile_detect(&p, line("the children"), g);
    CHECK_STR(g[0].name, "en");
    profile_detect(&p, line("und"), g);
    CHECK_STR(g[0].name, "de");
    profile_release(&p);
}

TEST(what_no_profile_knows_has_no_confidence)
{
    struct profiles p = both();
    struct profile_guess g[2];
    static const char *const unknown[] = {"", "123 !?", "Добрый день", "\xff\xfe",
                                          "漢字"};

    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        profile_detect(&p, line(unknown[i]), g);
        CHECK(g[0].confidence == 0 && g[1].confidence == 0);
    }
    profile_release(&p);
    profile_detect(&p, line("x"), NULL);
}

TEST(profiles_are_written_and_read_and_those_of_a_name_become_one)
{
    struct profiles p = both(), q = {0};
    struct str bytes = str_new(0);
    struct err err = {0};

    CHECK_OK(profile_write(&bytes, &p, &err), &err);
    CHECK_OK(profile_read(&q, (struct line){bytes.data, bytes.len}, &err), &err);
    CHECK(q.n == 2 && memcmp(q.item[1].cost, p.item[1].cost, PROFILE_BUCKETS) == 0);
    CHECK_OK(profile_read(&q, (struct line){bytes.data, bytes.len}, &err), &err);
    CHECK(q.n == 2 && q.item[0].n_merged == 2);
    CHECK(memcmp(q.item[0].cost, p.item[0].cost, PROFILE_BUCKETS) == 0);
    CHECK_OK(profile_merge(&q, &p, &err), &err);
    CHECK(q.n == 2 && q.item[1].n_merged == 3);
    str_release(&bytes);
    profile_release(&p);
    profile_release(&q);
}

TEST(those_that_were_merged_weigh_as_many_as_they_are)
{
    static struct profile_counts often, never;
    struct profiles one = {0}, two = {0};
    struct err err = {0};

    often.n_letters = never.n_letters = 1;
    often.count[7] = never.count[8] = 1;
    CHECK_OK(profile_add(&one, "xx", &often, &err), &err);
    CHECK_OK(profile_add(&two, "xx", &never, &err), &err);
    two.item[0].n_merged = 2;
    CHECK_OK(profile_merge(&one, &two, &err), &err);
    CHECK(one.n == 1 && one.item[0].n_merged == 3);
    CHECK(one.item[0].cost[7] == 13 && one.item[0].cost[8] == 5); /* a third, two */
    profile_release(&one);
    profile_release(&two);
}

TEST(damaged_profiles_are_refused)
{
    struct profiles p = both(), q = {0};
    struct str bytes = str_new(0);
    struct err err = {0};

    CHECK_OK(profile_write(&bytes, &p, &err), &err);
    CHECK_FAILS(profile_read(&q, (struct line){bytes.data, 7}, &err), &err, ERR_FORMAT,
                "no profiles");
    CHECK_FAILS(profile_read(&q, (struct line){bytes.data, bytes.len - 1}, &err), &err,
                ERR_FORMAT, "bytes for 2");
    bytes.data[16] = '\0';
    CHECK_FAILS(profile_read(&q, (struct line){bytes.data, bytes.len}, &err), &err,
                ERR_FORMAT, "no valid name");
    bytes.data[8] = 9;
    CHECK_FAILS(profile_read(&q, (struct line){bytes.data, bytes.len}, &err), &err,
                ERR_FORMAT, "version 9, which is newer; this program reads 1");
    bytes.data[8] = 0;
    CHECK_FAILS(profile_read(&q, (struct line){bytes.data, bytes.len}, &err), &err,
                ERR_FORMAT, "version 0; this");
    str_release(&bytes);
    profile_release(&p);
    profile_release(&q);
}
