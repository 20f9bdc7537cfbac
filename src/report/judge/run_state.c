/*
 * Of Ferry's own runs the last word of the log decides, then the process that holds the
 * run directory (report/read/holder.h). Where neither tells, as in a copied directory,
 * silence is judged by log_every and the time that steps take.
 */
#include <math.h>
#include <string.h>

#include "page/fmt.h"
#include "report/judge/run.h"

/* At least so long a silence is no death, where the log alone must tell. */
static const double t_patience = 600;
/* A process that lives is frozen when its training has stood still for so many times its
 * slowest entry of steps, and for so long. */
static const double hung_factor = 20, t_hung = 900;

const char *const run_state_codes[] = {"empty", "running", "stopped", "finished",
                                       "died",  "frozen",  "open"};
const char *const run_state_words[] = {"nothing logged yet", "running", "stopped",
                                       "finished",           "died",    "frozen",
                                       "end not told"};

/* ---- which ---- */

/* The files of another program may be copies of old ones: where their lines are dated,
 * those must be recent too, to a day for clocks of other time zones. */
static bool is_being_written(const struct run *run)
{
    enum { ZONES = 86400 };
    const struct runlog_foreign *f = &run->log.foreign;
    const double recent = fmax(60, 5 * run->log.t_gap);
    const double said = f->has_no_clock  ? 0
                        : f->has_no_zone ? fmax(0, run->now - run->log.t_last - ZONES)
                                         : run->now - run->log.t_last;
    const double written =
        f->has_no_clock || f->has_no_zone ? run->now - run->written : 0;

    return said < recent && written < recent;
}

/* Seconds a step of the newest entry, NAN without one. */
static double last_pace(const struct runlog *log)
{
    const struct runlog_step *s = log->n_step ? &log->step[log->n_step - 1] : NULL;

    return s ? s->t_step / s->steps : NAN;
}

/* How long the log is silent at most between two lines of a healthy run. */
static double usual_silence(const struct run *run)
{
    const double line = run_config(run, "log_every") * last_pace(&run->log);

    return fmax(run->log.t_gap, line); /* fmax ignores a NAN */
}

static double slowest_step(const struct runlog *log)
{
    double slowest = NAN;

    for (size_t i = 0; i < log->n_step; i++)
        slowest = fmax(slowest, runlog_slowest(&log->step[i]));
    return slowest;
}

/* Its heart beats, but training stands still in a step: evaluations, saves and starts may
 * take as long as they like. */
static bool is_hung(const struct run *run)
{
    static const char *const phases[] = {"data", "compute", "exchange", "update"};
    const struct holder *h = &run->holder;
    bool is_step = false;

    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        is_step |= strcmp(h->pulse.phase, phases[i]) == 0;
    return h->has_pulse && is_step && h->pulse.since > t_hung &&
           h->pulse.since > hung_factor * slowest_step(&run->log);
}

static enum run_state state_of_process(const struct run *run)
{
    switch (run->holder.kind) {
    case HOLDER_ALIVE:
        return is_hung(run) ? RUN_FROZEN : RUN_RUNNING;
    case HOLDER_FROZEN:
        return RUN_FROZEN;
    case HOLDER_GONE:
        return RUN_DIED;
    default:
        return run->now - run->log.t_last < fmax(t_patience, 5 * usual_silence(run))
                   ? RUN_RUNNING
                   : RUN_DIED;
    }
}

static enum run_state state_of_stop(const struct runlog_stop *stop)
{
    if (stop->reason && strcmp(stop->reason, "signal") == 0)
        return RUN_STOPPED;
    return stop->reason && strcmp(stop->reason, "error") == 0 ? RUN_DIED : RUN_FINISHED;
}

/* A process that has begun since the last entry, and has not logged its start yet. */
static bool is_starting(const struct run *run)
{
    const struct holder *h = &run->holder;
    const struct runlog_start *start = runlog_latest(&run->log);

    return h->has_pulse && h->kind != HOLDER_GONE &&
           !(start && start->t >= h->pulse.began);
}

