/* Findings about the run's course and its time: ends, data, evaluation, saves, memory. */
#include <math.h>

#include "page/fmt.h"
#include "report/judge/health.h"
#include "report/judge/run.h"

void health_run_died(struct health_finding *f, const struct run *run)
{
    const struct runlog_stop *stop = runlog_end(&run->log);

    if (run->log.foreign.origin) { /* its errors are a finding of their own */
        if (run->state == RUN_OPEN && !run->log.foreign.has_no_end)
            health_found(f,
                         "It was killed or still ran when the log was copied: look at "
                         "the machine.",
                         "The log ends at step %s%s without the line of a finished "
                         "training.",
                         fmt_count(run->step).s,
                         run->max_steps > run->step
                             ? fmt_printf(" of %s", fmt_count(run->max_steps).s).s
                             : "");
    } else if (run->state == RUN_FROZEN) {
        struct str why = str_new(0);
        run_state_say(&why, run);
        health_found(f,
                     "Wake it, or end it with SIGKILL; `ferry train` with the same run "
                     "directory then goes on from the newest checkpoint.",
                     "%s", str_text(&why));
        str_release(&why);
    } else if (run->state == RUN_DIED && !stop) {
        health_found(f,
                     "`ferry train` with the same run directory goes on from the "
                     "newest checkpoint; dmesg tells whether memory ran out.",
                     "The log ends at step %s without a stop event.",
                     fmt_count(run->step).s);
    } else if (run->state == RUN_DIED) {
        health_found(f,
                     "Remove the cause that the sentence names; the same command then "
                     "goes on from the newest checkpoint.",
                     "It stopped at step %s with an error: %s", fmt_count(stop->step).s,
                     stop->message ? stop->message : "not logged");
    }
}

void health_run_lost(struct health_finding *f, const struct run *run)
{
    if (!(run->steps_lost > 0.1 * run->steps_taken))
        return;
    health_found(f,
                 run->log.foreign.origin
                     ? "Save more often (save_checkpoint_steps)."
                     : "Save more often (save_every): `ferry plan` computes the interval "
                       "that costs least.",
                 "%s of %s steps (%s) were taken again after %zu resumption%s.",
                 fmt_count(run->steps_lost).s, fmt_count(run->steps_taken).s,
                 fmt_percent(run->steps_lost / run->steps_taken).s,
                 run->log.all.n_starts - 1, run->log.all.n_starts == 2 ? "" : "s");
}

void health_pace_starved(struct health_finding *f, const struct run *run)
{
    double share = run->pace.t_data / run->pace.mean;

    for (size_t i = 0; i < run->by_rank.n; i++)
        share = fmax(share, run->by_rank.of[i].t_data / run->by_rank.of[i].t_step);
    if (!(share > 0.1))
        return;
    health_found(f,
                 "Move the data directory to a local disk, and leave a core free for "
                 "the thread that reads (threads one less).",
                 "A step waits %s of its time for the next batch.", fmt_percent(share).s);
}

void health_pace_evaluation(struct health_finding *f, const struct run *run)
{
    const double active = run->times.wall - run->times.idle;
    const double share = run->times.in_evals / active;

    if (run->log.all.n_evals < 3 || !(share > 0.25))
        return;
    health_found(f,
                 "Evaluate less often (eval_every), on fewer sentences, or with a "
                 "smaller beam.",
                 "%zu evaluations took %s, %s of the time that the run was working.",
                 run->log.all.n_evals, fmt_seconds(run->times.in_evals).s,
                 fmt_percent(share).s);
}

