#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/fmt.h"
#include "page/page.h"
#include "report/judge/judgement.h"
#include "report/show/figures.h"
#include "report/show/report.h"

enum { EVENTS_MAX = 400, SAMPLES_MAX = 12 };

static void write_state(struct str *out, const struct run *run)
{
    struct str text = str_new(0), command = str_new(0);

    run_state_say(&text, run);
    run_state_command(&command, run);
    str_puts(out, "<p class=\"lead\">");
    page_text(out, str_text(&text));
    if (run->log.foreign.origin)
        page_textf(out, " Made by %s.", run->log.foreign.origin);
    if (run->log.n_start > 1)
        page_textf(out, " Resumed %zu time%s.", run->log.n_start - 1,
                   run->log.n_start == 2 ? "" : "s");
    if (command.len) {
        str_puts(out, " Continue with ");
        page_tag(out, "code", NULL, str_text(&command));
    }
    str_puts(out, "</p>\n");
    str_release(&text);
    str_release(&command);
}

static void write_loss_facts(struct str *out, const struct run *run)
{
    const struct runlog *log = &run->log;
    const struct learning *l = &run->learning;
    const size_t top = series_best(&l->bleu, -1);
    const double window =
        fmax(run->step / 50, log->n_step ? log->step[log->n_step - 1].steps : 0);
    const double recent = runlog_train_loss(log, run->step - window, run->step);
    const char *bleu =
        l->bleu_is_forced && l->bleu.n ? "Best teacher-forced BLEU" : "Best BLEU";

    if (isfinite(recent) || !log->foreign.origin)
        page_fact(out, "Training loss", fmt_number(recent, 4).s,
                  "mean of the last %s steps", fmt_count(window).s);
    if (l->best < l->loss.n)
        page_fact(out, "Validation loss", fmt_number(l->loss.y[l->loss.n - 1], 4).s,
                  "best %s at step %s", fmt_number(l->loss.y[l->best], 4).s,
                  fmt_count(l->loss.x[l->best]).s);
    else if (!log->foreign.origin)
        page_fact(out, "Validation loss", fmt_number(NAN, 4).s, "no evaluation logged");
    if (top < l->bleu.n)
        page_fact(out, bleu, fmt_number(l->bleu.y[top], 3).s, "at step %s",
                  fmt_count(l->bleu.x[top]).s);
    else if (!log->foreign.origin)
        page_fact(out, bleu, fmt_number(NAN, 3).s, "no translated text was scored");
}

static void write_device(struct str *out, const struct runlog_start *s)
{
    if (!s || !(s->device || s->host || isfinite(s->ranks)))
        return;
    str_puts(out, "<li><span>Device</span>");
    page_tag(out, "b", "words", s->device ? s->device : "not named");
    page_tagf(out, "small", NULL, "%s rank%s%s%s",
              isfinite(s->ranks) ? fmt_count(s->ranks).s : "unknown number of",
              s->ranks == 1 ? "" : "s", s->host ? " on " : "", s->host ? s->host : "");
    str_puts(out, "</li>\n");
}

static void write_tokens(struct str *out, const struct run *run)
{
    const double own = run->log.foreign.tokens_per_s, tokens = run->pace.tokens_per_s;

    if (isfinite(tokens))
        page_fact(out, "Tokens a second", fmt_count(tokens).s, "%s of them target",
                  fmt_count(run->pace.target_per_s).s);
    else if (isfinite(own))
        page_fact(out, "Tokens a second", fmt_count(own).s,
                  "as the log averages, with evaluations");
    else if (!run->log.foreign.origin)
        page_fact(out, "Tokens a second", fmt_count(NAN).s, "no step was logged");
}

void report_page_state(struct str *out, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);
    const struct learning *l = &run->learning;
    const double idle = run->times.idle, parameters = run_parameters(run);

    write_state(out, run);
    str_puts(out, "<ul class=\"facts\">\n");
    page_fact(out, "Steps", fmt_count(run->step).s,
              isfinite(run->max_steps) ? "of %s" : "%.0s", fmt_count(run->max_steps).s);
    if (l->loss.n)
        page_fact(out, "Trained?", learning_trends[l->trend].text, "overfitting: %s",
                  learning_overfits[l->overfit].text);
    page_fact(out, "Wall time", fmt_seconds(run->times.wall).s,
              idle > 0 ? "%s of it between sessions" : "%s a step",
              fmt_seconds(idle > 0 ? idle : run->pace.mean).s);
    write_loss_facts(out, run);
    write_tokens(out, run);
    if (isfinite(parameters))
        page_fact(out, "Parameters", fmt_short(parameters).s, "%s",
                  fmt_count(parameters).s);
    write_device(out, s);
    str_puts(out, "</ul>\n");
}

