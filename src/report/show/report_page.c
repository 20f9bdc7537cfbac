#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/fmt.h"
#include "page/page.h"
#include "report/judge/judgement.h"
#include "report/show/figures.h"
#include "report/show/report.h"

enum { SAMPLES_MAX = 12 };

static void write_state(struct str *out, const struct run *run)
{
    struct str text = str_new(0), command = str_new(0);

    run_state_say(&text, run);
    run_state_command(&command, run);
    str_puts(out, "<p class=\"lead\">");
    page_text(out, str_text(&text));
    if (run->log.foreign.origin)
        page_textf(out, " Made by %s.", run->log.foreign.origin);
    const size_t n = run->log.all.n_starts;
    if (n > 1)
        page_textf(out, " Resumed %zu time%s.", n - 1, n == 2 ? "" : "s");
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
    const struct runlog_test *test = runlog_tested(log);
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
    if (test)
        page_fact(out, "Test BLEU", fmt_number(test->bleu, 3).s,
                  "of the model at step %s", fmt_count(test->step).s);
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
        page_fact(out, "Tokens per second", fmt_count(tokens).s, "%s of them target",
                  fmt_count(run->pace.target_per_s).s);
    else if (isfinite(own))
        page_fact(out, "Tokens per second", fmt_count(own).s,
                  "as the log averages, with evaluations");
    else if (!run->log.foreign.origin)
        page_fact(out, "Tokens per second", fmt_count(NAN).s, "no step was logged");
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
              idle > 0 ? "%s of it between sessions" : "%s per step",
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
    static const char *const columns[] = {
        "Set", "Step", "BLEU", "chrF2", "TER", "Loss", "Sentences", "Signature", NULL};
    size_t n = 0;

    for (size_t i = 0; i < run->log.n_event; i++) {
        const struct runlog_test *e = &run->log.event[i].test;
        if (run->log.event[i].kind != RUNLOG_KIND_TEST)
            continue;
        if (!n++)
            page_table(out, "stack scores", columns);
        page_stack(
            out, columns,
            (const char *const[]){e->name, fmt_count(e->step).s, fmt_number(e->bleu, 4).s,
                                  fmt_number(e->chrf, 4).s, fmt_number(e->ter, 4).s,
                                  fmt_number(e->loss, 4).s, fmt_count(e->sentences).s,
                                  e->bleu_signature});
    }
    if (n)
        str_puts(out, "</tbody></table>\n");
    else if (!run->log.foreign.origin)
        page_prose(out, "p", "none", "No test score yet: `ferry eval` adds one.");
}

