#include "dist/watch/control.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/os.h"
#include "dist/comm/comm.h"
#include "dist/watch/async_console.h"

enum { N_HOSTS_TEXT = 512 };

/* Seconds for a rank to reach the server; for the goodbyes of all ranks; for the console
 * to take the last lines. */
static const double t_first = 15, t_linger = 10, t_last_words = 1;

/* Where the server is, and the secret of the job. Plain bytes: it is sent over MPI. */
struct meeting_point {
    char hosts[N_HOSTS_TEXT];
    uint16_t port;
    uint8_t token[CHANNEL_TOKEN];
};

/* ---- what the heartbeat calls ---- */

static void on_stop(void *ctx)
{
    (void)ctx;
    kill(getpid(), SIGTERM);
}

/* The alarm ends a process whose console is a pipe that nobody reads any more. */
static void on_leave(void *ctx, const char *why)
{
    const struct control *c = ctx;
    sigset_t alarm_only;

    signal(SIGALRM, SIG_DFL);
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm_only, NULL);
    alarm(1);
    if (c->lines)
        async_console_flush(c->lines, t_last_words);
    fprintf(c->console, "ferry: rank %u ends: %s\n", c->rank, why);
    comm_abort(ERR_LOST);
}

/* ---- started by ferry launch ---- */

/* Path of a job's token file for this user. */
static status token_path(char *out, size_t n, const char *job, struct err *err)
{
    const char *home = getenv("HOME");

    if (!home || !home[0])
        return err_set(err, ERR_USAGE,
                       "HOME is not set; the job's token is read from ~/.ferry");
    if (!job[0] || job[strspn(job, "0123456789abcdef")])
        return err_set(err, ERR_USAGE, "FERRY_JOB '%.80s' is not a job's name", job);
    if (snprintf(out, n, "%s/.ferry/%s.token", home, job) >= (int)n)
        return err_set(err, ERR_USAGE, "the path of the job's token is too long");
    return OK;
}

void control_job(char out[CONTROL_JOB + 1])
{
    const char *job = getenv("FERRY_JOB");

    snprintf(out, CONTROL_JOB + 1, "%s", job ? job : "");
}

static status read_token(uint8_t token[CHANNEL_TOKEN], const char *path, struct err *err)
{
    char hex[2 * CHANNEL_TOKEN + 1] = "";
    struct file_map map = {0};

    TRY(file_map_open(&map, path, err));
    if (map.n_bytes >= sizeof hex - 1)
        memcpy(hex, map.data, sizeof hex - 1);
    file_map_close(&map);
    if (strspn(hex, "0123456789abcdef") != sizeof hex - 1)
        return err_set(err, ERR_FORMAT, "%s is not a token of ferry launch", path);
    for (size_t i = 0; i < CHANNEL_TOKEN; i++)
        token[i] = (uint8_t)strtoul((char[]){hex[2 * i], hex[2 * i + 1], '\0'}, NULL, 16);
    return OK;
}

static status meet_launcher(struct meeting_point *m, struct err *err)
{
    const char *address = getenv("FERRY_CONTROL"), *job = getenv("FERRY_JOB");
    const char *colon = address ? strrchr(address, ':') : NULL;
    char path[FILE_PATH_MAX], *end = NULL;
    const long port = colon ? strtol(colon + 1, &end, 10) : 0;

    if (!address)
        return err_set(err, ERR_USAGE,
                       "FERRY_CONTROL is not set; start with ferry launch");
    if (!colon || colon == address || *end || port < 1 || port > 65535 ||
        (size_t)(colon - address) >= sizeof m->hosts)
        return err_set(err, ERR_USAGE, "FERRY_CONTROL '%.200s' is not host:port",
                       address);
    memcpy(m->hosts, address, (size_t)(colon - address));
    m->port = (uint16_t)port;
    TRY(token_path(path, sizeof path, job ? job : "", err));
    return read_token(m->token, path, err);
}

/* ---- rank 0 is the server ---- */

/* Addresses of this host. The loopback comes first: on another host it refuses at once,
 * and the rank tries the next. */
