#include "score/metric.h"

#include <string.h>

#include "score_cases.h"

static const char *const hyps[] = {"the cat sat on a mat", "", "hello there, world"};
static const char *const refs[] = {"the cat sat on the mat", "a line", "hello world"};
enum { N = sizeof hyps / sizeof *hyps };

static struct line line_of(const char *text)
{
    return (struct line){text, strlen(text)};
}

static void add(struct metric_sums *s, const struct metric_options *o, size_t i)
{
    const struct line ref = line_of(refs[i]);
    struct err err = {0};

    CHECK_OK(metric_add(s, o, line_of(hyps[i]), &ref, 1, &err), &err);
}

/* As sacreBLEU 2.6.0 prints them. */
TEST(every_metric_gives_the_number_of_sacrebleu)
{
    static const char *const want[N_METRIC] = {
        [METRIC_BLEU] =
            "BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0 = 38.46 "
            "70.0/37.5/33.3/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 10 ref_len = 10)",
        [METRIC_CHRF] = "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|"
                        "version:2.6.0 = 55.75",
        [METRIC_CHRF_WORDS] = "chrF2++|nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no|"
                              "version:2.6.0 = 55.78",
        [METRIC_TER] = "TER|nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|"
                       "version:2.6.0 = 40.00",
    };

    for (unsigned m = 0; m < N_METRIC; m++) {
        const struct metric_options o = metric_options((enum metric)m);
        struct metric_sums sums = {0};
        struct str got = str_new(0);

        for (size_t i = 0; i < N; i++)
            add(&sums, &o, i);
        struct result r = metric_result(&sums, &o, 1);
        result_line(&got, &r, 2);
        CHECK_STR(str_text(&got), want[m]);
        result_release(&r);
        str_release(&got);
    }
}

TEST(options_of_every_metric_give_the_digits_of_sacrebleu)
{
    json_t *cases = cases_open("scores", 180), *c;
    size_t i;

    json_array_foreach(cases, i, c)
    {
        const struct metric_options o = cases_options(c);
        struct metric_sums sums = {0};
        struct str got = str_new(0);

        for (size_t k = 0; k < json_array_size(json_object_get(c, "hyp")); k++)
            cases_add(&sums, c, "hyp", k);
        struct result r = metric_result(&sums, &o, cases_n_refs(c));
        result_line(&got, &r, 6);
        CHECK_STR(str_text(&got), json_string_value(json_object_get(c, "want")));
        result_release(&r);
        str_release(&got);
    }
    json_decref(cases);
}

TEST(sums_of_parts_add_up_to_those_of_the_whole)
{
    for (unsigned m = 0; m < N_METRIC; m++) {
        const struct metric_options o = metric_options((enum metric)m);
        struct metric_sums part = {0}, rest = {0}, whole = {0};

        add(&part, &o, 0);
        add(&rest, &o, 1);
        add(&rest, &o, 2);
        for (size_t i = 0; i < N; i++)
            add(&whole, &o, i);
        for (size_t k = 0; k < METRIC_SUMS_MAX; k++)
            CHECK(part.x[k] + rest.x[k] == whole.x[k]);
    }
}

TEST(metrics_are_found_by_name_and_know_what_is_better)
{
    for (unsigned m = 0; m < N_METRIC; m++)
        CHECK(metric_find(metric_name((enum metric)m)) == (enum metric)m);
    CHECK(metric_find("chrf+") == N_METRIC && metric_find("") == N_METRIC);
    CHECK(metric_is_better(METRIC_BLEU, 30, 20) &&
          !metric_is_better(METRIC_BLEU, 20, 20));
    CHECK(metric_is_better(METRIC_TER, 20, 30) && !metric_is_better(METRIC_TER, 30, 20));
}