/* Scores that `ferry eval` appended after training. */
static void write_tests(struct str *out, const struct run *run)
{
    static const char *const columns[] = {"Set",       "Step",      "BLEU", "Loss",
                                          "Sentences", "Signature", NULL};
    size_t n = 0;

    for (size_t i = 0; i < run->log.n_event; i++) {
        const struct runlog_test *e = &run->log.event[i].test;
        if (run->log.event[i].kind != RUNLOG_KIND_TEST)
            continue;
        if (!n++) {
            str_puts(out, "<h2>Test scores</h2>\n");
            page_table(out, "stack scores", columns);
        }
        page_stack(out, columns,
                   (const char *const[]){e->name, fmt_count(e->step).s,
                                         fmt_number(e->bleu, 4).s,
                                         fmt_number(e->loss, 4).s,
                                         fmt_count(e->sentences).s, e->bleu_signature});
    }
    if (n)
        str_puts(out, "</tbody></table>\n");
}

/* How samples of a kind were made; %s is the step. */
static const char *sample_text(const char *kind)
{
    if (kind && strcmp(kind, "forced-training") == 0)
        return "Training sentences about step %s. Each piece is predicted from the "
               "correct ones before it: this shows what was learnt, not how the model "
               "translates.";
    if (kind && strcmp(kind, "forced-validation") == 0)
        return "Validation sentences about step %s. Each piece is predicted from the "
               "correct ones before it: no translation, which would have to go on from "
               "its own words.";
    return "Validation sentences as the model of step %s translates them.";
}

/* The samples of the newest evaluation that has any. */
static void write_samples(struct str *out, const struct run *run)
{
    const struct runlog *log = &run->log;
    const size_t n = log->n_sample;
    const bool is_forced = n && log->sample[n - 1].kind;
    const char *const columns[] = {"Source", "Reference",
                                   is_forced ? "Prediction" : "Translation", NULL};
    size_t first = n;

    if (!n && log->foreign.origin)
        return;
    page_tagf(out, "h2", NULL, is_forced ? "Sample predictions" : "Sample translations");
    while (first > 0 && log->sample[first - 1].step == log->sample[n - 1].step)
        first--;
    if (first == n) {
        page_tag(out, "p", "none", "The log holds no sample translations.");
        return;
    }
    page_tagf(out, "p", "quiet", sample_text(log->sample[n - 1].kind),
              fmt_count(log->sample[n - 1].step).s);
    page_table(out, "stack", columns);
    for (size_t i = first; i < n && i < first + SAMPLES_MAX; i++)
        page_stack(out, columns,
                   (const char *const[]){log->sample[i].source, log->sample[i].reference,
                                         log->sample[i].translation});
    str_puts(out, "</tbody></table>\n");
}

