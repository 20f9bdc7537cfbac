#include "ferry.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "library/model.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(OK, FERRY_OK);
SAME(ERR_USAGE, FERRY_USAGE);
SAME(ERR_IO, FERRY_IO);
SAME(ERR_FORMAT, FERRY_FORMAT);
SAME(ERR_MEMORY, FERRY_MEMORY);
SAME(ERR_DEVICE, FERRY_DEVICE);
SAME(ERR_NUMERIC, FERRY_NUMERIC);
SAME(ERR_CANCELLED, FERRY_CANCELLED);

const char *ferry_version(void)
{
    return FERRY_VERSION;
}

/* As much of the caller's options as it and we know of. */
static status take_options(struct ferry_open_options *o,
                           const struct ferry_open_options *given, struct err *err)
{
    *o = (struct ferry_open_options)FERRY_OPEN_OPTIONS;
    if (!given)
        return OK;
    if (given->size < sizeof given->size)
        return err_set(err, ERR_USAGE,
                       "options of %zu bytes: begin with FERRY_OPEN_OPTIONS",
                       given->size);
    memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
    return OK;
}

static status open_model(struct ferry *m, const char *path,
                         const struct ferry_open_options *given, struct err *err)
{
    struct ferry_open_options o;

    TRY(take_options(&o, given, err));
    if (!path || !*path)
        return err_set(err, ERR_USAGE, "no path of a model was given");
    return loaded_open(&m->loaded, path,
                       (struct loaded_options){.checkpoint = o.checkpoint
                                                                 ? o.checkpoint
                                                                 : MODEL_DIR_CHECKPOINT,
                                               .average = true,
                                               .device = "cpu",
                                               .n_threads = o.threads,
                                               .has_shortlist = !o.no_shortlist,
                                               .is_shared = true},
                       err);
}

int ferry_open(struct ferry **model, const char *path,
               const struct ferry_open_options *options, struct ferry_error *error)
{
    struct err err;
    struct ferry *m;

    *model = NULL;
    if (mem_alloc(&m, 1, sizeof *m, &err) != OK)
        return model_tell(&err, error);
    if (open_model(m, path, options, &err) != OK) {
        free(m);
        return model_tell(&err, error);
    }
    pthread_mutex_init(&m->lock, NULL);
    *model = m;
    return FERRY_OK;
}

void ferry_close(struct ferry *m)
{
    if (!m)
        return;
    scorer_close(m->scorer);
    loaded_close(&m->loaded);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

const char *ferry_source_language(const struct ferry *m)
{
    return m->loaded.lang.source;
}

const char *ferry_target_language(const struct ferry *m)
{
    return m->loaded.lang.target;
}

_Static_assert(sizeof(atomic_bool) == sizeof(unsigned char), "a flag is a byte");

void ferry_cancel(struct ferry_cancel *c)
{
    atomic_store((atomic_bool *)&c->is_cancelled, true);
}

/* ---- scores ---- */

enum { SCORE_LENGTH = 256 };

static status open_scorer(struct ferry *m, struct err *err)
{
    const struct loaded *l = &m->loaded;

    if (m->scorer)
        return OK;
    return scorer_open(&m->scorer, l->network, l->spm,
                       (struct scorer_options){.kernels = l->kernels,
                                               .n_threads = l->options.n_threads,
                                               .max_length = SCORE_LENGTH},
                       err);
}

static status take_lines(struct line **lines, const char *const *texts, size_t n,
                         struct err *err)
{
    TRY(mem_alloc(lines, n, sizeof **lines, err));
    for (size_t i = 0; i < n; i++)
        (*lines)[i] = (struct line){texts[i], strlen(texts[i])};
    return OK;
}

static status score(struct ferry *m, const char *const *sources,
                    const char *const *targets, size_t n, double *log_prob,
                    size_t *n_tokens, struct err *err)
{
    RELEASED_BY(mem_release) struct line *source = NULL;
    RELEASED_BY(mem_release) struct line *target = NULL;

    TRY(take_lines(&source, sources, n, err));
    TRY(take_lines(&target, targets, n, err));
    pthread_mutex_lock(&m->lock);
    status result = open_scorer(m, err);
    THEN(result, scorer_run(m->scorer, source, target, n, err));
    for (size_t i = 0; i < n && result == OK; i++) {
        const struct scorer_pair p = scorer_get(m->scorer, i);
        log_prob[i] = p.sum;
        if (n_tokens)
            n_tokens[i] = p.n;
    }
    pthread_mutex_unlock(&m->lock);
    return result;
}

int ferry_score(struct ferry *m, const char *const *sources, const char *const *targets,
                size_t n, double *log_prob, size_t *n_tokens, struct ferry_error *error)
{
    struct err err;

    if (score(m, sources, targets, n, log_prob, n_tokens, &err) != OK)
        return model_tell(&err, error);
    return FERRY_OK;
}
