#include "report/read/foreign_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ATTEMPTS_MAX = 1000 }; /* of which the list tells */

const char *foreign_parts_after(const char *line, const char *mark)
{
    const char *at = strstr(line, mark);

    return at ? at + strlen(mark) : NULL;
}

void foreign_parts_set(json_t *o, const char *key, double v)
{
    if (isfinite(v))
        json_object_set_new(o, key, json_real(v));
}

json_t *foreign_parts_entry(const char *event, double t, double step)
{
    json_t *o = json_object();

    json_object_set_new(o, "event", json_string(event));
    foreign_parts_set(o, "t", t);
    foreign_parts_set(o, "step", step);
    return o;
}

void foreign_parts_put(struct runlog *log, json_t *entry, status *failed, struct err *err)
{
    if (*failed == OK)
        *failed = runlog_put(log, entry, err);
    else
        json_decref(entry);
}

status foreign_parts_list(struct runlog_foreign *list, const struct runlog *log,
                          size_t line, struct err *err)
{
    const struct runlog_step *last = log->n_step ? &log->step[log->n_step - 1] : NULL;
    const struct runlog_problem *why = runlog_fatal(log);

    if (list->n_attempts == ATTEMPTS_MAX)
        return OK;
    TRY(mem_grow(&list->attempt, &list->cap_attempts, list->n_attempts + 1,
                 sizeof *list->attempt, err));
    struct runlog_attempt *a = &list->attempt[list->n_attempts++];
    *a = (struct runlog_attempt){.line = line,
                                 .first = last ? log->step[0].step : NAN,
                                 .last = last ? last->step : NAN,
                                 .loss = last ? last->loss : NAN,
                                 .is_finished = runlog_end(log) != NULL};
    snprintf(a->end, sizeof a->end, "%s", why ? why->text : "");
    return OK;
}

void foreign_parts_give(struct runlog_foreign *list, struct runlog *log, size_t at)
{
    if (list->n_attempts > 1) {
        if (at < list->n_attempts)
            list->attempt[at].is_reported = true;
        log->foreign.attempt = list->attempt;
        log->foreign.n_attempts = list->n_attempts;
    } else {
        free(list->attempt);
    }
    *list = (struct runlog_foreign){0};
}
