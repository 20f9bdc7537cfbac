#include "serve/models.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

/* Which file it is: replaced, it is another. */
struct identity {
    dev_t device;
    ino_t inode;
    off_t n_bytes;
    struct timespec changed;
};

/* A loaded model, counted by those who use it. */
struct models_lent {
    struct translators *translators;
    size_t n_users;
};

struct slot {
    char path[FILE_PATH_MAX];
    char source[CODE_MAX], target[CODE_MAX];
    bool is_told; /* its languages, with its path */
    struct identity identity, seen;
    struct models_lent *now;
    unsigned long long n_loads;
    struct hub_counts past; /* of files before this one */
};

struct models {
    struct translators_options options;
    struct slot slot[MODELS_MAX];
    size_t n;
    char language[2 * MODELS_MAX][CODE_MAX];
    size_t n_languages;
    struct profiles profiles; /* of the files that were there at the start */
    pthread_mutex_t mutex;    /* of what is lent */
};

/* ---- opening ---- */

static bool find_identity(const char *path, struct identity *id)
{
    struct stat s;

    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode)) /* a run directory is loaded once */
        return false;
    *id = (struct identity){s.st_dev, s.st_ino, s.st_size, s.st_mtim};
    return true;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
    return a->device == b->device && a->inode == b->inode && a->n_bytes == b->n_bytes &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

/* PATH:de-en; the path alone may hold colons too. */
static status read_word(struct slot *s, const char *word, struct err *err)
{
    const char *colon = strrchr(word, ':'), *dash = colon ? strchr(colon, '-') : NULL;
    size_t n = strlen(word);
    char source[CODE_MAX];

    if (dash && dash - colon - 1 < CODE_MAX && !strchr(colon, '/')) {
        snprintf(source, sizeof source, "%.*s", (int)(dash - colon - 1), colon + 1);
        s->is_told =
            codes_canonical(s->source, source) && codes_canonical(s->target, dash + 1);
        if (s->is_told)
            n = (size_t)(colon - word);
    }
    if (n >= sizeof s->path)
        return err_set(err, ERR_USAGE, "%.40s...: the path of the model is too long",
                       word);
    memcpy(s->path, word, n);
    s->path[n] = '\0';
    return OK;
}

static status load(struct models *m, struct slot *s, struct models_lent **out,
                   struct err *err)
{
    struct models_lent *l;

    *out = NULL;
    TRY(mem_alloc(&l, 1, sizeof *l, err));
    const status result = translators_open(&l->translators, s->path, &m->options, err);
    if (result != OK) {
        free(l);
        return result;
    }
    l->n_users = 1;
    *out = l;
    return OK;
}

/* Languages given with the path go before those of the model. */
static status name_languages(struct slot *s, struct err *err)
{
    const struct translators *t = s->now->translators;

    if (s->is_told)
        return OK;
    if (!codes_canonical(s->source, translators_source(t)) ||
        !codes_canonical(s->target, translators_target(t)))
        return err_set(err, ERR_USAGE,
                       "%s does not say which languages it translates; give them behind "
                       "its name, as in %s:de-en",
                       s->path, s->path);
    return OK;
}

static status open_slot(struct models *m, const char *word, struct err *err)
{
    struct slot *s = &m->slot[m->n];

    TRY(read_word(s, word, err));
    (void)find_identity(s->path, &s->identity);
    s->seen = s->identity;
    TRY(load(m, s, &s->now, err));
    m->n++;
    s->n_loads = 1;
    TRY(name_languages(s, err));
    for (size_t i = 0; i + 1 < m->n; i++)
        if (strcmp(m->slot[i].source, s->source) == 0 &&
            strcmp(m->slot[i].target, s->target) == 0)
            return err_set(err, ERR_USAGE, "%s and %s both translate %s to %s; keep one",
                           m->slot[i].path, s->path, s->source, s->target);
    return OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list_languages(struct models *m)
{
    for (size_t i = 0; i < 2 * m->n; i++) {
        const char *code = i % 2 ? m->slot[i / 2].target : m->slot[i / 2].source;
        bool is_new = true;
        for (size_t k = 0; k < m->n_languages; k++)
            is_new = is_new && strcmp(m->language[k], code) != 0;
        if (is_new)
            memcpy(m->language[m->n_languages++], code, CODE_MAX);
    }
    qsort(m->language, m->n_languages, sizeof *m->language, by_text);
}

static status read_profiles(struct models *m, struct err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct line bytes = translators_profiles(m->slot[i].now->translators);
        if (bytes.n_bytes && profile_read(&m->profiles, bytes, err) != OK)
            return err_wrap(err, "%s", m->slot[i].path);
    }
    return OK;
}

status models_open(struct models **out, const char *const *words, size_t n,
                   const struct translators_options *o, struct err *err)
{
    struct models *m;
    status result = OK;

    *out = NULL;
    if (n > MODELS_MAX)
        return err_set(err, ERR_USAGE, "%zu models; at most %d fit into one server", n,
                       MODELS_MAX);
    TRY(mem_alloc(&m, 1, sizeof *m, err));
    m->options = *o;
    pthread_mutex_init(&m->mutex, NULL);
    for (size_t i = 0; i < n; i++)
        THEN(result, open_slot(m, words[i], err));
    if (result != OK) {
        models_close(m);
        return result;
    }
    list_languages(m);
    result = read_profiles(m, err);
    if (result != OK) {
        models_close(m);
        return result;
    }
    *out = m;
    return OK;
}

static void close_lent(struct models_lent *l)
{
    if (!l)
        return;
    translators_close(l->translators);
    free(l);
}

void models_close(struct models *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < MODELS_MAX; i++)
        close_lent(m->slot[i].now);
    profile_release(&m->profiles);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

