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
void runlog_entry_free_options(struct runlog_start *s);
void runlog_entry_free_start(struct runlog_start *s);

status runlog_entry_copy(char **out, const char *text, struct err *err);
/* The log's own copy of a name, of n bytes. */
status runlog_entry_name(struct runlog *log, const char **out, const char *text, size_t n,
                         struct err *err);

/* An entry of any kind, added to the log. */
status runlog_entry_event(struct runlog *log, const struct entry *e, struct err *err);
/* Of a step, an evaluation, a ranks entry. */
status runlog_entry_step(struct runlog *log, const struct entry *e, struct err *err);
status runlog_entry_eval(struct runlog *log, const struct entry *e, struct err *err);
status runlog_entry_valid(struct runlog *log, const struct entry *e, struct err *err);
status runlog_entry_ranks(struct runlog *log, const struct entry *e, struct err *err);

/* An entry whose fields are read, with a finite step, takes its place in the log. The
 * ranks of a ranks entry were added before it, from lap->first on. */
status runlog_entry_add_step(struct runlog *log, struct runlog_step *s, struct err *err);
status runlog_entry_add_ranks(struct runlog *log, struct runlog_ranks *lap,
                              struct err *err);
status runlog_entry_add_rank(struct runlog *log, const struct runlog_rank *r,
                             struct err *err);
/* One network card more of a rank. */
void runlog_entry_card(struct runlog_rank *r, const struct runlog_card *c);

/* A time of the log; one of a start does not end a silence. */
void runlog_entry_time(struct runlog *log, double t, bool is_start);

/*
 * A line as our own journal writes it, step or ranks, added to the log without an object
 * of each value in between: four fifths of a log's bytes are these. *is_done is false,
 * and nothing was added, for any other line: it is read by the general way, which alone
 * finds errors.
 */
status runlog_scan(struct runlog *log, const char *line, size_t n, bool *is_done,
                   struct err *err);

/* Before an entry is added: where there are very many, neighbours become one. */
status runlog_thin(struct runlog *log, struct err *err);
/* The same of starts, samples and other rare events, of which those in the middle go. */
void runlog_thin_rare(struct runlog *log);
/* Sums of card counters and the like, of which one may not be known. */
void runlog_entry_sum(double *sum, double v);
