#include "launch/argv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void take(struct argv *a, char *copy)
{
    struct err err;

    if (!copy || mem_grow(&a->arg, &a->cap, a->n + 2, sizeof *a->arg, &err) != OK) {
        free(copy);
        a->bad = true;
        return;
    }
    a->arg[a->n++] = copy;
    a->arg[a->n] = NULL;
}

void argv_add(struct argv *a, const char *arg)
{
    take(a, strdup(arg));
}

void argv_take(struct argv *a, struct str *s)
{
    argv_add(a, str_text(s));
    a->bad |= s->bad;
    str_release(s);
}

void argv_printf(struct argv *a, const char *fmt, ...)
{
    char *text;
    va_list ap;

    va_start(ap, fmt);
    const bool is_made = vasprintf(&text, fmt, ap) >= 0;
    va_end(ap);
    a->bad |= !is_made;
    if (!is_made)
        return;
    for (const char *p = text; *(p += strspn(p, " ")); p += strcspn(p, " "))
        take(a, strndup(p, strcspn(p, " ")));
    free(text);
}

void argv_release(struct argv *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->arg[i]);
    free(a->arg);
    *a = (struct argv){0};
}

status argv_check(const struct argv *a, struct err *err)
{
    if (a->bad)
        return err_set(err, ERR_MEMORY, "no memory for a command of %zu words", a->n);
    return OK;
}

void argv_quote(struct str *out, const char *arg)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+./:=,@%";

    if (arg[0] && !arg[strspn(arg, plain)]) {
        str_puts(out, arg);
        return;
    }
    str_putc(out, '\'');
    for (const char *p = arg; *p; p++) {
        if (*p == '\'')
            str_puts(out, "'\\''");
        else
            str_putc(out, *p);
    }
    str_putc(out, '\'');
}

void argv_put(struct str *out, const struct argv *a)
{
    for (size_t i = 0; i < a->n; i++) {
        if (i)
            str_putc(out, ' ');
        argv_quote(out, a->arg[i]);
    }
}