static void own_addresses(char *out, size_t n)
{
    struct ifaddrs *all = NULL;
    size_t used = (size_t)snprintf(out, n, "127.0.0.1");
    char text[INET_ADDRSTRLEN];

    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
            i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP))
            continue;
        const struct sockaddr_in *a = (const struct sockaddr_in *)i->ifa_addr;
        if (inet_ntop(AF_INET, &a->sin_addr, text, sizeof text) &&
            used + strlen(text) + 2 < n)
            used += (size_t)snprintf(out + used, n - used, ",%s", text);
    }
    freeifaddrs(all);
}

static void *serve_ranks(void *arg)
{
    struct control *c = arg;
    double t_end = 0;

    for (;;) {
        control_server_turn(&c->server, 0.1);
        const double now = clock_now();
        if (c->is_closing && t_end <= 0)
            t_end = now + t_linger;
        if (t_end > 0 &&
            (now > t_end || c->server.liveness.n_done == c->server.liveness.n_ranks))
            return NULL;
        if (control_server_is_full(&c->server))
            async_console_say(c->lines, "ferry: %s", control_server_full_text);
        const struct liveness_event e = liveness_judge(&c->server.liveness, now);
        if (e.verdict == LIVENESS_NOTHING)
            continue;
        char text[256];
        liveness_say(&c->server.liveness, e, text, sizeof text);
        async_console_say(c->lines, "ferry: %s", text);
        if (e.verdict == LIVENESS_DEAD || e.verdict == LIVENESS_MISSING) {
            /* before the others end, upon which mpirun ends this one too */
            async_console_flush(c->lines, t_last_words);
            control_server_order(&c->server, CHANNEL_LEAVE);
            comm_abort(ERR_COMM);
        }
    }
}

static status start_server(struct control *c, struct meeting_point *m, size_t n_ranks,
                           struct err *err)
{
    const char *port = getenv("FERRY_CONTROL_PORT");
    const long wanted = port ? strtol(port, NULL, 10) : 0;

    if (wanted < 0 || wanted > 65535)
        return err_set(err, ERR_USAGE, "FERRY_CONTROL_PORT '%.20s' is not a port", port);
    if (!channel_random(m->token, sizeof m->token))
        return err_set(err, ERR_IO, "the system gave no random bytes");
    os_raise_files();
    TRY(async_console_open(&c->lines, fileno(c->console), err));
    TRY(control_server_open(&c->server, "", (uint16_t)wanted, n_ranks, m->token,
                            c->limits, err));
    own_addresses(m->hosts, sizeof m->hosts);
    m->port = c->server.port;
    TRY(os_thread(&c->thread, serve_ranks, c, err));
    c->is_server = true;
    return OK;
}

static status meet_rank_0(struct control *c, struct comm *comm, struct meeting_point *m,
                          struct err *err)
{
    double per_core = c->per_core; /* of the host with most */
    status result = OK;

    TRY(comm_allreduce(comm, COMM_MAX, &per_core, 1, err));
    c->limits =
        liveness_limits_for(liveness_limits_default, (size_t)comm->size, per_core);
    if (comm->rank == 0)
        result = start_server(c, m, (size_t)comm->size, err);
    TRY(comm_agree(comm, result, err));
    return comm_bcast(comm, m, sizeof *m, 0, err);
}

/* ---- leaders ---- */

/* The server of the other ranks of this node, which the heartbeat's thread will turn. */
static status start_relay(struct control *c, const struct comm *comm,
                          const struct meeting_point *m, struct err *err)
{
    if (comm->local_rank > 0 || comm->local_size == 1 || c->is_server)
        return OK;
    os_raise_files();
    TRY(control_server_open(&c->server, "127.0.0.1", 0, (size_t)comm->size, m->token,
                            c->limits, err));
    c->server.is_relay = true;
    return OK;
}

/* All ranks tell their ports. A leader speaks for ranks of its own host alone, because
 * the server takes its name for theirs. */
static status find_leader(struct control *c, struct comm *comm, struct err *err)
{
    const int leader = comm->leader[comm->node];
    const uint16_t mine = c->server.is_relay ? c->server.port : 0;
    uint16_t *all;

    TRY(mem_alloc(&all, (size_t)comm->size, sizeof *all, err));
    const status result = comm_allgather(comm, all, &mine, sizeof mine, err);
    if (leader != comm->rank &&
        strcmp(comm->peer[leader].host, comm->peer[comm->rank].host) == 0)
        c->leader_port = all[leader];
    free(all);
    return result;
}

