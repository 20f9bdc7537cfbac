#include <math.h>

#include "page/fmt.h"
#include "page/page.h"
#include "report/judge/judgement.h"
#include "report/show/figures.h"
#include "report/show/live.h"
#include "report/show/report.h"

static void write_progress(struct str *out, const struct judgement *t, double every)
{
    const struct run *r = &t->run;
    const double part = fmin(1, fmax(0, r->step / r->max_steps));

    if (isfinite(r->max_steps) && r->max_steps > 0) {
        str_printf(out,
                   "<div class=\"progress\"><progress max=\"1\" value=\"%.4f\">"
                   "%.0f\u00a0%%</progress>\n<p class=\"ends\"><span>",
                   part, floor(100 * part));
        page_textf(out, "%.0f\u00a0%% of %s steps", floor(100 * part),
                   fmt_count(r->max_steps).s);
        str_puts(out, "</span><span>");
        if (r->state == RUN_RUNNING && isfinite(r->times.to_go))
            page_textf(out, "about %s to go", fmt_seconds(r->times.to_go).s);
        else if (r->state == RUN_RUNNING && r->max_steps > r->step)
            page_text(out, "too few steps to tell how long it will take");
        str_puts(out, "</span></p></div>\n");
    }
    str_puts(out, "<p>");
    page_textf(out, "As of %s; this page loads itself again every %g second%s. ",
               fmt_time(r->now).s, every, every == 1 ? "" : "s");
    str_puts(out, "<a href=\"/report\">The whole report</a></p>\n");
}

static void write_ranks(struct str *out, const struct rank_means *r)
{
    static const char *const columns[] = {"Rank",      "Host",    "Time per step",
                                          "Computing", "Waiting", "Data",
                                          "Cores",     "Memory",  NULL};

    page_numbers(out, columns);
    for (size_t i = 0; i < r->n; i++) {
        const struct rank_mean *m = &r->of[i];
        page_cells(out, "th", NULL,
                   (const char *const[]){
                       fmt_count(m->rank).s, m->host ? m->host : "missing",
                       fmt_seconds(m->t_step).s, fmt_percent(m->t_compute / m->t_step).s,
                       fmt_percent(m->t_comm / m->t_step).s,
                       fmt_percent(m->t_data / m->t_step).s, fmt_number(m->cores, 3).s,
                       fmt_printf("%s MiB", fmt_count(m->memory_mib).s).s},
                   8);
    }
    page_numbers_end(out);
}

enum { FINDINGS, CURVES, RANKS, QUESTIONS, N_HEADINGS };

status live_page(struct str *out, const struct judgement *t, double every,
                 struct err *err)
{
    const struct page_heading heading[N_HEADINGS] = {
        [FINDINGS] = {"findings", "What stands out"},
        [CURVES] = {"curves", "Curves"},
        [RANKS] = {"ranks", t->run.by_rank.n ? "Ranks" : NULL},
        [QUESTIONS] = {"questions", "Questions"}};

    page_begin(out, t->run.name);
    page_contents(out, heading, N_HEADINGS);
    page_tag(out, "p", "kicker",
             t->run.state == RUN_RUNNING ? "Training now" : "Training run");
    page_tag(out, "h1", NULL, t->run.name);
    write_progress(out, t, every);
    report_page_state(out, &t->run);
    page_heading(out, &heading[FINDINGS]);
    report_page_health(out, &t->health);
    page_heading(out, &heading[CURVES]);
    str_puts(out, "<div class=\"plots\">\n");
    TRY(figures_write(out, &t->run, err));
    figures_timeline(out, &t->run);
    str_puts(out, "</div>\n");
    if (heading[RANKS].title) {
        page_heading(out, &heading[RANKS]);
        write_ranks(out, &t->run.by_rank);
    }
    page_heading(out, &heading[QUESTIONS]);
    report_page_short(out, &t->answers, "/report");
    report_page_footer(out, &t->run);
    page_end(out);
    return str_check(out, "the page", err);
}
