#include "prepare/workdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "corpus/checksum.h"
#include "corpus/dataset.h"

#define WORK_DIR "prepare.work"
#define FINAL    "final/"
#define MAGIC    "FERRYMRK"

/* A mark: this, the statistics, the files, the checksum of all before. */
struct head {
    char magic[8];
    uint64_t config, stage, n_stats, n_files;
};

struct file_mark {
    char name[96];
    uint64_t n_bytes, checksum;
};

bool workdir_exists(const char *out)
{
    char dir[FILE_PATH_MAX];
    struct err ignored;

    return file_join(dir, sizeof dir, out, WORK_DIR, &ignored) == OK && file_is_dir(dir);
}

/* Remove the file, or move it to the directory `to` under the same name. */
static status remove_or_move(const char *dir, const char *name, const char *to,
                             struct err *err)
{
    char from[FILE_PATH_MAX], path[FILE_PATH_MAX];

    TRY(file_join(from, sizeof from, dir, name, err));
    if (!to)
        return file_remove(from, err);
    TRY(file_join(path, sizeof path, to, name, err));
    if (rename(from, path) != 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    return OK;
}

/* The same for every file of `dir` whose name has `part` in it; to NULL: remove. */
static status each_file(const char *dir, const char *part, const char *to,
                        struct err *err)
{
    DIR *handle = opendir(dir);
    status result = OK;

    if (!handle)
        return errno == ENOENT ? OK
                               : err_set(err, ERR_IO, "%s: %s", dir, strerror(errno));
    for (struct dirent *e; result == OK && (e = readdir(handle));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            strcmp(e->d_name, "final") != 0 && strstr(e->d_name, part))
            result = remove_or_move(dir, e->d_name, to, err);
    closedir(handle);
    return result;
}

static status lock(struct workdir *w, struct err *err)
{
    w->lock = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->lock < 0)
        return err_set(err, ERR_IO, "%s: %s", w->dir, strerror(errno));
    w->is_open = true;
    file_close_to_others(w->lock);
    if (flock(w->lock, LOCK_EX | LOCK_NB) == 0)
        return OK;
    return err_set(err, ERR_IO, "%s: another ferry prepare is running there", w->out);
}

static status open_dirs(struct workdir *w, struct err *err)
{
    TRY(file_join(w->dir, sizeof w->dir, w->out, WORK_DIR, err));
    TRY(file_join(w->final, sizeof w->final, w->dir, "final", err));
    TRY(file_make_dirs(w->dir, err));
    TRY(lock(w, err));
    TRY(file_make_dirs(w->final, err));
    /* what an interrupted run left half-written; in the data directory that can be the
     * mark and, behind it, the proposal */
    TRY(each_file(w->out, DATASET_MARK FILE_TMP_MARK, NULL, err));
    TRY(each_file(w->out, DATASET_PROPOSAL FILE_TMP_MARK, NULL, err));
    TRY(each_file(w->dir, FILE_TMP_MARK, NULL, err));
    return each_file(w->final, FILE_TMP_MARK, NULL, err);
}

status workdir_open(struct workdir *w, const char *out, uint64_t config, struct err *err)
{
    *w = (struct workdir){.config = config};
    snprintf(w->out, sizeof w->out, "%s", out);
    if (open_dirs(w, err) == OK)
        return OK;
    workdir_close(w);
    return err->code;
}

void workdir_close(struct workdir *w)
{
    if (w->is_open)
        close(w->lock);
    free(w->made);
    *w = (struct workdir){0};
}

status workdir_path(const struct workdir *w, char path[FILE_PATH_MAX], const char *name,
                    struct err *err)
{
    TRY(file_join(path, FILE_PATH_MAX, w->dir, name, err));
    if (strncmp(name, FINAL, strlen(FINAL)) != 0 || file_exists(path))
        return OK;
    char moved[FILE_PATH_MAX];
    TRY(file_join(moved, sizeof moved, w->out, name + strlen(FINAL), err));
    if (file_exists(moved))
        memcpy(path, moved, FILE_PATH_MAX);
    return OK;
}

static status list_file(struct workdir *w, const char *fmt, va_list args, struct err *err)
{
    TRY(mem_grow(&w->made, &w->cap_made, w->n_made + 1, sizeof *w->made, err));
    char *name = w->made[w->n_made];
    const int n = vsnprintf(name, sizeof *w->made, fmt, args);
    if (n < 0 || (size_t)n >= sizeof *w->made)
        return err_set(err, ERR_USAGE, "the file name '%s...' is too long", name);
    w->n_made++;
    return OK;
}

status workdir_add(struct workdir *w, struct err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const status result = list_file(w, fmt, args, err);
    va_end(args);
    return result;
}

