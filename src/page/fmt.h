/*
 * fmt - numbers as people read them.
 *
 * Each function returns its text by value, so that several can stand in one printf:
 *     str_printf(s, "%s of %s", fmt_count(a).s, fmt_count(b).s);
 * A number that is not finite is "missing" in every one of them. Number and unit are
 * joined by a no-break space.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct fmt {
    char s[64];
};

struct fmt fmt_printf(const char *fmt, ...) PRINTF(1, 2); /* cut at 63 bytes */

struct fmt fmt_count(double n); /* 1,234,567 */
struct fmt fmt_short(double n); /* 60.9 M */
struct fmt fmt_number(double v,
                      int sig); /* `sig` significant digits, no exponent if short */
struct fmt fmt_signed(double v, int decimals); /* +0.334, -0.026 with a true minus */
struct fmt fmt_percent(double part);           /* 0.123 -> 12.3 % */
struct fmt fmt_seconds(double t); /* 2 h 13 min, 4 min 05 s, 3.21 s, 45.0 ms */
struct fmt fmt_bytes(double n);   /* 730.6 MB: powers of 1000, as disks count */
struct fmt fmt_time(double t);    /* 2024-05-06 07:08:09 UTC */

/* Text in at most `columns` (3 to 40), whole letters; an ellipsis for what was cut. */
struct fmt fmt_text(const char *text, size_t columns);
