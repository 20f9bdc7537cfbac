#include "report/show/report_text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_text.h"
#include "base/utf8.h"
#include "page/fmt.h"
#include "report/judge/judgement.h"
#include "report/show/compare.h"

/* What Markdown or HTML would obey is escaped; NULL: stands as it is. */
static const char *escaped(uint32_t code)
{
    static const char *const of[128] = {
        ['\n'] = " ",   ['\r'] = " ",    ['\t'] = " ",  ['&'] = "&amp;", ['<'] = "&lt;",
        ['>'] = "&gt;", ['\\'] = "\\\\", ['`'] = "\\`", ['*'] = "\\*",   ['_'] = "\\_",
        ['['] = "\\[",  [']'] = "\\]",   ['|'] = "\\|", ['#'] = "\\#",   ['~'] = "\\~",
        ['!'] = "\\!",  ['$'] = "\\$"};

    if (code < 128 && of[code])
        return of[code];
    return utf8_is_shown(code) ? NULL : "\uFFFD";
}

/* Text as text, in one line. */
static void put(struct str *out, const char *text)
{
    const size_t n = text ? strlen(text) : 0;

    for (size_t at = 0, len; at < n; at += len) {
        const char *safe = escaped(utf8_decode(text + at, n - at, &len));
        if (safe)
            str_puts(out, safe);
        else
            str_add(out, text + at, len);
    }
}

static void put_answer(struct str *out, const struct answer *a, size_t number)
{
    str_printf(out, "### %zu. ", number);
    put(out, a->question);
    str_puts(out, "\n\n**");
    put(out, str_text(&a->number));
    str_puts(out, "** ");
    put(out, str_text(&a->verdict));
    str_puts(out, "\n\n");
    if (!a->n_rows)
        return;
    str_puts(out, "| evidence | |\n|---|---|\n");
    for (size_t i = 0; i < a->n_rows; i++) {
        str_puts(out, "| ");
        put(out, str_text(&a->row[i].label));
        str_puts(out, " | ");
        put(out, str_text(&a->row[i].value));
        str_puts(out, " |\n");
    }
    str_putc(out, '\n');
}

static void put_health(struct str *out, const struct health *h)
{
    if (!h->n)
        str_puts(out, "Nothing stands out.\n");
    for (size_t i = 0; i < h->n; i++) {
        str_puts(out, "- **");
        put(out, h->found[i].title);
        str_puts(out, ".** ");
        put(out, str_text(&h->found[i].evidence));
        str_puts(out, " *What to do:* ");
        put(out, str_text(&h->found[i].advice));
        str_putc(out, '\n');
    }
    str_putc(out, '\n');
}

static void put_run(struct str *out, const struct judgement *t)
{
    str_puts(out, "# ");
    put(out, t->run.name);
    str_puts(out, ": training report\n\nFrom ");
    put(out, t->run.dir);
    str_printf(out, ", made on %s by Ferry %s.\n\n## What stands out\n\n",
               fmt_time(t->run.now).s, FERRY_VERSION);
    put_health(out, &t->health);
    str_puts(out, "## What people ask\n\n");
    for (size_t i = 0; i < ANSWERS_N; i++)
        put_answer(out, &t->answers.of[i], i + 1);
}

static void put_table(struct str *out, const struct compare_table *table)
{
    for (size_t r = 0; r < table->n_rows; r++) {
        str_puts(out, "| ");
        put(out, table->cell[r * table->n_columns]);
        for (size_t c = 1; c < table->n_columns; c++) {
            str_puts(out, " | ");
            put(out, table->cell[r * table->n_columns + c]);
        }
        str_puts(out, " |\n");
        if (r == 0) {
            for (size_t c = 0; c < table->n_columns; c++)
                str_puts(out, "|---");
            str_puts(out, "|\n");
        }
    }
    str_putc(out, '\n');
}

static status put_comparison(struct str *out, const struct judgement *runs, size_t n,
                             struct err *err)
{
    struct compare c;

    TRY(compare_open(&c, runs, n, err));
    str_puts(out, "# Runs side by side\n\n");
    put_table(out, &c.facts);
    str_puts(out, "## What differs, and why\n\n");
    for (size_t i = 0; i < c.n_sentences; i++) {
        str_puts(out, "- ");
        put(out, c.sentence[i]);
        str_putc(out, '\n');
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
    json_t *o = json_object(), *values = json_object(), *rows = json_array();

    json_object_set_new(o, "question", text(a->question));
    json_object_set_new(o, "code", text(a->code));
    json_object_set_new(o, "tone", text(answers_tone(a->tone)));
    json_object_set_new(o, "number", text(str_text(&a->number)));
    json_object_set_new(o, "verdict", text(str_text(&a->verdict)));
    for (size_t i = 0; i < a->n_values; i++)
        json_object_set_new(values, a->value[i].key, number(a->value[i].v));
    json_object_set_new(o, "values", values);
    for (size_t i = 0; i < a->n_rows; i++)
        json_array_append_new(rows, json_pack("{s:o, s:o}", "label",
                                              text(str_text(&a->row[i].label)), "value",
                                              text(str_text(&a->row[i].value))));
    json_object_set_new(o, "evidence", rows);
    return o;
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

static json_t *run_json(const struct judgement *t)
{
    json_t *o = json_object(), *answers = json_object();

    json_object_set_new(o, "name", text(t->run.name));
    json_object_set_new(o, "path", text(t->run.dir));
    json_object_set_new(o, "origin",
                        text(t->run.log.origin ? t->run.log.origin : "Ferry"));
    json_object_set_new(o, "step", number(t->run.step));
    json_object_set_new(o, "lines", json_integer((json_int_t)t->run.log.n_lines));
    for (size_t i = 0; i < ANSWERS_N; i++)
        json_object_set_new(answers, t->answers.of[i].id, answer_json(&t->answers.of[i]));
    json_object_set_new(o, "answers", answers);
    json_object_set_new(o, "health", health_json(&t->health));
    return o;
}

static status sentences_json(json_t *o, const struct judgement *runs, size_t n,
                             struct err *err)
{
    struct compare c;
    json_t *list = json_array();

    TRY(compare_open(&c, runs, n, err));
    for (size_t i = 0; i < c.n_sentences; i++)
        json_array_append_new(list, text(c.sentence[i]));
    json_object_set_new(o, "differences", list);
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
