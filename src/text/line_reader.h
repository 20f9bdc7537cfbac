/*
 * line_reader - lines and bytes of a text file that may be compressed, in bounded memory.
 *
 * A line ends at LF and nowhere else (base/lines.h says why); one CR before it belongs to
 * no line. UTF-16 that begins with its byte order mark is handed out as UTF-8, malformed
 * where it was malformed; a byte order mark belongs to no line. A line longer than
 * max_line is cut there and marked, however long it goes on: that, and unpacking no more
 * than a block at a time, bounds what a hostile file can ask for.
 *
 * Owns: the stream and a buffer of at most max_line and a block. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lines.h"
#include "format/stream.h"

enum { LINE_READER_MAX = 1 << 20 }; /* bytes of a line, unless told otherwise */

enum line_reader_encoding {
    LINE_READER_UTF8,
    LINE_READER_UTF16_LE,
    LINE_READER_UTF16_BE
};

struct line_reader {
    struct stream in;
    enum line_reader_encoding encoding;
    unsigned char *buf; /* [cap]; unread bytes are [at, end) */
    size_t cap, at, end;
    size_t max_line;       /* may be set before the first line */
    unsigned char rest[4]; /* bytes of a character cut by the end of a block */
    size_t n_rest;
    uint64_t n_lines; /* lines handed out, or line feeds passed by line_reader_byte */
    bool ended;       /* the stream has no more */
    bool is_cut;      /* the last line was longer than max_line */
    bool has_rest;    /* and its end is still to come */
};

/* On failure *f is closed. `name` is what messages call the file. */
status line_reader_open(struct line_reader *f, const char *path, const char *name,
                        struct err *err);
/* The rest of an open file, which stays the caller's to close. */
status line_reader_open_fd(struct line_reader *f, int fd, const char *name,
                           struct err *err);
void line_reader_close(struct line_reader *f); /* safe on a zeroed one */

/* Before the first line: a byte order mark is text here, because the file is ours. */
void line_reader_keep_mark(struct line_reader *f);

/* ERR_FORMAT before the first line of what cannot be text: a document, an image, an
 * archive, bytes that are zero. The sentence names what it seems to be. */
status line_reader_expect_text(const struct line_reader *f, struct err *err);

/* The next line, valid until the next call; *has is false at the end. */
status line_reader_next(struct line_reader *f, struct line *line, bool *has,
                        struct err *err);

/* The same, but when no byte arrives for so many milliseconds before the line is whole,
 * *has is false as at the end; the line is whole at some later call. */
status line_reader_next_within(struct line_reader *f, struct line *line, bool *has,
                               int milliseconds, struct err *err);

/* The next byte, or LINE_READER_END. */
enum { LINE_READER_END = -1 };
status line_reader_byte(struct line_reader *f, int *byte, struct err *err);
/* The byte that line_reader_byte would give, which stays. */
status line_reader_peek(struct line_reader *f, int *byte, struct err *err);
