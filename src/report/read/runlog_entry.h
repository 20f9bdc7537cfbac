/*
 * runlog_entry - one line of run.jsonl while it is read. For the files of runlog only.
 *
 * What is absent or null comes back as NAN, NULL or false; a value of another type than
 * the schema's is ERR_FORMAT with file and line.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/err.h"
#include "recipe/runlog_schema.h"

struct runlog;

/* A failure anywhere below names it. */
struct entry {
    const char *name; /* of the file */
    size_t number;
    const json_t *json;
};

status runlog_entry_refuse(const struct entry *e, const char *what, struct err *err);

/* The fields of a kind from `object` into its struct, which is zeroed or empty; strings
 * are the caller's to free. */
status runlog_entry_get(const struct entry *e, enum runlog_kind kind,
                        const json_t *object, void *out, struct err *err);
void runlog_entry_free(enum runlog_kind kind, void *fields);

status runlog_entry_copy(char **out, const char *text, struct err *err);

/* A ranks entry, added to the log. */
status runlog_entry_ranks(struct runlog *log, const struct entry *e, struct err *err);
/* The newest ranks entry and the newest step entry, which stand beside each other in
 * either order: the latter says how many updates the sums of both cover. */
void runlog_entry_pair(struct runlog *log);
/* Before an entry is added: where there are very many, neighbours become one. */
void runlog_entry_thin(struct runlog *log);
