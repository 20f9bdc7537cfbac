/*
 * foreign_parts - what the files of foreign share.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/log/runlog.h"

/* An entry of run.jsonl, and a number in it unless it is NAN. */
json_t *foreign_parts_entry(const char *event, double t, double step);
void foreign_parts_set(json_t *o, const char *key, double v);

/* Adds the entry to the log while all went well; it is released either way. */
void foreign_parts_put(struct runlog *log, json_t *entry, status *failed,
                       struct err *err);

enum { FOREIGN_SESSIONS_MAX = 1000 }; /* more are no resumptions but a broken log */

/* What follows `mark` in the line; NULL when it is not there. */
const char *foreign_parts_after(const char *line, const char *mark);

/* One more attempt that a file holds, for the list of all; `line` is where it begins. */
status foreign_parts_list(struct runlog_foreign *list, const struct runlog *log,
                          size_t line, struct err *err);
/* The list goes to the log that is reported, attempt number `at`, if there are several.
 */
void foreign_parts_give(struct runlog_foreign *list, struct runlog *log, size_t at);

/* Where and on what a run took place, as far as its lines tell. */
enum { FOREIGN_HOSTS_MAX = 64, FOREIGN_NAME_MAX = 64 };
struct foreign_place {
    char host[FOREIGN_HOSTS_MAX][FOREIGN_NAME_MAX];
    size_t n_hosts;
    uint64_t rank_seen; /* which of the first 64 ranks NCCL named, each with its host */
    char device[FOREIGN_NAME_MAX], interface[FOREIGN_NAME_MAX], library[FOREIGN_NAME_MAX];
    bool is_infiniband;
    double ranks;
};

/* A line, which may tell something of it. */
void foreign_place_line(struct foreign_place *p, const char *line);
/* Its names and numbers into a start entry. */
void foreign_place_put(const struct foreign_place *p, json_t *start);

/*
 * The clock of a log whose entries only tell durations. Dated lines stand between entries
 * (TensorFlow's and TensorBoard's), so that each bounds the date of second 0.
 */
struct foreign_clock {
    double low, high; /* second 0 lies between; NAN: not bounded */
    double waiting;   /* date of the newest line since the last entry; NAN: none */
    double year;      /* of the newest date that has one */
    double first;     /* date of the first line; NAN: none */
};
void foreign_clock_init(struct foreign_clock *c);
/* A line, when the log has come to second t; has_begun: an entry came before it. Returns
 * what follows its date, the line itself when it has none. */
const char *foreign_clock_line(struct foreign_clock *c, const char *line, double t,
                               bool has_begun);
/* An entry that ends at second t. */
void foreign_clock_entry(struct foreign_clock *c, double t);
/* The date of second 0, NAN when the lines do not tell. Where they contradict each other,
 * the first line's serves if the log is of one session. */
double foreign_clock_zero(const struct foreign_clock *c, bool is_one_session);
/* Errors among the lines. */
struct foreign_trouble {
    bool in_traceback; /* its last line is still to come */
};
/* A line that is none of OpenSeq2Seq's; `step` is the last one logged. */
void foreign_trouble_line(struct foreign_trouble *t, struct runlog_foreign *f,
                          const char *line, size_t number, double step);
/* Training goes on: what was seen did not end it. */
void foreign_trouble_survived(struct runlog_foreign *f);
