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
#include "dist/watch/async_console.h"
#include "dist/watch/control.h"
#include "dist/watch/control_server.h"
#include "format/sha256.h"
#include "launch/child.h"
#include "launch/command.h"
#include "launch/probe.h"
#include "launch/route.h"

/* For a host to answer: all have to before the first start, a restart waits for nobody.
 */
static const double t_probe_first = 30, t_probe = 8;
static const double t_mpirun = 2;     /* for mpirun to end by itself when asked */
static const double t_finalize = 10;  /* and once every rank has said goodbye */
static const double t_last_words = 1; /* for the console to take them */
static const double t_settled = 10;   /* a start that lasted longer was not hopeless */
static const double skew_limit = 2;   /* seconds between clocks that are worth a word */

enum { JOB_BYTES = CONTROL_JOB / 2, JOB_TEXT = CONTROL_JOB + 1 };

enum outcome { FINISHED, LOST, HOPELESS };

/* One start of the job. */
struct start {
    struct hosts hosts; /* those that answered */
    char job[JOB_TEXT], token[SHA256_HEX + 1];
    uint8_t key[CHANNEL_TOKEN];
    struct control_server server;
    struct child mpirun;
    double t_begin;
    double t_done;    /* when the last rank said goodbye; 0: not yet */
    bool is_complete; /* every rank has reported */
};

struct supervisor {
    const struct supervisor_job *job;
    struct async_console *lines; /* so that a blocked console does not stop us */
    enum command_mpi mpi;
    char program[PATH_MAX], directory[PATH_MAX], hash[SHA256_HEX];
    int64_t n_starts;
    int64_t n_vain;     /* losses since a start got further than all before it */
    uint64_t step_best; /* how far that was */
    double t_lost;      /* when the loss of the start before was seen; 0: there is none */
    uint64_t step_lost;
    char reason[512];             /* why the last start ended */
    status code;                  /* of a hopeless end */
    bool was_stopped, has_worked; /* has_worked: on an update, in any start */
    char old_job[JOB_TEXT];       /* of the start before */
    uint8_t name[SHA256_BYTES];   /* of the start: JOB_BYTES of it */
};

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
    (void)number;
    n_signals++;
}

