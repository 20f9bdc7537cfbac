/*
 * judgement - a run with everything that is said about it: answers and findings.
 *
 * Large (curves of a thousand shapes): on the heap, never on a stack. Owns its parts.
 */
#pragma once

#include "base/err.h"
#include "report/judge/answers.h"
#include "report/judge/health.h"
#include "report/judge/run.h"

struct judgement {
    struct run run;
    struct answers answers;
    struct health health;
};

status judgement_open(struct judgement *t, const struct sources *sources, double now,
                      double to_steps, struct err *err);
/* The same of what one path holds, again and again: only what is new of a run.jsonl is
 * read. *t is closed before the next look, *follow after the last one. NULL: read all. */
status judgement_look(struct judgement *t, const char *path, double now,
                      struct runlog_follow *follow, struct err *err);
void judgement_close(struct judgement *t);
