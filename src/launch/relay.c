#include "launch/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/os.h"
#include "launch/fold.h"

static const double t_idle = 0.1; /* without a byte: what is held back is no trace */
static const double t_tell = 5;   /* after the last trace: a lost job ends sooner */
enum { N_STREAMS = 2 };

struct stream {
    struct relay *relay;
    int in, out;   /* ends of the pipe; -1: closed */
    int to;        /* our own output or errors */
    double t_last; /* when it was last read */
    struct fold fold;
};

struct relay {
    struct stream stream[N_STREAMS];
    char launcher[256];
    char run[PATH_MAX]; /* directory of the run; empty: not known */
    char path[PATH_MAX + 16];
    FILE *log; /* opened by the first trace */
    bool has_no_log;
    int console;
    double t_kept; /* when the newest trace came */
    pthread_t thread;
    bool is_running;
    _Atomic bool is_closing, is_done;
};

/* ---- where the log is ---- */

#define RUN_OPTION(X) X(STR, run, "", "", ANY)
struct run_option {
    RUN_OPTION(OPT_FIELD)
};
OPT_TABLE(relay_run_option, struct run_option, RUN_OPTION);

/* As `ferry train` reads it: run=DIR, --run DIR, --run=DIR, else the configuration's. */
static void find_run(struct run_option *o, const struct relay_paths *p)
{
    struct err ignored;
    bool is_given = false;

    (void)!opt_defaults(relay_run_option, o, &ignored);
    for (char *const *arg = p->args; *arg; arg++) {
        const char *word = *arg + (str_begins(*arg, "--") ? 2 : 0);
        const char *value = str_begins(word, "run=") ? word + 4 : NULL;
        if (word != *arg && strcmp(word, "run") == 0 && arg[1])
            value = arg[1];
        if (value)
            snprintf(o->run, sizeof o->run, "%s", value);
        is_given |= value != NULL;
    }
    for (char *const *arg = p->args; *arg && !is_given; arg++)
        if (!strchr(*arg, '=') && (str_ends(*arg, ".yaml") || str_ends(*arg, ".yml")))
            (void)!opt_file(relay_run_option, o, *arg, OPT_SKIP_UNKNOWN, &ignored);
}

void relay_find_run(char *out, size_t n, const struct relay_paths *p)
{
    struct run_option o;

    find_run(&o, p);
    if (o.run[0] && o.run[0] != '/' && p->directory[0])
        snprintf(out, n, "%s/%s", p->directory, o.run);
    else
        snprintf(out, n, "%s", o.run);
}

/* Nothing but a file: a pipe of that name could hold up what all ranks print. */
static FILE *open_file(const char *path)
{
    struct err ignored;
    int fd;

    if (file_open_regular(&fd, path, O_WRONLY | O_APPEND | O_CREAT, &ignored) != OK)
        return NULL;
    FILE *f = fdopen(fd, "a");
    if (!f)
        close(fd);
    return f;
}

static bool open_log(struct relay *r)
{
    if (r->log || r->has_no_log)
        return r->log;
    snprintf(r->path, sizeof r->path, "%s/launch.log", r->run);
    r->log = r->run[0] ? open_file(r->path) : NULL;
    if (!r->log) {
        snprintf(r->path, sizeof r->path, "launch.log");
        r->log = open_file(r->path);
    }
    r->has_no_log = !r->log;
    return r->log;
}

/* ---- what is passed, what is kept ---- */

static size_t n_kept(const struct relay *r)
{
    size_t n = 0;

    for (int i = 0; i < N_STREAMS; i++)
        n += r->stream[i].fold.n_kept;
    return n;
}

static void pass(void *ctx, const char *text, size_t n)
{
    const struct stream *s = ctx;

    (void)os_write(s->to, text, n); /* its reader left: the job goes on */
}

/* A line with the time before the first of several. */
static void write_time(struct relay *r)
{
    const time_t now = time(NULL);
    struct tm parts;
    char text[64];

    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
    fprintf(r->log, "# %s, %s\n", text, r->launcher);
}

static bool keep(void *ctx, const char *text, size_t n)
{
    struct relay *r = ((struct stream *)ctx)->relay;

    if (!open_log(r))
        return false;
    if (n_kept(r) == 0)
        write_time(r);
    r->t_kept = clock_now();
    return fwrite(text, 1, n, r->log) == n && fflush(r->log) == 0;
}