enum run_state run_state_find(const struct run *run)
{
    const struct runlog *log = &run->log;
    const struct runlog_stop *stop = runlog_end(log);

    if (is_starting(run))
        return state_of_process(run);
    /* Scores alone are no training: `ferry eval` appends them to any model's log. */
    const bool has_begun = log->n_start || log->foreign.origin;
    if (log->n_step + log->n_eval + log->n_sample + (has_begun ? log->n_event : 0) == 0)
        return RUN_EMPTY;
    if (stop)
        return log->foreign.origin ? RUN_FINISHED : state_of_stop(stop);
    if (runlog_fatal(log))
        return RUN_DIED;
    if (log->foreign.origin)
        return is_being_written(run) ? RUN_RUNNING : RUN_OPEN;
    return state_of_process(run);
}

/* ---- in sentences ---- */

static const char *reason_text(const char *reason)
{
    static const char *const words[][2] = {
        {"max_steps", "all its steps are done"},
        {"max_epochs", "all its passes over the data are done"},
        {"signal", "it was asked to by a signal"},
        {"early_stop", "validation had stopped improving"},
        {"error", "an error ended it"},
        {"early_end", "it says that it finished, long before its last step"},
    };

    for (size_t i = 0; reason && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], reason) == 0)
            return words[i][1];
    return reason ? reason : "the reason is missing";
}

static void say_stop(struct str *out, const struct run *run)
{
    static const char *const verbs[] = {
        [RUN_STOPPED] = "Stopped", [RUN_FINISHED] = "Finished", [RUN_DIED] = "Died"};
    const struct runlog_stop *stop = runlog_end(&run->log);

    str_printf(out, "%s at step %s: %s.", verbs[run->state], fmt_count(stop->step).s,
               reason_text(stop->reason));
    if (stop->message && stop->message[0] && run->state == RUN_DIED)
        str_printf(out, " The log says: \u201c%s\u201d.", stop->message);
}

/* What a process does in a phase (dist/watch/phase.h). */
static const char *doing(const char *phase)
{
    static const char *const words[][2] = {
        {"start", "starting"},
        {"data", "waiting for data"},
        {"compute", "computing"},
        {"exchange", "exchanging gradients"},
        {"update", "updating"},
        {"evaluate", "evaluating"},
        {"save", "saving"},
        {"wait", "waiting for other ranks"},
        {PULSE_RESTART, "being started again by ferry launch"},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], phase) == 0)
            return words[i][1];
    return "ending";
}

/* The last step known: of the log, or of the pulse, which is a second old at most. */
static struct fmt last_step(const struct run *run)
{
    return fmt_count(fmax((double)run->holder.pulse.step, run->step));
}

static void say_running(struct str *out, const struct run *run)
{
    const struct runlog_foreign *f = &run->log.foreign;
    const double at = f->has_no_clock || f->has_no_zone ? run->written : run->log.t_last;
    const struct fmt age = fmt_seconds(fmax(0, run->now - at)); /* written meanwhile */
    const struct pulse *p = &run->holder.pulse;

    if (is_starting(run))
        str_puts(out, "Running: it is starting up.");
    else if (run->holder.has_pulse)
        str_printf(out,
                   "Running: %s after step %s; the last entry, at step %s, is %s old.",
                   doing(p->phase), last_step(run).s, fmt_count(run->step).s, age.s);
    else
        str_printf(out, "Running: the last entry, at step %s, is %s old.",
                   fmt_count(run->step).s, age.s);
}

static void say_frozen(struct str *out, const struct run *run)
{
    const struct holder *h = &run->holder;
    const struct pulse *p = &h->pulse;

    if (h->kind == HOLDER_FROZEN)
        str_printf(out,
                   "Frozen after step %s: no sign of life for %s, but process %ld on %s "
                   "still holds the run. It was suspended%s, or its host or disk hangs.",
                   last_step(run).s, fmt_seconds(h->age).s, p->pid, p->host,
                   run->ranks > 1 ? " with its peers"
                                  : fmt_printf(" (kill -CONT %ld wakes it)", p->pid).s);
    else
        str_printf(
            out,
            "Frozen after step %s: process %ld on %s is alive, but has been %s for "
            "%s; its slowest steps took %s.",
            last_step(run).s, p->pid, p->host, doing(p->phase), fmt_seconds(p->since).s,
            fmt_seconds(slowest_step(&run->log)).s);
}

