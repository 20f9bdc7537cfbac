#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

status(err_set)(struct err *err, status code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    return err->code = code;
}

status(err_wrap)(struct err *err, const char *fmt, ...)
{
    char inner[sizeof err->msg];
    va_list ap;

    memcpy(inner, err->msg, sizeof inner);
    va_start(ap, fmt);
    const int used = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
    va_end(ap);
    const int room = (int)sizeof err->msg - used;
    if (used >= 0 && room > 3)
        snprintf(err->msg + used, (size_t)room, ": %.*s", room - 3, inner);
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