/* One line for all that was kept. */
static void tell(struct relay *r)
{
    char text[PATH_MAX + 3 * FOLD_TELLING];
    const struct fold *best = &r->stream[0].fold;

    const size_t n = n_kept(r);

    if (n == 0)
        return;
    for (int i = 0; i < N_STREAMS && !best->telling[0]; i++)
        best = &r->stream[i].fold;
    snprintf(text, sizeof text,
             "ferry launch: %zu %s that %s itself printed %s in %s: %s\n", n,
             n == 1 ? "line" : "lines", r->launcher, n == 1 ? "is" : "are", r->path,
             best->telling);
    (void)os_write(r->console, text, strlen(text));
    for (int i = 0; i < N_STREAMS; i++) {
        r->stream[i].fold.n_kept = 0;
        r->stream[i].fold.telling[0] = '\0';
    }
}

/* ---- the thread ---- */

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void take(struct stream *s)
{
    char text[1 << 16];
    const ssize_t got = read(s->in, text, sizeof text);

    if (got > 0)
        fold_feed(&s->fold, text, (size_t)got);
    else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
        close_end(&s->in);
    }
    s->t_last = clock_now();
}

/* Whether nothing came for a while, and nothing has just now. */
static bool is_idle(const struct stream *s)
{
    return clock_now() - s->t_last > t_idle &&
           poll(&(struct pollfd){s->in, POLLIN, 0}, 1, 0) == 0;
}

static void *relay_on(void *arg)
{
    struct relay *r = arg;

    for (;;) {
        struct pollfd p[N_STREAMS];
        for (int i = 0; i < N_STREAMS; i++)
            p[i] = (struct pollfd){r->stream[i].in, POLLIN, 0}; /* -1 is passed over */
        if (r->stream[0].in < 0 && r->stream[1].in < 0)
            break;
        const int n = poll(p, N_STREAMS, (int)(1000 * t_idle));
        if (n == 0 && r->is_closing)
            break; /* somebody still has the other end, and is silent */
        for (int i = 0; i < N_STREAMS; i++) {
            struct stream *s = &r->stream[i];
            if (n > 0 && p[i].revents)
                take(s);
            else if (is_idle(s))
                fold_idle(&s->fold);
        }
        if (clock_now() - r->t_kept > t_tell)
            tell(r);
    }
    for (int i = 0; i < N_STREAMS; i++)
        fold_idle(&r->stream[i].fold);
    tell(r);
    r->is_done = true;
    return NULL;
}

/* ---- its life ---- */

static void release(struct relay *r)
{
    for (int i = 0; i < N_STREAMS; i++) {
        close_end(&r->stream[i].in);
        close_end(&r->stream[i].out);
    }
    if (r->log)
        fclose(r->log);
    free(r);
}

status relay_open(struct relay **out, const struct relay_paths *paths, int console,
                  struct err *err)
{
    struct relay *r;

    *out = NULL;
    TRY(mem_alloc(&r, 1, sizeof *r, err));
    r->console = console;
    snprintf(r->launcher, sizeof r->launcher, "%.200s", paths->launcher);
    relay_find_run(r->run, sizeof r->run, paths);
    for (int i = 0; i < N_STREAMS; i++) {
        struct stream *s = &r->stream[i];
        *s = (struct stream){.relay = r, .in = -1, .out = -1, .to = 1 + i};
        s->fold.sink = (struct fold_sink){pass, keep, s};
    }
    for (int i = 0; i < N_STREAMS; i++) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) {
            release(r);
            return err_set(err, ERR_IO, "a pipe: %s", strerror(errno));
        }
        r->stream[i].in = ends[0];
        r->stream[i].out = ends[1];
    }
    *out = r;
    return OK;
}

int relay_out(const struct relay *r)
{
    return r->stream[0].out;
}

int relay_errors(const struct relay *r)
{
    return r->stream[1].out;
}

status relay_start(struct relay *r, struct err *err)
{
    for (int i = 0; i < N_STREAMS; i++)
        close_end(&r->stream[i].out);
    TRY(os_thread(&r->thread, relay_on, r, err));
    r->is_running = true;
    return OK;
}

void relay_close(struct relay *r, double t, char *said, size_t n)
{
    const double t_end = clock_now() + t;

    said[0] = '\0';
    if (!r)
        return;
    r->is_closing = true;
    while (r->is_running && !r->is_done && clock_now() < t_end)
        poll(NULL, 0, 10);
    if (r->is_running && !r->is_done) {
        pthread_detach(r->thread);
        return;
    }
    if (r->is_running)
        pthread_join(r->thread, NULL);
    for (int i = 0; i < N_STREAMS && !said[0]; i++)
        snprintf(said, n, "%s", r->stream[i].fold.said);
    release(r);
}
