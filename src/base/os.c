#include "base/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void os_host_name(char *out, size_t n)
{
    char name[HOST_NAME_MAX + 1] = "";

    /* a name that was cut need not be terminated */
    if (gethostname(name, sizeof name - 1) != 0 || !name[0])
        snprintf(name, sizeof name, "localhost");
    snprintf(out, n, "%s", name);
}

/* ISO C has no conversion from an object pointer to a function pointer. */
bool os_symbol(void *so, const char *name, void *to)
{
    void *symbol = so ? dlsym(so, name) : NULL;

    memcpy(to, &symbol, sizeof symbol);
    return symbol;
}

status os_thread(pthread_t *thread, void *(*fn)(void *), void *arg, struct err *err)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    sigset_t all, before;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]); /* blocked, they would end us before any handler */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int bad = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad)
        return err_set(err, ERR_MEMORY, "a thread could not be started: %s",
                       strerror(bad));
    return OK;
}

bool os_write(int fd, const void *bytes, size_t n)
{
    for (const char *at = bytes; n;) {
        const ssize_t put = write(fd, at, n);
        struct pollfd p = {fd, POLLOUT, 0};
        if (put < 0 && errno == EAGAIN)
            poll(&p, 1, -1); /* others may have made it so */
        else if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? put : 0;
        n -= put > 0 ? (size_t)put : 0;
    }
    return true;
}

void os_raise_files(void)
{
    static const rlim_t enough = 1
                                 << 16; /* some programs try to close all there may be */
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < enough) {
        limit.rlim_cur = limit.rlim_max < enough ? limit.rlim_max : enough;
        (void)setrlimit(RLIMIT_NOFILE,
                        &limit); /* who needs more than there are says so */
    }
}
