#include "report/judge/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "page/series.h"
#include "report/read/foreign.h"

/* Fewer entries, and the first of a session counts too; fewer steps foretell nothing. */
enum { MIN_ENTRIES = 5, MIN_STEPS = 20 };

static double or_zero(double v)
{
    return isfinite(v) ? v : 0;
}

/* The last component of the path, "run" for paths like "/" or "..". */
static void name_run(struct run *run)
{
    const char *path = run->sources.given;
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *slash = memrchr(path, '/', n), *name = slash ? slash + 1 : path;
    snprintf(run->name, sizeof run->name, "%.*s", (int)(path + n - name), name);
    if (run->name[0] == '\0' || run->name[0] == '.')
        snprintf(run->name, sizeof run->name, "run");
}

static void find_steps(struct run *run)
{
    const struct runlog *log = &run->log;
    const struct runlog_start *start = runlog_latest(log);
    const struct runlog_stop *stop = runlog_end(log);

    run->step = start ? or_zero(start->step) : NAN;
    run->ranks = start ? start->ranks : NAN;
    for (size_t i = 0; i < log->n_step; i++) {
        run->steps_taken += log->step[i].steps;
        if (log->step[i].is_lost)
            run->steps_lost += log->step[i].steps;
        else
            run->step = log->step[i].step;
    }
    if (stop && stop->step > run->step) /* beyond the last entry */
        run->step = stop->step;
    run->max_steps = run_config(run, "max_steps");
}

static void find_times(struct run *run)
{
    const struct runlog *log = &run->log;
    struct run_times *t = &run->times;

    t->wall = log->t_last - log->t_first;
    t->idle = log->t_idle;
    t->startup = or_zero(log->foreign.t_startup);
    for (size_t i = 0; i < log->n_step; i++)
        t->in_steps += or_zero(log->step[i].t_step) - log->step[i].t_eval;
    t->in_evals = log->all.eval_seconds;
    for (size_t i = 0; log->foreign.origin && i < log->n_eval; i++)
        t->in_evals += or_zero(log->eval[i].seconds);
    t->in_saves = log->all.save_seconds;
    t->in_other =
        t->wall - t->idle - t->in_steps - t->in_evals - t->in_saves - t->startup;
    if (t->in_other < 0) /* saving in the background overlaps with steps */
        t->in_other = 0;
    t->a_step = run->steps_taken >= MIN_STEPS
                    ? (t->wall - t->idle - t->startup) / run->steps_taken
                    : NAN;
    t->to_go = run->max_steps > run->step && !runlog_end(log)
                   ? t->a_step * (run->max_steps - run->step)
                   : NAN;
}

/* Marks the entries that hold an evaluation, with the number of the first one in `of`. */
static void find_evals(struct runlog *log, size_t *of)
{
    size_t i = 0;

    for (size_t e = 0; e < log->n_eval; e++) {
        const struct runlog_eval *v = &log->eval[e];
        if (e && v->step < log->eval[e - 1].step)
            i = 0; /* a session began before it */
        while (i < log->n_step && (log->step[i].is_lost || log->step[i].step < v->step))
            i++;
        if (i == log->n_step || v->is_lost || log->step[i].has_eval ||
            v->step <= log->step[i].step - log->step[i].steps)
            continue;
        log->step[i].has_eval = true;
        of[i] = e;
    }
}

/* Seconds a step of the entries without an evaluation. */
static status median_pace(double *out, const struct runlog *log, struct err *err)
{
    double *v;
    size_t n = 0;

    TRY(mem_alloc(&v, log->n_step, sizeof *v, err));
    for (size_t i = 0; i < log->n_step; i++)
        if (!log->step[i].has_eval && isfinite(log->step[i].t_step))
            v[n++] = log->step[i].t_step / log->step[i].steps;
    series_sort(v, n);
    *out = n ? v[n / 2] : NAN;
    free(v);
    return OK;
}

/*
 * What evaluations cost, where the log does not time them: an entry that holds one takes
 * so much longer than the median of the others. A step-0 evaluation is part of start-up.
 */
