/*
 * runlog_line - one line of run.jsonl while it is read. For the files of runlog only.
 *
 * Numbers that are absent or null come back as NAN, strings as NULL; any other type is
 * ERR_FORMAT with file and line. Strings that come back are the caller's to free.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"

struct runlog;

/* A failure anywhere below names it. */
struct line {
    const char *name; /* of the file */
    size_t number;
    const json_t *json;
};

status runlog_line_refuse(const struct line *l, const char *what, struct err *err);
status runlog_line_number(const struct line *l, const json_t *object, const char *key,
                          double *out, struct err *err) MUST_CHECK;
/* A string of the line, or of an object in it. */
status runlog_line_text(const struct line *l, const char *key, char **out,
                        struct err *err) MUST_CHECK;
status runlog_line_member(const struct line *l, const json_t *object, const char *key,
                          char **out, struct err *err) MUST_CHECK;
status runlog_line_copy(char **out, const char *text, struct err *err) MUST_CHECK;

/* The newest ranks event and the newest step entry, which stand beside each other in
 * either order: the latter says how many updates the sums of both cover. */
void runlog_pair_lap(struct runlog *log);

/* A ranks event, added to the log. */
status runlog_read_ranks(struct runlog *log, const struct line *l,
                         struct err *err) MUST_CHECK;
