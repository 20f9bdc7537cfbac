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
static const double t_last_words = 1; /* for the console to take them */
static const double t_settled = 10;   /* a start that lasted longer was not hopeless */

volatile sig_atomic_t supervisor_n_signals;

static void on_signal(int number)
{
    (void)number;
    supervisor_n_signals++;
}

static void listen_to_signals(void)
{
    /* restart: no line of a host is lost by a Ctrl-C; poll() ends all the same */
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    supervisor_n_signals = 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

static void forget_signals(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
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

/* A start that got further than all before it begins the count anew: faults that are few
 * enough for training to go on shall not add up over weeks. */
static void count_loss(struct supervisor *s)
{
    s->n_vain = s->step_lost > s->step_best ? 1 : s->n_vain + 1;
    if (s->step_lost > s->step_best)
        s->step_best = s->step_lost;
}

static enum outcome run_start(struct supervisor *s, struct start *st, struct err *err)
{
    enum outcome outcome = HOPELESS;

    st->t_begin = clock_now();
    if (supervisor_start(s, st, err) == OK)
        outcome = supervisor_watch(s, st);
    else
        s->code = OK; /* *err says it all */
    const double t_seen = clock_now();
    s->step_lost = st->server.client ? liveness_step(&st->server.liveness) : 0;
    s->has_worked |= st->server.client && st->server.liveness.has_worked;
    end_job(st);
    if (outcome == LOST) {
        s->t_lost = t_seen;
        count_loss(s);
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
        listen_to_signals();
        result = supervisor_prepare(s, err);
        if (result == OK)
            result = run_all(s, st, err);
        supervisor_forget(s, st);
        forget_signals();
    }
    async_console_close(s->lines, t_last_words);
    free(st);
    free(s);
    return result;
}