static void listen_to_signals(void)
{
    /* restart: no line of a host is lost by a Ctrl-C; poll() ends all the same */
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    n_signals = 0;
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

PRINTF(2, 3) static void note(const struct supervisor *s, const char *fmt, ...)
{
    char text[900];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    async_console_say(s->lines, "ferry launch: %s", text);
}

/* ---- what never changes ---- */

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

static status hash_program(struct supervisor *s, struct err *err)
{
    uint8_t hash[SHA256_BYTES];

    TRY(sha256_file(hash, s->program, err));
    sha256_hex(s->hash, hash);
    return OK;
}

/* Whose mpirun is it? Asked only when the user did not say. */
static status find_mpi(struct supervisor *s, struct err *err)
{
    const struct launch_config *c = s->job->config;
    struct child child;
    struct words w = {0};

    s->mpi = strcmp(c->mpi, "mpich") == 0 ? COMMAND_MPICH : COMMAND_OPENMPI;
    if (strcmp(c->mpi, "auto") != 0)
        return OK;
    words_add(&w, command_mpirun(c, s->mpi));
    words_add(&w, "--version");
    const status result = child_ask(&child, &w, "", err);
    words_release(&w);
    if (result != OK)
        return err_wrap(err, "an MPI library is needed (Debian: openmpi-bin)");
    child_gather(&child, 1, t_probe_first);
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

/* ---- before a start ---- */

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

static void note_skew(const struct supervisor *s, const struct host *h,
                      const struct probe *p)
{
    if (fabs(p->skew) > skew_limit)
        note(s, "host %s: its clock is %.1f s %s ours; its log will be, too", h->name,
             fabs(p->skew), p->skew > 0 ? "ahead of" : "behind");
}

/* The hosts that answered as they should, in the user's order. At the first start all
 * have to; later the others are left out. */
static status choose_hosts(struct supervisor *s, struct start *st, const struct probe *p,
                           struct err *err)
{
    const struct hosts *all = s->job->hosts;

    st->hosts.n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct host *h = &all->host[i];
        if (p[i].is_good) {
            note_skew(s, h, &p[i]);
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
    struct probe *p;

    plan.old_job = s->old_job[0] ? s->old_job : NULL;
    TRY(mem_alloc(&p, s->job->hosts->n, sizeof *p, err));
    const double t_limit = s->n_starts == 0 ? t_probe_first : t_probe;
    status result = probe_hosts(p, &plan, s->hash, st->token, t_limit, err);
    if (result == OK)
        result = choose_hosts(s, st, p, err);
    free(p);
    return result;
}

/* Until enough of them answer. */
static status gather_hosts(struct supervisor *s, struct start *st, struct err *err)
{
    const struct launch_config *c = s->job->config;
    const double t_end = clock_now() + c->wait;

    for (;;) {
        TRY(ask_hosts(s, st, err));
        if (hosts_ranks(&st->hosts) >= (size_t)c->min_ranks)
            return OK;
        if (n_signals || clock_now() > t_end)
            return err_set(err, ERR_COMM,
                           "%zu ranks have a host that answers, %lld are needed; gave up "
                           "after %.0f s",
                           hosts_ranks(&st->hosts), (long long)c->min_ranks, c->wait);
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
            return route_to(out, n, h->host[i].name, err);
    return OK;
}

static bool is_numeric(const char *address)
{
    return address[strspn(address, "0123456789.")] == '\0';
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
    TRY(find_address(s, &st->hosts, address, sizeof address, err));
    TRY(control_server_open(&st->server, is_numeric(address) ? address : "",
                            (uint16_t)c->port, hosts_ranks(&st->hosts), st->key, limits,
                            err));
    snprintf(control, sizeof control, "%s:%u", address, st->server.port);
    if (setenv("FERRY_CONTROL", control, 1) != 0 || setenv("FERRY_JOB", st->job, 1) != 0)
        return err_set(err, ERR_MEMORY, "the environment is full");
    return OK;
}

static status start_ranks(struct supervisor *s, struct start *st, struct err *err)
{
    const struct command_plan plan = plan_of(s, &st->hosts, st->job);
    struct str list = str_new(0);
    struct words w = {0};

    TRY(listen_for_ranks(s, st, err));
    hosts_put(&st->hosts, &list);
    note(s, "start %lld: %zu ranks on %s", (long long)s->n_starts + 1,
         hosts_ranks(&st->hosts), str_text(&list));
    str_release(&list);
    command_start(&w, &plan);
    const status result = child_start(&st->mpirun, &w, err);
    words_release(&w);
    return result;
}

/* ---- while it runs ---- */

static void pass_signals(struct supervisor *s, struct start *st)
{
    if (n_signals && !s->was_stopped) {
        s->was_stopped = true;
        note(s, "stopping: the ranks save and end; a second signal ends them at once");
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
    int code = child_code(&st->mpirun);
    status told;

    if (code == 0)
        return FINISHED;
    control_server_turn(&st->server, 0);
    const bool is_agreed = liveness_agreed(&st->server.liveness, &told);
    if (is_agreed && told == OK) {
        note(s, "every rank had finished before %s ended with status %d",
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

    if (child_has_ended(&st->mpirun))
        return true;
    if (st->server.liveness.n_done < st->server.liveness.n_ranks)
        return false;
    if (st->t_done <= 0)
        st->t_done = now;
    if (now - st->t_done < t_finalize)
        return false;
    note(s, "every rank has said goodbye, but %s does not end; it is ended",
         command_mpirun(s->job->config, s->mpi));
    child_end(&st->mpirun, t_mpirun);
    return true;
}

static enum outcome watch_job(struct supervisor *s, struct start *st)
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
        if (n_signals > 1) {
            snprintf(s->reason, sizeof s->reason, "ended by a second signal");
            s->code = ERR_COMM;
            return HOPELESS;
        }
    }
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
    child_end(&st->mpirun, t_mpirun);
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
    if (start_ranks(s, st, err) == OK)
        outcome = watch_job(s, st);
    else
        s->code = OK; /* *err says it all */
    const double t_seen = clock_now();
    s->step_lost = st->server.client ? liveness_step(&st->server.liveness) : 0;
    s->has_worked |= st->server.client && st->server.liveness.has_worked;
    end_job(st);
    if (outcome == LOST) {
        s->t_lost = t_seen;
        count_loss(s);
        note(s, "the job is lost: %s; ended everywhere within %.1f s", s->reason,
             clock_now() - t_seen);
    }
    control_server_close(&st->server);
    memcpy(s->old_job, st->job, sizeof s->old_job);
    return outcome;
}

/* ---- all starts ---- */

/* A start that was lost at once is followed by a pause, longer each time. */
static void pause_after(const struct supervisor *s, const struct start *st)
{
    const double t = fmin(pow(2, (double)s->n_vain - 1), 30);

    if (clock_now() - st->t_begin > t_settled)
        return;
    for (double left = t; left > 0 && !n_signals; left -= 0.1)
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

    while (!n_signals) {
        *st = (struct start){.server = {.listener = -1, .epoll = -1}};
        TRY(make_token(s, st, err));
        TRY(gather_hosts(s, st, err));
        hosts_limit(&st->hosts, hosts_ranks(s->job->hosts));
        const enum outcome outcome = run_start(s, st, err);
        s->n_starts++;
        if (outcome == FINISHED) {
            note(s, "finished%s after %lld start%s", s->was_stopped ? " by a signal" : "",
                 (long long)s->n_starts, s->n_starts > 1 ? "s" : "");
            return OK;
        }
        if (outcome == HOPELESS || s->was_stopped || s->n_vain > c->restarts)
            return give_up(s, outcome, err);
        pause_after(s, st);
    }
    return err_set(err, ERR_COMM, "ended by a signal before the next start");
}

/* The token of the last start; those before were removed with the question for the next.
 */
static void forget_token(const struct supervisor *s, const struct start *st)
{
    const struct command_plan plan = plan_of(s, &st->hosts, st->job);

    if (st->job[0])
        probe_forget(&plan, t_mpirun);
}

static status prepare(struct supervisor *s, struct err *err)
{
    TRY(find_program(s, err));
    TRY(hash_program(s, err));
    TRY(find_mpi(s, err));
    if (geteuid() == 0 && s->mpi == COMMAND_OPENMPI)
        note(s,
             "running as root, which mpirun refuses unless told so: it is told; a user "
             "of its own would be safer (docs/launch.md)");
    return OK;
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
        result = prepare(s, err);
        if (result == OK)
            result = run_all(s, st, err);
        forget_token(s, st);
        forget_signals();
    }
    async_console_close(s->lines, t_last_words);
    free(st);
    free(s);
    return result;
}

/* ---- a dry run ---- */

static void show(FILE *out, const char *before, const struct words *w)
{
    struct str s = str_new(0);

    words_put(&s, w);
    fprintf(out, "%s%s\n", before, str_text(&s));
    str_release(&s);
}

static status show_all(struct supervisor *s, FILE *out, struct err *err)
{
    const struct command_plan plan = plan_of(s, s->job->hosts, "JOB");

    TRY(find_program(s, err));
    TRY(find_mpi(s, err));
    fputs("# on every host, the token on its input:\n", out);
    for (size_t i = 0; i < s->job->hosts->n; i++) {
        struct words w = {0};
        command_probe(&w, &plan, s->job->hosts->host[i].name);
        show(out, "", &w);
        words_release(&w);
    }
    struct words w = {0};
    const struct command_plan start = plan_of(s, s->job->hosts, "JOB");
    command_start(&w, &start);
    if (s->job->config->bind && !s->job->config->cores)
        fputs("# bound to cores once the hosts have said how many they have:\n", out);
    show(out, "FERRY_CONTROL=ADDRESS:PORT FERRY_JOB=JOB ", &w);
    const status result = words_check(&w, err);
    words_release(&w);
    return result;
}

status supervisor_show(const struct supervisor_job *job, FILE *out, struct err *err)
{
    struct supervisor *s;

    TRY(mem_alloc(&s, 1, sizeof *s, err));
    s->job = job;
    const status result = show_all(s, out, err);
    free(s);
    return result;
}
