#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/tf/tf_checkpoint.h"
#include "train/save/checkpoint.h"

/* The index goes first: without it the rest is no checkpoint. */
static const char *const suffixes[] = {".index", ".data-00000-of-00001", ".meta",
                                       ".state"};
enum { N_SUFFIXES = sizeof suffixes / sizeof *suffixes };

uint64_t shelf_bytes(const char *prefix)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < N_SUFFIXES; i++) {
        char path[FILE_PATH_MAX + 32];
        snprintf(path, sizeof path, "%.*s%s", FILE_PATH_MAX, prefix, suffixes[i]);
        const int64_t n = file_bytes(path);
        sum += n > 0 ? (uint64_t)n : 0;
    }
    return sum;
}

void shelf_remove(const char *dir, const char *name)
{
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        char path[FILE_PATH_MAX];
        const int n = snprintf(path, sizeof path, "%s/%s%s", dir, name, suffixes[i]);
        if (n > 0 && n < (int)sizeof path)
            unlink(path);
    }
}

static bool is_kind(const struct shelf *shelf, const char *name)
{
    return strncmp(name, shelf->kind, strlen(shelf->kind)) == 0;
}

/* Part the old names, and the new one as the last, into those that stay and those that
 * go. Both lists have room for all. */
static size_t part_names(const struct shelf *shelf, const struct tf_checkpoint *old,
                         const char *name, const char **stay, const char **gone,
                         size_t *n_gone)
{
    size_t n = 0, n_kind = 1;

    for (size_t i = 0; i < old->n; i++)
        n_kind += strcmp(old->all[i], name) != 0 && is_kind(shelf, old->all[i]);
    *n_gone = 0;
    for (size_t i = 0; i < old->n; i++) {
        if (strcmp(old->all[i], name) == 0)
            continue;
        if (is_kind(shelf, old->all[i]) && n_kind > shelf->keep) {
            gone[(*n_gone)++] = old->all[i];
            n_kind--;
        } else {
            stay[n++] = old->all[i];
        }
    }
    stay[n++] = name;
    return n;
}

/* What the pointer file should name: the new one, or the one of another kind. */
static const char *pointed(const struct shelf *shelf, const struct tf_checkpoint *old,
                           const char *name)
{
    if (shelf->is_pointed || !old->latest || is_kind(shelf, old->latest))
        return name;
    return old->latest;
}

status shelf_publish(const struct shelf *shelf, const char *name, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct tf_checkpoint old = {0};
    const char **names;
    size_t n_gone = 0;

    TRY(file_join(path, sizeof path, shelf->dir, "checkpoint", err));
    struct err ignored;
    if (file_exists(path) && tf_checkpoint_read(&old, path, &ignored) != OK)
        old = (struct tf_checkpoint){0}; /* a damaged pointer file is replaced */
    status result = mem_alloc(&names, 2 * (old.n + 1), sizeof *names, err);
    if (result == OK) {
        const char **gone = names + old.n + 1;
        const size_t n = part_names(shelf, &old, name, names, gone, &n_gone);
        result = tf_checkpoint_write(path, pointed(shelf, &old, name), names, n, err);
        for (size_t i = 0; result == OK && i < n_gone; i++)
            shelf_remove(shelf->dir, gone[i]);
    }
    free(names);
    tf_checkpoint_release(&old);
    return result;
}

/* A .state is written first and removed last: one without an index is the rest of a
 * checkpoint that was half made or half removed. */
static void sweep_rest(const char *dir, const char *file)
{
    const size_t n = strlen(file), n_suffix = strlen(".state");
    char name[FILE_PATH_MAX], index[2 * FILE_PATH_MAX + 8];

    if (n <= n_suffix || n >= sizeof name || strcmp(file + n - n_suffix, ".state") != 0)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(n - n_suffix), file);
    snprintf(index, sizeof index, "%.*s/%s.index", FILE_PATH_MAX, dir, name);
    if (!file_exists(index))
        shelf_remove(dir, name);
}

static void sweep_dir(const char *dir)
{
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d));) {
        char path[FILE_PATH_MAX];
        struct err ignored;
        if (file_is_tmp(e->d_name) &&
            file_join(path, sizeof path, dir, e->d_name, &ignored) == OK)
            unlink(path);
        sweep_rest(dir, e->d_name);
    }
    if (d)
        closedir(d);
}

void shelf_sweep(const char *run)
{
    char best[FILE_PATH_MAX];
    struct err ignored;

    sweep_dir(run);
    if (file_join(best, sizeof best, run, "best_models", &ignored) == OK)
        sweep_dir(best);
}