status workdir_create(struct workdir *w, struct file_writer *to, struct err *err,
                      const char *fmt, ...)
{
    char path[FILE_PATH_MAX];
    va_list args;

    va_start(args, fmt);
    const status result = list_file(w, fmt, args, err);
    va_end(args);
    TRY(result);
    TRY(file_join(path, sizeof path, w->dir, w->made[w->n_made - 1], err));
    return file_writer_open(to, path, err);
}

status workdir_write(struct workdir *w, const char *name, const void *bytes, size_t n,
                     struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(workdir_add(w, err, "%s", name));
    TRY(file_join(path, sizeof path, w->dir, name, err));
    return file_write(path, bytes, n, err);
}

static status mark_path(const struct workdir *w, char path[FILE_PATH_MAX],
                        enum prepare_stage stage, struct err *err)
{
    return file_path(path, err, "%s/stage-%s", w->dir, prepare_stats_stage_names[stage]);
}

static status describe(const struct workdir *w, const char *name, struct file_mark *m,
                       struct err *err)
{
    char path[FILE_PATH_MAX];

    *m = (struct file_mark){0};
    snprintf(m->name, sizeof m->name, "%s", name);
    TRY(workdir_path(w, path, name, err));
    const int64_t n = file_bytes(path);
    if (n < 0)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    m->n_bytes = (uint64_t)n;
    return checksum_of_file(&m->checksum, path, err);
}

status workdir_save(struct workdir *w, enum prepare_stage stage,
                    const struct prepare_stats *stats, struct err *err)
{
    const struct head head = {MAGIC, w->config, stage, sizeof *stats, w->n_made};
    RELEASED_BY(str_release) struct str bytes = str_new(0);
    char path[FILE_PATH_MAX];
    struct file_mark m;

    TRY(mark_path(w, path, stage, err));
    str_add(&bytes, &head, sizeof head);
    str_add(&bytes, stats, sizeof *stats);
    for (size_t i = 0; i < w->n_made; i++) {
        TRY(describe(w, w->made[i], &m, err));
        str_add(&bytes, &m, sizeof m);
    }
    const uint64_t sum = checksum_of(str_text(&bytes), bytes.len);
    str_add(&bytes, &sum, sizeof sum);
    w->n_made = 0;
    return file_write_str(path, &bytes, err);
}

/* Whether the bytes are a mark of this stage under this configuration. */
static bool is_mark(const struct workdir *w, enum prepare_stage stage,
                    const struct file_map *map)
{
    struct head head;
    uint64_t sum;

    if (map->n_bytes < sizeof head + sizeof sum)
        return false;
    memcpy(&head, map->data, sizeof head);
    memcpy(&sum, map->data + map->n_bytes - sizeof sum, sizeof sum);
    return memcmp(head.magic, MAGIC, sizeof head.magic) == 0 &&
           head.config == w->config && head.stage == stage &&
           head.n_stats == sizeof(struct prepare_stats) && head.n_files < 10000 &&
           map->n_bytes == sizeof head + sizeof(struct prepare_stats) +
                               head.n_files * sizeof(struct file_mark) + sizeof sum &&
           checksum_of(map->data, map->n_bytes - sizeof sum) == sum;
}

/* Whether the files are still those that were marked. */
static bool has_files(const struct workdir *w, const struct file_map *map)
{
    const size_t at = sizeof(struct head) + sizeof(struct prepare_stats);
    struct err ignored;
    struct head head;
    struct file_mark was, is;

    memcpy(&head, map->data, sizeof head);
    for (size_t i = 0; i < head.n_files; i++) {
        memcpy(&was, map->data + at + i * sizeof was, sizeof was);
        if (describe(w, was.name, &is, &ignored) != OK || is.n_bytes != was.n_bytes ||
            is.checksum != was.checksum)
            return false;
    }
    return true;
}

status workdir_load(const struct workdir *w, enum prepare_stage stage,
                    struct prepare_stats *stats, bool *is_done, struct err *err)
{
    RELEASED_BY(file_map_close) struct file_map map = {0};
    char path[FILE_PATH_MAX];

    *is_done = false;
    TRY(mark_path(w, path, stage, err));
    if (!file_exists(path))
        return OK;
    TRY(file_map_open(&map, path, err));
    *is_done = is_mark(w, stage, &map) && has_files(w, &map);
    if (*is_done)
        memcpy(stats, map.data + sizeof(struct head), sizeof *stats);
    return OK;
}

status workdir_publish(const struct workdir *w, struct err *err)
{
    return each_file(w->final, "", w->out, err);
}

status workdir_wipe(const struct workdir *w, struct err *err)
{
    TRY(each_file(w->final, "", NULL, err));
    return each_file(w->dir, "", NULL, err);
}

status workdir_remove(struct workdir *w, struct err *err)
{
    TRY(workdir_wipe(w, err));
    if (rmdir(w->final) != 0 || rmdir(w->dir) != 0)
        return err_set(err, ERR_IO, "%s: %s", w->dir, strerror(errno));
    workdir_close(w);
    return OK;
}
