#include "report/judge/judgement.h"

status judgement_open_path(struct judgement *t, const char *path, double now,
                           double to_steps, struct err *err)
{
    struct sources sources;

    TRY(sources_open(&sources, path, err));
    return judgement_open(t, &sources, now, to_steps, err);
}

status judgement_open(struct judgement *t, const struct sources *sources, double now,
                      double to_steps, struct err *err)
{
    TRY(run_open(&t->run, sources, now, err));
    t->run.to_steps = to_steps;
    t->health = (struct health){0};
    status result = answers_open(&t->answers, &t->run, err);
    THEN(result, health_open(&t->health, &t->run, err));
    if (result != OK)
        judgement_close(t);
    return result;
}

void judgement_close(struct judgement *t)
{
    health_close(&t->health);
    answers_close(&t->answers);
    run_close(&t->run);
}
