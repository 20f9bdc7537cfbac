/*
 * feed - lines and bytes of a text file that may be compressed, in bounded memory.
 *
 * A line ends at LF and nowhere else (base/lines.h says why); one CR before it belongs to
 * no line. UTF-16 that begins with its byte order mark is handed out as UTF-8, malformed
 * where it was malformed; a byte order mark belongs to no line. A line longer than
 * FEED_LINE_MAX is cut there and marked, however long it goes on: that, and unpacking no
 * more than a block at a time, bounds what a hostile file can ask for.
 *
 * Owns: the stream and a buffer of at most FEED_LINE_MAX and a block. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "format/stream.h"

enum { FEED_LINE_MAX = 1 << 20 };

enum feed_encoding { FEED_UTF8, FEED_UTF16_LE, FEED_UTF16_BE };

struct feed {
    struct stream in;
    enum feed_encoding encoding;
    unsigned char *buf; /* [cap]; unread bytes are [at, end) */
    size_t cap, at, end;
    unsigned char rest[4]; /* bytes of a character cut by the end of a block */
    size_t n_rest;
    uint64_t n_lines; /* lines handed out, or line feeds passed by feed_byte */
    bool ended;       /* the stream has no more */
    bool is_cut;      /* the last line was longer than FEED_LINE_MAX */
};

/* On failure *f is closed. `name` is what messages call the file. */
status feed_open(struct feed *f, const char *path, const char *name,
                 struct err *err) MUST_CHECK;
/* Over bytes that the caller keeps. */
status feed_over(struct feed *f, const void *bytes, size_t n, const char *name,
                 struct err *err) MUST_CHECK;
void feed_close(struct feed *f); /* safe on a zeroed one */

/* Before the first line: a byte order mark is text here, because the file is ours. */
void feed_keep_mark(struct feed *f);

/* The next line, valid until the next call; *has is false at the end. */
status feed_line(struct feed *f, struct line *line, bool *has,
                 struct err *err) MUST_CHECK;

/* The next byte, or FEED_END. */
enum { FEED_END = -1 };
status feed_byte(struct feed *f, int *byte, struct err *err) MUST_CHECK;
/* The byte that feed_byte would give, which stays. */
status feed_peek(struct feed *f, int *byte, struct err *err) MUST_CHECK;
