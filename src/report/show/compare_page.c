/* The page of several runs: tables, sentences, and curves laid over each other. */
#include <math.h>
#include <stddef.h>

#include "page/fmt.h"
#include "page/page.h"
#include "page/plot.h"
#include "report/judge/judgement.h"
#include "report/show/compare.h"
#include "report/show/report.h"

enum { COLORS = 6 };

static void write_table(struct str *out, const struct compare_table *t, const char *css)
{
    page_wide(out, css, t->n_columns > 3);
    str_puts(out, "<table><thead><tr>");
    for (size_t c = 0; c < t->n_columns; c++)
        page_tag(out, "th", NULL, t->cell[c]);
    str_puts(out, "</tr></thead><tbody>\n");
    for (size_t r = 1; r < t->n_rows; r++)
        page_cells(out, "th", NULL, (const char *const *)&t->cell[r * t->n_columns],
                   t->n_columns);
    str_puts(out, "</tbody></table></div>\n");
}

/* Validation loss by hours of work; pauses between sessions are left out. */
static status curve_hours(struct series *s, const struct run *run, struct err *err)
{
    const struct series *loss = &run->learning.loss;

    for (size_t i = 0; i < loss->n && isfinite(run->times.a_step); i++)
        TRY(series_add(s, loss->x[i] * run->times.a_step / 3600, loss->y[i], err));
    return OK;
}

static status curve_step_time(struct series *s, const struct run *run, struct err *err)
{
    for (size_t i = 0; i < run->log.n_step; i++)
        if (!run->log.step[i].is_lost && !run->log.step[i].is_first)
            TRY(series_add(s, run->log.step[i].step,
                           1000 * run->log.step[i].t_step / run->log.step[i].steps, err));
    return OK;
}

/* One curve a run: a series of it, or what `fn` makes. */
#define SERIES(name) offsetof(struct run, learning.name), NULL

static const struct overlay {
    const char *id, *title, *y_unit, *x_unit;
    size_t at;
    status (*fn)(struct series *s, const struct run *run, struct err *err);
    enum plot_kind kind;
    bool is_log, from_zero;
} overlays[] = {
    {"plot-valid", "Validation loss", "nats per token, logarithmic", "step", SERIES(loss),
     PLOT_POINTS, true, false},
    {"plot-hours", "Validation loss by time", "nats per token, logarithmic",
     "hours of work", 0, curve_hours, PLOT_POINTS, true, false},
    {"plot-bleu", "BLEU on the validation set", "BLEU, 0 to 100", "step", SERIES(bleu),
     PLOT_POINTS, false, true},
    {"plot-train", "Training loss", "nats per token, logarithmic", "step", SERIES(train),
     PLOT_THIN, true, false},
    {"plot-step", "Time per step", "milliseconds", "step", 0, curve_step_time, PLOT_THIN,
     false, true},
};

static status write_overlay(struct str *out, const struct overlay *o,
                            const struct judgement *runs, size_t n, struct err *err)
{
    struct series points[REPORT_RUNS_MAX] = {0};
    struct plot_curve curve[REPORT_RUNS_MAX];
    status result = OK;

    for (size_t i = 0; result == OK && i < n; i++) {
        const void *own = (const char *)&runs[i].run + o->at;
        if (o->fn)
            result = o->fn(&points[i], &runs[i].run, err);
        curve[i] = (struct plot_curve){
            runs[i].run.name, i < COLORS ? o->kind : PLOT_DASHED, 1 + (int)(i % COLORS),
            PLOT_NO_BEST, o->fn ? &points[i] : own};
    }
    if (result == OK)
        result = plot_write(out,
                            &(struct plot){.id = o->id,
                                           .title = o->title,
                                           .y_unit = o->y_unit,
                                           .x_unit = o->x_unit,
                                           .is_log = o->is_log,
                                           .from_zero = o->from_zero,
                                           .curve = curve,
                                           .n_curves = n},
                            err);
    for (size_t i = 0; i < n; i++)
        series_release(&points[i]);
    return result;
}

