#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/json_text.h"
#include "page/page.h"
#include "report/judge/judgement.h"
#include "report/show/compare.h"
#include "report/show/report.h"

/* Text as text, in one line: what Markdown or HTML would obey is escaped. */
static void put(struct str *out, const char *text)
{
    static const char *const of[128] = {
        ['\n'] = " ",   ['\r'] = " ",    ['\t'] = " ",  ['&'] = "&amp;", ['<'] = "&lt;",
        ['>'] = "&gt;", ['\\'] = "\\\\", ['`'] = "\\`", ['*'] = "\\*",   ['_'] = "\\_",
        ['['] = "\\[",  [']'] = "\\]",   ['|'] = "\\|", ['#'] = "\\#",   ['~'] = "\\~",
        ['!'] = "\\!",  ['$'] = "\\$"};

    page_escape(out, text, of);
}

/* A format of which only %s is known: what stands for it is text. */
static void putf(struct str *out, const char *fmt, ...) PRINTF(2, 3);
static void putf(struct str *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    for (const char *at; (at = strstr(fmt, "%s")); fmt = at + 2) {
        str_add(out, fmt, (size_t)(at - fmt));
        put(out, va_arg(ap, const char *));
    }
    va_end(ap);
    str_puts(out, fmt);
}

static void put_answer(struct str *out, const struct answer *a, size_t number)
{
    str_printf(out, "### %zu. ", number);
    putf(out, "%s\n\n**%s** %s\n\n", a->question, str_text(&a->number),
         str_text(&a->verdict));
    if (!a->n_rows)
        return;
    str_puts(out, "| evidence | |\n|---|---|\n");
    for (size_t i = 0; i < a->n_rows; i++)
        putf(out, "| %s | %s |\n", str_text(&a->row[i].label),
             str_text(&a->row[i].value));
    str_putc(out, '\n');
}

static void put_health(struct str *out, const struct health *h)
{
    if (!h->n)
        str_puts(out, "Nothing stands out.\n");
    for (size_t i = 0; i < h->n; i++)
        putf(out, "- **%s.** %s *What to do:* %s\n", h->found[i].title,
             str_text(&h->found[i].evidence), str_text(&h->found[i].advice));
    str_putc(out, '\n');
}

/* A command as code, to be copied; as text where a path could end the code. */
static void put_command(struct str *out, const char *text)
{
    bool is_plain = true;

    for (const char *c = text; *c; c++)
        is_plain &= *c >= ' ' && *c <= '~' && !strchr("`<>&\\", *c);
    if (is_plain)
        str_printf(out, "`%s`", text);
    else
        put(out, text);
}

static void put_state(struct str *out, const struct run *run)
{
    struct str text = str_new(0), command = str_new(0);

    run_state_say(&text, run);
    run_state_command(&command, run);
    putf(out, "**State: %s.** %s", run_state_words[run->state], str_text(&text));
    if (command.len) {
        str_puts(out, " Continue with ");
        put_command(out, str_text(&command));
    }
    str_puts(out, "\n\n");
    str_release(&text);
    str_release(&command);
}

/* What `ferry eval` noted. */
static void put_tests(struct str *out, const struct runlog *log)
{
    bool has_head = false;

    for (size_t i = 0; i < log->n_event; i++) {
        const struct runlog_test *e = &log->event[i].test;
        if (log->event[i].kind != RUNLOG_KIND_TEST)
            continue;
        if (!has_head)
            str_puts(out, "## Test scores\n\n| set | step | BLEU | chrF2 | TER | loss | "
                          "sentences | signature |\n|---|---|---|---|---|---|---|---|\n");
        has_head = true;
        putf(out, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", e->name ? e->name : "",
             fmt_count(e->step).s, fmt_number(e->bleu, 4).s, fmt_number(e->chrf, 4).s,
             fmt_number(e->ter, 4).s, fmt_number(e->loss, 4).s, fmt_count(e->sentences).s,
             e->bleu_signature ? e->bleu_signature : "");
    }
    str_puts(out, has_head ? "\n" : "");
}

