#include "format/new_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "out/" is "out". */
static status take_name(char name[FILE_PATH_MAX], const char *target, struct err *err)
{
    size_t n = strlen(target);

    while (n > 1 && target[n - 1] == '/')
        n--;
    if (!n || n >= FILE_PATH_MAX - 64)
        return err_set(err, ERR_USAGE, "out = %.200s: the path is empty or too long",
                       target);
    snprintf(name, FILE_PATH_MAX, "%.*s", (int)n, target);
    return OK;
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;

    for (struct dirent *e; d && (e = readdir(d));)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d)
        closedir(d);
    return d && !n;
}

status new_dir_check(const char *target, struct err *err)
{
    char name[FILE_PATH_MAX];
    struct stat st;

    TRY(take_name(name, target, err));
    if (lstat(name, &st) != 0 && errno == ENOENT)
        return OK;
    if (S_ISDIR(st.st_mode) && is_empty(name))
        return OK;
    return err_set(err, ERR_USAGE,
                   "out = %s: something is there already; name a new directory", name);
}

/* The directory that a path is in. */
static void parent_of(char dir[FILE_PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(dir, FILE_PATH_MAX, "%.*s", slash ? (int)(slash - path) + 1 : 1,
             slash ? path : ".");
}

status new_dir_begin(struct new_dir *d, const char *target, struct err *err)
{
    char parent[FILE_PATH_MAX];

    *d = (struct new_dir){.path = ""};
    TRY(new_dir_check(target, err));
    TRY(take_name(d->target, target, err));
    parent_of(parent, d->target);
    TRY(file_make_dirs(parent, err));
    TRY(file_path(d->path, err, "%s" FILE_TMP_MARK "%ld-0", d->target, (long)getpid()));
    if (mkdir(d->path, 0777) == 0)
        return OK;
    const status result = file_error(err, d->path);
    d->path[0] = '\0';
    return result;
}

status new_dir_commit(struct new_dir *d, struct err *err)
{
    const status result = file_rename(d->path, d->target, err);

    if (result == OK)
        d->path[0] = '\0';
    return result;
}

void new_dir_abort(struct new_dir *d)
{
    DIR *dir = d->path[0] ? opendir(d->path) : NULL;

    for (struct dirent *e; dir && (e = readdir(dir));)
        (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir)
        closedir(dir);
    if (d->path[0])
        (void)rmdir(d->path);
    *d = (struct new_dir){.path = ""};
}
