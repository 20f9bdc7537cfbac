#include "score/significance.h"

#include "score_cases.h"

static struct significance_kept kept_of(const json_t *c, const char *name)
{
    const struct metric_options o = cases_options(c);
    struct significance_kept k = {0};
    struct err err = {0};

    for (size_t i = 0; i < json_array_size(json_object_get(c, name)); i++) {
        struct metric_sums one = {0};
        cases_add(&one, c, name, i);
        CHECK_OK(significance_keep(&k, &o, &one, &err), &err);
    }
    return k;
}

static size_t integer(const json_t *c, const char *name)
{
    return (size_t)json_integer_value(json_object_get(c, name));
}

/* [score, mean, half, p], where not null. */
static void check(size_t i, const struct significance_result *r, const json_t *want)
{
    const double got[] = {r->score, r->mean, r->half, r->p};
    const json_t *x;
    size_t k;

    json_array_foreach(want, k, x)
    {
        if (json_is_number(x) &&
            fabs(got[k] - json_number_value(x)) > 1e-10 * (1 + fabs(got[k])))
            test_fail(__FILE__, __LINE__, "case %zu, number %zu: got %.17g, want %.17g",
                      i, k, got[k], json_number_value(x));
    }
    CHECK(r->has_interval == json_is_number(json_array_get(want, 1)));
}

TEST(intervals_are_those_of_sacrebleu_for_the_same_seed)
{
    json_t *cases = cases_open("intervals", 50), *c;
    size_t i;

    json_array_foreach(cases, i, c)
    {
        const struct metric_options o = cases_options(c);
        struct significance_kept k = kept_of(c, "hyp");
        struct significance_result r;
        struct err err = {0};

        CHECK_OK(significance_interval(&r, &k, &o, integer(c, "trials"),
                                       integer(c, "seed"), &err),
                 &err);
        check(i, &r, json_object_get(c, "want"));
        significance_release(&k);
    }
    json_decref(cases);
}

TEST(systems_are_tested_against_each_other_as_sacrebleu_does)
{
    json_t *cases = cases_open("paired", 80), *c;
    size_t i;

    json_array_foreach(cases, i, c)
    {
        const struct metric_options o = cases_options(c);
        const struct significance_how how = {
            .is_shuffled = json_is_true(json_object_get(c, "shuffled")),
            .n_trials = integer(c, "trials"),
            .n_resamples = integer(c, "resamples"),
            .seed = integer(c, "seed")};
        struct significance_kept a = kept_of(c, "hyp"), b = kept_of(c, "other");
        struct significance_result r;
        struct err err = {0};

        CHECK_OK(significance_baseline(&r, &a, &o, &how, &err), &err);
        check(i, &r, json_array_get(json_object_get(c, "want"), 0));
        CHECK_OK(significance_compare(&r, &a, &b, &o, &how, &err), &err);
        check(i, &r, json_array_get(json_object_get(c, "want"), 1));
        significance_release(&a);
        significance_release(&b);
    }
    json_decref(cases);
}

/* No trial differs by more than nothing: the least p that trials allow. */
TEST(a_system_differs_from_itself_by_what_is_never_passed)
{
    const struct metric_options o = metric_options(METRIC_BLEU);
    struct significance_kept k = {0};
    struct significance_result r;
    struct err err = {0};

    for (int i = 0; i < 20; i++) {
        const struct metric_sums one = {{5, 6, 4, 2, (double)(i % 2), 0, 5, 4, 3, 2}};
        CHECK_OK(significance_keep(&k, &o, &one, &err), &err);
    }
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        const struct significance_how how = {
            .is_shuffled = shuffled, .n_trials = 99, .seed = 1};
        CHECK_OK(significance_compare(&r, &k, &k, &o, &how, &err), &err);
        CHECK_NEAR(r.p, 0.01, 1e-15);
    }
    significance_release(&k);
}

TEST(more_lines_than_memory_is_meant_for_are_refused)
{
    const struct metric_options o = metric_options(METRIC_TER);
    struct significance_kept k = {.n_segments =
                                      SIGNIFICANCE_BYTES_MAX / (2 * sizeof(double))};
    const struct metric_sums one = {0};
    struct err err = {0};

    CHECK_FAILS(significance_keep(&k, &o, &one, &err), &err, ERR_FORMAT,
                "more than 67108864 lines are too many");
}
