/* What a report ends with: configuration and events. */
#include <math.h>

#include "page/fmt.h"
#include "page/page.h"
#include "report/judge/run.h"
#include "report/show/report.h"

enum { EVENTS_MAX = 400 };

static void write_config(struct str *out, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    if ((!s || !s->n_options) && run->log.foreign.origin)
        return;
    page_tag(out, "h3", NULL, "Configuration");
    if (!s || !s->n_options) {
        page_tag(out, "p", "none", "The log holds no configuration.");
        return;
    }
    if (!run->log.foreign.origin)
        page_tagf(out, "p", NULL, "Ferry %s.",
                  s->version ? s->version : "of unknown version");
    str_printf(out, "<details><summary>All %zu options</summary>\n<table><tbody>\n",
               s->n_options);
    for (size_t i = 0; i < s->n_options; i++)
        page_row(out, s->option[i].key, s->option[i].value);
    str_puts(out, "</tbody></table></details>\n");
}

static const char *named(const char *text)
{
    return text ? text : "not named";
}

static void best_text(struct str *out, const struct runlog_best *b)
{
    const char *measure = isfinite(b->bleu) ? "BLEU" : "validation loss";
    const double value = isfinite(b->bleu) ? b->bleu : b->valid_loss;

    page_textf(out, "Best so far, %s%s%s %s: %s.", b->measure ? b->measure : measure,
               b->set ? " on " : "", b->set ? b->set : "",
               fmt_number(b->measure ? b->value : value, 5).s, named(b->path));
}

static void event_text(struct str *out, const struct run *run,
                       const struct runlog_event *e)
{
    const struct runlog *log = &run->log;

    switch (e->kind) {
    case RUNLOG_KIND_START:
        page_textf(out, "%s on %s%s%s.", e->is_resumed ? "Resumed" : "Started",
                   named(e->device), log->foreign.has_no_clock ? "" : ", ",
                   log->foreign.has_no_clock ? "" : run_date(run, e->t).s);
        break;
    case RUNLOG_KIND_SAVE:
        page_textf(out, "Saved %s: %s in %s.", named(e->save.path),
                   fmt_bytes(e->save.bytes).s, fmt_seconds(e->save.seconds).s);
        break;
    case RUNLOG_KIND_BEST:
        best_text(out, &e->best);
        break;
    case RUNLOG_KIND_SKIP:
        page_textf(out, "Skipped an update: %s.", named(e->skip.reason));
        break;
    case RUNLOG_KIND_TEST:
        page_textf(out, "Scored %s: BLEU %s.", named(e->test.name),
                   fmt_number(e->test.bleu, 4).s);
        break;
    default:
        page_textf(out, "Stopped: %s. %s", named(e->stop.reason),
                   e->stop.message ? e->stop.message : "");
    }
}

/* Of very many events the first and the last are shown; the log keeps those. */
static void write_events(struct str *out, const struct run *run)
{
    const size_t n = run->log.n_event, n_all = run->log.all.n_events;

    page_tag(out, "h3", "apart", "Events");
    if (run->log.n_cut)
        page_tagf(out, "p", NULL,
                  "%zu line%s half-written, as by a crash; the rest of the log is whole.",
                  run->log.n_cut, run->log.n_cut == 1 ? " is" : "s are");
    if (run->log.n_unknown)
        page_tagf(out, "p", NULL, "%zu entr%s of a kind that this page does not know.",
                  run->log.n_unknown, run->log.n_unknown == 1 ? "y is" : "ies are");
    str_printf(out,
               "<details%s><summary>%zu event%s: starts, saves, best models, skipped "
               "updates, stop</summary>\n<table><thead><tr><th>Step</th><th>After</th>"
               "<th>Event</th></tr></thead><tbody>\n",
               n_all <= 24 ? " open" : "", n_all, n_all == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        if (n > EVENTS_MAX && i == EVENTS_MAX / 2) {
            str_printf(out, "<tr><td></td><td></td><td>%zu more events</td></tr>\n",
                       n_all - EVENTS_MAX);
            i = n - EVENTS_MAX / 2;
        }
        str_puts(out, "<tr>");
        page_tag(out, "td", "narrow", fmt_count(run->log.event[i].step).s);
        page_tag(out, "td", "narrow",
                 fmt_seconds(run->log.event[i].t - run->log.t_first).s);
        str_puts(out, "<td>");
        event_text(out, run, &run->log.event[i]);
        str_puts(out, "</td></tr>\n");
    }
    str_puts(out, "</tbody></table></details>\n");
}

void report_details_write(struct str *out, const struct run *run)
{
    write_config(out, run);
    write_events(out, run);
}
