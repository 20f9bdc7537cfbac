#include "base/thread.h"

#include <signal.h>
#include <string.h>

status thread_start(pthread_t *thread, void *(*fn)(void *), void *arg, struct err *err)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int bad = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (bad)
        return err_set(err, ERR_MEMORY, "a thread could not be started: %s",
                       strerror(bad));
    return OK;
}