/* Other validation sets, at their newest evaluation. */
static void put_valid_sets(struct str *out, const struct runlog *log)
{
    if (log->n_valid)
        str_puts(out, "## Other validation sets\n\n| set | step | loss | BLEU | chrF2 | "
                      "chrF2++ | TER | repeating | length "
                      "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < log->n_valid; i++) {
        const struct runlog_valid *v = &log->valid[i];
        putf(out, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", v->name,
             fmt_count(v->step).s, fmt_number(v->valid_loss, 4).s,
             fmt_number(v->bleu, 4).s, fmt_number(v->chrf, 4).s,
             fmt_number(v->chrf_words, 4).s, fmt_number(v->ter, 4).s,
             fmt_percent(v->repeating).s, fmt_number(v->length_ratio, 3).s);
    }
    str_puts(out, log->n_valid ? "\n" : "");
}

static void put_run(struct str *out, const struct judgement *j)
{
    putf(out, "# %s: training report\n\nFrom %s", j->run.name, j->run.sources.given);
    str_printf(out, ", made on %s by Ferry %s.\n\n", fmt_time(j->run.now).s,
               FERRY_VERSION);
    put_state(out, &j->run);
    put_tests(out, &j->run.log);
    put_valid_sets(out, &j->run.log);
    str_puts(out, "## What stands out\n\n");
    put_health(out, &j->health);
    str_puts(out, "## What people ask\n\n");
    for (size_t i = 0; i < ANSWERS_N; i++)
        put_answer(out, &j->answers.of[i], i + 1);
}

static void put_table(struct str *out, const struct compare_table *table)
{
    for (size_t i = 0; i < table->n_cells; i++) {
        const size_t column = i % table->n_columns;
        putf(out, column ? " | %s" : "| %s", table->cell[i]);
        if (column + 1 == table->n_columns)
            str_puts(out, " |\n");
        for (size_t c = 0; i + 1 == table->n_columns && c < table->n_columns; c++)
            str_puts(out, c + 1 < table->n_columns ? "|---" : "|---|\n");
    }
    str_putc(out, '\n');
}

static status put_comparison(struct str *out, const struct judgement *runs, size_t n,
                             struct err *err)
{
    struct compare c;

    TRY(compare_open(&c, runs, n, err));
    str_puts(out, "# Runs side by side\n\n");
    for (size_t i = 0; i < c.warnings.n_rows; i++)
        putf(out, "- **Warning:** %s\n", c.warnings.cell[i]);
    str_puts(out, c.warnings.n_rows ? "\n" : "");
    put_table(out, &c.facts);
    str_puts(out, "## What differs, and why\n\n");
    for (size_t i = 0; i < c.sentences.n_rows; i++)
        putf(out, "- %s\n", c.sentences.cell[i]);
    if (c.samples.n_rows > 1) {
        str_puts(out, "\n## Sample translations\n\n");
        put_table(out, &c.samples);
    }
    str_puts(out, "\n## Options that differ\n\n");
    put_table(out, &c.options);
    compare_close(&c);
    return OK;
}

status report_text_markdown(struct str *out, const struct judgement *runs, size_t n,
                            struct err *err)
{
    if (n > 1)
        TRY(put_comparison(out, runs, n, err));
    for (size_t i = 0; i < n; i++)
        put_run(out, &runs[i]);
    return str_check(out, "the report", err);
}

/* ---- JSON ---- */

static json_t *text(const char *s)
{
    return json_text(s ? s : "");
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *answer_json(const struct answer *a)
{
    json_t *values = json_object(), *rows = json_array();

    for (size_t i = 0; i < a->n_values; i++)
        json_object_set_new(values, a->value[i].key, number(a->value[i].v));
    for (size_t i = 0; i < a->n_rows; i++)
        json_array_append_new(rows, json_pack("{s:o, s:o}", "label",
                                              text(str_text(&a->row[i].label)), "value",
                                              text(str_text(&a->row[i].value))));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "question", text(a->question),
                     "code", text(a->code), "tone", text(answers_tones[a->tone]),
                     "number", text(str_text(&a->number)), "verdict",
                     text(str_text(&a->verdict)), "values", values, "evidence", rows);
}

