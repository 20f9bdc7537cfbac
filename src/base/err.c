#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

status(err_set)(struct err *err, status code, const char *fmt, ...)
{
    va_list ap;

    char text[sizeof err->msg];

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    utf8_spell(err->msg, sizeof err->msg, text);
    return err->code = code;
}

status(err_wrap)(struct err *err, const char *fmt, ...)
{
    char text[2 * sizeof err->msg];
    va_list ap;

    va_start(ap, fmt);
    const int used = vsnprintf(text, sizeof err->msg, fmt, ap);
    va_end(ap);
    if (used >= 0 && used < (int)sizeof err->msg)
        snprintf(text + used, sizeof text - (size_t)used, ": %s", err->msg);
    utf8_spell(err->msg, sizeof err->msg, text);
    return err->code;
}

#define STATUS_TEXT(code, exit_status, text) [code] = text,

const char *status_text(status code)
{
    static const char *const texts[] = {STATUS_LIST(STATUS_TEXT)};

    return code < sizeof texts / sizeof *texts ? texts[code] : "unknown status";
}

_Noreturn void err_bug(const char *cond, const char *file, int line)
{
    fprintf(stderr, "ferry: broken invariant at %s:%d: %s\n", file, line, cond);
    abort();
}
