/* The supervisor before a start: what is the same for all of them, the hosts, mpirun. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "launch/host_check.h"
#include "launch/supervisor_parts.h"

/* Time for a host to answer: all have to before the first start, a restart waits for
 * none. */
static const double t_check_first = 30, t_check = 8;
static const double t_forget = 2;
static const double skew_limit = 2; /* seconds between clocks that are worth a note */

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

    st->hosts.n = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct host *h = &all->host[i];
        if (p[i].is_good && fabs(p[i].skew) > skew_limit)
            supervisor_note(
                s,
                "host %s: its clock is %.1f s %s ours, and so are the times in its log",
                h->name, fabs(p[i].skew), p[i].skew > 0 ? "ahead of" : "behind");
        if (p[i].is_good) {
            st->hosts.host[st->hosts.n] = *h;
            st->hosts.host[st->hosts.n++].n_cores = p[i].n_cores;
        } else if (s->n_starts == 0) {
            return err_set(err, ERR_COMM, "host %s %s", h->name, p[i].reason);
        } else {
            supervisor_note(s, "host %s %s; it is left out", h->name, p[i].reason);
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
    if (result == OK)
        result = choose_hosts(s, st, p, err);
    free(p);
    return result;
}

/* Until enough of them answer. */
status supervisor_gather(struct supervisor *s, struct start *st, struct err *err)
{
    const struct launch_config *c = s->job->config;
    const double t_end = clock_now() + c->wait;

    TRY(make_token(s, st, err));
    for (;;) {
        TRY(ask_hosts(s, st, err));
        if (hosts_ranks(&st->hosts) >= (size_t)c->min_ranks)
            return OK;
        if (supervisor_n_signals || clock_now() > t_end)
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
    TRY(find_address(s, &st->hosts, address, sizeof address, err));
    const bool is_numeric = !address[strspn(address, "0123456789.")];
    TRY(control_server_open(&st->server, is_numeric ? address : "", (uint16_t)c->port,
                            hosts_ranks(&st->hosts), st->key, limits, err));
    snprintf(control, sizeof control, "%s:%u", address, st->server.port);
    if (setenv("FERRY_CONTROL", control, 1) != 0 || setenv("FERRY_JOB", st->job, 1) != 0)
        return err_set(err, ERR_MEMORY, "the environment is full");
    return OK;
}

status supervisor_start(struct supervisor *s, struct start *st, struct err *err)
{
    const struct command_plan plan = plan_of(s, &st->hosts, st->job);
    struct str list = str_new(0);
    struct argv w = {0};

    TRY(listen_for_ranks(s, st, err));
    hosts_put(&st->hosts, &list);
    supervisor_note(s, "start %lld: %zu ranks on %s", (long long)s->n_starts + 1,
                    hosts_ranks(&st->hosts), str_text(&list));
    str_release(&list);
    command_start(&w, &plan);
    const status result = subprocess_start(&st->mpirun, &w, err);
    argv_release(&w);
    return result;
}

void supervisor_forget(const struct supervisor *s, const struct start *st)
{
    const struct command_plan plan = plan_of(s, &st->hosts, st->job);

    if (st->job[0])
        host_check_forget(&plan, t_forget);
}

status supervisor_prepare(struct supervisor *s, struct err *err)
{
    uint8_t hash[SHA256_BYTES];

    TRY(find_program(s, err));
    TRY(sha256_file(hash, s->program, err));
    sha256_hex(s->hash, hash);
    TRY(find_mpi(s, err));
    if (geteuid() == 0 && s->mpi == COMMAND_OPENMPI)
        supervisor_note(
            s, "running as root, which mpirun refuses unless told so: it is told; a user "
               "of its own would be safer (docs/launch.md)");
    return OK;
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

static status show_all(struct supervisor *s, FILE *out, struct err *err)
{
    struct argv a = {0};

    TRY(find_program(s, err));
    TRY(find_mpi(s, err));
    const struct command_plan plan = plan_of(s, s->job->hosts, "JOB");
    fputs("# on every host, the token on its input:\n", out);
    for (size_t i = 0; i < s->job->hosts->n; i++) {
        command_check(&a, &plan, s->job->hosts->host[i].name);
        TRY(show(out, "", &a, err));
    }
    command_start(&a, &plan);
    if (s->job->config->bind && !s->job->config->cores)
        fputs("# bound to cores once the hosts have said how many they have:\n", out);
    return show(out, "FERRY_CONTROL=ADDRESS:PORT FERRY_JOB=JOB ", &a, err);
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
