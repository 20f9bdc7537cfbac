#include "launch/supervisor.h"

#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/supervisor_parts.h"

static const double t_mpirun = 2;     /* for mpirun to end by itself when asked */
static const double t_finalize = 10;  /* the same once every rank has finished */
static const double t_last_words = 1; /* for the console to take them */
static const double t_settled = 10;   /* a start that lasted longer was not hopeless */

enum outcome { FINISHED, LOST, HOPELESS };

volatile sig_atomic_t supervisor_n_signals;

static void on_signal(int number)
{
    (void)number;
    supervisor_n_signals++;
}

/* on_signal, or SIG_DFL */
static void answer_signals(void (*by)(int))
{
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
    /* restart: no line of a host is lost by a Ctrl-C; poll() ends all the same */
    const struct sigaction action = {.sa_handler = by, .sa_flags = SA_RESTART};

    supervisor_n_signals = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        sigaction(endings[i], &action, NULL);
}

void supervisor_note(const struct supervisor *s, const char *fmt, ...)
{
    char text[900];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    async_console_say(s->lines, "ferry launch: %s", text);
}

/* ---- while a start runs ---- */

static void pass_signals(struct supervisor *s, struct start *st)
{
    if (supervisor_n_signals && !s->was_stopped) {
        s->was_stopped = true;
        supervisor_note(
            s, "stopping: the ranks save and end; a second signal ends them at once");
        control_server_order(&st->server, CHANNEL_STOP);
    }
}

static void note_complete(struct supervisor *s, struct start *st)
{
    if (st->is_complete || st->server.liveness.n_joined < st->server.liveness.n_ranks)
        return;
    st->is_complete = true;
    const double now = clock_now();
    if (s->t_lost > 0)
        supervisor_note(
            s,
            "%zu ranks report %.1f s after the start, %.1f s after the loss was seen; "
            "it was at step %llu",
            st->server.liveness.n_ranks, now - st->t_begin, now - s->t_lost,
            (unsigned long long)s->step_lost);
    else
        supervisor_note(s, "%zu ranks report %.1f s after the start",
                        st->server.liveness.n_ranks, now - st->t_begin);
}

/* Says all verdicts of the moment; true when one of them is the end. */
static bool judge_ranks(struct supervisor *s, struct start *st)
{
    const struct liveness *w = &st->server.liveness;
    const bool stall_ends = s->job->config->stall_limit > 0;
    struct liveness_event e;
    bool is_lost = false;
    char text[256];

    while ((e = liveness_judge(&st->server.liveness, clock_now())).verdict !=
           LIVENESS_NOTHING) {
        liveness_say(w, e, text, sizeof text);
        supervisor_note(s, "%s", text);
        const bool ends = e.verdict == LIVENESS_DEAD || e.verdict == LIVENESS_MISSING ||
                          (e.verdict == LIVENESS_STALLED && stall_ends);
        if (ends && !is_lost)
            snprintf(s->reason, sizeof s->reason, "%s", text);
        is_lost |= ends;
    }
    return is_lost;
}

/* The rank whose connection broke first, without goodbye; -1 when there is none. */
static int first_to_go(const struct liveness *w)
{
    int first = -1;

    for (size_t i = 0; i < w->n_ranks; i++) {
        const struct liveness_rank *r = &w->rank[i];
        if (r->has_joined && !r->is_open && !r->is_done &&
            (first < 0 || r->t_closed < w->rank[first].t_closed))
            first = (int)i;
    }
    return first;
}

