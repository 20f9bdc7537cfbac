/*
 * argv - the arguments of a command, and how a shell would be given them.
 *
 * Like struct str, a list that lost an argument for want of memory says so when asked.
 * Owns: copies of its arguments. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct argv {
    char **arg; /* NULL behind the last, once there is one */
    size_t n, cap;
    bool bad;
};

void argv_add(struct argv *a, const char *arg);
/* The string as one argument; releases it. */
void argv_take(struct argv *a, struct str *s);
/* The formatted text, divided at its spaces. */
void argv_printf(struct argv *a, const char *fmt, ...) PRINTF(2, 3);
void argv_release(struct argv *a);

status argv_check(const struct argv *a, struct err *err);

/* Appends one argument, quoted where a POSIX shell needs it. */
void argv_quote(struct str *out, const char *arg);
/* Appends them all, with spaces between. */
void argv_put(struct str *out, const struct argv *a);
