/*
 * translate_stream - translate a text of any length in bounded memory.
 *
 * Reads a window of lines, translates it, hands the result on, and so forth; what comes
 * out is in the order of what came in. Lines are those of text/line_reader.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "decode/translate.h"

enum { TRANSLATE_STREAM_LINE_MAX = 16 << 20 }; /* bytes of one line */

struct translate_stream {
    int fd;           /* read from here to its end */
    const char *name; /* of it, in messages */
    size_t window;    /* lines at a time, > 0 */
    bool has_scores;  /* "text TAB score" */
    /* Takes the output, whole lines at a time. */
    status (*write)(void *ctx, const void *bytes, size_t n, struct err *err);
    void *ctx;
};

/*
 * One output line a line; with nbest > 1 one a translation, "line ||| text ||| score",
 * lines counted from 0.
 */
status translate_stream_run(const struct translate_stream *s, struct translator *t,
                            struct err *err) MUST_CHECK;
