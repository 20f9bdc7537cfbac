#include "format/tf/checkpoint_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "format/tf/tf_checkpoint.h"

#define INDEX ".index"
#define DATA  ".data-00000-of-00001"

int64_t checkpoint_dir_step(const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end = NULL;
    const long long n = dash ? strtoll(dash + 1, &end, 10) : -1;

    return end && end > dash + 1 && *end == '\0' ? n : -1;
}

void checkpoint_dir_release(struct checkpoint_dir *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->name[i]);
    free(c->name);
    *c = (struct checkpoint_dir){0};
}

static bool has(const struct checkpoint_dir *c, const char *name, size_t n)
{
    for (size_t i = 0; i < c->n; i++)
        if (strlen(c->name[i]) == n && memcmp(c->name[i], name, n) == 0)
            return true;
    return false;
}

static status add(struct checkpoint_dir *c, const char *name, size_t n, struct err *err)
{
    if (has(c, name, n))
        return OK;
    TRY(mem_grow(&c->name, &c->cap, c->n + 1, sizeof *c->name, err));
    c->name[c->n] = strndup(name, n);
    if (!c->name[c->n])
        return err_set(err, ERR_MEMORY, "no memory for a checkpoint's name");
    c->n++;
    return OK;
}

/* Names without a step come last; of equals the later in the file is newer. */
static void sort(char **name, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        char *one = name[i];
        const int64_t step = checkpoint_dir_step(one);
        size_t at = i;
        for (; at > 0 && checkpoint_dir_step(name[at - 1]) <= step; at--)
            name[at] = name[at - 1];
        name[at] = one;
    }
}

/* ---- names of the pointer file ---- */

static bool is_same_dir(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* The last part of a path; NULL when that is no file's name. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? name : NULL;
}

/* Is the directory part of `path` the directory `dir`? */
static bool is_inside(const char *dir, const char *path)
{
    const char *slash = strrchr(path, '/');
    char part[FILE_PATH_MAX], whole[FILE_PATH_MAX];
    struct err ignored;

    if (!slash)
        return true;
    if (file_path(part, &ignored, "%.*s/", (int)(slash - path), path) != OK)
        return false;
    if (*path == '/')
        return is_same_dir(dir, part);
    return file_join(whole, sizeof whole, dir, part, &ignored) == OK &&
           is_same_dir(dir, whole);
}

static bool is_there(const char *dir, const char *name, const char *suffix)
{
    char path[FILE_PATH_MAX];
    struct err ignored;

    return file_path(path, &ignored, "%s/%s%s", dir, name, suffix) == OK &&
           file_exists(path);
}

/* Names of foreign files in it are spelled, so that it can be printed anywhere. */
static void PRINTF(3, 4) set_note(char *note, size_t n, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    utf8_spell(note, n, text);
}

/* The one to use. A path of elsewhere is that of a run before it was moved, if there is
 * such a checkpoint here. */
static status add_pointed(struct checkpoint_dir *c, const char *dir, const char *path,
                          struct err *err)
{
    const char *name = last_part(path);
    const bool is_ours = name && is_inside(dir, path);

    if (!is_ours && !(name && is_there(dir, name, INDEX)))
        return err_set(err, ERR_FORMAT,
                       "%.300s/" CHECKPOINT_DIR_POINTER " points at '%.300s', which is "
                       "not in that directory; correct the file",
                       dir, path);
    if (!is_ours)
        set_note(c->note, sizeof c->note,
                 "%.150s/" CHECKPOINT_DIR_POINTER " points at '%.180s', in another "
                 "directory",
                 dir, path);
    return add(c, name, strlen(name), err);
}

static status add_listed(struct checkpoint_dir *c, const char *dir,
                         const struct tf_checkpoint *file, struct err *err)
{
    c->has_list = file->n > 0;
    if (file->latest)
        TRY(add_pointed(c, dir, file->latest, err));
    else
        set_note(c->note, sizeof c->note,
                 "%.300s/" CHECKPOINT_DIR_POINTER " points at no checkpoint", dir);
    const size_t first = c->n;
    for (size_t i = 0; i < file->n; i++) {
        const char *name = last_part(file->all[i]);
        if (name && is_inside(dir, file->all[i]))
            TRY(add(c, name, strlen(name), err));
    }
    sort(c->name + first, c->n - first);
    c->n_listed = c->n;
    return OK;
}

static status read_pointer(struct checkpoint_dir *c, const char *dir, struct err *err)
{
    char path[FILE_PATH_MAX];
    struct tf_checkpoint file;
    struct err why;

    TRY(file_join(path, sizeof path, dir, CHECKPOINT_DIR_POINTER, err));
    c->has_pointer = file_exists(path);
    if (!c->has_pointer) {
        set_note(c->note, sizeof c->note, "there is no file %.350s", path);
        return OK;
    }
    if (tf_checkpoint_read(&file, path, &why) != OK) {
        set_note(c->note, sizeof c->note, "%.*s", (int)sizeof c->note - 1, why.msg);
        return OK;
    }
    const status result = add_listed(c, dir, &file, err);
    tf_checkpoint_release(&file);
    return result;
}

