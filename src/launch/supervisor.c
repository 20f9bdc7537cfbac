#include "launch/supervisor.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"
#include "dist/watch/async_console.h"
#include "dist/watch/control.h"
#include "dist/watch/control_server.h"
#include "format/sha256.h"
#include "launch/command.h"
#include "launch/fold.h"
#include "launch/host_check.h"
#include "launch/relay.h"
#include "launch/retry.h"
#include "launch/revival.h"
#include "launch/subprocess.h"

/* Time for a host to answer: all have to before the first start, a restart waits for
 * none. */
static const double t_check_first = 30, t_check = 8;
static const double t_forget = 2;
static const double skew_limit = 2;   /* seconds between clocks that are worth a note */
static const double t_mpirun = 2;     /* for mpirun to end by itself when asked */
static const double t_finalize = 10;  /* the same once every rank has finished */
static const double t_last_words = 1; /* for the console to take them */

enum { JOB_BYTES = CONTROL_JOB / 2, JOB_TEXT = CONTROL_JOB + 1 };

/* One start of the job. */
struct start {
    struct hosts hosts; /* those that answered */
    char job[JOB_TEXT], token[SHA256_HEX + 1];
    uint8_t key[CHANNEL_TOKEN];
    struct control_server server;
    struct subprocess mpirun;
    struct relay *relay; /* of mpirun's output */
    double t_begin;
    double t_done;            /* when the last rank said goodbye; 0: not yet */
    bool is_complete;         /* every rank has reported */
    bool has_ended;           /* by itself, and not well */
    bool has_first;           /* the reason names the first rank to go */
    enum retry_answer answer; /* to its loss */
};

struct supervisor {
    const struct supervisor_job *job;
    struct async_console *lines; /* so that a blocked console does not stop us */
    enum command_mpi mpi;
    char program[PATH_MAX], directory[PATH_MAX], hash[SHA256_HEX];
    int64_t n_starts;
    struct retry retry;
    struct revival revival;
    double t_lost; /* when the loss of the start before was seen; 0: there is none */
    uint64_t step_lost;
    char reason[1536];        /* why the last start ended */
    char said[FOLD_SAID];     /* the first error that one of its ranks printed */
    struct left_out left_out; /* hosts */
    status code;              /* of a hopeless end */
    bool was_stopped;
    char old_job[JOB_TEXT];     /* of the start before */
    uint8_t name[SHA256_BYTES]; /* of the start: JOB_BYTES of it */
};

enum outcome { FINISHED, LOST, HOPELESS };

static volatile sig_atomic_t n_signals; /* since the job began */

static void on_signal(int number)
{
    (void)number;
    n_signals++;
}

/* on_signal, or SIG_DFL */
static void answer_signals(void (*by)(int))
{
    static const int endings[] = {SIGINT, SIGTERM, SIGHUP};
    /* restart: no line of a host is lost by a Ctrl-C; poll() ends all the same */
    const struct sigaction action = {.sa_handler = by, .sa_flags = SA_RESTART};

    n_signals = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        sigaction(endings[i], &action, NULL);
}