static status time_evals(struct run *run, struct err *err)
{
    struct runlog *log = &run->log;
    RELEASED_BY(mem_release) size_t *of = NULL;
    double median;

    TRY(mem_alloc(&of, log->n_step, sizeof *of, err));
    find_evals(log, of);
    TRY(median_pace(&median, log, err));
    for (size_t i = 0; i < log->n_step; i++) {
        struct runlog_step *s = &log->step[i];
        const double more = s->t_step - median * s->steps;
        if (!isfinite(median))
            s->has_eval = false; /* all of them do: their times are the best there are */
        if (!s->has_eval || !(more > 0))
            continue;
        s->t_eval = log->eval[of[i]].seconds = more;
        run->times.n_evals_timed++;
    }
    return OK;
}

static bool is_used(const struct runlog_step *s, bool leave_out_first)
{
    return isfinite(s->t_step) && !s->has_eval && !(leave_out_first && s->is_first);
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

/* What entries were that a very long log took together. */
static size_t collect_bins(const struct runlog *log, double *v, double *w)
{
    size_t n = 0;

    for (size_t i = 0; log->bin && i < RUNLOG_BINS; i++)
        if (log->bin[i].steps > 0) {
            w[n] = log->bin[i].steps;
            v[n++] = log->bin[i].seconds / log->bin[i].steps;
        }
    return n;
}

/* v[n], w[n]: seconds a step and steps of the entries that count. */
static size_t collect_pace(struct run *run, bool leave_out_first, double *v, double *w)
{
    struct run_pace *p = &run->pace;
    size_t n = collect_bins(&run->log, v, w);

    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *s = &run->log.step[i];
        if (!is_used(s, leave_out_first)) {
            p->n_left_out += s->steps;
            p->n_with_evals += s->has_eval ? s->steps : 0;
            continue;
        }
        p->n_steps += s->steps;
        if (isfinite(runlog_slowest(s)))
            p->slowest = fmax(p->slowest, runlog_slowest(s));
        if (s->entries > 1 && run->log.bin)
            continue;
        p->steps_an_entry = fmax(p->steps_an_entry, s->steps);
        w[n] = s->steps;
        v[n++] = s->t_step / s->steps;
    }
    return n;
}

