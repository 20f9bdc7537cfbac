#include "recipe/schedule.h"

#include <jansson.h>

#include "test.h"

static struct err err;

static struct schedule_config defaults(void)
{
    struct schedule_config c;

    CHECK_OK(opt_defaults(schedule_config_table, &c, &err), &err);
    return c;
}

static void set(struct schedule_config *c, const char *name, const char *text)
{
    CHECK_OK(opt_set(schedule_config_table, c, name, text, &err), &err);
}

static struct schedule opened(const struct schedule_config *c, int64_t last_step)
{
    struct schedule s;

    CHECK_OK(schedule_init(&s, c, 512, last_step, &err), &err);
    return s;
}

static void check_case(json_t *each)
{
    struct schedule_config c = defaults();
    struct schedule s;
    const char *name;
    json_t *text, *at = json_object_get(each, "at");
    const json_t *rate = json_object_get(each, "rate");

    json_object_foreach(json_object_get(each, "options"), name, text)
        set(&c, name, json_string_value(text));
    CHECK_OK(schedule_init(&s, &c, json_integer_value(json_object_get(each, "d_model")),
                           json_integer_value(json_object_get(each, "last_step")), &err),
             &err);
    CHECK(json_array_size(at) >= 5);
    for (size_t i = 0; i < json_array_size(at); i++) {
        const int64_t t = json_integer_value(json_array_get(at, i));
        const double want = json_number_value(json_array_get(rate, i));
        const double got = schedule_rate(&s, t);
        if (!(fabs(got - want) <= 1e-13 * want))
            test_fail(__FILE__, __LINE__, "%s at %lld: %.17g, want %.17g", c.lr_policy,
                      (long long)t, got, want);
    }
}

TEST(every_policy_equals_an_independent_one)
{
    json_error_t where;
    json_t *cases = json_load_file(test_data("golden_schedule.json"), 0, &where);

    CHECK(json_array_size(cases) >= 14);
    for (size_t i = 0; i < json_array_size(cases); i++)
        check_case(json_array_get(cases, i));
    json_decref(cases);
}

TEST(defaults_are_those_of_the_base_model)
{
    const struct schedule_config c = defaults();
    const struct schedule s = opened(&c, 300000);

    CHECK(fabs(schedule_rate(&s, 0) - 1.235265e-7) < 5e-14);
    CHECK(fabs(schedule_rate(&s, 7999) - 9.882118e-4) < 5e-11);
    CHECK(fabs(schedule_rate(&s, 49999) - 3.952847e-4) < 5e-11);
    CHECK(fabs(schedule_rate(&s, 299999) - 1.613743e-4) < 5e-11);
}

TEST(a_decay_ends_with_the_run_unless_told_otherwise)
{
    struct schedule_config c = defaults();

    set(&c, "lr_policy", "poly_decay");
    set(&c, "learning_rate", "1");
    const struct schedule s = opened(&c, 200);
    CHECK_NEAR(schedule_rate(&s, 100), 0.5, 1e-15);
    CHECK(schedule_rate(&s, 200) == 0);
    CHECK(schedule_rate(&s, 100000) == 0);
}

TEST(a_run_of_no_steps_has_a_finite_rate)
{
    static const char *const policies[] = {"exp_decay", "poly_decay", "cosine_decay",
                                           "inv_poly_decay", "transformer_policy"};

    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        struct schedule_config c = defaults();
        set(&c, "lr_policy", policies[i]);
        const struct schedule s = opened(&c, 0);
        CHECK(isfinite(schedule_rate(&s, 0)));
        CHECK(isfinite(schedule_rate(&s, 1)));
    }
}

