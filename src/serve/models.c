#include "serve/models.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/table.h"
#include "foreign/foreign.h"

/* Which file, or which files of a directory: replaced, they are others. */
typedef uint64_t identity;

/* A loaded model, counted by those who use it. */
struct models_lent {
    struct translators *translators;
    size_t n_users;
};

/* A path, and the languages that were told with it. */
struct word {
    char path[FILE_PATH_MAX];
    char source[CODE_MAX], target[CODE_MAX];
    bool is_told;
};

/* What a model is made of. */
struct files {
    identity model, terms;
};

struct slot {
    struct word of; /* its languages are those of the model unless they were told */
    char terms[FILE_PATH_MAX]; /* its glossary; "": none */
    struct files files, seen;
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
    struct profiles profiles;
    pthread_rwlock_t profiles_lock;
    pthread_mutex_t mutex; /* of what is lent */
};

/* ---- opening ---- */

/* `name`: of a file that is one of several. */
static bool find_file(const char *path, const char *name, identity *id)
{
    struct stat s;

    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode))
        return false;
    const uint64_t facts[] = {table_hash(name, strlen(name)),
                              (uint64_t)s.st_dev,
                              (uint64_t)s.st_ino,
                              (uint64_t)s.st_size,
                              (uint64_t)s.st_mtim.tv_sec,
                              (uint64_t)s.st_mtim.tv_nsec};
    *id = table_hash((const char *)facts, sizeof facts);
    return true;
}

/* Of a directory of another program: all of its files, in whatever order they come. */
static bool find_parts(const char *dir, identity *id)
{
    DIR *d = opendir(dir);
    char path[FILE_PATH_MAX];
    struct err ignored;
    identity part;
    bool is_any = false;

    *id = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!foreign_is_part(e->d_name) ||
            file_join(path, sizeof path, dir, e->d_name, &ignored) != OK ||
            !find_file(path, e->d_name, &part))
            continue;
        *id += part;
        is_any = true;
    }
    if (d)
        closedir(d);
    return is_any;
}

/* Of a run directory it is the list of its best checkpoints, else of its last; of a
 * checkpoint its index; of the weights of another program what stands beside them too. */
static bool find_model(const char *path, identity *id)
{
    static const char *const ends[] = {"", "/best_models/checkpoint", "/checkpoint",
                                       ".index"};
    char name[FILE_PATH_MAX];
    struct err ignored;

    if (foreign_is_weights(path))
        return foreign_directory(name, path, &ignored) == OK && find_parts(name, id);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (file_path(name, &ignored, "%s%s", path, ends[i]) == OK &&
            find_file(name, "", id))
            return true;
    return find_parts(path, id);
}

/* False while one is missing. */
static bool find_files(const struct slot *s, struct files *f)
{
    *f = (struct files){0};
    return find_model(s->of.path, &f->model) &&
           (!s->terms[0] || find_file(s->terms, "", &f->terms));
}

static bool is_same(const struct files *a, const struct files *b)
{
    return a->model == b->model && a->terms == b->terms;
}

/* PATH:de-en; the path alone may hold colons too. */
static status read_word(struct word *w, struct line word, struct err *err)
{
    const char *colon = memrchr(word.text, ':', word.n_bytes);
    size_t n = word.n_bytes;
    char pair[2 * CODE_MAX] = "";

    if (colon && n - (size_t)(colon - word.text) - 1 < sizeof pair)
        memcpy(pair, colon + 1, n - (size_t)(colon - word.text) - 1);
    char *dash = strchr(pair, '-');
    if (dash && !strchr(pair, '/')) {
        *dash = '\0';
        w->is_told =
            codes_canonical(w->source, pair) && codes_canonical(w->target, dash + 1);
    }
    if (w->is_told)
        n = (size_t)(colon - word.text);
    if (n >= sizeof w->path)
        return err_set(err, ERR_USAGE, "%.40s...: the path is too long", word.text);
    memcpy(w->path, word.text, n);
    w->path[n] = '\0';
    return OK;
}

static status load(struct models *m, struct slot *s, struct models_lent **out,
                   struct err *err)
{
    struct models_lent *l;

