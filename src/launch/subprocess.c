#include "launch/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

/* The child's input, output and errors. */
struct ends {
    int in, out, errors;
};

/* Handlers and masks of ours are not for children. */
static int spawn(pid_t *pid, char *const *word, struct ends e)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, e.in, 0);
    posix_spawn_file_actions_adddup2(&files, e.out, 1);
    posix_spawn_file_actions_adddup2(&files, e.errors, 2);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    const int bad = posix_spawnp(pid, word[0], &files, &attr, word, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return bad;
}

static status start(struct subprocess *c, const struct argv *w, struct ends e,
                    struct err *err)
{
    const int bad = spawn(&c->pid, w->arg, e);

    c->t_start = clock_now();
    if (!bad)
        return OK;
    c->pid = 0;
    return err_set(err, ERR_IO, "%s cannot be started: %s", w->arg[0], strerror(bad));
}

status subprocess_start(struct subprocess *c, const struct argv *w, int out, int errors,
                        struct err *err)
{
    *c = (struct subprocess){.out = -1};
    TRY(argv_check(w, err));
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0)
        return err_set(err, ERR_IO, "/dev/null: %s", strerror(errno));
    const status result = start(c, w, (struct ends){nothing, out, errors}, err);
    close(nothing);
    return result;
}

status subprocess_ask(struct subprocess *c, const struct argv *w, const char *input,
                      struct err *err)
{
    int in[2], out[2];

    *c = (struct subprocess){.out = -1};
    TRY(argv_check(w, err));
    if (pipe2(in, O_CLOEXEC) != 0)
        return err_set(err, ERR_IO, "a pipe: %s", strerror(errno));
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return err_set(err, ERR_IO, "a pipe: %s", strerror(errno));
    }
    status result = OK; /* what we say fits into the pipe, nobody has to read yet */
    if (write(in[1], input, strlen(input)) != (ssize_t)strlen(input))
        result = err_set(err, ERR_IO, "a pipe: %s", strerror(errno));
    if (result == OK)
        result = start(c, w, (struct ends){in[0], out[1], out[1]}, err);
    close(in[0]);
    close(in[1]);
    close(out[1]);
    if (result == OK) {
        c->out = out[0];
        fcntl(c->out, F_SETFL, O_NONBLOCK);
    } else {
        close(out[0]);
    }
    return result;
}

bool subprocess_has_ended(struct subprocess *c)
{
    if (c->pid == 0)
        return true;
    if (waitpid(c->pid, &c->status, WNOHANG) != c->pid)
        return false;
    c->pid = 0;
    c->t_end = clock_now();
    return true;
}

/* What there is to read; more than fits is read and forgotten. */
static void catch_text(struct subprocess *c)
{
    char scrap[512];
    ssize_t got;

    while (c->out >= 0) {
        const size_t room = sizeof c->text - 1 - c->n_text;
        got = room ? read(c->out, c->text + c->n_text, room)
                   : read(c->out, scrap, sizeof scrap);
        if (got > 0 && room)
            c->n_text += (size_t)got;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close(c->out);
            c->out = -1;
        }
    }
}

/* A signal to the whole group. */
static void send_signal(const struct subprocess *c, int number)
{
    if (c->pid > 0)
        kill(-c->pid, number);
}

static void finish(struct subprocess *c)
{
    if (c->out >= 0)
        close(c->out);
    c->out = -1;
    send_signal(c, SIGKILL);
    if (c->pid > 0 && waitpid(c->pid, &c->status, 0) == c->pid)
        c->t_end = clock_now();
    c->pid = 0;
}

void subprocess_gather(struct subprocess *c, size_t n, double t)
{
    const double t_end = clock_now() + t;
    bool pending = true;

    while (pending && clock_now() < t_end) {
        pending = false;
        for (size_t i = 0; i < n; i++) {
            catch_text(&c[i]);
            pending |= !subprocess_has_ended(&c[i]) || c[i].out >= 0;
        }
        if (pending)
            poll(NULL, 0, 5);
    }
    for (size_t i = 0; i < n; i++)
        finish(&c[i]);
}

void subprocess_end(struct subprocess *c, double t)
{
    const double t_end = clock_now() + t;

    send_signal(c, SIGTERM);
    while (!subprocess_has_ended(c) && clock_now() < t_end)
        poll(NULL, 0, 20);
    finish(c);
}

int subprocess_code(const struct subprocess *c)
{
    return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}
