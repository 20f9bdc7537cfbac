#include "report/judge/told.h"

status told_open(struct told *t, const char *path, double now, double to_steps,
                 struct err *err)
{
    TRY(run_open(&t->run, path, now, err));
    t->run.to_steps = to_steps;
    status result = answers_open(&t->answers, &t->run, err);
    if (result != OK) {
        run_close(&t->run);
        return result;
    }
    result = health_open(&t->health, &t->run, err);
    if (result != OK) {
        answers_close(&t->answers);
        run_close(&t->run);
    }
    return result;
}

void told_close(struct told *t)
{
    health_close(&t->health);
    answers_close(&t->answers);
    run_close(&t->run);
}