static PRINTF(2, 3) void note(const struct supervisor *s, const char *fmt, ...)
{
    char text[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    async_console_say(s->lines, "ferry launch: %s", text);
}

/* ---- before a start: what is the same for all of them, the hosts, mpirun ---- */

static status find_program(struct supervisor *s, struct err *err)
{
    const char *wanted = s->job->config->program;

    if (!realpath(wanted[0] ? wanted : "/proc/self/exe", s->program))
        return err_set(err, ERR_IO, "program %s: %s", wanted[0] ? wanted : "ferry",
                       strerror(errno));
    if (s->job->config->directory[0])
        snprintf(s->directory, sizeof s->directory, "%s", s->job->config->directory);
    else if (!getcwd(s->directory, sizeof s->directory))
        return err_set(err, ERR_IO, "the current directory: %s", strerror(errno));
    return OK;
}

/* Whose mpirun is it? Asked only when the user did not say. */
static status find_mpi(struct supervisor *s, struct err *err)
{
    const struct launch_config *c = s->job->config;
    struct subprocess child;
    struct argv w = {0};

    s->mpi = strcmp(c->mpi, "mpich") == 0 ? COMMAND_MPICH : COMMAND_OPENMPI;
    if (strcmp(c->mpi, "auto") != 0)
        return OK;
    argv_add(&w, command_mpirun(c, s->mpi));
    argv_add(&w, "--version");
    const status result = subprocess_ask(&child, &w, "", err);
    argv_release(&w);
    if (result != OK)
        return err_wrap(err, "an MPI library is needed (Debian: openmpi-bin)");
    subprocess_gather(&child, 1, t_check_first);
    if (strstr(child.text, "Open MPI"))
        s->mpi = COMMAND_OPENMPI;
    else if (strstr(child.text, "HYDRA"))
        s->mpi = COMMAND_MPICH;
    else
        return err_set(err, ERR_USAGE,
                       "%s is neither of Open MPI nor of MPICH; say mpi=openmpi or "
                       "mpi=mpich",
                       command_mpirun(c, s->mpi));
    return OK;
}

static struct command_plan plan_of(const struct supervisor *s, const struct hosts *hosts,
                                   const char *job)
{
    return (struct command_plan){.config = s->job->config,
                                 .hosts = hosts,
                                 .mpi = s->mpi,
                                 .program = s->program,
                                 .directory = s->directory,
                                 .job = job,
                                 .is_root = geteuid() == 0,
                                 .args = s->job->args};
}

/* The name's first half stays the same, so that a rank knows its predecessors. */
static status make_token(struct supervisor *s, struct start *st, struct err *err)
{
    const size_t n_same = s->n_starts ? CONTROL_LAUNCHER / 2 : 0;
    char hex[SHA256_HEX];

    if (!channel_random(s->name + n_same, JOB_BYTES - n_same) ||
        !channel_random(st->key, sizeof st->key))
        return err_set(err, ERR_IO, "the system gave no random bytes");
    sha256_hex(hex, s->name);
    snprintf(st->job, sizeof st->job, "%.*s", JOB_TEXT - 1, hex);
    sha256_hex(hex, st->key);
    snprintf(st->token, sizeof st->token, "%s\n", hex);
    return OK;
}

/* The hosts that answered as they should, in the user's order. At the first start all
 * have to; later the others are left out. */
static status choose_hosts(struct supervisor *s, struct start *st,
                           const struct host_check *p, struct err *err)
{
    const struct hosts *all = s->job->hosts;
    status code;

    st->hosts.n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct host *h = &all->host[i];
        if (retry_is_left_out(&s->left_out, h->name, clock_now(), &code)) {
            note(s, "host %s is still left out (%s)", h->name, status_text(code));
            continue;
        }
        if (p[i].is_good && fabs(p[i].skew) > skew_limit)
            note(s,
                 "host %s: its clock is %.1f s %s ours, and so are the times in its log",
                 h->name, fabs(p[i].skew), p[i].skew > 0 ? "ahead of" : "behind");
        if (p[i].is_good) {
            st->hosts.host[st->hosts.n] = *h;
            st->hosts.host[st->hosts.n++].n_cores = p[i].n_cores;
        } else if (s->n_starts == 0) {
            return err_set(err, ERR_COMM, "host %s %s", h->name, p[i].reason);
        } else {
            note(s, "host %s %s; it is left out", h->name, p[i].reason);
        }
    }
    return OK;
}

static status ask_hosts(struct supervisor *s, struct start *st, struct err *err)
{
    struct command_plan plan = plan_of(s, s->job->hosts, st->job);
    struct host_check *p;

    plan.old_job = s->old_job[0] ? s->old_job : NULL;
    TRY(mem_alloc(&p, s->job->hosts->n, sizeof *p, err));
    const double t_limit = s->n_starts == 0 ? t_check_first : t_check;
    status result = host_check_run(p, &plan, s->hash, st->token, t_limit, err);
    THEN(result, choose_hosts(s, st, p, err));
    free(p);
    return result;
}

/* Until enough of them answer. */
static status gather(struct supervisor *s, struct start *st, struct err *err)
{
    const struct launch_config *c = s->job->config;
    const double t_end = clock_now() + c->wait;

    TRY(make_token(s, st, err));
    for (;;) {
        TRY(ask_hosts(s, st, err));
        if (hosts_ranks(&st->hosts) >= (size_t)c->min_ranks)
            return OK;
        if (n_signals || clock_now() > t_end)
            return err_set(err, ERR_COMM,
                           "%zu ranks have a host that answers, %lld are needed; gave up "
                           "after %.0f s",
                           hosts_ranks(&st->hosts), (long long)c->min_ranks, c->wait);
        s->left_out.n = 0; /* rather with them than not at all */
        revival_beat(&s->revival, s->step_lost);
        poll(NULL, 0, 2000);
    }
}

