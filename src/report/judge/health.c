#include "report/judge/health.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_MAX = 1 << 14 };

static const struct {
    const char *id, *title;
    health_fn *fn;
} checks[] = {
#define H(id, fn, title) {#id, title, fn},
    HEALTH_LIST(H)
#undef H
};

static void add(struct str *s, const char *text)
{
    if (s->len)
        str_putc(s, ' ');
    str_puts(s, text);
}

void health_found(struct health_finding *f, const char *advice, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap); /* longer text is cut: it is a sentence */
    va_end(ap);
    add(&f->evidence, text);
    if (advice[0] && !str_ends(str_text(&f->advice), advice))
        add(&f->advice, advice);
}

status health_open(struct health *h, const struct run *run, struct err *err)
{
    *h = (struct health){0};
    for (size_t i = 0; i < HEALTH_N; i++) {
        struct health_finding *f = &h->found[h->n];
        *f = (struct health_finding){.id = checks[i].id,
                                     .title = checks[i].title,
                                     .evidence = str_new(TEXT_MAX),
                                     .advice = str_new(TEXT_MAX),
                                     .err = err};
        checks[i].fn(f, run);
        f->err = NULL;
        if (f->failed != OK) {
            h->n++;
            health_close(h);
            return err->code;
        }
        h->n += f->evidence.len ? 1 : 0;
    }
    return OK;
}

void health_close(struct health *h)
{
    for (size_t i = 0; i < h->n; i++) {
        str_release(&h->found[i].evidence);
        str_release(&h->found[i].advice);
    }
    *h = (struct health){0};
}