static void give_reason(struct supervisor *s, const struct start *st, int code)
{
    const struct liveness *w = &st->server.liveness;
    const int first = first_to_go(w);
    const bool is_ours = code >= ERR_USAGE && code <= ERR_LOST; /* not mpirun's own */

    snprintf(s->reason, sizeof s->reason, "%s ended with status %d%s%s",
             command_mpirun(s->job->config, s->mpi), code, is_ours ? ", " : "",
             is_ours ? status_text((status)code) : "");
    if (first >= 0) {
        const size_t n = strlen(s->reason);
        snprintf(s->reason + n, sizeof s->reason - n,
                 "; the first to go was rank %d on %s, %.1f s before, at step %llu",
                 first, w->rank[first].host, st->mpirun.t_end - w->rank[first].t_closed,
                 (unsigned long long)w->rank[first].last.step);
    }
}

/*
 * What a start that ended by itself says about the next. The ranks' own word counts for
 * more than mpirun's: MPI_Finalize may hang or fail when all results are saved.
 */
static enum outcome judge_end(struct supervisor *s, struct start *st)
{
    int code = subprocess_code(&st->mpirun);
    status told;

    if (code == 0)
        return FINISHED;
    control_server_turn(&st->server, 0);
    const bool is_agreed = liveness_agreed(&st->server.liveness, &told);
    if (is_agreed && told == OK) {
        supervisor_note(s, "every rank had finished before %s ended with status %d",
                        command_mpirun(s->job->config, s->mpi), code);
        return FINISHED;
    }
    if (is_agreed)
        code = (int)told;
    give_reason(s, st, code);
    /* Bad options, bad files and a diverged run stay what they are; so does whatever all
     * ranks agree on before any update was ever made: missing data, a full disk. Later
     * it may pass: a host that comes back has its disks a little after its ssh. */
    const bool is_lasting =
        is_agreed && !s->has_worked && !st->server.liveness.has_worked;
    s->code = code == ERR_USAGE || code == ERR_FORMAT || code == ERR_NUMERIC || is_lasting
                  ? (status)code
                  : ERR_COMM;
    if (s->code != ERR_COMM)
        return HOPELESS;
    return s->n_starts == 0 && !st->is_complete ? HOPELESS : LOST;
}

/* By itself, or because it has had its time since the last rank said goodbye. */
static bool has_ended(const struct supervisor *s, struct start *st)
{
    const double now = clock_now();

    if (subprocess_has_ended(&st->mpirun))
        return true;
    if (st->server.liveness.n_done < st->server.liveness.n_ranks)
        return false;
    if (st->t_done <= 0)
        st->t_done = now;
    if (now - st->t_done < t_finalize)
        return false;
    supervisor_note(s,
                    "all ranks have finished, but %s is still running; it is terminated",
                    command_mpirun(s->job->config, s->mpi));
    subprocess_end(&st->mpirun, t_mpirun);
    return true;
}

/* Until the start has ended or must be: heartbeats, verdicts, signals, mpirun's end. */
static enum outcome watch_start(struct supervisor *s, struct start *st)
{
    for (;;) {
        control_server_turn(&st->server, 0.1);
        pass_signals(s, st);
        note_complete(s, st);
        if (has_ended(s, st))
            return judge_end(s, st);
        if (st->server.refused) {
            snprintf(s->reason, sizeof s->reason,
                     "a rank counts %u ranks where %zu were started; %s is not of the "
                     "MPI library that the program was built with",
                     st->server.refused, st->server.liveness.n_ranks,
                     command_mpirun(s->job->config, s->mpi));
            s->code = ERR_USAGE;
            return HOPELESS;
        }
        if (judge_ranks(s, st))
            return LOST;
        if (supervisor_n_signals > 1) {
            snprintf(s->reason, sizeof s->reason, "ended by a second signal");
            s->code = ERR_COMM;
            return HOPELESS;
        }
    }
}

/* ---- one start after the other ---- */

/*
 * End everything everywhere: the ranks that hear us by order, those that mpirun's daemons
 * reach by them, the rest by itself, having heard nothing for the time of a silence. Only
 * then may successors touch the run directory.
 */
