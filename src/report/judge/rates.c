#include "report/judge/rates.h"

#include <math.h>

#include "report/judge/run.h"

bool rates_schedule(struct schedule *s, const struct run *run)
{
    const struct runlog_start *start = runlog_latest(&run->log);
    const double d_model = run_config(run, "d_model");
    struct schedule_config config;
    struct err ignored;

    if (!start || !runlog_config(&run->log, "lr_policy") ||
        opt_defaults(schedule_config_table, &config, &ignored) != OK)
        return false;
    for (size_t i = 0; i < start->n_options; i++) {
        const struct runlog_pair *p = &start->option[i];
        if (opt_find(schedule_config_table, p->key) &&
            opt_set(schedule_config_table, &config, p->key, p->value, &ignored) != OK)
            return false;
    }
    /* Outside these a conversion to int64_t would be undefined, and the run impossible.
     */
    if (!(d_model >= 1 && d_model <= 1e6) ||
        !(run->max_steps >= 0 && run->max_steps <= 1e12))
        return false;
    return schedule_init(s, &config, (int64_t)d_model, (int64_t)run->max_steps,
                         &ignored) == OK;
}

double rates_difference(const struct schedule *s, const struct run *run, size_t *n)
{
    double largest = NAN;

    *n = 0;
    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *e = &run->log.step[i];
        if (e->is_lost || !isfinite(e->rate) || !(e->step >= 1 && e->step <= 1e15))
            continue;
        const double want = schedule_rate(s, (int64_t)e->step - 1);
        const double gap = e->rate == want ? 0 : fabs(e->rate / want - 1);
        largest = fmax(largest, gap);
        (*n)++;
    }
    return largest;
}
