#include "report/judge/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/series.h"
#include "report/read/foreign.h"

enum { MIN_ENTRIES = 5 }; /* fewer, and the first entry of a session counts too */

static double or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

/* The last component of the path, "run" for paths like "/" or "..". */
static void name_run(struct run *run)
{
    size_t n = strlen(run->dir);

    while (n > 1 && run->dir[n - 1] == '/')
        n--;
    const char *slash = memrchr(run->dir, '/', n), *name = slash ? slash + 1 : run->dir;
    snprintf(run->name, sizeof run->name, "%.*s", (int)(run->dir + n - name), name);
    if (run->name[0] == '\0' || run->name[0] == '.')
        snprintf(run->name, sizeof run->name, "run");
}

static enum run_state find_state(const struct run *run)
{
    const double silence = run->now - run->log.t_last;

    if (run->log.n_step + run->log.n_eval + run->log.n_event + run->log.n_sample == 0)
        return RUN_EMPTY;
    if (runlog_end(&run->log))
        return RUN_FINISHED;
    if (run->log.has_no_clock)
        return RUN_DIED;
    return silence < fmax(60, 5 * run->log.t_gap) ? RUN_RUNNING : RUN_DIED;
}

static void find_steps(struct run *run)
{
    const struct runlog *log = &run->log;
    const struct runlog_start *start = runlog_latest(log);

    run->step = start ? or_zero(start->step) : NAN;
    run->ranks = start ? start->ranks : NAN;
    for (size_t i = 0; i < log->n_step; i++) {
        run->steps_taken += log->step[i].steps;
        if (log->step[i].is_lost)
            run->steps_lost += log->step[i].steps;
        else
            run->step = log->step[i].step;
    }
    run->max_steps = run_config(run, "max_steps");
}

static void find_times(struct run *run)
{
    const struct runlog *log = &run->log;
    struct run_times *t = &run->times;

    *t = (struct run_times){.wall = log->t_last - log->t_first, .idle = log->t_idle};
    for (size_t i = 0; i < log->n_step; i++)
        t->in_steps += or_zero(log->step[i].t_step);
    for (size_t i = 0; i < log->n_eval; i++)
        t->in_evals += or_zero(log->eval[i].seconds);
    for (size_t i = 0; i < log->n_event; i++)
        if (log->event[i].kind == RUNLOG_KIND_SAVE)
            t->in_saves += or_zero(log->event[i].save.seconds);
    t->in_other = t->wall - t->idle - t->in_steps - t->in_evals - t->in_saves;
    if (t->in_other < 0) /* saving in the background overlaps with steps */
        t->in_other = 0;
    t->a_step = (t->wall - t->idle) / run->steps_taken;
    t->to_go =
        run->max_steps > run->step ? t->a_step * (run->max_steps - run->step) : NAN;
}

static bool is_used(const struct runlog_step *s, bool leave_out_first)
{
    return isfinite(s->t_step) && !(leave_out_first && s->is_first);
}

/* Mean over steps of a summed time, NAN when no entry has it. */
static double phase(const struct runlog *log, size_t field, bool leave_out_first)
{
    double sum = 0, steps = 0;

    for (size_t i = 0; i < log->n_step; i++) {
        const double v = *(const double *)((const char *)&log->step[i] + field);
        if (is_used(&log->step[i], leave_out_first) && isfinite(v)) {
            sum += v;
            steps += log->step[i].steps;
        }
    }
    return steps > 0 ? sum / steps : NAN;
}

#define PHASE(field) phase(log, offsetof(struct runlog_step, field), leave_out_first)

static void find_rates(struct run *run, bool leave_out_first)
{
    const struct runlog *log = &run->log;
    struct run_pace *p = &run->pace;
    double flops = 0, flop_time = 0;

    p->t_data = PHASE(t_data);
    p->t_compute = PHASE(t_compute);
    p->t_comm = PHASE(t_comm);
    p->t_hidden = PHASE(t_hidden);
    p->t_update = PHASE(t_update);
    p->mean = PHASE(t_step);
    p->other = fmax(0, p->mean - or_zero(p->t_data) - or_zero(p->t_compute) -
                           or_zero(p->t_comm) - or_zero(p->t_update));
    p->target_per_s = PHASE(target_tokens) / p->mean;
    p->tokens_per_s = (PHASE(source_tokens) + PHASE(target_tokens)) / p->mean;
    p->memory_mib = NAN;
    for (size_t i = 0; i < log->n_step; i++) {
        const struct runlog_step *s = &log->step[i];
        p->memory_mib = fmax(p->memory_mib, s->memory_mib); /* fmax ignores a NAN */
        if (is_used(s, leave_out_first) && isfinite(s->gflops)) {
            flops += s->gflops * s->t_step;
            flop_time += s->t_step;
        }
    }
    p->gflops = flop_time > 0 ? flops / flop_time : NAN;
}