/* ---- directions ---- */

const char *models_language(const struct models *m, size_t i)
{
    return i < m->n_languages ? m->language[i] : NULL;
}

static const char *find_exact(const struct models *m, const char *code)
{
    for (size_t i = 0; i < m->n_languages; i++)
        if (strcmp(m->language[i], code) == 0)
            return m->language[i];
    return NULL;
}

const char *models_find(const struct models *m, const char *code)
{
    char canonical[CODE_MAX];

    if (!codes_canonical(canonical, code))
        return NULL;
    const char *found = find_exact(m, canonical);
    char *dash = strchr(canonical, '-');
    if (found || !dash)
        return found;
    *dash = '\0'; /* en-us */
    char base[CODE_MAX];
    return codes_canonical(base, canonical) ? find_exact(m, base) : NULL;
}

static bool find_leg(const struct models *m, const char *source, const char *target,
                     size_t *leg)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->slot[i].source, source) == 0 &&
            strcmp(m->slot[i].target, target) == 0) {
            *leg = i;
            return true;
        }
    return false;
}

bool models_route(const struct models *m, const char *source, const char *target,
                  struct models_route *r)
{
    *r = (struct models_route){.n_legs = 1};
    if (strcmp(source, target) == 0) {
        r->n_legs = 0;
        return true;
    }
    if (find_leg(m, source, target, &r->leg[0]))
        return true;
    r->n_legs = 2;
    if (find_leg(m, source, "en", &r->leg[0]) && find_leg(m, "en", target, &r->leg[1]))
        return true;
    for (size_t i = 0; i < m->n; i++) {
        r->leg[0] = i;
        if (strcmp(m->slot[i].source, source) == 0 &&
            find_leg(m, m->slot[i].target, target, &r->leg[1]))
            return true;
    }
    return false;
}

bool models_is_source(const struct models *m, const char *language)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->slot[i].source, language) == 0)
            return true;
    return false;
}

const struct profiles *models_profiles(const struct models *m)
{
    for (size_t i = 0; i < m->n; i++) {
        bool is_known = false;
        for (size_t k = 0; k < m->profiles.n; k++) {
            const char *found = models_find(m, m->profiles.item[k].name);
            is_known = is_known || (found && strcmp(found, m->slot[i].source) == 0);
        }
        if (!is_known)
            return NULL;
    }
    return &m->profiles;
}

/* ---- lending ---- */

struct models_lent *models_lend(struct models *m, size_t leg)
{
    pthread_mutex_lock(&m->mutex);
    struct models_lent *l = m->slot[leg].now;
    l->n_users++;
    pthread_mutex_unlock(&m->mutex);
    return l;
}

struct translators *models_lent_translators(struct models_lent *l)
{
    return l->translators;
}

void models_give_back(struct models *m, struct models_lent *l)
{
    pthread_mutex_lock(&m->mutex);
    const bool is_last = --l->n_users == 0;
    pthread_mutex_unlock(&m->mutex);
    if (is_last)
        close_lent(l);
}

bool models_facts(struct models *m, size_t i, struct models_facts *f)
{
    if (i >= m->n)
        return false;
    pthread_mutex_lock(&m->mutex);
    const struct slot *s = &m->slot[i];
    *f = (struct models_facts){s->path, s->source, s->target, s->n_loads,
                               translators_counts(s->now->translators)};
    f->counts.n_sentences += s->past.n_sentences;
    f->counts.n_steps += s->past.n_steps;
    f->counts.n_tokens += s->past.n_tokens;
    pthread_mutex_unlock(&m->mutex);
    return true;
}

/* ---- newer files ---- */

/* Languages told with the path hold for what comes after it too. */
static status check_languages(const struct slot *s, const struct translators *t,
                              struct err *err)
{
    char source[CODE_MAX], target[CODE_MAX];

    if (s->is_told)
        return OK;
    (void)codes_canonical(source, translators_source(t));
    (void)codes_canonical(target, translators_target(t));
    if (strcmp(source, s->source) == 0 && strcmp(target, s->target) == 0)
        return OK;
    return err_set(err, ERR_USAGE, "%s translates '%s' to '%s' now", s->path, source,
                   target);
}

static void replace(struct models *m, struct slot *s, char text[1200])
{
    struct models_lent *newer;
    struct err err;

    status result = load(m, s, &newer, &err);
    if (result == OK)
        result = check_languages(s, newer->translators, &err);
    if (result != OK) {
        snprintf(text, 1200, "the model that was loaded before stays in use: %s",
                 err.msg);
        close_lent(newer);
        return;
    }
    pthread_mutex_lock(&m->mutex);
    struct models_lent *older = s->now;
    const struct hub_counts counts = translators_counts(older->translators);
    s->past.n_sentences += counts.n_sentences;
    s->past.n_steps += counts.n_steps;
    s->past.n_tokens += counts.n_tokens;
    s->now = newer;
    s->n_loads++;
    pthread_mutex_unlock(&m->mutex);
    models_give_back(m, older);
    snprintf(text, 1200, "%s was replaced and is loaded", s->path);
}

void models_look(struct models *m, void (*say)(void *ctx, const char *text), void *ctx)
{
    for (size_t i = 0; i < m->n; i++) {
        struct slot *s = &m->slot[i];
        struct identity id;
        char text[1200];
        if (!find_identity(s->path, &id) || is_same(&id, &s->identity))
            continue;
        const bool is_settled = is_same(&id, &s->seen); /* nobody is writing it */
        s->seen = id;
        if (!is_settled)
            continue;
        s->identity = id;
        replace(m, s, text);
        say(ctx, text);
    }
}