static void end_job(struct start *st)
{
    if (st->server.client) {
        control_server_order(&st->server, CHANNEL_LEAVE);
        control_server_turn(&st->server, 0);
    }
    subprocess_end(&st->mpirun, t_mpirun);
    while (st->server.client && liveness_gone_at(&st->server.liveness) > clock_now())
        control_server_turn(&st->server, 0.1);
}

static enum outcome run_start(struct supervisor *s, struct start *st, struct err *err)
{
    enum outcome outcome = HOPELESS;

    st->t_begin = clock_now();
    if (supervisor_start(s, st, err) == OK)
        outcome = watch_start(s, st);
    else
        s->code = OK; /* *err says it all */
    const double t_seen = clock_now();
    s->step_lost = st->server.client ? liveness_step(&st->server.liveness) : 0;
    s->has_worked |= st->server.client && st->server.liveness.has_worked;
    end_job(st);
    if (outcome == LOST) {
        s->t_lost = t_seen;
        /* A start that got further than all before it begins the count anew: faults that
         * are few enough for training to go on shall not add up over weeks. */
        s->n_vain = s->step_lost > s->step_best ? 1 : s->n_vain + 1;
        if (s->step_lost > s->step_best)
            s->step_best = s->step_lost;
        supervisor_note(s, "the job is lost: %s; ended everywhere within %.1f s",
                        s->reason, clock_now() - t_seen);
    }
    control_server_close(&st->server);
    memcpy(s->old_job, st->job, sizeof s->old_job);
    return outcome;
}

/* A start that was lost at once is followed by a pause, longer each time. */
static void pause_after(const struct supervisor *s, const struct start *st)
{
    const double t = fmin(pow(2, (double)s->n_vain - 1), 30);

    if (clock_now() - st->t_begin > t_settled)
        return;
    for (double left = t; left > 0 && !supervisor_n_signals; left -= 0.1)
        poll(NULL, 0, 100);
}

static status give_up(const struct supervisor *s, enum outcome outcome, struct err *err)
{
    if (outcome == HOPELESS && s->code == OK)
        return err->code;
    if (outcome == HOPELESS)
        return err_set(err, s->code, "%s; another start would not help", s->reason);
    return err_set(
        err, ERR_COMM,
        "the job was lost %lld times, %lld since it last got further; the last "
        "time because %s",
        (long long)s->n_starts, (long long)s->n_vain, s->reason);
}

static status run_all(struct supervisor *s, struct start *st, struct err *err)
{
    const struct launch_config *c = s->job->config;

    while (!supervisor_n_signals) {
        *st = (struct start){.server = {.listener = -1, .epoll = -1}};
        TRY(supervisor_gather(s, st, err));
        hosts_limit(&st->hosts, hosts_ranks(s->job->hosts));
        const enum outcome outcome = run_start(s, st, err);
        s->n_starts++;
        if (outcome == FINISHED) {
            supervisor_note(s, "finished%s after %lld start%s",
                            s->was_stopped ? " by a signal" : "", (long long)s->n_starts,
                            s->n_starts > 1 ? "s" : "");
            return OK;
        }
        if (outcome == HOPELESS || s->was_stopped || s->n_vain > c->restarts)
            return give_up(s, outcome, err);
        pause_after(s, st);
    }
    return err_set(err, ERR_COMM, "ended by a signal before the next start");
}

status supervisor_run(const struct supervisor_job *job, struct err *err)
{
    struct supervisor *s;
    struct start *st = NULL;

    TRY(mem_alloc(&s, 1, sizeof *s, err));
    status result = mem_alloc(&st, 1, sizeof *st, err);
    if (result == OK)
        result = async_console_open(&s->lines, fileno(job->console), err);
    if (result == OK) {
        s->job = job;
        answer_signals(on_signal);
        result = supervisor_prepare(s, err);
        if (result == OK)
            result = run_all(s, st, err);
        supervisor_forget(s, st);
        answer_signals(SIG_DFL);
    }
    async_console_close(s->lines, t_last_words);
    free(st);
    free(s);
    return result;
}