/* ---- names in the directory ---- */

/* The length of a checkpoint's name in that of one of its files; 0: it is none. An index
 * alone may be anything's, unless it is named as checkpoints are. */
static size_t name_in(const char *dir, const char *file)
{
    char name[FILE_PATH_MAX];
    const size_t n = strlen(file);
    const char *suffix = str_ends(file, INDEX) ? INDEX : DATA;

    if (!str_ends(file, suffix) || n == strlen(suffix) || n >= sizeof name)
        return 0;
    const size_t n_name = n - strlen(suffix);
    if (str_begins(file, "model.ckpt-"))
        return n_name;
    snprintf(name, sizeof name, "%.*s", (int)n_name, file);
    return is_there(dir, name, INDEX) && is_there(dir, name, DATA) ? n_name : 0;
}

static status add_unlisted(struct checkpoint_dir *c, const char *dir, struct err *err)
{
    const size_t first = c->n;
    status result = OK;
    DIR *d = opendir(dir);

    if (!d && errno != ENOENT && errno != ENOTDIR)
        return file_error(err, dir); /* what it holds is not known */
    for (struct dirent *e; result == OK && d && (e = readdir(d));) {
        const size_t n = name_in(dir, e->d_name);
        if (n)
            result = add(c, e->d_name, n, err);
    }
    if (d)
        closedir(d);
    sort(c->name + first, c->n - first);
    return result;
}

status checkpoint_dir_list(struct checkpoint_dir *c, const char *dir, struct err *err)
{
    *c = (struct checkpoint_dir){0};
    status result = read_pointer(c, dir, err);
    THEN(result, add_unlisted(c, dir, err));
    if (result != OK)
        checkpoint_dir_release(c);
    return result;
}

bool checkpoint_dir_has_any(const char *dir)
{
    struct checkpoint_dir list;
    struct err ignored;

    if (checkpoint_dir_list(&list, dir, &ignored) != OK)
        return true;
    const bool has_any = list.n || list.has_pointer;
    checkpoint_dir_release(&list);
    return has_any;
}

/* ---- opening ---- */

bool checkpoint_dir_has_changed(const struct checkpoint_dir *c, const char *dir)
{
    struct checkpoint_dir now;
    struct err ignored;

    if (checkpoint_dir_list(&now, dir, &ignored) != OK)
        return false;
    bool is_same = c->n == now.n && c->has_pointer == now.has_pointer;
    for (size_t i = 0; is_same && i < c->n; i++)
        is_same = strcmp(c->name[i], now.name[i]) == 0;
    checkpoint_dir_release(&now);
    return !is_same;
}

static status open_first(struct checkpoint_choice *c, const char *dir,
                         const struct checkpoint_dir *list, struct err *err)
{
    struct err each = {0};

    *c = (struct checkpoint_choice){0};
    if (!list->n)
        return err_set(err, list->has_pointer ? ERR_FORMAT : ERR_IO,
                       "%s has no checkpoint yet: %s, and no files of one are there; "
                       "name one with checkpoint=PREFIX if you have it",
                       dir, list->note);
    for (size_t i = 0; i < list->n; i++) {
        TRY(file_join(c->prefix, sizeof c->prefix, dir, list->name[i], err));
        if (tensor_bundle_open(&c->bundle, c->prefix, i ? &each : &c->damage) == OK)
            return OK;
    }
    *err = c->damage;
    return list->n > 1 ? err_wrap(err, "%s has no whole checkpoint", dir) : err->code;
}

static void explain(struct checkpoint_choice *c, const struct checkpoint_dir *list)
{
    const char *damage = c->damage.code != OK ? c->damage.msg : "";

    if (*list->note || *damage)
        set_note(c->note, sizeof c->note, "%.150s%s%.150s; using %.180s instead",
                 list->note, *list->note && *damage ? "; " : "", damage, c->prefix);
}

status checkpoint_dir_open(struct checkpoint_choice *c, const char *dir, struct err *err)
{
    struct checkpoint_dir list;

    for (int look = 1;; look++) {
        TRY(checkpoint_dir_list(&list, dir, err));
        const status result = open_first(c, dir, &list, err);
        const bool is_first = result == OK && c->damage.code == OK;
        if (is_first || look == CHECKPOINT_DIR_LOOKS ||
            !checkpoint_dir_has_changed(&list, dir)) {
            explain(c, &list);
            checkpoint_dir_release(&list);
            return result;
        }
        tensor_bundle_close(&c->bundle);
        checkpoint_dir_release(&list);
    }
}
