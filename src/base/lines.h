/*
 * lines - the lines of a text in memory, one after the other, where they lie.
 *
 * A line ends at LF and nowhere else, as `wc -l` and every tool of parallel corpora
 * count: U+2028, U+0085 and a lone CR are text. A last line without its LF counts; one
 * CR before an LF (or before the end) and a byte order mark at the start of the text
 * belong to no line. The bytes are not judged further: NUL and malformed UTF-8 are
 * handed on.
 *
 * Texts that may be compressed, endless or not in UTF-8 are read by text/line_reader.h.
 *
 * Owns:     the mapping; lines_over borrows.
 * Outlives: every `struct line` handed out, which points into it.
 * Threads:  one at a time; two readers of one file are two structs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

/* Bytes without a terminator of any kind. */
struct line {
    const char *text;
    size_t n_bytes;
};

struct lines {
    const char *text, *next, *end;
    uint64_t n_read; /* lines handed out; the 1-based number of the last one */
    bool has_mark;   /* a byte order mark stands just before `text` */
    struct file_map map;
};

/* The regular file at `path`. On failure *l is closed. */
status lines_open(struct lines *l, const char *path, struct err *err);

/* A text that the caller keeps; needs no lines_close(). */
struct lines lines_over(const void *text, size_t n_bytes);

/* Safe on a zeroed or closed reader. */
void lines_close(struct lines *l);

/* The next line in *line; false at the end. */
bool lines_next(struct lines *l, struct line *line);

/* Back to the first line. */
void lines_rewind(struct lines *l);

/* Lines of the whole text, wherever the reader stands. */
uint64_t lines_count(const struct lines *l);
