#include "test.h"

#include <stdlib.h>

#include "markup.h"
#include "page/page.h"
#include "page/plot.h"
#include "page/plot_axis.h"

static struct err err;

static struct str draw(const struct series *s, struct plot p)
{
    const struct plot_curve curve = {"a <curve>", PLOT_LINE, 1, PLOT_BEST_LOW, s};
    struct str out = str_new(0);

    p.id = "p";
    p.title = "Loss & <b>more</b>";
    p.y_unit = "nats";
    p.x_unit = "step";
    p.curve = &curve;
    p.n_curves = 1;
    CHECK_OK(plot_write(&out, &p, &err), &err);
    const char *bad = markup_error(str_text(&out));
    if (bad)
        test_fail(__FILE__, __LINE__, "malformed at '%.60s'", bad);
    CHECK(!strstr(str_text(&out), "nan") && !strstr(str_text(&out), "inf"));
    return out;
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    while ((text = strstr(text, what))) {
        n++;
        text++;
    }
    return n;
}

/* Path data of the first curve. */
static const char *path_of(const struct str *page)
{
    const char *svg = strstr(str_text(page), "<svg viewBox=\"0 0 400");
    const char *path = svg ? strstr(svg, "<path class=\"line c1\" d=\"") : NULL;

    CHECK(path);
    return path + strlen("<path class=\"line c1\" d=\"");
}

TEST(ticks_are_round_and_inside)
{
    double tick[PLOT_AXIS_TICKS];

    CHECK(plot_axis_ticks(tick, 0, 20000, 5) == 5);
    CHECK(tick[0] == 0 && tick[1] == 5000 && tick[4] == 20000);
    CHECK(plot_axis_ticks(tick, -1.1, 1.1, 4) == 3);
    CHECK(tick[0] == -1 && tick[1] == 0 && tick[2] == 1);
    const size_t n = plot_axis_ticks(tick, 0.0013, 0.0017, 4);
    CHECK(n >= 4 && n <= 6);
    CHECK_NEAR(tick[0], 0.0013, 1e-9);
}

TEST(ticks_of_hopeless_ranges_end)
{
    double tick[PLOT_AXIS_TICKS];

    CHECK(plot_axis_ticks(tick, 5, 5, 4) == 0);
    CHECK(plot_axis_ticks(tick, 0, INFINITY, 4) == 0);
    CHECK(plot_axis_ticks(tick, 1e16, 1e16 + 4, 4) <= PLOT_AXIS_TICKS);
}

TEST(a_curve_runs_from_corner_to_corner)
{
    double x[] = {0, 50, 100}, y[] = {0, 1, 4};
    const struct series s = {.x = x, .y = y, .n = 3};
    struct str out = draw(&s, (struct plot){0});

    CHECK(strncmp(path_of(&out), "M44.0 200.0h0L217.0 156.5L390.0 26.0\"", 37) == 0);
    str_release(&out);
}

TEST(a_logarithmic_axis_spaces_factors_evenly)
{
    double x[] = {0, 1, 2}, y[] = {0.01, 1, 100};
    const struct series s = {.x = x, .y = y, .n = 3};
    struct str out = draw(&s, (struct plot){.is_log = true});
    double at[3];

    CHECK(sscanf(path_of(&out), "M%*f %lfh0L%*f %lfL%*f %lf", &at[0], &at[1], &at[2]) ==
          3);
    CHECK_NEAR(at[0] - at[1], at[1] - at[2], 0.01);
    CHECK(strstr(str_text(&out), ">100</text>") &&
          strstr(str_text(&out), ">0.01</text>"));
    str_release(&out);
}

TEST(a_logarithmic_x_axis_spaces_factors_evenly_and_has_no_zero)
{
    struct series s = {0};

    CHECK_OK(series_add(&s, 0, 7, &err), &err);
    for (int i = 0; i <= 3; i++)
        CHECK_OK(series_add(&s, pow(10, i), 1 + i, &err), &err);
    struct str page = draw(&s, (struct plot){.is_log_x = true});
    const char *d = path_of(&page);
    double x[4], y[4];
    CHECK(sscanf(d, "M%lf %lfh0L%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0], &x[1], &y[1],
                 &x[2], &y[2], &x[3], &y[3]) == 8);
    CHECK_NEAR(x[1] - x[0], x[2] - x[1], 0.01);
    CHECK_NEAR(x[2] - x[1], x[3] - x[2], 0.01);
    CHECK(strstr(str_text(&page), ">10</text>") && !strstr(str_text(&page), ">0</text>"));
    str_release(&page);
    series_release(&s);
}