/* The verdict of each run on each question. */
static void write_verdicts(struct str *out, const struct judgement *runs, size_t n)
{
    for (size_t q = 0; q < ANSWERS_N; q++) {
        str_puts(out, "<section class=\"asked\">");
        page_tag(out, "h3", NULL, runs[0].answers.of[q].question);
        str_puts(out, "<table class=\"stack\"><tbody>\n");
        for (size_t i = 0; i < n; i++) {
            const struct answer *a = &runs[i].answers.of[q];
            str_puts(out, "<tr>");
            page_tag(out, "th", NULL, runs[i].run.name);
            str_printf(out, "<td class=\"%s\"><span class=\"short\">",
                       answers_tones[a->tone]);
            page_text(out, str_text(&a->number));
            str_puts(out, "</span></td>");
            page_prose(out, "td", NULL, str_text(&a->verdict));
            str_puts(out, "</tr>\n");
        }
        str_puts(out, "</tbody></table></section>\n");
    }
}

static void write_sentences(struct str *out, const struct compare_table *t,
                            const char *css)
{
    str_printf(out, "<ul class=\"%s\">\n", css);
    for (size_t i = 0; i < t->n_rows; i++) {
        page_tag(out, "li", NULL, t->cell[i]);
        str_putc(out, '\n');
    }
    str_puts(out, "</ul>\n");
}

/* A sentence to a row; on a phone its translations stand below each other. */
static void write_samples(struct str *out, const struct compare_table *t)
{
    const char *column[REPORT_RUNS_MAX + 3] = {NULL};

    for (size_t c = 0; c < t->n_columns; c++)
        column[c] = t->cell[c];
    page_table(out, "stack", column);
    for (size_t r = 1; r < t->n_rows; r++)
        page_stack(out, column, (const char *const *)&t->cell[r * t->n_columns]);
    str_puts(out, "</tbody></table>\n");
}

static void write_findings(struct str *out, const struct judgement *runs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        page_tag(out, "h3", i ? "apart" : NULL, runs[i].run.name);
        report_page_health(out, &runs[i].health);
    }
}

enum { DIFFERS, FINDINGS, CURVES, SAMPLES, QUESTIONS, OPTIONS, N_HEADINGS };

static status write_body(struct str *out, const struct compare *c,
                         const struct judgement *runs, size_t n, struct err *err)
{
    const struct page_heading heading[N_HEADINGS] = {
        [DIFFERS] = {"differs", "What differs, and why"},
        [FINDINGS] = {"findings", "What stands out"},
        [CURVES] = {"curves", "Curves"},
        [SAMPLES] = {"samples", c->samples.n_rows > 1 ? "Sample translations" : NULL},
        [QUESTIONS] = {"questions", "Questions"},
        [OPTIONS] = {"options", "Options that differ"}};

    page_contents(out, heading, N_HEADINGS);
    page_tag(out, "p", "kicker", "Training report");
    page_tagf(out, "h1", NULL, "%zu runs side by side", n);
    if (c->warnings.n_rows)
        write_sentences(out, &c->warnings, "findings");
    write_table(out, &c->facts, "wide");
    page_heading(out, &heading[DIFFERS]);
    write_sentences(out, &c->sentences, "differences");
    page_heading(out, &heading[FINDINGS]);
    write_findings(out, runs, n);
    page_heading(out, &heading[CURVES]);
    str_puts(out, "<div class=\"plots\">\n");
    for (size_t i = 0; i < sizeof overlays / sizeof *overlays; i++)
        TRY(write_overlay(out, &overlays[i], runs, n, err));
    str_puts(out, "</div>\n");
    if (heading[SAMPLES].title) {
        page_heading(out, &heading[SAMPLES]);
        write_samples(out, &c->samples);
    }
    page_heading(out, &heading[QUESTIONS]);
    write_verdicts(out, runs, n);
    page_heading(out, &heading[OPTIONS]);
    if (c->options.n_rows > 1)
        write_table(out, &c->options, "wide options");
    else
        page_tag(out, "p", "quiet", "None, but the directories.");
    return OK;
}

status compare_write(struct str *out, const struct judgement *runs, size_t n,
                     struct err *err)
{
    struct compare c;

    TRY(compare_open(&c, runs, n, err));
    page_begin(out, "Training runs side by side");
    const status result = write_body(out, &c, runs, n, err);
    compare_close(&c);
    str_puts(out, "<footer>");
    page_textf(out, "Made by Ferry %s on %s from", FERRY_VERSION,
               fmt_time(runs->run.now).s);
    for (size_t i = 0; i < n; i++)
        page_textf(out, "%s %s", i ? "," : "", runs[i].run.sources.given);
    str_puts(out, ".</footer>\n");
    page_end(out);
    TRY(result);
    return str_check(out, "the report", err);
}
