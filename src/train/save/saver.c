/*
 * The lock guards the phase. Everything else of a save belongs to the thread in WRITING
 * and PUBLISHING and to the caller in the other phases, and is handed over by the phase.
 */
#include "train/save/saver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/os.h"

struct saver {
    struct checkpoint parts;
    struct saver_options options;
    struct checkpoint_copy copy;

    struct saver_report report[SAVER_TARGETS];
    size_t n, n_taken;
    struct state state; /* of the save under way */
    double t_begin;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum saver_phase phase;
};

static void set_phase(struct saver *s, enum saver_phase phase)
{
    pthread_mutex_lock(&s->lock);
    s->phase = phase;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

enum saver_phase saver_phase(struct saver *s)
{
    pthread_mutex_lock(&s->lock);
    const enum saver_phase phase = s->phase;
    pthread_mutex_unlock(&s->lock);
    return phase;
}

void saver_wait(struct saver *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->phase == SAVER_WRITING || s->phase == SAVER_PUBLISHING)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

/* ---- what the thread does ---- */

/* What lies in a directory that is not ours any more is somebody else's. */
static status check_dir(const struct saver *s, struct err *err)
{
    return s->options.dir ? run_dir_check(s->options.dir, err) : OK;
}

static void remove_files(const struct saver *s, const struct saver_report *r)
{
    struct err ignored;

    if (check_dir(s, &ignored) == OK)
        shelf_remove(r->target.shelf.dir, r->target.name);
}

static status write_files(struct saver *s, struct saver_report *r, struct err *err)
{
    struct checkpoint parts = s->parts;
    char prefix[FILE_PATH_MAX];

    parts.copy = s->options.in_background ? &s->copy : NULL;
    TRY(check_dir(s, err));
    TRY(file_make_dirs(r->target.shelf.dir, err));
    TRY(file_join(prefix, sizeof prefix, r->target.shelf.dir, r->target.name, err));
    return checkpoint_write(&parts, &s->state, prefix, &r->n_bytes, err);
}

static void write_all(struct saver *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct saver_report *r = &s->report[i];
        if (write_files(s, r, &r->failure) != OK)
            remove_files(s, r);
    }
}

static status publish(const struct saver *s, const struct saver_report *r,
                      struct err *err)
{
    TRY(check_dir(s, err));
    return shelf_publish(&r->target.shelf, r->target.name, err);
}

static void publish_all(struct saver *s)
{
    for (size_t i = 0; i < s->n; i++) {
        struct saver_report *r = &s->report[i];
        if (r->failure.code == OK && publish(s, r, &r->failure) != OK)
            remove_files(s, r);
        r->t_total = clock_now() - s->t_begin;
    }
}

/* One phase of work, and the phase that it leads to. */
static enum saver_phase work_on(struct saver *s, enum saver_phase phase)
{
    if (phase == SAVER_WRITING)
        write_all(s);
    if (phase == SAVER_WRITING && s->options.waits)
        return SAVER_WRITTEN;
    publish_all(s);
    return SAVER_DONE;
}

static void *thread_main(void *arg)
{
    struct saver *s = arg;

    for (;;) {
        pthread_mutex_lock(&s->lock);
        while (s->phase != SAVER_CLOSING && s->phase != SAVER_WRITING &&
               s->phase != SAVER_PUBLISHING)
            pthread_cond_wait(&s->changed, &s->lock);
        const enum saver_phase phase = s->phase;
        pthread_mutex_unlock(&s->lock);
        if (phase == SAVER_CLOSING)
            return NULL;
        set_phase(s, work_on(s, phase));
    }
}

/* Give the work to the thread, or do it here. */
static void begin_phase(struct saver *s, enum saver_phase phase)
{
    set_phase(s, s->has_thread ? phase : work_on(s, phase));
}

/* ---- the caller's side ---- */

