#include "score/tokenize.h"

#include "score_cases.h"

static void check_cut(enum tokenize rule, struct line in, struct line want)
{
    struct str got = str_new(0);
    struct err err = {0};

    CHECK_OK(tokenize_line(&got, rule, in.text, in.n_bytes, &err), &err);
    if (got.len != want.n_bytes || memcmp(str_text(&got), want.text, got.len) != 0)
        test_fail(__FILE__, __LINE__, "%s of '%s': got '%s', want '%s'",
                  tokenize_name(rule), in.text, str_text(&got), want.text);
    str_release(&got);
}

TEST(lines_of_every_script_are_cut_as_sacrebleu_cuts_them)
{
    static const enum tokenize rules[] = {TOKENIZE_INTL, TOKENIZE_CHAR, TOKENIZE_ZH};
    json_t *cases = cases_open("tokens", 300), *c;
    size_t i;

    json_array_foreach(cases, i, c)
    {
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
            check_cut(rules[k], cases_line(json_object_get(c, "text")),
                      cases_line(json_object_get(c, tokenize_name(rules[k]))));
    }
    json_decref(cases);
}

TEST(tokenizers_are_found_by_name_and_some_are_elsewhere)
{
    for (unsigned rule = 0; rule < N_TOKENIZE; rule++) {
        const char *name = tokenize_name((enum tokenize)rule);
        CHECK(tokenize_find(name) == (enum tokenize)rule);
        CHECK(!tokenize_is_elsewhere(name) && strstr(TOKENIZE_NAMES, name));
    }
    CHECK(tokenize_find("ja-mecab") == N_TOKENIZE && tokenize_is_elsewhere("ja-mecab"));
    CHECK(tokenize_is_elsewhere("flores200") && !tokenize_is_elsewhere("13b"));
}
