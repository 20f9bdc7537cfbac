#include "train/run/pulse_writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/os.h"
#include "recipe/pulse.h"

struct pulse_writer {
    char path[FILE_PATH_MAX], lock[FILE_PATH_MAX];
    struct pulse pulse;
    struct phase *phase;
    uint64_t word;  /* of the phase, as last seen, */
    double t_moved; /* and when it changed */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t closing;
    bool is_closing;
};

/* A successor may have put another lock in the place of ours: then the pulse is its. */
static bool is_ours(const struct pulse_writer *w)
{
    struct stat st;

    return stat(w->lock, &st) == 0 && (uint64_t)st.st_ino == w->pulse.lock;
}

static void beat(struct pulse_writer *w)
{
    const double t = clock_now();

    if (!is_ours(w))
        return;
    if (w->phase) {
        const struct phase_now now = phase_get(w->phase);
        if (now.word != w->word)
            w->t_moved = t;
        w->word = now.word;
        w->pulse.step = now.step;
        snprintf(w->pulse.phase, sizeof w->pulse.phase, "%s", phase_text(now.phase));
    }
    w->pulse.since = t - w->t_moved;
    w->pulse.now = clock_wall();
    pulse_write(w->path, &w->pulse);
}

static void *thread_main(void *arg)
{
    struct pulse_writer *w = arg;
    struct timespec next;

    pthread_mutex_lock(&w->mutex);
    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!w->is_closing) {
        next.tv_sec++;
        while (!w->is_closing &&
               pthread_cond_timedwait(&w->closing, &w->mutex, &next) == 0)
            ;
        if (w->is_closing)
            break;
        pthread_mutex_unlock(&w->mutex);
        beat(w); /* a slow disk delays the next one */
        clock_gettime(CLOCK_MONOTONIC, &next);
        pthread_mutex_lock(&w->mutex);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void release(struct pulse_writer *w)
{
    pthread_cond_destroy(&w->closing);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}

status pulse_writer_open(struct pulse_writer **out, const char *dir, int lock,
                         struct phase *phase, struct err *err)
{
    struct pulse_writer *w;
    pthread_condattr_t steady;
    struct stat st = {0};

    *out = NULL;
    TRY(mem_alloc(&w, 1, sizeof *w, err));
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->closing, &steady);
    pthread_condattr_destroy(&steady);
    (void)fstat(lock, &st);
    w->phase = phase;
    w->t_moved = clock_now();
    w->pulse = (struct pulse){.pid = (long)getpid(),
                              .lock = (uint64_t)st.st_ino,
                              .began = clock_wall(),
                              .phase = "start"};
    os_host_name(w->pulse.host, sizeof w->pulse.host);
    status result = file_join(w->path, sizeof w->path, dir, PULSE_FILE, err);
    THEN(result, file_join(w->lock, sizeof w->lock, dir, PULSE_LOCK, err));
    if (result == OK) {
        beat(w);
        result = os_thread(&w->thread, thread_main, w, err);
    }
    if (result != OK) {
        release(w);
        return result;
    }
    *out = w;
    return OK;
}

void pulse_writer_close(struct pulse_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->is_closing = true;
    pthread_cond_signal(&w->closing);
    pthread_mutex_unlock(&w->mutex);
    pthread_join(w->thread, NULL);
    if (is_ours(w))
        unlink(w->path);
    release(w);
}
