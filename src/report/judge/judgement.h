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
/* The same of what one path holds. */
status judgement_open_path(struct judgement *t, const char *path, double now,
                           double to_steps, struct err *err);
void judgement_close(struct judgement *t);