TEST(contradictions_are_refused_by_name)
{
    struct schedule_config c = defaults();

    set(&c, "warmup_steps", "0");
    CHECK_FAILS(schedule_check(&c, &err), &err, ERR_USAGE, "warmup_steps = 0");
    set(&c, "lr_policy", "poly_decay");
    set(&c, "min_lr", "3");
    CHECK_FAILS(schedule_check(&c, &err), &err, ERR_USAGE, "min_lr = 3");
    set(&c, "lr_policy", "cosine_decay");
    CHECK_FAILS(schedule_check(&c, &err), &err, ERR_USAGE, "fraction");
    set(&c, "lr_policy", "inv_poly_decay");
    CHECK_FAILS(schedule_check(&c, &err), &err, ERR_USAGE, "below min_lr = 3");
    set(&c, "learning_rate", "4");
    CHECK_OK(schedule_check(&c, &err), &err);
}

TEST(lists_of_pieces_are_checked)
{
    static const struct {
        const char *boundaries, *rates, *says;
    } bad[] = {{"", "", "0 numbers"},
               {"1,2", "0.1", "2 numbers and decay_rates has 1"},
               {"2,1", "0.1,0.2", "ascending"},
               {"2,2", "0.1,0.2", "ascending"},
               {"1,x", "0.1,0.2", "boundaries = 1,x"},
               {"1,,2", "0.1,0.2", "boundaries = 1,,2"},
               {"1,2,", "0.1,0.2", "boundaries = 1,2,"},
               {",1", "0.1", "boundaries = ,1"},
               {"1 2", "0.1", "boundaries = 1 2"},
               {"1", "-0.1", "decay_rates = -0.1"},
               {"nan", "1", "boundaries = nan"},
               {"1e999", "1", "boundaries = 1e999"}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct schedule_config c = defaults();
        set(&c, "lr_policy", "piecewise_constant");
        set(&c, "boundaries", bad[i].boundaries);
        set(&c, "decay_rates", bad[i].rates);
        CHECK_FAILS(schedule_check(&c, &err), &err, ERR_USAGE, bad[i].says);
    }
}

TEST(too_many_pieces_are_refused)
{
    struct schedule_config c = defaults();
    char list[OPT_TEXT_MAX] = "0";

    for (int i = 1; i <= SCHEDULE_PIECES_MAX; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ",%d", i);
    set(&c, "lr_policy", "piecewise_constant");
    set(&c, "boundaries", list);
    CHECK_FAILS(schedule_check(&c, &err), &err, ERR_USAGE, "at most 64");
}

static void check_text(const struct schedule_config *c, const char *want)
{
    const struct schedule s = opened(c, 300000);
    struct str text = str_new(0);

    schedule_describe(&s, &text);
    CHECK_STR(str_text(&text), want);
    str_release(&text);
}

TEST(the_description_shows_the_numbers_of_the_run)
{
    struct schedule_config c = defaults();

    check_text(&c, "transformer_policy: lr(t) = 2 * 512^-1/2 * min((t + 1) * 8000^-3/2, "
                   "(t + 1)^-1/2). It rises linearly for 8000 steps, to 0.0009882, and "
                   "then falls with the square root of the step.");
    set(&c, "learning_rate", "0.5");
    set(&c, "lr_policy", "piecewise_constant");
    set(&c, "boundaries", "100,200");
    set(&c, "decay_rates", "0.5,0.1");
    check_text(&c, "piecewise_constant: lr(t) = 0.5 through step 100, 0.25 through step "
                   "200, then 0.05.");
    set(&c, "lr_policy", "exp_decay");
    set(&c, "use_staircase_decay", "true");
    check_text(&c, "exp_decay: lr(t) = 0.5 * 0.5^floor((t - 0) / 300000), at least 0. It "
                   "is multiplied by 0.5 every 300000 steps, in jumps.");
    set(&c, "lr_policy", "poly_decay");
    set(&c, "warmup_steps", "1000");
    check_text(&c, "poly_decay: lr(t) = (0.5 - 0) * (1 - (t - 1000) / 299000)^1 + 0. It "
                   "rises linearly to 0.5 in the first 1000 steps. It falls to 0 from "
                   "step 1000 over 299000 steps.");
}