/* v[n], w[n]: seconds a step and steps of the entries that count. */
static size_t collect_pace(struct run *run, bool leave_out_first, double *v, double *w)
{
    struct run_pace *p = &run->pace;
    size_t n = 0;

    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *s = &run->log.step[i];
        if (!is_used(s, leave_out_first)) {
            p->n_left_out += s->steps;
            continue;
        }
        p->n_steps += s->steps;
        p->steps_an_entry = fmax(p->steps_an_entry, s->steps);
        w[n] = s->steps;
        v[n++] = s->t_step / s->steps;
    }
    return n;
}

static status find_quantiles(struct run *run, bool leave_out_first, struct err *err)
{
    const size_t n_entries = run->log.n_step;
    struct run_pace *p = &run->pace;
    double *v; /* two arrays in one */

    TRY(mem_alloc(&v, 2 * n_entries, sizeof *v, err));
    double *w = v + n_entries;
    const size_t n = collect_pace(run, leave_out_first, v, w);
    status result = series_quantile(&p->median, v, w, n, 0.5, err);
    if (result == OK)
        result = series_quantile(&p->p95, v, w, n, 0.95, err);
    if (result == OK)
        result = series_quantile(&p->slowest, v, w, n, 1, err);
    free(v);
    return result;
}

static status find_pace(struct run *run, struct err *err)
{
    size_t n_first = 0, n_timed = 0;

    for (size_t i = 0; i < run->log.n_step; i++) {
        n_timed += is_used(&run->log.step[i], false);
        n_first += run->log.step[i].is_first;
    }
    const bool leave_out_first = n_timed >= n_first + MIN_ENTRIES;
    find_rates(run, leave_out_first);
    return find_quantiles(run, leave_out_first, err);
}

/* A log that stands alone, ours or another's: the first byte tells. */
static status open_file(struct run *run, struct err *err)
{
    struct file_map map;

    TRY(file_map_open(&map, run->dir, err));
    size_t at = 0;
    while (at < map.n_bytes && (map.data[at] == ' ' || map.data[at] == '\n'))
        at++;
    const status result =
        at < map.n_bytes && map.data[at] != '{'
            ? foreign_console(&run->log, run->dir, map.data, map.n_bytes, err)
            : runlog_parse(&run->log, run->dir, map.data, map.n_bytes, err);
    file_map_close(&map);
    return result;
}

static status open_log(struct run *run, struct err *err)
{
    char path[FILE_PATH_MAX];

    if (!file_is_dir(run->dir))
        return open_file(run, err);
    TRY(file_join(path, sizeof path, run->dir, RUNLOG_FILE, err));
    if (!file_exists(path) && foreign_has_events(run->dir))
        return foreign_events(&run->log, run->dir, err);
    return runlog_open(&run->log, path, err);
}

static status open_parts(struct run *run, struct err *err)
{
    TRY(open_log(run, err));
    if (file_is_dir(run->dir))
        TRY(rundir_open(&run->files, run->dir, runlog_config(&run->log, "data"), err));
    else
        run->files.newest_step = NAN;
    find_steps(run);
    find_times(run);
    run->state = find_state(run);
    TRY(rank_means_open(&run->by_rank, &run->log, err));
    TRY(learning_open(&run->learning, &run->log, err));
    return find_pace(run, err);
}

status run_open(struct run *run, const char *path, double now, struct err *err)
{
    memset(run, 0, sizeof *run);
    run->now = now;
    if (strlen(path) >= sizeof run->dir)
        return err_set(err, ERR_USAGE, "%.40s...: the path of the run is too long", path);
    memcpy(run->dir, path, strlen(path) + 1);
    name_run(run);
    if (!file_is_dir(path) && !file_exists(path))
        return err_set(err, ERR_IO,
                       "%s: no such directory; give the run directory of `ferry train`, "
                       "a directory of TensorBoard events, or a log",
                       path);
    const status result = open_parts(run, err);
    if (result != OK)
        run_close(run);
    return result;
}

void run_close(struct run *run)
{
    runlog_close(&run->log);
    rundir_close(&run->files);
    rank_means_close(&run->by_rank);
    learning_close(&run->learning);
}

double run_config(const struct run *run, const char *key)
{
    const char *text = runlog_config(&run->log, key);
    char *end;

    if (!text)
        return NAN;
    const double v = strtod(text, &end);
    return end != text && *end == '\0' ? v : NAN;
}

bool run_schedule(struct schedule *s, const struct run *run)
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

double run_rate_difference(const struct schedule *s, const struct run *run, size_t *n)
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
