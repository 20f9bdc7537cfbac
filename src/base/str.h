/*
 * str - a growing byte string with a stated maximum.
 *
 * Appending never fails loudly in the middle of an expression: a string that would
 * pass its maximum or run out of memory turns *bad*, ignores further appends, and says
 * so when asked by str_check(). So building a page is a run of appends and one check.
 *
 * Owns: its bytes, always NUL-terminated once non-empty. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct str {
    char *data; /* NUL-terminated; NULL while empty and never appended to */
    size_t len, cap, max;
    bool bad;
};

#define STR_MAX_DEFAULT ((size_t)1 << 30)

/* An empty string that may grow to `max` bytes (STR_MAX_DEFAULT when 0). */
struct str str_new(size_t max);
void str_release(struct str *s);
void str_reset(struct str *s); /* empty, memory kept */

void str_add(struct str *s, const void *bytes, size_t n);
void str_puts(struct str *s, const char *text);
void str_putc(struct str *s, char c);
void str_printf(struct str *s, const char *fmt, ...) PRINTF(2, 3);

/* The text so far, "" when nothing was appended. Valid until the next append. */
const char *str_text(const struct str *s);

/* ERR_MEMORY if any append was lost; `what` names the thing that was built. */
status str_check(const struct str *s, const char *what, struct err *err);

bool str_begins(const char *text, const char *beginning);
bool str_ends(const char *text, const char *ending);

/*
 * For "did you mean": *best becomes `candidate` when that is nearer to `name`. It stays
 * NULL when nothing shares about half of the name. '-' and '_' count as the same.
 */
void str_nearest(const char **best, const char *candidate, const char *name);