static status find_quantiles(struct run *run, bool leave_out_first, struct err *err)
{
    const size_t n_entries = run->log.n_step + (run->log.bin ? RUNLOG_BINS : 0);
    struct run_pace *p = &run->pace;
    double *v; /* two arrays in one */

    TRY(mem_alloc(&v, 2 * n_entries, sizeof *v, err));
    double *w = v + n_entries;
    p->slowest = NAN; /* fmax ignores it */
    const size_t n = collect_pace(run, leave_out_first, v, w);
    status result = series_quantile(&p->median, v, w, n, 0.5, err);
    THEN(result, series_quantile(&p->p95, v, w, n, 0.95, err));
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

static status open_own_log(struct run *run, struct runlog_follow *follow, struct err *err)
{
    const char *path = run->sources.log;

    if (!file_exists(path)) {
        runlog_init(&run->log);
        return OK;
    }
    if (!follow)
        return runlog_open(&run->log, path, err);
    TRY(runlog_follow(follow, path, err));
    run->log = follow->log;
    run->borrows_log = true;
    return OK;
}

static status open_foreign_log(struct run *run, struct err *err)
{
    const struct sources *s = &run->sources;
    struct runlog events;

    if (!s->log[0] && !s->events[0]) { /* checkpoints, captures: no course of a run */
        runlog_init(&run->log);
        run->log.foreign.origin = "another program, from the files that it left";
        run->log.foreign.has_no_end = run->log.foreign.has_no_clock = true;
        return OK;
    }
    if (!s->log[0])
        return foreign_events(&run->log, s->events, err);
    TRY(foreign_console(&run->log, s->log, err));
    if (!s->events[0])
        return OK;
    TRY(foreign_events(&events, s->events, err));
    bool is_joined;
    const status result = foreign_join(&run->log, &events, &is_joined, err);
    if (result == OK && !is_joined)
        run->sources.events[0] = '\0';
    runlog_close(&events);
    return result;
}

static status open_captures(struct run *run, struct err *err)
{
    TRY(mem_alloc(&run->capture, run->sources.n_captures, sizeof *run->capture, err));
    for (size_t i = 0; i < run->sources.n_captures; i++) {
        TRY(capture_open(&run->capture[i], run->sources.capture[i], err));
        run->n_captures++;
    }
    return OK;
}

static void find_state(struct run *run)
{
    const struct runlog_start *start = runlog_latest(&run->log);

    run->holder.age = NAN;
    if (run->sources.is_ferry && run->sources.files[0])
        holder_find(&run->holder, run->sources.files, start ? start->host : NULL,
                    run->now);
    run->state = run_state_find(run);
}

static status open_parts(struct run *run, struct runlog_follow *follow, struct err *err)
{
    TRY(run->sources.is_ferry ? open_own_log(run, follow, err)
                              : open_foreign_log(run, err));
    run->files.newest_step = NAN;
    if (run->sources.files[0])
        TRY(rundir_open(&run->files, run->sources.files, runlog_config(&run->log, "data"),
                        err));
    TRY(open_captures(run, err));
    find_steps(run);
    if (run->log.foreign.origin)
        TRY(time_evals(run, err));
    find_times(run);
    find_state(run);
    if (run->log.foreign.origin)
        estimate_make(&run->estimate, run);
    TRY(rank_means_open(&run->by_rank, &run->log, err));
    TRY(learning_open(&run->learning, &run->log, err));
    return find_pace(run, err);
}

status run_open(struct run *run, const struct sources *sources, double now,
                struct runlog_follow *follow, struct err *err)
{
    memset(run, 0, sizeof *run);
    run->now = now;
    run->sources = *sources;
    run->written = sources_written(sources);
    name_run(run);
    const status result = open_parts(run, follow, err);
    if (result != OK)
        run_close(run);
    return result;
}

void run_close(struct run *run)
{
    if (!run->borrows_log)
        runlog_close(&run->log);
    rundir_close(&run->files);
    for (size_t i = 0; i < run->n_captures; i++)
        capture_close(&run->capture[i]);
    free(run->capture);
    rank_means_close(&run->by_rank);
    learning_close(&run->learning);
}

const char *const run_hardships[] = {"residual_dropout", "attention_dropout",
                                     "relu_dropout",     "word_dropout",
                                     "layer_drop",       NULL};

const char *const run_variations[] = {"bpe_dropout",    "subword_alpha",  "augment_upper",
                                      "augment_title",  "augment_lower",  "augment_typos",
                                      "augment_no_end", "augment_digits", NULL};

double run_config(const struct run *run, const char *key)
{
    const char *text = runlog_config(&run->log, key);
    char *end;

    if (!text)
        return NAN;
    const double v = strtod(text, &end);
    return end != text && *end == '\0' ? v : NAN;
}

double run_parameters(const struct run *run)
{
    const struct runlog_start *s = runlog_latest(&run->log);

    if (s && isfinite(s->parameters))
        return s->parameters;
    return run->files.tensors.is_known ? run->files.tensors.parameters : NAN;
}

double run_pairs(const struct run *run)
{
    return run_config(run, "batch_size_per_gpu") * run->ranks;
}

struct fmt run_date(const struct run *run, double t)
{
    struct fmt date = fmt_time(run->log.foreign.has_no_clock ? NAN : t);
    char *zone = strstr(date.s, " UTC");

    if (zone && run->log.foreign.has_no_zone)
        snprintf(zone, sizeof date.s - (size_t)(zone - date.s), " by the log's clock");
    return date;
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

/* `late` is how far the counted update lags behind the step that it is logged at. */
static double rate_difference(const struct schedule *s, const struct run *run, size_t *n,
                              int late)
{
    double largest = NAN;

    *n = 0;
    for (size_t i = 0; i < run->log.n_step; i++) {
        const struct runlog_step *e = &run->log.step[i];
        if (e->is_lost || !isfinite(e->rate) || !(e->step >= 1 && e->step <= 1e15))
            continue;
        const double want = schedule_rate(s, (int64_t)e->step - late);
        const double gap = e->rate == want ? 0 : fabs(e->rate / want - 1);
        largest = fmax(largest, gap);
        (*n)++;
    }
    return largest;
}

double run_rate_difference(const struct schedule *s, const struct run *run, size_t *n)
{
    const double gap = rate_difference(s, run, n, 1);

    return run->log.foreign.origin ? fmin(gap, rate_difference(s, run, n, 0)) : gap;
}
