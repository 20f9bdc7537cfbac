#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "format/tf/checkpoint_dir.h"
#include "format/tf/tf_checkpoint.h"
#include "train/save/checkpoint.h"
#include "train/save/rest.h"

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

/* By a plain name, relative to an open directory: nothing outside can be meant. */
static void remove_files(int dir, const char *name)
{
    BUG_ON(strchr(name, '/'));
    for (size_t i = 0; i < N_SUFFIXES; i++) {
        char file[FILE_PATH_MAX];
        const int n = snprintf(file, sizeof file, "%s%s", name, suffixes[i]);
        if (n > 0 && n < (int)sizeof file)
            unlinkat(dir, file, 0);
    }
}

void shelf_remove(const char *dir, const char *name)
{
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    remove_files(fd, name);
    close(fd);
}

static bool is_kind(const struct shelf *shelf, const char *name)
{
    return strncmp(name, shelf->kind, strlen(shelf->kind)) == 0;
}

/* Part the old names, and the new one as the last, into those that stay and those that
 * go. Both lists have room for all. */
static size_t part_names(const struct shelf *shelf, const struct checkpoint_dir *old,
                         const char *name, const char **stay, const char **gone,
                         size_t *n_gone)
{
    size_t n = 0, n_kind = 1;

    for (size_t i = 0; i < old->n_listed; i++)
        n_kind += strcmp(old->name[i], name) != 0 && is_kind(shelf, old->name[i]);
    *n_gone = 0;
    for (size_t i = old->n_listed; i > 0; i--) { /* the oldest first */
        const char *one = old->name[i - 1];
        if (strcmp(one, name) == 0)
            continue;
        if (is_kind(shelf, one) && n_kind > shelf->keep) {
            gone[(*n_gone)++] = one;
            n_kind--;
        } else {
            stay[n++] = one;
        }
    }
    stay[n++] = name;
    return n;
}

/* What the pointer file should name: the new one, or the one of another kind. */
static const char *pointed(const struct shelf *shelf, const struct checkpoint_dir *old,
                           const char *name)
{
    if (shelf->is_pointed || !old->n_listed || is_kind(shelf, old->name[0]))
        return name;
    return old->name[0];
}

/* Is it a name that saving.c gives? */
static bool is_our_name(const char *name)
{
    return checkpoint_dir_step(name) >= 0 &&
           (str_begins(name, "model.ckpt-") || str_begins(name, "val_loss=") ||
            str_begins(name, "bleu=") || str_begins(name, "best="));
}

/* Does the .state beside it say that this program made it? */
static bool is_our_state(const char *dir, const char *name)
{
    char path[FILE_PATH_MAX];
    struct state s;
    struct err ignored;

    return is_our_name(name) &&
           file_path(path, &ignored, "%s/%s.state", dir, name) == OK &&
           state_read(&s, path, &ignored) == OK && s.step == checkpoint_dir_step(name);
}

/* Where the pointer file is lost, ours are listed again, or they would stay for ever. */
static void adopt(struct checkpoint_dir *old, const char *dir)
{
    size_t n = 0;

    for (size_t i = 0; !old->n_listed && i < old->n; i++)
        if (is_our_state(dir, old->name[i])) {
            char *one = old->name[i];
            old->name[i] = old->name[n];
            old->name[n++] = one;
        }
    old->n_listed += n;
}

status shelf_publish(const struct shelf *shelf, const char *name, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct checkpoint_dir old;
    const char **names;
    size_t n_gone = 0;

    TRY(file_join(path, sizeof path, shelf->dir, CHECKPOINT_DIR_POINTER, err));
    struct err ignored; /* a damaged pointer file is replaced */
    if (checkpoint_dir_list(&old, shelf->dir, &ignored) != OK)
        old = (struct checkpoint_dir){0};
    adopt(&old, shelf->dir);
    status result = mem_alloc(&names, 2 * (old.n_listed + 1), sizeof *names, err);
    if (result == OK) {
        const char **gone = names + old.n_listed + 1;
        const size_t n = part_names(shelf, &old, name, names, gone, &n_gone);
        result = tf_checkpoint_write(path, pointed(shelf, &old, name), names, n, err);
        for (size_t i = 0; result == OK && i < n_gone; i++)
            shelf_remove(shelf->dir, gone[i]);
    }
    free(names);
    checkpoint_dir_release(&old);
    return result;
}

/* ---- what a killed training left ---- */

static bool has_file(int dir, const char *name, const char *suffix)
{
    char file[FILE_PATH_MAX + 8];

    snprintf(file, sizeof file, "%s%s", name, suffix);
    return faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The index makes a checkpoint. A kill between it and the .meta of the first save leaves
 * one from which no run can begin, and of which nothing is lost. */
static bool is_half(int dir, const char *name)
{
    return !has_file(dir, name, ".index") ||
           (strcmp(name, "model.ckpt-0") == 0 && !has_file(dir, name, ".meta") &&
            !has_file(dir, CHECKPOINT_DIR_POINTER, ""));
}

/* A .state is written first and removed last: one of ours without an index is the rest of
 * a checkpoint that was half made or half removed. */
static void sweep_rest(int fd, const char *dir, const char *file)
{
    char name[FILE_PATH_MAX];

    if (!str_ends(file, ".state") || strlen(file) >= sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(strlen(file) - strlen(".state")), file);
    if (is_half(fd, name) && is_our_state(dir, name))
        remove_files(fd, name);
}

static void sweep_dir(const char *dir)
{
    DIR *d = opendir(dir);

    for (struct dirent *e; d && (e = readdir(d));) {
        if (file_is_abandoned(e->d_name))
            unlinkat(dirfd(d), e->d_name, 0);
        sweep_rest(dirfd(d), dir, e->d_name);
    }
    if (d)
        closedir(d);
}

static status check_no_link(const char *path, struct err *err)
{
    struct stat st;

    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
        return err_set(err, ERR_USAGE,
                       "%s is a symbolic link; training removes files there and must not "
                       "do so elsewhere: make it a directory, or link the run directory",
                       path);
    return OK;
}

status shelf_sweep(const char *run, struct err *err)
{
    char best[FILE_PATH_MAX], rest[FILE_PATH_MAX];

    TRY(file_join(best, sizeof best, run, SHELF_BEST, err));
    TRY(file_join(rest, sizeof rest, run, REST_DIR, err));
    TRY(check_no_link(best, err));
    TRY(check_no_link(rest, err));
    sweep_dir(run);
    sweep_dir(best);
    return OK;
}