static status find_address(const struct supervisor *s, const struct hosts *h, char *out,
                           size_t n, struct err *err)
{
    const char *given = s->job->config->address;

    snprintf(out, n, "%s", given[0] ? given : "127.0.0.1");
    if (given[0])
        return OK;
    for (size_t i = 0; i < h->n; i++)
        if (!hosts_is_local(h->host[i].name))
            return hosts_route(out, n, h->host[i].name, err);
    return OK;
}

static status listen_for_ranks(const struct supervisor *s, struct start *st,
                               struct err *err)
{
    const struct launch_config *c = s->job->config;
    struct liveness_limits limits = liveness_limits_default;
    char address[OPT_TEXT_MAX], control[OPT_TEXT_MAX + 16];

    limits.t_start = c->start_limit;
    if (c->stall_limit > 0)
        limits.t_stall = c->stall_limit;
    limits =
        liveness_limits_for(limits, hosts_ranks(&st->hosts), hosts_per_core(&st->hosts));
    TRY(find_address(s, &st->hosts, address, sizeof address, err));
    const bool is_numeric = !address[strspn(address, "0123456789.")];
    TRY(control_server_open(&st->server, is_numeric ? address : "", (uint16_t)c->port,
                            hosts_ranks(&st->hosts), st->key, limits, err));
    snprintf(control, sizeof control, "%s:%u", address, st->server.port);
    if (setenv("FERRY_CONTROL", control, 1) != 0 || setenv("FERRY_JOB", st->job, 1) != 0)
        return err_set(err, ERR_MEMORY, "the environment is full");
    return OK;
}

static status start_ranks(struct supervisor *s, struct start *st, struct err *err)
{
    const struct command_plan plan = plan_of(s, &st->hosts, st->job);
    struct str list = str_new(0);
    struct argv w = {0};

    TRY(listen_for_ranks(s, st, err));
    hosts_put(&st->hosts, &list);
    const size_t n = hosts_ranks(&st->hosts), n_all = hosts_ranks(s->job->hosts);
    char of[64] = "";
    if (n < n_all)
        snprintf(of, sizeof of, ", of %zu that were listed", n_all);
    note(s, "start %lld: %zu ranks on %s%s", (long long)s->n_starts + 1, n,
         str_text(&list), of);
    str_release(&list);
    command_start(&w, &plan);
    const struct relay_paths paths = {command_mpirun(s->job->config, s->mpi),
                                      s->job->config->directory, s->job->args};
    status result = relay_open(&st->relay, &paths, fileno(s->job->console), err);
    THEN(result, subprocess_start(&st->mpirun, &w, relay_out(st->relay),
                                  relay_errors(st->relay), err));
    if (result == OK)
        result = relay_start(st->relay, err);
    argv_release(&w);
    return result;
}

static void forget_token(const struct supervisor *s, const struct start *st)
{
    const struct command_plan plan = plan_of(s, &st->hosts, st->job);

    if (st->job[0])
        host_check_forget(&plan, t_forget);
}

static status prepare(struct supervisor *s, struct err *err)
{
    uint8_t hash[SHA256_BYTES];

    TRY(find_program(s, err));
    TRY(sha256_file(hash, s->program, err));
    sha256_hex(s->hash, hash);
    TRY(find_mpi(s, err));
    if (geteuid() == 0 && s->mpi == COMMAND_OPENMPI)
        note(s, "running as root, which mpirun refuses unless told so: it is told; a "
                "user of its own would be safer (docs/launch.md)");
    return OK;
}

/* ---- while a start runs ---- */

