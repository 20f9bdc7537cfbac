#include "base/str.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct str str_new(size_t max)
{
    return (struct str){.max = max ? max : STR_MAX_DEFAULT};
}

void str_release(struct str *s)
{
    free(s->data);
    *s = (struct str){.max = s->max};
}

void str_reset(struct str *s)
{
    s->len = 0;
    s->bad = false;
    if (s->data)
        s->data[0] = '\0';
}

/* Room for n more bytes and the NUL, or the string turns bad. */
static bool reserve(struct str *s, size_t n)
{
    struct err ignored;
    const size_t max = s->max ? s->max : STR_MAX_DEFAULT;

    if (s->bad || n > max - s->len || n >= SIZE_MAX - s->len ||
        mem_grow(&s->data, &s->cap, s->len + n + 1, 1, &ignored) != OK)
        s->bad = true;
    return !s->bad;
}

void str_add(struct str *s, const void *bytes, size_t n)
{
    if (!reserve(s, n))
        return;
    if (n)
        memcpy(s->data + s->len, bytes, n);
    s->len += n;
    s->data[s->len] = '\0';
}

void str_puts(struct str *s, const char *text)
{
    str_add(s, text, strlen(text));
}

void str_putc(struct str *s, char c)
{
    str_add(s, &c, 1);
}

void str_printf(struct str *s, const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    const int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    s->bad |= n < 0;
    if (n >= 0 && reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

const char *str_text(const struct str *s)
{
    return s->data ? s->data : "";
}

status str_check(const struct str *s, const char *what, struct err *err)
{
    if (s->bad)
        return err_set(err, ERR_MEMORY,
                       "%s does not fit in memory or in its limit of %zu bytes", what,
                       s->max ? s->max : STR_MAX_DEFAULT);
    return OK;
}

bool str_begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool str_ends(const char *text, const char *ending)
{
    const size_t n = strlen(text), k = strlen(ending);

    return n >= k && strcmp(text + n - k, ending) == 0;
}

/* Edit distance of two short names, one row of the table at a time. */
static size_t distance(const char *a, const char *b)
{
    enum { MAX = 64 };
    size_t row[MAX + 1];
    const size_t n = strlen(b);

    if (n > MAX || strlen(a) > MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const bool same =
                a[i - 1] == b[j - 1] || (a[i - 1] == '-' && b[j - 1] == '_');
            size_t best = corner + !same;
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

void str_nearest(const char **best, const char *candidate, const char *name)
{
    const size_t limit = *best ? distance(name, *best) : strlen(name) / 2 + 1;

    if (distance(name, candidate) < limit)
        *best = candidate;
}
