/*
 * markup - tags and text of SGML and XML files, one event after the other.
 *
 * It reads what corpora are distributed in, not every document: names are compared
 * without regard to case, comments, declarations and processing instructions are passed
 * over, CDATA is text, the five entities of XML and character references are replaced.
 * An ampersand or "<" that begins none of these is text, as WMT's test sets hold them. No
 * entity is defined, fetched or expanded, and text comes in pieces of bounded size.
 *
 * Owns: the file. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "text/line_reader.h"

enum markup_event { MARKUP_END, MARKUP_TEXT, MARKUP_OPEN, MARKUP_CLOSE };

enum { MARKUP_TAG_MAX = 1 << 16, MARKUP_NAME_MAX = 64 };

struct markup {
    struct line_reader file;
    char name[MARKUP_NAME_MAX]; /* of the tag, in lower case */
    bool is_empty;              /* <name/>: no MARKUP_CLOSE follows */
    uint64_t line;              /* 1-based line on which the event begins */
    struct str tag;             /* what stands between "<" and ">" */
    struct str text;            /* of MARKUP_TEXT, or the last value asked for */
};

/* Take over an open file. */
void markup_init(struct markup *m, struct line_reader file);
void markup_close(struct markup *m);

/* Text, if any, in m->text; a tag's name in m->name. */
status markup_next(struct markup *m, enum markup_event *event, struct err *err);

/* The value of an attribute of the tag, or NULL; valid until the next call. */
const char *markup_attribute(struct markup *m, const char *name);

/* "FILE:LINE: ", then the message. */
status markup_fail(const struct markup *m, struct err *err, const char *fmt, ...)
    PRINTF(3, 4);
