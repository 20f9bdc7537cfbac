#include <dirent.h>
#include <errno.h>
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

/* The checkpoints of one directory, of which those beyond a step go. */
struct aside {
    const char *dir;
    struct checkpoint_dir list;
    size_t n; /* the first so many of the list may go */
    int64_t step;
};

static status look(struct aside *a, const char *dir, int64_t step, struct err *err)
{
    *a = (struct aside){.dir = dir, .step = step};
    TRY(checkpoint_dir_list(&a->list, dir, err));
    a->n = a->list.has_list ? a->list.n_listed : a->list.n;
    return OK;
}

static bool is_beyond(const struct aside *a, size_t i)
{
    return i < a->n && checkpoint_dir_step(a->list.name[i]) > a->step;
}

static bool is_any_beyond(const struct aside *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (is_beyond(a, i))
            return true;
    return false;
}

/* Is it a file of a checkpoint that goes? */
static bool goes(const struct aside *a, const char *file)
{
    for (size_t i = 0; i < a->n; i++) {
        const char *name = a->list.name[i];
        if (is_beyond(a, i) && str_begins(file, name) && file[strlen(name)] == '.')
            return true;
    }
    return false;
}

static status move_files(const struct aside *a, const char *to, struct err *err)
{
    const int fd = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = opendir(a->dir);
    status result = OK;

    if (fd < 0 || !d)
        result = err_set(err, ERR_IO, "%s: %s", fd < 0 ? to : a->dir, strerror(errno));
    for (struct dirent *e; result == OK && (e = readdir(d));)
        if (goes(a, e->d_name) && renameat(dirfd(d), e->d_name, fd, e->d_name) != 0)
            result = err_set(err, ERR_IO, "%s/%s: %s", to, e->d_name, strerror(errno));
    if (d)
        closedir(d);
    if (fd >= 0)
        close(fd);
    return result;
}

/* The pointer file without those that have gone; the one of the step is the one to use,
 * listed before or not. */
static status point_back(const struct aside *a, struct err *err)
{
    char **all = a->list.name, path[FILE_PATH_MAX];
    const char **names;
    size_t n = 0;

    TRY(file_join(path, sizeof path, a->dir, CHECKPOINT_DIR_POINTER, err));
    TRY(mem_alloc(&names, a->list.n, sizeof *names, err));
    for (size_t i = a->list.n_listed; i > 0; i--)
        if (checkpoint_dir_step(all[i - 1]) < a->step)
            names[n++] = all[i - 1];
    for (size_t i = a->list.n; i > 0; i--)
        if (checkpoint_dir_step(all[i - 1]) == a->step)
            names[n++] = all[i - 1];
    const status result = n ? tf_checkpoint_write(path, names[n - 1], names, n, err)
                            : file_remove(path, err);
    free(names);
    return result;
}

/* A directory of this name that is new. */
static status make_dir(char to[FILE_PATH_MAX], const char *run, int64_t step,
                       struct err *err)
{
    TRY(file_path(to, err, "%s/newer-than-%lld", run, (long long)step));
    for (int i = 2; mkdir(to, 0777) != 0; i++) {
        if (errno != EEXIST)
            return err_set(err, ERR_IO, "%s: %s", to, strerror(errno));
        TRY(file_path(to, err, "%s/newer-than-%lld-%d", run, (long long)step, i));
    }
    return OK;
}

static status move_best(const char *run, const char *to, int64_t step, struct err *err)
{
    char from[FILE_PATH_MAX], best[FILE_PATH_MAX];
    struct aside a;

    TRY(file_join(from, sizeof from, run, SHELF_BEST, err));
    TRY(file_join(best, sizeof best, to, SHELF_BEST, err));
    TRY(look(&a, from, step, err));
    status result = OK;
    if (is_any_beyond(&a)) {
        result = file_make_dirs(best, err);
        THEN(result, move_files(&a, best, err));
        THEN(result, point_back(&a, err));
    }
    checkpoint_dir_release(&a.list);
    return result;
}

status set_aside_newer(char to[FILE_PATH_MAX], const char *run, int64_t step,
                       struct err *err)
{
    struct aside a;

    to[0] = '\0';
    TRY(look(&a, run, step, err));
    status result = OK;
    if (is_any_beyond(&a)) {
        result = make_dir(to, run, step, err);
        THEN(result, move_best(run, to, step, err));
        THEN(result, move_files(&a, to, err));
        THEN(result, point_back(&a, err));
    }
    checkpoint_dir_release(&a.list);
    return result == OK ? OK : err_wrap(err, "setting newer checkpoints aside");
}