    *out = NULL;
    TRY(mem_alloc(&l, 1, sizeof *l, err));
    status result = translators_open(&l->translators, s->of.path, &m->options, err);
    if (result == OK && s->terms[0])
        result = translators_read_terms(l->translators, s->terms, err);
    if (result != OK) {
        translators_close(l->translators);
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

    if (s->of.is_told)
        return OK;
    if (!codes_canonical(s->of.source, translators_source(t)) ||
        !codes_canonical(s->of.target, translators_target(t)))
        return err_set(err, ERR_USAGE,
                       "%s does not say which languages it translates; give them behind "
                       "its name, as in %s:de-en",
                       s->of.path, s->of.path);
    return OK;
}

static bool find_leg(const struct models *m, const char *source, const char *target,
                     size_t *leg)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->slot[i].of.source, source) == 0 &&
            strcmp(m->slot[i].of.target, target) == 0) {
            *leg = i;
            return true;
        }
    return false;
}

static status open_slot(struct models *m, const char *word, struct err *err)
{
    struct slot *s = &m->slot[m->n];

    TRY(read_word(&s->of, (struct line){word, strlen(word)}, err));
    (void)find_files(s, &s->files);
    TRY(load(m, s, &s->now, err));
    s->n_loads = 1;
    m->n++;
    TRY(name_languages(s, err));
    size_t first = 0;
    (void)find_leg(m, s->of.source, s->of.target, &first);
    if (first + 1 == m->n)
        return OK;
    return err_set(err, ERR_USAGE, "%s and %s both translate %s to %s; keep one",
                   m->slot[first].of.path, s->of.path, s->of.source, s->of.target);
}

/* The model that a glossary is for. */
static status find_slot(struct models *m, const struct word *w, struct slot **s,
                        struct err *err)
{
    size_t leg = 0;

    if (!w->is_told && m->n > 1)
        return err_set(
            err, ERR_USAGE,
            "glossary %s: of which of %zu models? Give its languages behind its "
            "name, as in %s:de-en",
            w->path, m->n, w->path);
    if (w->is_told && !find_leg(m, w->source, w->target, &leg))
        return err_set(err, ERR_USAGE, "glossary %s: no model translates %s to %s itself",
                       w->path, w->source, w->target);
    *s = &m->slot[leg];
    if ((*s)->terms[0])
        return err_set(err, ERR_USAGE,
                       "glossaries %s and %s are both for %s to %s; make them one file",
                       (*s)->terms, w->path, (*s)->of.source, (*s)->of.target);
    return OK;
}

static status open_glossary(struct models *m, struct line word, struct err *err)
{
    struct word w = {0};
    struct slot *s = NULL;

    TRY(read_word(&w, word, err));
    TRY(find_slot(m, &w, &s, err));
    memcpy(s->terms, w.path, sizeof s->terms);
    (void)find_files(s, &s->files);
    return translators_read_terms(s->now->translators, s->terms, err);
}

static status open_glossaries(struct models *m, const char *words, struct err *err)
{
    for (const char *at = words; *at;) {
        const size_t n = strcspn(at, ",");
        if (n)
            TRY(open_glossary(m, (struct line){at, n}, err));
        at += n + (at[n] == ',');
    }
    return OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list_languages(struct models *m)
{
    for (size_t i = 0; i < 2 * m->n; i++) {
        const char *code = i % 2 ? m->slot[i / 2].of.target : m->slot[i / 2].of.source;
        bool is_new = true;
        for (size_t k = 0; k < m->n_languages; k++)
            is_new = is_new && strcmp(m->language[k], code) != 0;
        if (is_new)
            memcpy(m->language[m->n_languages++], code, CODE_MAX);
    }
    qsort(m->language, m->n_languages, sizeof *m->language, by_text);
}

/* Those of all models; whoever detects by the former ones is waited for. */
static status gather_profiles(struct models *m, struct err *err)
{
    struct profiles all = {0};
    status result = OK;

    for (size_t i = 0; i < m->n; i++)
        THEN(result,
             profile_merge(&all, translators_profiles(m->slot[i].now->translators), err));
    if (result == OK) {
        pthread_rwlock_wrlock(&m->profiles_lock);
        const struct profiles former = m->profiles;
        m->profiles = all;
        all = former;
        pthread_rwlock_unlock(&m->profiles_lock);
    }
    profile_release(&all);
    return result;
}

/* Whoever replaces the profiles goes before those who come to read them meanwhile. */
static void open_lock(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t kind;

    pthread_rwlockattr_init(&kind);
    pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &kind);
    pthread_rwlockattr_destroy(&kind);
}

