#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

enum { WRITE_BUFFER = 1 << 20 };

static status sys_error(struct err *err, const char *path)
{
    return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
}

status file_map_open(struct file_map *m, const char *path, struct err *err)
{
    struct stat st;
    /* a pipe without a writer must not hold us; regular files do not mind */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *m = (struct file_map){0};
    if (fd < 0)
        return sys_error(err, path);
    if (fstat(fd, &st) != 0) {
        close(fd);
        return sys_error(err, path);
    }
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(err, ERR_IO, "%s: not a regular file", path);
    }
    if (st.st_size > 0) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            close(fd);
            return sys_error(err, path);
        }
        m->data = p;
        m->n_bytes = (size_t)st.st_size;
    }
    close(fd); /* the mapping keeps the file alive */
    return OK;
}

void file_map_close(struct file_map *m)
{
    if (m->data)
        munmap((void *)m->data, m->n_bytes);
    *m = (struct file_map){0};
}

static void writer_free(struct file_writer *w)
{
    free(w->path);
    free(w->tmp);
    free(w->buf);
    *w = (struct file_writer){0};
}

status file_writer_open(struct file_writer *w, const char *path, struct err *err)
{
    const size_t n = strlen(path) + 32;

    *w = (struct file_writer){.path = strdup(path)};
    if (!w->path || mem_alloc(&w->tmp, n, 1, err) != OK ||
        mem_alloc(&w->buf, WRITE_BUFFER, 1, err) != OK) {
        writer_free(w);
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
    }
    snprintf(w->tmp, n, "%s.tmp-%ld", path, (long)getpid());
    w->fd = open(w->tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0) {
        const status result = sys_error(err, path);
        writer_free(w);
        return result;
    }
    return OK;
}

status file_put(int fd, const void *data, size_t n, const char *path, struct err *err)
{
    const char *at = data;

    while (n) {
        const ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return sys_error(err, path);
        at += done;
        n -= (size_t)done;
    }
    return OK;
}

static status flush(struct file_writer *w, struct err *err)
{
    if (w->is_broken)
        return err_set(err, ERR_IO, "%s: an earlier write failed", w->path);
    const status result = file_put(w->fd, w->buf, w->n_buffered, w->path, err);
    w->is_broken = result != OK;
    w->n_buffered = 0;
    return result;
}

status file_writer_add(struct file_writer *w, const void *data, size_t n, struct err *err)
{
    const unsigned char *p = data;

    w->n_bytes += n;
    while (n) {
        size_t room = WRITE_BUFFER - w->n_buffered;
        room = room < n ? room : n;
        memcpy(w->buf + w->n_buffered, p, room);
        w->n_buffered += room;
        p += room;
        n -= room;
        if (w->n_buffered == WRITE_BUFFER)
            TRY(flush(w, err));
    }
    return OK;
}

status file_writer_add_line(struct file_writer *w, const void *text, size_t n,
                            struct err *err)
{
    TRY(file_writer_add(w, text, n, err));
    return file_writer_add(w, "\n", 1, err);
}

/* A rename is durable once its directory is. */
status file_rename(const char *from, const char *to, struct err *err)
{
    if (rename(from, to) != 0)
        return sys_error(err, to);
    char *copy = strdup(to);
    const int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
    return OK;
}

status file_writer_commit(struct file_writer *w, struct err *err)
{
    status result = flush(w, err);

    if (result == OK && fsync(w->fd) != 0)
        result = sys_error(err, w->path);
    if (close(w->fd) != 0 && result == OK)
        result = sys_error(err, w->path);
    THEN(result, file_rename(w->tmp, w->path, err));
    if (result != OK)
        unlink(w->tmp);
    writer_free(w);
    return result;
}

void file_writer_abort(struct file_writer *w)
{
    if (!w->path)
        return;
    close(w->fd);
    unlink(w->tmp);
    writer_free(w);
}

status file_write(const char *path, const void *data, size_t n, struct err *err)
{
    struct file_writer w;

    TRY(file_writer_open(&w, path, err));
    if (file_writer_add(&w, data, n, err) != OK) {
        file_writer_abort(&w);
        return err->code;
    }
    return file_writer_commit(&w, err);
}

status file_write_str(const char *path, const struct str *text, struct err *err)
{
    TRY(str_check(text, path, err));
    return file_write(path, str_text(text), text->len, err);
}

status file_temporary(int *fd, char path[FILE_PATH_MAX], struct err *err)
{
    const char *dir = getenv("TMPDIR");

    *fd = -1;
    TRY(file_join(path, FILE_PATH_MAX, dir && *dir ? dir : "/tmp", "ferry-XXXXXX", err));
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0)
        return err_set(err, ERR_IO,
                       "%s: no temporary file: %s; free some space or set TMPDIR", path,
                       strerror(errno));
    return OK;
}

status file_nameless(int *fd, struct err *err)
{
    char path[FILE_PATH_MAX];

    TRY(file_temporary(fd, path, err));
    unlink(path);
    return OK;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int64_t file_bytes(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

status file_make_dirs(const char *path, struct err *err)
{
    char part[FILE_PATH_MAX];
    const size_t n = strlen(path);

    if (n == 0 || n >= sizeof part)
        return err_set(err, ERR_USAGE, "'%.200s' is not a usable directory name", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return sys_error(err, part);
    }
    if (!file_is_dir(path))
        return err_set(err, ERR_IO, "%s: exists and is not a directory", path);
    return OK;
}

status file_remove(const char *path, struct err *err)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return sys_error(err, path);
    return OK;
}

status file_join(char *out, size_t n_out, const char *dir, const char *name,
                 struct err *err)
{
    const int n = snprintf(out, n_out, "%s/%s", dir, name);

    if (n < 0 || (size_t)n >= n_out)
        return err_set(err, ERR_USAGE, "path '%.200s/%.200s' is too long", dir, name);
    return OK;
}

status file_path(char out[FILE_PATH_MAX], struct err *err, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    const int n = vsnprintf(out, FILE_PATH_MAX, fmt, args);
    va_end(args);
    if (n < 0 || n >= FILE_PATH_MAX)
        return err_set(err, ERR_USAGE, "path '%.400s' is too long", out);
    return OK;
}