/* Without a last word of its own. */
static void say_died(struct str *out, const struct run *run)
{
    const struct holder *h = &run->holder;

    if (run->log.foreign.origin && run->log.n_step)
        str_printf(out, "Ended at step %s by an error.", fmt_count(run->step).s);
    else if (run->log.foreign.origin)
        str_puts(out, "An error ended it before its first step.");
    else if (h->kind == HOLDER_GONE && h->has_pulse)
        str_printf(out,
                   "Died after step %s: its process is gone, without a stop event. The "
                   "last entry of the log is of step %s.",
                   last_step(run).s, fmt_count(run->step).s);
    else
        str_printf(out,
                   "The log ends at step %s without a stop event, %s before this page "
                   "was made: the run died, or was killed.",
                   fmt_count(run->step).s, fmt_seconds(run->now - run->log.t_last).s);
}

/* A log of another program that does not say how its run ended. */
static void say_open(struct str *out, const struct run *run)
{
    str_printf(out, "The last entry is of step %s", fmt_count(run->step).s);
    if (!run->log.foreign.has_no_clock)
        str_printf(out, ", %s", run_date(run, run->log.t_last).s);
    str_puts(out, run->log.foreign.has_no_end
                      ? "; such files do not say whether the run finished."
                      : "; the log does not say that the run finished.");
}

void run_state_say(struct str *out, const struct run *run)
{
    switch (run->state) {
    case RUN_EMPTY:
        str_puts(out, "The log is empty: nothing has been measured yet.");
        break;
    case RUN_RUNNING:
        say_running(out, run);
        break;
    case RUN_FROZEN:
        say_frozen(out, run);
        break;
    case RUN_OPEN:
        say_open(out, run);
        break;
    default:
        if (runlog_end(&run->log))
            say_stop(out, run);
        else
            say_died(out, run);
    }
}

/* ---- how to go on ---- */

/* As a shell reads it back. */
static void put_word(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=.,/:@%";

    if (word[strspn(word, plain)] == '\0') {
        str_puts(out, word);
        return;
    }
    str_putc(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            str_puts(out, "'\\''");
        else
            str_putc(out, *word);
    str_putc(out, '\'');
}

/* "a:2,b:2": ranks stand host by host. */
static void put_hosts(struct str *out, const struct rank_means *r)
{
    for (size_t i = 0, n; i < r->n; i += n) {
        for (n = 1; i + n < r->n && strcmp(r->of[i + n].host, r->of[i].host) == 0;)
            n++;
        str_printf(out, "%s%s:%zu", i ? "," : "", r->of[i].host, n);
    }
}

static bool has_hosts(const struct rank_means *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->of[i].host)
            return false;
    return r->n > 1;
}

void run_state_command(struct str *out, const struct run *run)
{
    const struct runlog_start *start = runlog_latest(&run->log);
    const bool goes_on = run->state == RUN_STOPPED || run->state == RUN_DIED;

    if (!goes_on || !run->sources.is_ferry || !run->sources.files[0])
        return;
    if (start && start->nodes > 1 && has_hosts(&run->by_rank)) {
        struct str hosts = str_new(0);
        put_hosts(&hosts, &run->by_rank);
        str_puts(out, "ferry launch -H ");
        put_word(out, str_text(&hosts));
        str_puts(out, " -- train run=");
        str_release(&hosts);
    } else if (run->ranks > 1) {
        str_printf(out, "ferry launch -n %.0f -- train run=", run->ranks);
    } else {
        str_puts(out, "ferry train run=");
    }
    put_word(out, run->sources.files);
}