/* ---- all ---- */

/* n_local: ranks on this host. Its processors are all that are online, not those that the
 * rank is bound to: the launcher counts no more, so that it is the more patient one. */
static void init(struct control *c, uint32_t rank, uint32_t n_ranks, uint32_t n_local,
                 FILE *console)
{
    const double per_core = (double)n_local / (double)sysconf(_SC_NPROCESSORS_ONLN);

    *c = (struct control){
        .rank = rank,
        .per_core = per_core,
        .limits = liveness_limits_for(liveness_limits_default, n_ranks, per_core),
        .console = console,
        .server = {.listener = -1, .epoll = -1}};
}

/* The server has to take all ranks at once. */
static double first_limit(const struct liveness_limits *l)
{
    return t_first + (l->t_start - liveness_limits_default.t_start) / 4;
}

/* The default times, longer where the limit of silence is. */
static struct heartbeat_times times_for(const struct liveness_limits *l)
{
    const double by = l->t_silence / liveness_limits_default.t_silence;
    struct heartbeat_times t = heartbeat_times_default;

    t.connect *= by;
    t.handshake *= by;
    t.unanswered *= by;
    t.goodbye *= by;
    return t;
}

static status join(struct control *c, uint32_t n_ranks, const struct meeting_point *m,
                   struct err *err)
{
    struct heartbeat_config config = {.rank = c->rank,
                                      .n_ranks = n_ranks,
                                      .hosts = m->hosts,
                                      .port = m->port,
                                      .leader_port = c->leader_port,
                                      .relay = c->server.is_relay ? &c->server : NULL,
                                      .t_lost = c->limits.t_silence,
                                      .t_first = first_limit(&c->limits),
                                      .times = times_for(&c->limits),
                                      .phase = &c->phase,
                                      .ctx = c,
                                      .stop = on_stop,
                                      .leave = on_leave};

    memcpy(config.token, m->token, sizeof config.token);
    return heartbeat_open(&c->heartbeat, &config, err);
}

status control_join(struct control *c, uint32_t rank, uint32_t n_ranks, FILE *console,
                    struct err *err)
{
    struct meeting_point m = {{0}, 0, {0}};

    init(c, rank, n_ranks, 1, console);
    TRY(meet_launcher(&m, err));
    return join(c, n_ranks, &m, err);
}

status control_open(struct control *c, struct comm *comm, FILE *console, struct err *err)
{
    const uint32_t rank = (uint32_t)comm->rank, n_ranks = (uint32_t)comm->size;
    const bool is_launched = getenv("FERRY_CONTROL");
    struct meeting_point m = {{0}, 0, {0}};

    init(c, rank, n_ranks, (uint32_t)comm->local_size, console);
    if (!is_launched && comm->size == 1)
        return OK;
    status result = is_launched ? meet_launcher(&m, err) : meet_rank_0(c, comm, &m, err);
    THEN(result, start_relay(c, comm, &m, err));
    const status found = find_leader(c, comm, err); /* of all ranks, whatever failed */
    THEN(result, found);
    THEN(result, join(c, n_ranks, &m, err));
    result = comm_agree(comm, result, err);
    if (result != OK)
        control_close(c, result);
    return result;
}

void control_close(struct control *c, status result)
{
    heartbeat_close(c->heartbeat, result, result == OK ? 0 : c->fault, t_linger);
    c->heartbeat = NULL;
    c->is_closing = true;
    if (c->is_server) {
        pthread_join(c->thread, NULL);
        c->is_server = false;
    }
    control_server_close(&c->server);
    async_console_close(c->lines, t_last_words);
    c->lines = NULL;
}

void control_fail(struct control *c, status result)
{
    heartbeat_close(c->heartbeat, result, c->fault, 0);
    c->heartbeat = NULL;
}

bool control_is_current(const struct control *c)
{
    return !c->heartbeat || heartbeat_is_current(c->heartbeat);
}
