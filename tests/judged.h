/*
 * judged - a made-up run as the report judges it, and checks of what it says.
 */
#pragma once

#include <stdlib.h>

#include "base/mem.h"
#include "made_run.h"
#include "report/judge/judgement.h"

/* What a run came out as; `wanted` lists the ids of all findings, and no other is. */
static inline void judged_findings(const struct judgement *t, const char *wanted,
                                   uint64_t seed)
{
    struct str got = str_new(0);

    for (size_t i = 0; i < t->health.n; i++)
        str_printf(&got, "%s%s", i ? " " : "", t->health.found[i].id);
    if (strcmp(str_text(&got), wanted) != 0)
        test_fail(__FILE__, __LINE__, "case %d: findings '%s', want '%s': %s", (int)seed,
                  str_text(&got), wanted,
                  t->health.n ? str_text(&t->health.found[0].evidence) : "");
    str_release(&got);
}

static inline struct judgement *judged_open(struct made_run *m)
{
    struct judgement *t;
    struct err err;

    made_write(m, test_path("run"));
    CHECK_OK(mem_alloc(&t, 1, sizeof *t, &err), &err);
    CHECK_OK(judgement_look(t, test_path("run"), m->t + 86400, NULL, &err), &err);
    return t;
}

static inline void judged_close(struct judgement *t)
{
    judgement_close(t);
    free(t);
}

/* `want` is a word, or several that will do. */
static inline void judged_code(const struct judgement *t, size_t question,
                               const char *want, uint64_t seed)
{
    const char *code = t->answers.of[question].code;
    const size_t n = strlen(code);
    bool is_wanted = false;

    for (const char *w = want; w; w = strchr(w, ' ')) {
        w += *w == ' ';
        is_wanted |= strncmp(w, code, n) == 0 && (w[n] == ' ' || w[n] == '\0');
    }
    if (!is_wanted)
        test_fail(__FILE__, __LINE__, "case %d: '%s' is %s, want %s: %s", (int)seed,
                  t->answers.of[question].id, code, want,
                  str_text(&t->answers.of[question].verdict));
}