TEST(values_that_cannot_be_shown_are_gaps)
{
    double x[] = {0, 1, 2, 3, 4, 5, 6}, y[] = {1, NAN, 3, 4, INFINITY, 2, 1e305};
    const struct series s = {.x = x, .y = y, .n = 7};
    struct str out = draw(&s, (struct plot){0});
    const char *path = path_of(&out);
    const size_t n = strcspn(path, "\"");
    char *copy = strndup(path, n);

    CHECK(count(copy, "M") == 3 && count(copy, "L") == 1);
    free(copy);
    str_release(&out);
    out = draw(&(struct series){.x = x, .y = (double[]){1, 0, -1, 2}, .n = 4},
               (struct plot){.is_log = true});
    CHECK(count(path_of(&out), "h0") == 2);
    str_release(&out);
}

TEST(one_point_and_a_constant_have_axes)
{
    double x[] = {100, 200, 300}, y[] = {2.5, 2.5, 2.5};

    for (size_t n = 1; n <= 3; n += 2) {
        const struct series s = {.x = x, .y = y, .n = n};
        struct str out = draw(&s, (struct plot){0});
        CHECK(count(str_text(&out), "class=\"grid\"") >= 2);
        CHECK(strstr(str_text(&out), "best 2.500 at 100"));
        str_release(&out);
    }
}

TEST(nothing_to_show_is_said)
{
    double x[] = {1}, y[] = {NAN};
    const struct series none = {0}, gap = {.x = x, .y = y, .n = 1};
    struct str out = draw(&none, (struct plot){0});

    CHECK(strstr(str_text(&out), "holds no value") &&
          strstr(str_text(&out), "(missing)"));
    str_release(&out);
    out = draw(&gap, (struct plot){.is_log = true, .note = "a & b"});
    CHECK(strstr(str_text(&out), "holds no value") &&
          strstr(str_text(&out), "a &amp; b"));
    str_release(&out);
}

TEST(extreme_ranges_stay_inside_the_drawing)
{
    static const double range[][2] = {{-1e299, 1e299}, {1e-300, 2e-300}, {1e16, 1e16 + 2},
                                      {-5, 1e-12},     {1e-8, 3e8},      {0, 5e-324}};

    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        for (int is_log = 0; is_log < 2; is_log++) {
            double x[] = {0, 1}, y[] = {range[i][0], range[i][1]}, at;
            const struct series s = {.x = x, .y = y, .n = 2};
            struct str out = draw(&s, (struct plot){.is_log = is_log});
            if (strstr(str_text(&out), "class=\"line c1\" d=\"M") &&
                strstr(str_text(&out), "viewBox=\"0 0 400")) {
                CHECK(sscanf(path_of(&out), "M%*f %lf", &at) == 1);
                CHECK(at >= 26 && at <= 200);
            }
            str_release(&out);
        }
}

TEST(a_million_points_make_a_small_plot)
{
    struct series s = {0};

    for (size_t i = 0; i < 1000000; i++)
        CHECK_OK(series_add(&s, (double)i, i == 333333 ? 9 : 1 + (double)(i % 7), &err),
                 &err);
    struct str out = draw(&s, (struct plot){0});
    CHECK(out.len < 30000);
    CHECK(strstr(path_of(&out), " 43.4")); /* the one 9, of an axis from 0 to 10 */
    str_release(&out);
    series_release(&s);
}

TEST(marks_stand_where_they_are_named)
{
    double x[] = {0, 100}, y[] = {0, 1};
    const double mark[] = {50, 1000, NAN};
    const struct series s = {.x = x, .y = y, .n = 2};
    struct str out =
        draw(&s, (struct plot){.mark = mark, .n_marks = 3, .mark_name = "<resumed>"});

    CHECK(count(str_text(&out), "class=\"mark\" x1=\"217.0\"") == 1);
    CHECK(count(str_text(&out), "class=\"mark\" x1=") == 1);
    CHECK(strstr(str_text(&out), "&lt;resumed&gt; at step 50"));
    str_release(&out);
}

/* Two curves of three points; the second y of the second one is given. */
static struct str draw_two(enum plot_kind first, double y)
{
    double x[] = {0, 50, 100}, y1[] = {0, 50, 100}, y2[] = {0, y, 100};
    const struct series s = {.x = x, .y = y1, .n = 3}, t = {.x = x, .y = y2, .n = 3};
    const struct plot_curve curve[] = {{"one", first, 1, PLOT_NO_BEST, &s},
                                       {"two", PLOT_POINTS, 2, PLOT_NO_BEST, &t}};
    const struct plot p = {.id = "p",
                           .title = "",
                           .y_unit = "",
                           .x_unit = "",
                           .curve = curve,
                           .n_curves = 2};
    struct str out = str_new(0);

    CHECK_OK(plot_write(&out, &p, &err), &err);
    return out;
}

