/*
 * words - the words of a command, grown one by one, and how a shell would be told them.
 *
 * Like struct str, a list that lost a word for want of memory says so when asked.
 * Owns: copies of its words. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct words {
    char **word; /* NULL behind the last, once there is one */
    size_t n, cap;
    bool bad;
};

void words_add(struct words *w, const char *word);
void words_printf(struct words *w, const char *fmt, ...) PRINTF(2, 3);
/* The words of `text`, divided by spaces. */
void words_split(struct words *w, const char *text);
void words_release(struct words *w);

status words_check(const struct words *w, struct err *err) MUST_CHECK;

/* Appends one word, quoted where a POSIX shell needs it. */
void words_quote(struct str *out, const char *word);
/* Appends them all, with spaces between. */
void words_put(struct str *out, const struct words *w);
