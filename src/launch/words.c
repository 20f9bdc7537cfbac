#include "launch/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void take(struct words *w, char *copy)
{
    struct err err;

    if (!copy || mem_grow(&w->word, &w->cap, w->n + 2, sizeof *w->word, &err) != OK) {
        free(copy);
        w->bad = true;
        return;
    }
    w->word[w->n++] = copy;
    w->word[w->n] = NULL;
}

void words_add(struct words *w, const char *word)
{
    take(w, strdup(word));
}

void words_printf(struct words *w, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    const int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    take(w, n < 0 ? NULL : text);
}

void words_split(struct words *w, const char *text)
{
    while (*(text += strspn(text, " "))) {
        const size_t n = strcspn(text, " ");
        take(w, strndup(text, n));
        text += n;
    }
}

void words_release(struct words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->word[i]);
    free(w->word);
    *w = (struct words){0};
}

status words_check(const struct words *w, struct err *err)
{
    if (w->bad)
        return err_set(err, ERR_MEMORY, "no memory for a command of %zu words", w->n);
    return OK;
}

void words_quote(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+./:=,@%";

    if (word[0] && !word[strspn(word, plain)]) {
        str_puts(out, word);
        return;
    }
    str_putc(out, '\'');
    for (const char *p = word; *p; p++) {
        if (*p == '\'')
            str_puts(out, "'\\''");
        else
            str_putc(out, *p);
    }
    str_putc(out, '\'');
}

void words_put(struct str *out, const struct words *w)
{
    for (size_t i = 0; i < w->n; i++) {
        if (i)
            str_putc(out, ' ');
        words_quote(out, w->word[i]);
    }
}
