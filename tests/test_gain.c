/* The table of scores before and after, as text and as Markdown; what is kept as JSON. */
#include "adapt/gain.h"
#include "test.h"

static const struct gain both[] = {
    {"new", 500, {true, 21.304, 40.5}, {true, 38.926, 60.125}},
    {"general", 1000, {true, 48.1, 66}, {true, 47.6, 65.5}},
};

static void check_table(const struct gain *g, size_t n, bool is_markdown,
                        const char *want)
{
    struct str text = str_new(0);

    gain_table(&text, g, n, is_markdown);
    CHECK_STR(str_text(&text), want);
    str_release(&text);
}

TEST(a_table_says_what_was_before_and_is_after)
{
    check_table(both, 2, false,
                "text      pairs    BLEU   after  change    chrF   after  change\n"
                "new         500   21.30   38.93  +17.62   40.50   60.12  +19.62\n"
                "general    1000   48.10   47.60   -0.50   66.00   65.50   -0.50\n");
    check_table(both, 1, true,
                "| text | test pairs | BLEU before | after | change | chrF before | "
                "after | change |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"
                "| new | 500 |  21.30 |  38.93 | +17.62 |  40.50 |  60.12 | +19.62 |\n");
}

TEST(what_was_not_measured_yet_is_a_dash)
{
    const struct gain g = {"new", 5, {true, 1, 2}, {0}};

    check_table(&g, 1, false,
                "text      pairs    BLEU   after  change    chrF   after  change\n"
                "new           5    1.00       -       -    2.00       -       -\n");
}

TEST(a_score_comes_back_from_json)
{
    json_t *json = gain_json(&both[0].after);
    const struct gain_score none = {0}, back = gain_of_json(json);

    CHECK(back.is_there && back.bleu == 38.926 && back.chrf == 60.125);
    CHECK(!gain_json(&none));
    CHECK(!gain_of_json(NULL).is_there);
    json_object_set_new(json, "chrf", json_string("much"));
    CHECK(!gain_of_json(json).is_there);
    json_decref(json);
}
