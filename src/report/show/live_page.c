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

    if (isfinite(r->max_steps) && r->max_steps > 0)
        str_printf(out, "<p><progress max=\"1\" value=\"%.4f\">progress</progress></p>\n",
                   fmin(1, fmax(0, r->step / r->max_steps)));
    str_puts(out, "<p>");
    if (r->state == RUN_RUNNING && isfinite(r->times.to_go))
        page_textf(out, "About %s to go. ", fmt_seconds(r->times.to_go).s);
    else if (r->state == RUN_RUNNING && r->max_steps > r->step)
        page_text(out, "Too few steps to tell how long it will take. ");
    page_textf(out, "As of %s; this page loads itself again every %g second%s. ",
               fmt_time(r->now).s, every, every == 1 ? "" : "s");
    str_puts(out, "<a href=\"/report\">The whole report</a></p>\n");
}

static void write_ranks(struct str *out, const struct rank_means *r)
{
    static const char *const columns[] = {"Rank",      "Host",    "A step",
                                          "Computing", "Waiting", "Data",
                                          "Cores",     "Memory",  NULL};

    if (!r->n)
        return;
    str_puts(out, "<h2>Ranks</h2>\n<div class=\"wide\">");
    page_table(out, NULL, columns);
    for (size_t i = 0; i < r->n; i++) {
        const struct rank_mean *m = &r->of[i];
        page_cells(out, "td", NULL,
                   (const char *const[]){
                       fmt_count(m->rank).s, m->host ? m->host : "missing",
                       fmt_seconds(m->t_step).s, fmt_percent(m->t_compute / m->t_step).s,
                       fmt_percent(m->t_comm / m->t_step).s,
                       fmt_percent(m->t_data / m->t_step).s, fmt_number(m->cores, 3).s,
                       fmt_printf("%s MiB", fmt_count(m->memory_mib).s).s},
                   8);
    }
    str_puts(out, "</tbody></table></div>\n");
}

static void write_question(struct str *out, const struct answer *a)
{
    str_puts(out, "<tr>");
    page_tag(out, "th", NULL, a->question);
    str_printf(out, "<td class=\"%s\"><span class=\"short\">", answers_tones[a->tone]);
    page_text(out, str_text(&a->number));
    str_puts(out, "</span></td></tr>\n");
}

status live_page(struct str *out, const struct judgement *t, double every,
                 struct err *err)
{
    page_begin(out, t->run.name);
    page_tag(out, "p", "kicker", "Training now");
    page_tag(out, "h1", NULL, t->run.name);
    write_progress(out, t, every);
    report_page_state(out, &t->run);
    str_puts(out, "<h2>What stands out</h2>\n");
    report_page_health(out, &t->health);
    str_puts(out, "<h2>Curves</h2>\n<div class=\"plots\">\n");
    TRY(figures_write(out, &t->run, err));
    figures_timeline(out, &t->run);
    str_puts(out, "</div>\n");
    write_ranks(out, &t->run.by_rank);
    str_puts(out, "<h2>In short</h2>\n<table><tbody>\n");
    for (size_t i = 0; i < ANSWERS_N; i++)
        write_question(out, &t->answers.of[i]);
    str_puts(out, "</tbody></table>\n");
    report_page_footer(out, &t->run);
    page_end(out);
    return str_check(out, "the page", err);
}