static json_t *health_json(const struct health *h)
{
    json_t *list = json_array();

    for (size_t i = 0; i < h->n; i++)
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o}", "id", text(h->found[i].id), "title",
                            text(h->found[i].title), "evidence",
                            text(str_text(&h->found[i].evidence)), "advice",
                            text(str_text(&h->found[i].advice))));
    return list;
}

/* What `ferry eval` noted. */
static json_t *tests_json(const struct runlog *log)
{
    json_t *list = json_array();

    for (size_t i = 0; i < log->n_event; i++) {
        const struct runlog_test *e = &log->event[i].test;
        if (log->event[i].kind == RUNLOG_KIND_TEST)
            json_array_append_new(
                list,
                json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "set",
                          text(e->name), "step", number(e->step), "bleu", number(e->bleu),
                          "chrf", number(e->chrf), "ter", number(e->ter), "loss",
                          number(e->loss), "sentences", number(e->sentences), "signature",
                          text(e->bleu_signature)));
    }
    return list;
}

static json_t *valid_sets_json(const struct runlog *log)
{
    json_t *list = json_array();

    for (size_t i = 0; i < log->n_valid; i++) {
        const struct runlog_valid *v = &log->valid[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "set",
                            text(v->name), "step", number(v->step), "loss",
                            number(v->valid_loss), "bleu", number(v->bleu), "chrf",
                            number(v->chrf), "chrf_words", number(v->chrf_words), "ter",
                            number(v->ter), "repeating", number(v->repeating),
                            "length_ratio", number(v->length_ratio)));
    }
    return list;
}

/* The same words as on the page. */
static void add_state(json_t *o, const struct run *run)
{
    struct str said = str_new(0), command = str_new(0);

    run_state_say(&said, run);
    run_state_command(&command, run);
    json_object_set_new(o, "state", text(run_state_codes[run->state]));
    json_object_set_new(o, "state_text", text(str_text(&said)));
    if (command.len)
        json_object_set_new(o, "continue_with", text(str_text(&command)));
    str_release(&said);
    str_release(&command);
}

static json_t *run_json(const struct judgement *j)
{
    const struct runlog *log = &j->run.log;
    json_t *answers = json_object(), *o = json_object();

    for (size_t i = 0; i < ANSWERS_N; i++)
        json_object_set_new(answers, j->answers.of[i].id, answer_json(&j->answers.of[i]));
    json_object_set_new(o, "name", text(j->run.name));
    json_object_set_new(o, "path", text(j->run.sources.given));
    json_object_set_new(o, "origin",
                        text(log->foreign.origin ? log->foreign.origin : "Ferry"));
    add_state(o, &j->run);
    json_object_set_new(o, "step", number(j->run.step));
    json_object_set_new(o, "lines", json_integer((json_int_t)log->n_lines));
    json_object_set_new(o, "tests", tests_json(log));
    json_object_set_new(o, "valid_sets", valid_sets_json(log));
    json_object_set_new(o, "answers", answers);
    json_object_set_new(o, "health", health_json(&j->health));
    return o;
}

static json_t *list_json(const struct compare_table *t)
{
    json_t *list = json_array();

    for (size_t i = 0; i < t->n_rows; i++)
        json_array_append_new(list, text(t->cell[i]));
    return list;
}

static status sentences_json(json_t *o, const struct judgement *runs, size_t n,
                             struct err *err)
{
    struct compare c;

    TRY(compare_open(&c, runs, n, err));
    json_object_set_new(o, "warnings", list_json(&c.warnings));
    json_object_set_new(o, "differences", list_json(&c.sentences));
    compare_close(&c);
    return OK;
}

status report_text_json(struct str *out, const struct judgement *runs, size_t n,
                        struct err *err)
{
    json_t *o = json_object(), *list = json_array();
    status result = OK;

    json_object_set_new(o, "ferry", text(FERRY_VERSION));
    json_object_set_new(o, "made_at", number(runs->run.now));
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, run_json(&runs[i]));
    json_object_set_new(o, "runs", list);
    if (n > 1)
        result = sentences_json(o, runs, n, err);
    char *dump = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
    json_decref(o);
    if (result == OK && !dump)
        result = err_set(err, ERR_MEMORY, "no memory for the report as JSON");
    if (result == OK) {
        str_puts(out, dump);
        str_putc(out, '\n');
    }
    free(dump);
    return result;
}