status models_open(struct models **out, const char *const *words, size_t n,
                   const char *glossaries, const struct translators_options *o,
                   struct err *err)
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
    open_lock(&m->profiles_lock);
    for (size_t i = 0; i < n; i++)
        THEN(result, open_slot(m, words[i], err));
    THEN(result, open_glossaries(m, glossaries, err));
    for (size_t i = 0; i < m->n; i++)
        m->slot[i].seen = m->slot[i].files;
    list_languages(m);
    THEN(result, gather_profiles(m, err));
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
    pthread_rwlock_destroy(&m->profiles_lock);
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
        if (strcmp(m->slot[i].of.source, source) == 0 &&
            find_leg(m, m->slot[i].of.target, target, &r->leg[1]))
            return true;
    }
    return false;
}

static bool is_source(const struct models *m, const char *language)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->slot[i].of.source, language) == 0)
            return true;
    return false;
}

const char *models_source(const struct models *m, const char *code)
{
    char canonical[CODE_MAX];
    const char *found = models_find(m, code);

    if (found && is_source(m, found))
        return found;
    const char *sibling =
        codes_canonical(canonical, code) ? codes_sibling(canonical) : NULL;
    found = sibling ? find_exact(m, sibling) : NULL;
    return found && is_source(m, found) ? found : NULL;
}

const struct profiles *models_borrow_profiles(struct models *m)
{
    pthread_rwlock_rdlock(&m->profiles_lock);
    return &m->profiles;
}

void models_return_profiles(struct models *m)
{
    pthread_rwlock_unlock(&m->profiles_lock);
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
    const struct translators *t = s->now->translators;
    *f = (struct models_facts){.path = s->of.path,
                               .source = s->of.source,
                               .target = s->of.target,
                               .terms = s->terms,
                               .n_loads = s->n_loads,
                               .counts = translators_counts(t)};
    snprintf(f->note, sizeof f->note, "%s", translators_note(t));
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

    if (s->of.is_told)
        return OK;
    (void)codes_canonical(source, translators_source(t));
    (void)codes_canonical(target, translators_target(t));
    if (strcmp(source, s->of.source) == 0 && strcmp(target, s->of.target) == 0)
        return OK;
    return err_set(err, ERR_USAGE, "%s translates '%s' to '%s' now", s->of.path, source,
                   target);
}

static void put_in_place(struct models *m, struct slot *s, struct models_lent *newer)
{
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
}

static void replace(struct models *m, struct slot *s, const char *what, char text[1200])
{
    struct models_lent *newer;
    struct err err;

    status result = load(m, s, &newer, &err);
    if (result == OK)
        result = check_languages(s, newer->translators, &err);
    if (result != OK) {
        snprintf(text, 1200, "what was loaded before stays in use: %s", err.msg);
        close_lent(newer);
        return;
    }
    put_in_place(m, s, newer);
    const char *note = translators_note(newer->translators);
    if (gather_profiles(m, &err) != OK)
        note = err.msg;
    snprintf(text, 1200, "%s was replaced and is loaded%s%s", what, *note ? "; " : "",
             note);
}

void models_look(struct models *m, void (*say)(void *ctx, const char *text), void *ctx)
{
    for (size_t i = 0; i < m->n; i++) {
        struct slot *s = &m->slot[i];
        struct files id;
        char text[1200];
        if (!find_files(s, &id) || is_same(&id, &s->files))
            continue;
        const bool is_settled = is_same(&id, &s->seen); /* nobody is writing it */
        s->seen = id;
        if (!is_settled)
            continue;
        const bool is_model = id.model != s->files.model;
        s->files = id;
        replace(m, s, is_model ? s->of.path : s->terms, text);
        say(ctx, text);
    }
}