TEST(a_line_on_another_is_dashed_and_says_so)
{
    static const char dashed[] = "<path class=\"line dash c2\" d=\"M44", /* not its key */
        said[] = "two<span class=\"quiet\"> (same line as one)</span>";
    struct str same = draw_two(PLOT_POINTS, 50.1), other = draw_two(PLOT_POINTS, 60),
               on_band = draw_two(PLOT_BAND, 50);

    CHECK(strstr(str_text(&same), said) && strstr(str_text(&same), dashed));
    CHECK(!strstr(str_text(&same), "<circle class=\"dot c2\" cx=\"44"));
    CHECK(!strstr(str_text(&other), "same line") && !strstr(str_text(&other), dashed));
    CHECK(!strstr(str_text(&on_band), "same line"));
    CHECK(strstr(str_text(&on_band), "<path class=\"line band c1\" d=\"M44"));
    str_release(&same);
    str_release(&other);
    str_release(&on_band);
}

TEST(words_between_two_ticks_are_code)
{
    struct str out = str_new(0);

    page_prose(&out, "p", "x", "a `b <c>` d ` e");
    CHECK_STR(str_text(&out), "<p class=\"x\">a <code>b &lt;c&gt;</code> d ` e</p>");
    str_reset(&out);
    page_prose(&out, "p", NULL, "`");
    page_prose(&out, "p", NULL, "`a`");
    page_prose(&out, "p", NULL, "");
    CHECK_STR(str_text(&out), "<p>`</p><p><code>a</code></p><p></p>");
    str_release(&out);
}

TEST(names_of_columns_are_shown_as_text)
{
    static const char *const column[] = {"a\"<b>", NULL};
    struct str out = str_new(0);

    page_stack(&out, column, (const char *const[]){"<i>"});
    CHECK_STR(str_text(&out), "<tr><td dir=\"auto\" data-label=\"a&quot;&lt;b&gt;\">"
                              "&lt;i&gt;</td></tr>\n");
    str_release(&out);
}

TEST(contents_leave_out_what_has_no_title)
{
    static const struct page_heading heading[] = {
        {"a", "A & B"}, {"b", NULL}, {"c", "C"}};
    struct str out = str_new(0);

    page_contents(&out, heading, 3);
    page_heading(&out, &heading[0]);
    CHECK_STR(str_text(&out), "<nav class=\"contents\" aria-label=\"Contents\">"
                              "<a href=\"#a\">A &amp; B</a> <a href=\"#c\">C</a> "
                              "</nav>\n<h2 id=\"a\">A &amp; B</h2>\n");
    str_release(&out);
}

TEST(hostile_text_is_shown_not_obeyed)
{
    struct str out = str_new(0);

    page_text(&out, "<script>alert(\"1\" & '2')</script>");
    CHECK_STR(str_text(&out), "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)"
                              "&lt;/script&gt;");
    str_reset(&out);
    page_text(&out, "a\x01\xff\x7f\n\u00e4\U0001F6A2");
    CHECK_STR(str_text(&out), "a\uFFFD\uFFFD\uFFFD\n\u00e4\U0001F6A2");
    str_reset(&out);
    page_text(&out, "a\u202Eb\u2066c\xC2\x9B"
                    "d\uFFFE");
    CHECK_STR(str_text(&out), "a\uFFFDb\uFFFDc\uFFFDd\uFFFD");
    str_reset(&out);
    page_text(&out, NULL);
    CHECK_STR(str_text(&out), "");
    page_tagf(&out, "td", "x", "%s%.0f", "<", 3.0);
    CHECK_STR(str_text(&out), "<td class=\"x\">&lt;3</td>");
    str_release(&out);
}

TEST(long_text_is_kept_whole)
{
    struct str out = str_new(0);
    char text[3000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    page_textf(&out, "%s<", text);
    CHECK(out.len == sizeof text - 1 + 4);
    str_release(&out);
}

TEST(a_bar_divides_its_width_in_proportion)
{
    const struct page_part part[] = {
        {"<a>", 1, 1}, {"empty", 0, 2}, {"nan", NAN, 3}, {"b", 3, 4}};
    struct str out = str_new(0);

    page_bar(&out, &(struct page_bar){"how \"it\" splits", fmt_count, part, 4});
    CHECK(!markup_error(str_text(&out)));
    CHECK(strstr(str_text(&out), "x=\"0.00\" y=\"0\" width=\"100.00\""));
    CHECK(strstr(str_text(&out), "x=\"100.00\" y=\"0\" width=\"300.00\""));
    CHECK(strstr(str_text(&out), "25.0\u00a0%") && !strstr(str_text(&out), "empty"));
    str_reset(&out);
    page_bar(&out, &(struct page_bar){"nothing", fmt_count, part + 1, 2});
    CHECK(out.len == 0);
    str_release(&out);
}

TEST(the_checker_of_markup_finds_faults)
{
    CHECK(!markup_error("<p class=\"a\">x<br></p><rect/>"));
    CHECK(markup_error("<p><b></p></b>"));
    CHECK(markup_error("<p"));
    CHECK(markup_error("<p class=a></p>"));
    CHECK(markup_error("<p>"));
    CHECK(markup_error("</p>"));
    CHECK(markup_error("a < b"));
    CHECK(markup_error("<p title=\"a<b\"></p>"));
}