/* Other validation sets, at their newest evaluation. */
static void write_valid_sets(struct str *out, const struct run *run)
{
    static const char *const columns[] = {"Also on", "Step",    "Loss", "BLEU",
                                          "chrF2",   "chrF2++", "TER",  "Repeating",
                                          "Length",  NULL};

    if (!run->log.n_valid)
        return;
    page_table(out, "stack scores", columns);
    for (size_t i = 0; i < run->log.n_valid; i++) {
        const struct runlog_valid *v = &run->log.valid[i];
        page_stack(out, columns,
                   (const char *const[]){
                       v->name, fmt_count(v->step).s, fmt_number(v->valid_loss, 4).s,
                       fmt_number(v->bleu, 4).s, fmt_number(v->chrf, 4).s,
                       fmt_number(v->chrf_words, 4).s, fmt_number(v->ter, 4).s,
                       fmt_percent(v->repeating).s, fmt_number(v->length_ratio, 3).s});
    }
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
    page_tagf(out, "h3", "apart",
              is_forced ? "Sample predictions" : "Sample translations");
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
        page_prose(out, "p", NULL, str_text(&h->found[i].evidence));
        str_puts(out, "<p class=\"advice\">What to do: ");
        page_prose(out, "span", NULL, str_text(&h->found[i].advice));
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

static void write_row(struct str *out, const struct answer_row *row)
{
    str_puts(out, "<tr>");
    page_tag(out, "th", NULL, str_text(&row->label));
    page_prose(out, "td", NULL, str_text(&row->value));
    str_puts(out, "</tr>\n");
}

static void write_rows(struct str *out, const struct answer *a, size_t from, size_t to)
{
    if (from >= to)
        return;
    str_puts(out, "<table><tbody>\n");
    for (size_t i = from; i < to; i++)
        write_row(out, &a->row[i]);
    str_puts(out, "</tbody></table>");
}

/* How many rows of evidence stand in the left column, below the verdict; the right one
 * has the picture or the bar, and the rest goes below both. */
static size_t rows_beside(const struct answer *a, bool has_picture)
{
    enum { BESIDE = 5 }; /* as high as a picture */

    if (!has_picture)
        return 0;
    return a->n_rows < BESIDE ? a->n_rows : BESIDE;
}

static status write_answer(struct str *out, const struct answer *a, const struct run *run,
                           struct err *err)
{
    RELEASED_BY(str_release) struct str picture = str_new(0);

    TRY(figures_answer(&picture, a->figure, run, err));
    const bool has_picture = picture.len > 0;
    const bool is_bare = !has_picture && !a->bar.title;
    const size_t n = rows_beside(a, has_picture);

    str_printf(out, "<section class=\"answer %s\" id=\"ask-%s\">\n<div>",
               answers_tones[a->tone], a->id);
    page_tag(out, "h3", NULL, a->question);
    page_tag(out, "p", "number", str_text(&a->number));
    page_prose(out, "p", NULL, str_text(&a->verdict));
    write_rows(out, a, 0, n);
    str_puts(out, "</div>\n<div>");
    if (a->bar.title)
        page_bar(out, &a->bar);
    str_puts(out, str_text(&picture));
    str_puts(out, is_bare ? "" : "</div>\n<div class=\"rows\">");
    write_rows(out, a, n, a->n_rows);
    str_puts(out, "</div>\n</section>\n");
    return str_check(&picture, a->question, err);
}

void report_page_short(struct str *out, const struct answers *all, const char *page)
{
    str_puts(out, "<ul class=\"short-list\">\n");
    for (size_t i = 0; i < ANSWERS_N; i++) {
        const struct answer *a = &all->of[i];
        str_printf(out, "<li class=\"%s\"><a href=\"%s#ask-%s\">", answers_tones[a->tone],
                   page, a->id);
        page_text(out, a->question);
        str_puts(out, "</a> ");
        page_tag(out, "span", "short", str_text(&a->number));
        str_puts(out, "</li>\n");
    }
    str_puts(out, "</ul>\n");
}

static status write_questions(struct str *out, const struct judgement *j, struct err *err)
{
    report_page_short(out, &j->answers, "");
    for (size_t i = 0; i < ANSWERS_N; i++)
        TRY(write_answer(out, &j->answers.of[i], &j->run, err));
    return OK;
}

enum { FINDINGS, CURVES, SAMPLES, QUESTIONS, DETAILS, N_HEADINGS };

static status write_sections(struct str *out, const struct judgement *j,
                             const struct page_heading *heading, struct err *err)
{
    const struct run *run = &j->run;

    page_heading(out, &heading[FINDINGS]);
    report_page_health(out, &j->health);
    page_heading(out, &heading[CURVES]);
    str_puts(out, "<div class=\"plots\">\n");
    TRY(figures_write(out, run, err));
    str_puts(out, "</div>\n");
    if (heading[SAMPLES].title) {
        page_heading(out, &heading[SAMPLES]);
        write_tests(out, run);
        write_valid_sets(out, run);
        write_samples(out, run);
    }
    page_heading(out, &heading[QUESTIONS]);
    TRY(write_questions(out, j, err));
    page_heading(out, &heading[DETAILS]);
    report_details_write(out, run);
    return OK;
}

status report_page_write(struct str *out, const struct judgement *j, struct err *err)
{
    const struct run *run = &j->run;
    const bool is_own = !run->log.foreign.origin; /* others have no test scores */
    const struct page_heading heading[N_HEADINGS] = {
        [FINDINGS] = {"findings", "What stands out"},
        [CURVES] = {"curves", "Curves"},
        [SAMPLES] = {"samples", is_own              ? "Test scores and samples"
                                : run->log.n_sample ? "Samples"
                                                    : NULL},
        [QUESTIONS] = {"questions", "Questions"},
        [DETAILS] = {"details", "Details"}};
    struct str title = str_new(1024);

    str_printf(&title, "%s: training report", run->name);
    page_begin(out, str_text(&title));
    str_release(&title);
    page_contents(out, heading, N_HEADINGS);
    page_tag(out, "p", "kicker", "Training report");
    page_tag(out, "h1", NULL, run->name);
    report_page_state(out, run);
    TRY(write_sections(out, j, heading, err));
    report_page_footer(out, run);
    page_end(out);
    return str_check(out, "the report", err);
}
