/* What text/sentences.h promises of the spans of every line. */
#pragma once

#include <stdbool.h>

#include "base/utf8.h"
#include "text/sentences.h"

static inline bool spans_are_space(const char *s, size_t n)
{
    size_t len;

    for (size_t i = 0; i < n; i += len)
        if (!utf8_is_space(utf8_decode(s + i, n - i, &len)))
            return false;
    return true;
}

/* In order, not empty, and nothing but white space outside of them. */
static inline bool spans_add_up(const char *line, size_t n, const struct sentences *s)
{
    size_t at = 0, len;

    for (size_t i = 0; i < s->n; i++) {
        const struct sentences_span span = s->span[i];
        if (span.n_bytes == 0 || span.at < at || span.n_bytes > n - span.at ||
            !spans_are_space(line + at, span.at - at) ||
            utf8_is_space(utf8_decode(line + span.at, span.n_bytes, &len)))
            return false;
        at = span.at + span.n_bytes;
    }
    return spans_are_space(line + at, n - at);
}