void health_pace_checkpoints(struct health_finding *f, const struct run *run)
{
    const double active = run->times.wall - run->times.idle;
    const double longest = run->log.all.longest_save, n = run->log.all.n_saves;

    if (n < 2 || !(longest > 5 * run->pace.mean) ||
        !(run->times.in_saves > 0.05 * active))
        return;
    health_found(f,
                 "Save less often (save_every), or let the run directory lie on a "
                 "faster disk: a save waits for the one before.",
                 "Training stood still for %s in %s saves, %s of its time; the longest "
                 "took %s.",
                 fmt_seconds(run->times.in_saves).s, fmt_count(n).s,
                 fmt_percent(run->times.in_saves / active).s, fmt_seconds(longest).s);
}

/* A process's memory over the second half of a session, where nothing new is allocated.
 */
struct growth {
    double from, to;
    const struct runlog_rank *of; /* NULL: the only process, or the first */
    bool is_found;
};

/* Both quarters must grow: a single larger batch raises the peak once. */
static void judge_growth(struct growth *g, const struct series *s,
                         const struct runlog_rank *of)
{
    const size_t half = s->n / 2, middle = half + (s->n - half) / 2;

    if (g->is_found || s->n < 12)
        return;
    const struct series_fit fit = series_fit(s->x + half, s->y + half, s->n - half);
    const double from = s->y[half], at = s->y[middle], to = s->y[s->n - 1];
    if (fit.slope - fit.t_95 * fit.se > 0 && to > 1.1 * from && to - from > 64 &&
        at > 1.03 * from && to > 1.03 * at)
        *g = (struct growth){from, to, of, true};
}

/* A rank of an entry, where it usually stands or anywhere; NULL when it is not there. */
static const struct runlog_rank *rank_of(const struct runlog *log,
                                         const struct runlog_ranks *lap, double rank)
{
    const struct runlog_rank *of = &log->rank[lap->first];

    if (rank >= 0 && rank < (double)lap->n && of[(size_t)rank].rank == rank)
        return &of[(size_t)rank];
    for (size_t k = 0; k < lap->n; k++)
        if (of[k].rank == rank)
            return &of[k];
    return NULL;
}

/* By what a rank held at every entry of the newest session; without a rank (NAN), by the
 * peaks that the first one logs. */
static status find_growth(struct growth *g, const struct runlog *log, double rank,
                          struct err *err)
{
    const struct runlog_start *start = runlog_latest(log);
    const struct runlog_rank *of = NULL;
    struct series s = {0};
    status result = OK;

    for (size_t i = 0; result == OK && isnan(rank) && i < log->n_step; i++)
        if (log->step[i].session == log->all.n_starts &&
            isfinite(log->step[i].memory_mib))
            result = series_add(&s, log->step[i].step, log->step[i].memory_mib, err);
    for (size_t i = 0; result == OK && i < log->n_lap; i++) {
        const struct runlog_rank *r = rank_of(log, &log->lap[i], rank);
        if (!r || !isfinite(r->memory_mib) || (start && log->lap[i].t < start->t))
            continue;
        of = r;
        result = series_add(&s, log->lap[i].step, r->memory_mib, err);
    }
    if (result == OK)
        judge_growth(g, &s, of);
    series_release(&s);
    return result;
}

void health_pace_memory(struct health_finding *f, const struct run *run)
{
    struct growth g = {.is_found = false};

    for (size_t i = 0; f->failed == OK && i < run->by_rank.n; i++)
        f->failed = find_growth(&g, &run->log, run->by_rank.of[i].rank, f->err);
    if (f->failed == OK)
        f->failed = find_growth(&g, &run->log, NAN, f->err);
    if (!g.is_found)
        return;
    health_found(f,
                 "Please report it with run.jsonl: a warmed-up step allocates "
                 "nothing. Until then a resume frees it.",
                 "Over the second half of the session %s%s%s%s grew from %s to %s MiB, "
                 "and steadily.",
                 g.of ? "rank " : "a process", g.of ? fmt_count(g.of->rank).s : "",
                 g.of && g.of->host ? " on " : "", g.of && g.of->host ? g.of->host : "",
                 fmt_count(g.from).s, fmt_count(g.to).s);
}