size_t saver_copy_bytes(const struct checkpoint *c)
{
    size_t n = c->optim->norms ? c->model->params.n_list * sizeof(double) : 0;

    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (c->part[i].mem)
            n += c->model->params.n_flat * sizeof(float);
    return n;
}

static status alloc_copy(struct saver *s, struct err *err)
{
    const struct params *p = &s->parts.model->params;
    struct checkpoint_copy *copy = &s->copy;

    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (s->parts.part[i].mem)
            TRY(mem_alloc(&copy->part[i], p->n_flat, sizeof *copy->part[i], err));
    if (!s->parts.optim->norms)
        return OK;
    return mem_alloc(&copy->norms, p->n_list, sizeof *copy->norms, err);
}

/* Nothing is allocated. Sharded moments stay as the caller has put them there. */
static void take_copy(struct saver *s)
{
    const struct checkpoint *c = &s->parts;
    struct checkpoint_copy *copy = &s->copy;

    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        if (copy->part[i] && !(c->is_sharded && (i == CHECKPOINT_M || i == CHECKPOINT_V)))
            device_download(c->model->device, copy->part[i], c->part[i]);
    if (copy->norms)
        memcpy(copy->norms, c->optim->norms,
               c->model->params.n_list * sizeof *copy->norms);
}

status saver_open(struct saver **out, const struct checkpoint *parts,
                  struct saver_options options, struct err *err)
{
    struct saver *s;

    *out = NULL;
    TRY(mem_alloc(&s, 1, sizeof *s, err));
    s->parts = *parts;
    s->options = options;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (options.in_background) {
        s->has_thread =
            alloc_copy(s, err) == OK && os_thread(&s->thread, thread_main, s, err) == OK;
        if (!s->has_thread) {
            saver_close(s);
            return err->code;
        }
    }
    *out = s;
    return OK;
}

void saver_close(struct saver *s)
{
    if (!s)
        return;
    if (s->has_thread) {
        saver_wait(s);
        set_phase(s, SAVER_CLOSING);
        pthread_join(s->thread, NULL);
    }
    for (int i = 0; i < CHECKPOINT_N_PARTS; i++)
        free(s->copy.part[i]);
    free(s->copy.norms);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

float *saver_part(struct saver *s, enum checkpoint_part part)
{
    BUG_ON(saver_phase(s) != SAVER_IDLE || !s->options.in_background);
    return s->copy.part[part];
}

void saver_save(struct saver *s, const struct state *state,
                const struct saver_target *targets, size_t n, double t_asked)
{
    BUG_ON(n > SAVER_TARGETS || saver_phase(s) != SAVER_IDLE);
    s->n = n;
    s->n_taken = 0;
    s->t_begin = t_asked;
    for (size_t i = 0; i < n; i++)
        s->report[i] = (struct saver_report){.target = targets[i], .step = state->step};
    if (s->options.in_background)
        take_copy(s);
    s->state = *state;
    const double t_copied = clock_now() - t_asked;
    begin_phase(s, SAVER_WRITING);
    s->report[0].t_blocked = s->has_thread ? t_copied : clock_now() - t_asked;
}

bool saver_is_whole(struct saver *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->report[i].failure.code != OK)
            return false;
    return true;
}

void saver_decide(struct saver *s, bool all_whole, const char *why)
{
    BUG_ON(saver_phase(s) != SAVER_WRITTEN);
    for (size_t i = 0; !all_whole && i < s->n; i++) {
        struct saver_report *r = &s->report[i];
        if (r->failure.code != OK)
            continue;
        remove_files(s, r);
        (void)err_set(&r->failure, ERR_IO, "%s", why);
    }
    begin_phase(s, SAVER_PUBLISHING);
}

bool saver_take(struct saver *s, struct saver_report *r)
{
    BUG_ON(saver_phase(s) != SAVER_DONE);
    if (s->n_taken < s->n) {
        *r = s->report[s->n_taken++];
        return true;
    }
    set_phase(s, SAVER_IDLE);
    return false;
}