static void note_complete(struct supervisor *s, struct start *st)
{
    if (st->is_complete || st->server.liveness.n_joined < st->server.liveness.n_ranks)
        return;
    st->is_complete = true;
    const double now = clock_now();
    if (s->t_lost > 0)
        note(s,
             "%zu ranks report %.1f s after the start, %.1f s after the loss was seen; "
             "it was at step %llu",
             st->server.liveness.n_ranks, now - st->t_begin, now - s->t_lost,
             (unsigned long long)s->step_lost);
    else
        note(s, "%zu ranks report %.1f s after the start", st->server.liveness.n_ranks,
             now - st->t_begin);
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
        note(s, "%s", text);
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

static void give_reason(struct supervisor *s, struct start *st, int code)
{
    const struct liveness *w = &st->server.liveness;
    const int first = first_to_go(w);
    const bool is_ours = code >= ERR_USAGE && code <= ERR_LOST; /* not mpirun's own */

    snprintf(s->reason, sizeof s->reason, "%s ended with status %d%s%s",
             command_mpirun(s->job->config, s->mpi), code, is_ours ? ", " : "",
             is_ours ? status_text((status)code) : "");
    st->has_first = first >= 0;
    if (first >= 0) {
        const size_t n = strlen(s->reason);
        snprintf(s->reason + n, sizeof s->reason - n,
                 "; the first to go was rank %d on %s, %.1f s before, at step %llu",
                 first, w->rank[first].host, st->mpirun.t_end - w->rank[first].t_closed,
                 (unsigned long long)w->rank[first].last.step);
    }
}

/* The ranks' own word counts for more than mpirun's: MPI_Finalize may hang or fail when
 * all results are saved. */
static enum outcome judge_end(struct supervisor *s, struct start *st)
{
    const int code = subprocess_code(&st->mpirun);
    status told;

    if (code == 0)
        return FINISHED;
    control_server_turn(&st->server, 0);
    if (liveness_agreed(&st->server.liveness, &told) && told == OK) {
        note(s, "every rank had finished before %s ended with status %d",
             command_mpirun(s->job->config, s->mpi), code);
        return FINISHED;
    }
    give_reason(s, st, code);
    st->has_ended = true;
    return LOST;
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
    /* many ranks on few cores take longer to part */
    const struct liveness_limits *l = &st->server.liveness.limits;
    if (now - st->t_done < t_finalize + l->t_start - s->job->config->start_limit)
        return false;
    note(s, "all ranks have finished, but %s is still running; it is terminated",
         command_mpirun(s->job->config, s->mpi));
    subprocess_end(&st->mpirun, t_mpirun);
    return true;
}

/* Until the start has ended or must be: heartbeats, verdicts, signals, mpirun's end. */
static enum outcome watch_start(struct supervisor *s, struct start *st)
{
    for (;;) {
        control_server_turn(&st->server, 0.1);
        if (n_signals && !s->was_stopped) {
            s->was_stopped = true;
            note(s,
                 "stopping: the ranks save and end; a second signal ends them at once");
            control_server_order(&st->server, CHANNEL_STOP);
        }
        if (control_server_is_full(&st->server))
            note(s, "%s", control_server_full_text);
        note_complete(s, st);
        if (s->n_starts && !st->is_complete)
            revival_beat(&s->revival, s->step_lost);
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
        if (n_signals > 1) {
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

/* What the ranks said of their end; mpirun's status where it ended before they could. */
static struct retry_loss loss_of(const struct supervisor *s, const struct start *st)
{
    const struct liveness *w = &st->server.liveness;
    const struct liveness_rank *failed = liveness_failed(w);
    const int code = st->has_ended ? subprocess_code(&st->mpirun) : ERR_COMM;
    struct retry_loss l = {.code = ERR_COMM,
                           .host = "",
                           .has_begun = st->is_complete,
                           .has_worked = w->has_worked,
                           .step = s->step_lost,
                           .t_lasted = s->t_lost - st->t_begin};
    status told;

    l.is_agreed = liveness_agreed(w, &told);
    if (failed)
        l.code = failed->last.result;
    else if (code >= ERR_USAGE && code < ERR_COMM)
        l.code = (status)code;
    if (failed && failed->last.fault && failed->last.fault <= w->n_ranks) {
        const struct host *h = hosts_of_rank(&st->hosts, failed->last.fault - 1);
        l.host = h->name;
        l.may_leave_out =
            hosts_ranks(&st->hosts) - h->n_ranks >= (size_t)s->job->config->min_ranks;
    }
    return l;
}

/* The sentence of a rank says more than that mpirun has ended; who was the first to go
 * stays. */
static void add_said(struct supervisor *s, const struct start *st)
{
    const size_t n = st->has_ended && !st->has_first ? 0 : strlen(s->reason);

    if (s->said[0])
        snprintf(s->reason + n, sizeof s->reason - n, "%s%s", n ? "; a rank said: " : "",
                 s->said);
}

static enum retry_answer judge_loss(struct supervisor *s, const struct start *st,
                                    double t_ended)
{
    const struct retry_loss l = loss_of(s, st);
    const enum retry_answer answer = retry_judge(&s->retry, &l);

    add_said(s, st);
    s->code = answer == RETRY_NEVER ? l.code : ERR_COMM;
    if (answer == RETRY_WITHOUT)
        retry_leave_out(&s->left_out, l.host, l.code, clock_now());
    if (answer == RETRY_NEVER)
        return answer;
    note(s, "the job is lost: %s; ended everywhere within %.1f s", s->reason, t_ended);
    if (answer == RETRY_WITHOUT)
        note(s, "host %s alone failed (%s); the next start is without it", l.host,
             status_text(l.code));
    return answer;
}

static enum outcome run_start(struct supervisor *s, struct start *st, struct err *err)
{
    enum outcome outcome = HOPELESS;

    st->t_begin = clock_now();
    if (start_ranks(s, st, err) == OK)
        outcome = watch_start(s, st);
    else
        s->code = OK; /* *err says it all */
    const double t_seen = clock_now();
    s->step_lost = st->server.client ? liveness_step(&st->server.liveness) : 0;
    end_job(st);
    relay_close(st->relay, outcome == LOST ? t_last_words : t_finalize, s->said,
                sizeof s->said);
    if (outcome == LOST) {
        s->t_lost = t_seen;
        st->answer = judge_loss(s, st, clock_now() - t_seen);
    }
    control_server_close(&st->server);
    memcpy(s->old_job, st->job, sizeof s->old_job);
    return outcome;
}

static void pause_after(struct supervisor *s, const struct start *st)
{
    const double t = retry_pause(&s->retry, st->answer, s->t_lost - st->t_begin);

    if (t >= 5)
        note(s, "the next start follows in %.0f s", t);
    for (double left = t; left > 0 && !n_signals; left -= 0.1) {
        revival_beat(&s->revival, s->step_lost);
        poll(NULL, 0, 100);
    }
}

static status give_up(const struct supervisor *s, enum outcome outcome,
                      enum retry_answer answer, struct err *err)
{
    if (outcome == HOPELESS && s->code == OK)
        return err->code;
    if (outcome == HOPELESS || answer == RETRY_NEVER)
        return err_set(err, s->code, "%s; another start would not help", s->reason);
    return err_set(err, ERR_COMM,
                   "the job was lost %lld times, %lld since it last got further; the "
                   "last time because %s",
                   (long long)s->n_starts, (long long)s->retry.n_vain, s->reason);
}

static status run_all(struct supervisor *s, struct start *st, struct err *err)
{
    while (!n_signals) {
        *st = (struct start){.server = {.listener = -1, .epoll = -1}};
        TRY(gather(s, st, err));
        hosts_limit(&st->hosts, hosts_ranks(s->job->hosts));
        const enum outcome outcome = run_start(s, st, err);
        s->n_starts++;
        if (outcome == FINISHED) {
            note(s, "finished%s after %lld start%s", s->was_stopped ? " by a signal" : "",
                 (long long)s->n_starts, s->n_starts > 1 ? "s" : "");
            return OK;
        }
        if (outcome == HOPELESS || s->was_stopped || st->answer == RETRY_NEVER ||
            st->answer == RETRY_ENOUGH)
            return give_up(s, outcome, st->answer, err);
        revival_beat(&s->revival, s->step_lost);
        pause_after(s, st);
    }
    return err_set(err, ERR_COMM, "ended by a signal before the next start");
}

status supervisor_run(const struct supervisor_job *job, struct err *err)
{
    struct supervisor s = {.job = job, .retry = {.n_most = job->config->restarts}};
    struct start st = {0};
    const struct relay_paths paths = {"", job->config->directory, job->args};
    char run[PATH_MAX];

    TRY(async_console_open(&s.lines, fileno(job->console), err));
    os_raise_files();
    answer_signals(on_signal);
    relay_find_run(run, sizeof run, &paths);
    revival_open(&s.revival, run);
    status result = prepare(&s, err);
    THEN(result, run_all(&s, &st, err));
    revival_end(&s.revival);
    forget_token(&s, &st);
    answer_signals(SIG_DFL);
    async_console_close(s.lines, t_last_words);
    return result;
}

/* Prints a command that was made, and releases it. */
static status show(FILE *out, const char *before, struct argv *a, struct err *err)
{
    struct str s = str_new(0);

    argv_put(&s, a);
    fprintf(out, "%s%s\n", before, str_text(&s));
    str_release(&s);
    const status result = argv_check(a, err);
    argv_release(a);
    return result;
}

status supervisor_show(const struct supervisor_job *job, FILE *out, struct err *err)
{
    struct supervisor s = {.job = job};
    struct argv a = {0};

    TRY(find_program(&s, err));
    TRY(find_mpi(&s, err));
    const struct command_plan plan = plan_of(&s, job->hosts, "JOB");
    fputs("# on every host, the token on its input:\n", out);
    for (size_t i = 0; i < job->hosts->n; i++) {
        command_check(&a, &plan, job->hosts->host[i].name);
        TRY(show(out, "", &a, err));
    }
    command_start(&a, &plan);
    if (job->config->bind && !job->config->cores)
        fputs("# bound to cores once the hosts have said how many they have:\n", out);
    return show(out, "FERRY_CONTROL=ADDRESS:PORT FERRY_JOB=JOB ", &a, err);
}
