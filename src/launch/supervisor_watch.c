/* The supervisor while a start runs: heartbeats, verdicts, signals, mpirun's end. */
#include <string.h>

#include "base/clock.h"
#include "launch/supervisor_parts.h"

static const double t_mpirun = 2;    /* for mpirun to end by itself when asked */
static const double t_finalize = 10; /* the same once every rank has finished */

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

enum outcome supervisor_watch(struct supervisor *s, struct start *st)
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
