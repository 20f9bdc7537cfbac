#include "dist/watch/async_console.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"

enum { LINE = 1000, ROOM = 1 << 16 };

struct async_console {
    int fd;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below, but for `out` */
    pthread_cond_t changed;
    char text[ROOM]; /* to be written */
    size_t n_text, n_missing;
    bool is_writing, is_closing;
    char out[ROOM + LINE]; /* the thread's: being written */
};

/* Take what there is to write; called with the lock held. */
static size_t take(struct async_console *s)
{
    size_t n = s->n_text;

    memcpy(s->out, s->text, n);
    if (s->n_missing)
        n += (size_t)snprintf(s->out + n, LINE, "(%zu lines left out here)\n",
                              s->n_missing);
    s->n_text = s->n_missing = 0;
    return n;
}

static void *speak_on(void *arg)
{
    struct async_console *s = arg;

    pthread_mutex_lock(&s->lock);
    for (;;) {
        const size_t n = take(s);
        s->is_writing = n > 0;
        if (n) {
            pthread_mutex_unlock(&s->lock);
            /* not by stdio, whose locks are taken again when the process ends */
            (void)os_write(s->fd, s->out, n);
            pthread_mutex_lock(&s->lock);
            s->is_writing = false;
        } else if (s->is_closing) {
            break;
        } else {
            pthread_cond_wait(&s->changed, &s->lock);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void release(struct async_console *s)
{
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

status async_console_open(struct async_console **out, int fd, struct err *err)
{
    struct async_console *s;

    *out = NULL;
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    s->fd = fd;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    /* without SIGPIPE too: a reader that left is no reason to end */
    if (os_thread(&s->thread, speak_on, s, err) != OK) {
        release(s);
        return err->code;
    }
    *out = s;
    return OK;
}

void async_console_say(struct async_console *s, const char *fmt, ...)
{
    char line[LINE + 1];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, LINE, fmt, ap);
    va_end(ap);
    const size_t n = strlen(line);
    line[n] = '\n';
    pthread_mutex_lock(&s->lock);
    if (s->n_missing || s->n_text + n + 1 > ROOM) {
        s->n_missing++;
    } else {
        memcpy(s->text + s->n_text, line, n + 1);
        s->n_text += n + 1;
    }
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool is_silent(struct async_console *s)
{
    pthread_mutex_lock(&s->lock);
    const bool silent = !s->is_writing && s->n_text + s->n_missing == 0;
    pthread_mutex_unlock(&s->lock);
    return silent;
}

void async_console_flush(struct async_console *s, double t)
{
    const double t_end = clock_now() + t;

    while (!is_silent(s) && clock_now() < t_end)
        poll(NULL, 0, 2);
}

void async_console_close(struct async_console *s, double t)
{
    if (!s)
        return;
    async_console_flush(s, t);
    if (!is_silent(s)) {
        pthread_detach(s->thread);
        return;
    }
    pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    release(s);
}
