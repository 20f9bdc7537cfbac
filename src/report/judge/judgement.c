#include "report/judge/judgement.h"

static status judge(struct judgement *t, const struct sources *sources, double now,
                    double to_steps, struct runlog_follow *follow, struct err *err)
{
    TRY(run_open(&t->run, sources, now, follow, err));
    t->run.to_steps = to_steps;
    t->health = (struct health){0};
    status result = answers_open(&t->answers, &t->run, err);
    THEN(result, health_open(&t->health, &t->run, err));
    if (result != OK)
        judgement_close(t);
    return result;
}

status judgement_open(struct judgement *t, const struct sources *sources, double now,
                      double to_steps, struct err *err)
{
    return judge(t, sources, now, to_steps, NULL, err);
}

status judgement_look(struct judgement *t, const char *path, double now,
                      struct runlog_follow *follow, struct err *err)
{
    struct sources sources;

    TRY(sources_open(&sources, path, err));
    return judge(t, &sources, now, 0, follow, err);
}

void judgement_close(struct judgement *t)
{
    health_close(&t->health);
    answers_close(&t->answers);
    run_close(&t->run);
}
