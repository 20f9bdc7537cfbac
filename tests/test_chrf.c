#include "score/chrf.h"

#include <stdlib.h>

#include <jansson.h>

#include "test.h"

enum { MAX_REFS = 8 };

static struct line text_of(const json_t *s)
{
    return (struct line){json_string_value(s), json_string_length(s)};
}

static size_t number_of(const json_t *c, const char *name)
{
    return (size_t)json_integer_value(json_object_get(c, name));
}

static struct chrf_options options_of(const json_t *c)
{
    return (struct chrf_options){
        .char_order = number_of(c, "char_order"),
        .word_order = number_of(c, "word_order"),
        .beta = (unsigned)number_of(c, "beta"),
        .keeps_space = json_is_true(json_object_get(c, "whitespace")),
        .is_smoothed = json_is_true(json_object_get(c, "eps_smoothing")),
    };
}

static struct chrf_stats stats_of(const json_t *c, const struct chrf_options *o)
{
    const json_t *hyps = json_object_get(c, "hyp"), *refs = json_object_get(c, "refs");
    struct chrf_stats s = {0};
    struct err err = {0};

    for (size_t i = 0; i < json_array_size(hyps); i++) {
        struct line ref[MAX_REFS];
        for (size_t r = 0; r < json_array_size(refs); r++)
            ref[r] = text_of(json_array_get(json_array_get(refs, r), i));
        CHECK_OK(chrf_add(&s, o, text_of(json_array_get(hyps, i)), ref,
                          json_array_size(refs), &err),
                 &err);
    }
    return s;
}

TEST(prints_what_sacrebleu_prints_on_every_golden_case)
{
    json_error_t why;
    json_t *root = json_load_file(test_data("bleu_cases.json"), JSON_ALLOW_NUL, &why), *c;
    const json_t *cases = json_object_get(root, "chrf");
    size_t i;

    CHECK(json_array_size(cases) >= 150);
    json_array_foreach(cases, i, c)
    {
        const struct chrf_options o = options_of(c);
        const struct chrf_stats s = stats_of(c, &o);
        const char *want = json_string_value(json_object_get(c, "want"));
        struct str got = str_new(0);
        struct result r =
            chrf_result(&s, &o, json_array_size(json_object_get(c, "refs")));

        result_line(&got, &r, 6);
        result_release(&r);
        if (strcmp(str_text(&got), want) != 0)
            test_fail(__FILE__, __LINE__, "case '%s':\n got  %s\n want %s",
                      json_string_value(json_object_get(c, "name")), str_text(&got),
                      want);
        str_release(&got);
    }
    json_decref(root);
}

static void add(struct chrf_stats *s, const char *hyp, const char *ref)
{
    const struct line r = {ref, strlen(ref)};
    struct err err = {0};

    CHECK_OK(chrf_add(s, &CHRF_OPTIONS, (struct line){hyp, strlen(hyp)}, &r, 1, &err),
             &err);
}

TEST(a_text_against_itself_scores_one_hundred)
{
    struct chrf_stats s = {0};

    add(&s, "Das Fährboot setzt über, 3.5-mal am Tag.",
        "Das Fährboot setzt über, 3.5-mal am Tag.");
    CHECK_NEAR(chrf_score(&s, &CHRF_OPTIONS), 100, 1e-12);
}

TEST(statistics_merge_to_those_of_the_whole)
{
    struct chrf_stats a = {0}, b = {0}, whole = {0};

    add(&a, "a b c d e f", "a b c x e f");
    add(&b, "g h", "g h i j");
    add(&whole, "a b c d e f", "a b c x e f");
    add(&whole, "g h", "g h i j");
    chrf_merge(&a, &b);
    CHECK(memcmp(&a, &whole, sizeof a) == 0);
    CHECK(whole.hyp[0] == 8 && whole.ref[0] == 10 && whole.match[0] == 7);
}

/* Quadratic work on a line of a million characters would not end in time. */
TEST(a_very_long_line_is_counted_in_linear_time)
{
    enum { N = 1000000 };
    char *text = malloc(N + 1);
    struct chrf_stats s = {0};

    CHECK(text);
    for (unsigned i = 0; i < N; i++)
        text[i] = (char)('a' + i * 2654435761u % 23);
    text[N] = '\0';
    add(&s, text, text);
    CHECK(s.hyp[0] == N && s.match[5] == N - 5);
    free(text);
}
