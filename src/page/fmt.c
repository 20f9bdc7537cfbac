#include "page/fmt.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/utf8.h"

static const struct fmt missing = {"missing"};

struct fmt fmt_printf(const char *fmt, ...)
{
    struct fmt f;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(f.s, sizeof f.s, fmt, ap);
    va_end(ap);
    return f;
}

struct fmt fmt_count(double n)
{
    char digits[32];
    struct fmt f = {""};
    size_t at = 0;

    if (!isfinite(n) || fabs(n) >= 1e18)
        return isfinite(n) ? fmt_number(n, 4) : missing;
    const size_t len = (size_t)snprintf(digits, sizeof digits, "%.0f", fabs(n));
    if (n <= -0.5)
        f.s[at++] = '-';
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            f.s[at++] = ',';
        f.s[at++] = digits[i];
    }
    f.s[at] = '\0';
    return f;
}

/* v = scaled * 1000^k, with |scaled| < 1000 after rounding to three digits. */
static struct fmt scaled(double v, const char *const *unit, int n_units)
{
    int k = 0;

    for (; k + 1 < n_units && fabs(v) >= 999.5; k++)
        v /= 1000;
    const int decimals =
        k == 0 || fabs(v) >= 99.95 ? (k == 0 ? 0 : 1) : 1 + (fabs(v) < 9.995);
    return fmt_printf("%.*f%s", decimals, v, unit[k]);
}

struct fmt fmt_short(double n)
{
    static const char *const unit[] = {"", "\u00a0k", "\u00a0M", "\u00a0G", "\u00a0T"};

    return isfinite(n) ? scaled(n, unit, 5) : missing;
}

struct fmt fmt_bytes(double n)
{
    static const char *const unit[] = {"\u00a0bytes", "\u00a0kB", "\u00a0MB",
                                       "\u00a0GB",    "\u00a0TB", "\u00a0PB"};

    return isfinite(n) ? scaled(n, unit, 6) : missing;
}

struct fmt fmt_number(double v, int sig)
{
    if (!isfinite(v))
        return missing;
    const int magnitude = v == 0.0 ? 0 : (int)floor(log10(fabs(v)));
    if (magnitude < -4 || magnitude > 8)
        return fmt_printf("%.*e", sig - 1, v);
    const int decimals = sig - 1 - magnitude;
    if (decimals <= 0 && fabs(v) >= 1000)
        return fmt_count(v);
    return fmt_printf("%.*f", decimals > 0 ? decimals : 0, v);
}

struct fmt fmt_signed(double v, int decimals)
{
    if (!isfinite(v) || fabs(v) >= 1e18)
        return isfinite(v) ? fmt_number(v, 4) : missing;
    const struct fmt f = fmt_printf("%.*f", decimals, fabs(v));
    if (strspn(f.s, "0.") == strlen(f.s)) /* nothing has no sign */
        return f;
    return fmt_printf("%s%s", v < 0 ? "\u2212" : "+", f.s);
}

struct fmt fmt_percent(double part)
{
    return isfinite(part) ? fmt_printf("%.1f\u00a0%%", 100 * part) : missing;
}

struct fmt fmt_seconds(double t)
{
    if (!isfinite(t))
        return missing;
    if (t == 0.0)
        return fmt_printf("0\u00a0s");
    if (t < 0.0005)
        return fmt_printf("%.0f\u00a0\u00b5s", t * 1e6);
    if (t < 0.9995)
        return fmt_printf("%.*f\u00a0ms", (t < 0.009995) + (t < 0.09995), t * 1e3);
    if (t < 59.95)
        return fmt_printf("%.*f\u00a0s", t < 9.995 ? 2 : 1, t);
    if (t < 3599.5)
        return fmt_printf("%d\u00a0min %02d\u00a0s", (int)(t + 0.5) / 60,
                          (int)(t + 0.5) % 60);
    if (t < 48 * 3600)
        return fmt_printf("%d\u00a0h %02d\u00a0min", (int)(t / 60 + 0.5) / 60,
                          (int)(t / 60 + 0.5) % 60);
    return fmt_printf("%.1f\u00a0days", t / 86400);
}

struct fmt fmt_time(double t)
{
    struct fmt f;
    struct tm tm;
    const time_t seconds = isfinite(t) && fabs(t) < 1e11 ? (time_t)t : 0;

    if (!isfinite(t) || fabs(t) >= 1e11 || !gmtime_r(&seconds, &tm) ||
        strftime(f.s, sizeof f.s, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        return missing;
    return f;
}

struct fmt fmt_text(const char *text, size_t columns)
{
    static const char ellipsis[] = "\u2026";
    const size_t n = strlen(text), room = sizeof((struct fmt *)0)->s - sizeof ellipsis;
    size_t shown;

    const bool is_whole = utf8_fit(text, n, columns, room, &shown) == n;
    const size_t cut = is_whole ? n : utf8_fit(text, n, columns - 1, room, &shown);
    return fmt_printf("%.*s%s", (int)cut, text, is_whole ? "" : ellipsis);
}