static void write_config(struct str *out, const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    if ((!s || !s->n_options) && run->log.foreign.origin)
        return;
    str_puts(out, "<h2>Configuration</h2>\n");
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

static void event_text(struct str *out, const struct run *run,
                       const struct runlog_event *e)
{
    const struct runlog *log = &run->log;

    switch (e->kind) {
    case RUNLOG_KIND_START:
        page_textf(
            out, "%s on %s%s%s.", log->start[e->start].resumed ? "Resumed" : "Started",
            named(log->start[e->start].device), log->foreign.has_no_clock ? "" : ", ",
            log->foreign.has_no_clock ? "" : run_date(run, e->t).s);
        break;
    case RUNLOG_KIND_SAVE:
        page_textf(out, "Saved %s: %s in %s.", named(e->save.path),
                   fmt_bytes(e->save.bytes).s, fmt_seconds(e->save.seconds).s);
        break;
    case RUNLOG_KIND_BEST:
        page_textf(
            out, "Best so far, %s %s: %s.",
            isfinite(e->best.bleu) ? "BLEU" : "validation loss",
            fmt_number(isfinite(e->best.bleu) ? e->best.bleu : e->best.valid_loss, 5).s,
            named(e->best.path));
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

/* Of very many events the first and the last are shown. */
static void write_events(struct str *out, const struct run *run)
{
    const size_t n = run->log.n_event;

    str_puts(out, "<h2>Events</h2>\n");
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
               n <= 24 ? " open" : "", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        if (n > EVENTS_MAX && i == EVENTS_MAX / 2) {
            str_printf(out, "<tr><td></td><td></td><td>%zu more events</td></tr>\n",
                       n - EVENTS_MAX);
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

void report_page_health(struct str *out, const struct health *h)
{
    if (!h->n) {
        page_tag(out, "p", "quiet",
                 "Nothing stands out: no check of this page found anything to act on.");
        return;
    }
    str_puts(out, "<ul class=\"findings\">\n");
    for (size_t i = 0; i < h->n; i++) {
        str_printf(out, "<li id=\"found-%s\">", h->found[i].id);
        page_tag(out, "h3", NULL, h->found[i].title);
        page_tag(out, "p", NULL, str_text(&h->found[i].evidence));
        str_puts(out, "<p class=\"advice\">");
        page_textf(out, "What to do: %s", str_text(&h->found[i].advice));
        str_puts(out, "</p></li>\n");
    }
    str_puts(out, "</ul>\n");
}

void report_page_footer(struct str *out, const struct run *run)
{
    const struct sources *from = &run->sources;

    str_puts(out, "<footer>");
    page_textf(out, "Made by Ferry %s on %s from", FERRY_VERSION, fmt_time(run->now).s);
    if (from->log[0])
        page_textf(out, " %s (%zu line%s),", from->log, run->log.n_lines,
                   run->log.n_lines == 1 ? "" : "s");
    if (from->events[0])
        page_textf(out, " the events of %s,", from->events);
    if (isfinite(run->files.newest_step))
        page_text(out, " the run's checkpoints,");
    for (size_t i = 0; i < from->n_captures; i++)
        page_textf(out, " %s,", from->capture[i]);
    if (run->files.has_data)
        page_textf(out, " %s,", run->files.data_path);
    page_text(out, " and nothing else.");
    str_puts(out, "</footer>\n");
}

static status write_answer(struct str *out, const struct answer *a, const struct run *run,
                           struct err *err)
{
    str_printf(out, "<section class=\"answer %s\" id=\"ask-%s\">\n<div>",
               answers_tones[a->tone], a->id);
    page_tag(out, "h3", NULL, a->question);
    page_tag(out, "p", "number", str_text(&a->number));
    page_tag(out, "p", NULL, str_text(&a->verdict));
    str_puts(out, "</div>\n<div>");
    if (a->bar.title)
        page_bar(out, &a->bar);
    TRY(figures_answer(out, a->figure, run, err));
    if (a->n_rows) {
        str_puts(out, "<table><tbody>\n");
        for (size_t i = 0; i < a->n_rows; i++)
            page_row(out, str_text(&a->row[i].label), str_text(&a->row[i].value));
        str_puts(out, "</tbody></table>");
    }
    str_puts(out, "</div>\n</section>\n");
    return OK;
}

status report_page_write(struct str *out, const struct judgement *j, struct err *err)
{
    const struct run *run = &j->run;
    struct str title = str_new(1024);

    str_printf(&title, "%s: training report", run->name);
    page_begin(out, str_text(&title));
    str_release(&title);
    page_tag(out, "p", "kicker", "Training report");
    page_tag(out, "h1", NULL, run->name);
    report_page_state(out, run);
    str_puts(out, "<h2>What stands out</h2>\n");
    report_page_health(out, &j->health);
    str_puts(out, "<h2>What people ask</h2>\n");
    for (size_t i = 0; i < ANSWERS_N; i++)
        TRY(write_answer(out, &j->answers.of[i], run, err));
    str_puts(out, "<h2>Curves</h2>\n<div class=\"plots\">\n");
    TRY(figures_write(out, run, err));
    str_puts(out, "</div>\n");
    write_tests(out, run);
    write_samples(out, run);
    write_config(out, run);
    write_events(out, run);
    report_page_footer(out, run);
    page_end(out);
    return str_check(out, "the report", err);
}
