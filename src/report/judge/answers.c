#include "report/judge/answers.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/judge/run.h"

enum { TEXT_MAX = 1 << 16 };

static const struct {
    const char *id, *question;
    answer_fn *fn;
} questions[] = {
#define A(id, fn, question) {#id, question, fn},
    ANSWER_LIST(A)
#undef A
};

static void add_text(struct str *s, const char *fmt, va_list ap) PRINTF(2, 0);
static void add_text(struct str *s, const char *fmt, va_list ap)
{
    char text[2048];

    vsnprintf(text, sizeof text, fmt, ap); /* longer text is cut: it is a sentence */
    str_puts(s, text);
}

void answers_say(struct answer *a, enum answer_tone tone, const char *fmt, ...)
{
    va_list ap;

    a->tone = tone;
    va_start(ap, fmt);
    if (a->verdict.len)
        str_putc(&a->verdict, ' ');
    add_text(&a->verdict, fmt, ap);
    va_end(ap);
}

void answers_number(struct answer *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_text(&a->number, fmt, ap);
    va_end(ap);
}

void answers_row(struct answer *a, const char *label, const char *fmt, ...)
{
    va_list ap;

    if (a->failed == OK)
        a->failed =
            mem_grow(&a->row, &a->cap_rows, a->n_rows + 1, sizeof *a->row, a->err);
    if (a->failed != OK)
        return;
    struct answer_row *r = &a->row[a->n_rows++];
    *r = (struct answer_row){str_new(TEXT_MAX), str_new(TEXT_MAX)};
    str_puts(&r->label, label);
    va_start(ap, fmt);
    add_text(&r->value, fmt, ap);
    va_end(ap);
}

void answers_bar(struct answer *a, const char *title, struct fmt (*text)(double),
                 const struct page_part *part, size_t n)
{
    BUG_ON(n > ANSWER_PARTS_MAX);
    memcpy(a->part, part, n * sizeof *part);
    a->bar = (struct page_bar){title, text, a->part, n};
}

void answers_missing(struct answer *a, const char *what)
{
    a->code = "missing";
    answers_number(a, "not known");
    answers_say(a, ANSWER_UNKNOWN, "Missing: %s.", what);
}

void answers_value(struct answer *a, const char *key, double v)
{
    BUG_ON(a->n_values == ANSWER_VALUES_MAX);
    struct answer_value *to = &a->value[a->n_values++];
    snprintf(to->key, sizeof to->key, "%s", key);
    to->v = v;
}

const char *const answers_tones[] = {"plain", "good", "watch", "unknown"};

static void release(struct answer *a)
{
    for (size_t i = 0; i < a->n_rows; i++) {
        str_release(&a->row[i].label);
        str_release(&a->row[i].value);
    }
    free(a->row);
    str_release(&a->number);
    str_release(&a->verdict);
}

/* Logs of other programs lack much by their kind: only what is known is told of them. */
static void drop_missing(struct answer *a)
{
    size_t kept = 0;

    for (size_t i = 0; i < a->n_rows; i++) {
        struct answer_row *r = &a->row[i];
        if (str_begins(str_text(&r->value), "missing")) {
            str_release(&r->label);
            str_release(&r->value);
        } else {
            a->row[kept++] = *r;
        }
    }
    a->n_rows = kept;
}

status answers_open(struct answers *all, const struct run *run, struct err *err)
{
    *all = (struct answers){0};
    for (size_t i = 0; i < ANSWERS_N; i++) {
        struct answer *a = &all->of[i];
        *a = (struct answer){.id = questions[i].id,
                             .question = questions[i].question,
                             .code = "plain",
                             .number = str_new(TEXT_MAX),
                             .verdict = str_new(TEXT_MAX),
                             .err = err};
        questions[i].fn(a, run);
        if (run->log.foreign.origin)
            drop_missing(a);
        a->err = NULL;
        if (a->failed != OK) {
            answers_close(all);
            return err->code;
        }
    }
    return OK;
}

void answers_close(struct answers *all)
{
    for (size_t i = 0; i < ANSWERS_N; i++)
        release(&all->of[i]);
    *all = (struct answers){0};
}
