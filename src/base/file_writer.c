/*
 * The writing side of file: bytes to a temporary file, which replaces the old one at the
 * commit, or straight into what cannot be replaced.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"

enum { WRITE_BUFFER = 1 << 20, LINKS_MAX = 40, TMP_TRIES = 1000 };

/* ---- temporary files ---- */

/* The process that a temporary file is of; 0: it is none. */
static pid_t tmp_pid(const char *name)
{
    const char *mark = NULL;
    unsigned pid, count;
    int n = 0;

    for (const char *p = name; (p = strstr(p, FILE_TMP_MARK)); p++)
        mark = p;
    if (!mark || mark == name ||
        sscanf(mark + strlen(FILE_TMP_MARK), "%9u-%9u%n", &pid, &count, &n) != 2 ||
        mark[strlen(FILE_TMP_MARK) + (size_t)n])
        return 0;
    return (pid_t)pid;
}

bool file_is_tmp(const char *name)
{
    return tmp_pid(name) > 0;
}

bool file_is_abandoned(const char *name)
{
    const pid_t pid = tmp_pid(name);

    return pid > 0 && (pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH));
}

/* Beside `path`. A name that is taken is the rest of a process that had this number. */
static status open_tmp(int *fd, char **tmp, const char *path, mode_t mode,
                       struct err *err)
{
    const size_t n = strlen(path) + 64;

    TRY(mem_alloc(tmp, n, 1, err));
    for (int i = 0; i < TMP_TRIES; i++) {
        snprintf(*tmp, n, "%s" FILE_TMP_MARK "%ld-%d", path, (long)getpid(), i);
        *fd = open(*tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (*fd >= 0)
            return OK;
        if (errno != EEXIST)
            break;
    }
    return file_error(err, path);
}

status file_nameless_beside(int *fd, const char *path, struct err *err)
{
    char *tmp = NULL;
    const status result = open_tmp(fd, &tmp, path, 0600, err);

    if (result == OK)
        unlink(tmp);
    free(tmp);
    return result;
}

/* ---- what the name stands for ---- */

static status refuse(const char *path, mode_t mode, struct err *err)
{
    const char *what = S_ISDIR(mode)    ? "directory"
                       : S_ISSOCK(mode) ? "socket"
                       : S_ISFIFO(mode) ? "pipe"
                                        : "device";

    return err_set(err, ERR_IO, "%s is a %s, not a file to write to", path, what);
}

/* A directory of /proc: its links are doors to open files, not paths. */
static bool is_in_proc(const char *path)
{
    char dir[PATH_MAX];
    struct statfs fs;

    snprintf(dir, sizeof dir, "%s", path);
    return statfs(dirname(dir), &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* One link further; false with errno. */
static bool follow(char path[PATH_MAX])
{
    char to[PATH_MAX], dir[PATH_MAX], joined[2 * PATH_MAX];
    const ssize_t n = readlink(path, to, sizeof to - 1);

    if (n < 0)
        return false;
    to[n] = '\0';
    memcpy(dir, path, PATH_MAX);
    const int length = to[0] == '/'
                           ? snprintf(joined, sizeof joined, "%s", to)
                           : snprintf(joined, sizeof joined, "%s/%s", dirname(dir), to);
    errno = ENAMETOOLONG;
    if (length >= PATH_MAX)
        return false;
    memcpy(path, joined, (size_t)length + 1);
    return true;
}

/* To the end of the links, of which the last may point at nothing yet; or to a link of
 * /proc. */
static status find_target(char target[PATH_MAX], bool *is_open_file, const char *path,
                          struct err *err)
{
    struct stat st;

    *is_open_file = false;
    if (snprintf(target, PATH_MAX, "%s", path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return file_error(err, path);
    }
    for (int i = 0; lstat(target, &st) == 0 && S_ISLNK(st.st_mode); i++) {
        if (is_in_proc(target)) {
            *is_open_file = true;
            return OK;
        }
        errno = ELOOP;
        if (i == LINKS_MAX || !follow(target))
            return file_error(err, path);
    }
    return OK;
}

/* What `path` leads to; the system decides whether its links may be followed. */
static status look_at(struct stat *st, bool *is_there, const char *path, struct err *err)
{
    const int fd = open(path, O_PATH | O_CLOEXEC);

    *is_there = fd >= 0;
    if (fd < 0)
        return errno == ENOENT ? OK : file_error(err, path);
    const int bad = fstat(fd, st);
    close(fd);
    return bad ? file_error(err, path) : OK;
}

/* Where an output goes. */
struct place {
    char target[PATH_MAX];
    struct stat st; /* of what is there */
    bool is_there;
    bool is_direct; /* it is written into, not replaced */
};

static status check_dir(const char *path, const char *target, struct err *err)
{
    char part[PATH_MAX], inside[PATH_MAX + 8];

    snprintf(part, sizeof part, "%s", target);
    const char *dir = dirname(part); /* of a name alone: not what is in `part` */
    snprintf(inside, sizeof inside, "%s/.", dir); /* a file has none */
    if (access(inside, W_OK | X_OK) == 0)
        return OK;
    return err_set(err, ERR_IO, "%s: %s; the directory %s must exist and be writable",
                   path, strerror(errno), dir);
}

static status find_place(struct place *p, const char *path, struct err *err)
{
    bool is_open_file;

    TRY(look_at(&p->st, &p->is_there, path, err));
    TRY(find_target(p->target, &is_open_file, path, err));
    p->is_direct = is_open_file || (p->is_there && !S_ISREG(p->st.st_mode));
    if (is_open_file)
        return OK;
    if (p->is_there && (S_ISDIR(p->st.st_mode) || S_ISSOCK(p->st.st_mode)))
        return refuse(path, p->st.st_mode, err);
    if (p->is_there && faccessat(AT_FDCWD, p->target, W_OK, AT_EACCESS) != 0)
        return file_error(err, path);
    return p->is_direct ? OK : check_dir(path, p->target, err);
}

status file_check_output(const char *path, struct err *err)
{
    struct place p;

    return find_place(&p, path, err);
}

/* An open file of this process has its own position: `{ ferry ...; date; } >file`. */
static int open_directly(const char *target)
{
    static const char *const dirs[] = {"/proc/self/fd/", "/dev/fd/"};

    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(dirs[i]);
        if (strncmp(target, dirs[i], n) == 0 && isdigit((unsigned char)target[n]))
            return fcntl((int)strtol(target + n, NULL, 10), F_DUPFD_CLOEXEC, 3);
    }
    return open(target, O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
}

/* ---- the writer ---- */

static void writer_free(struct file_writer *w)
{
    if (w->into >= 0)
        close(w->into);
    free(w->path);
    free(w->target);
    free(w->tmp);
    free(w->buf);
    *w = (struct file_writer){0};
}

static status begin(struct file_writer *w, const char *path, struct err *err)
{
    *w = (struct file_writer){.fd = -1, .into = -1, .path = strdup(path)};
    if (w->path && mem_alloc(&w->buf, WRITE_BUFFER, 1, err) == OK)
        return OK;
    return err_set(err, ERR_MEMORY, "%s: no memory to write it", path);
}

static status begin_replacing(struct file_writer *w, const char *target, mode_t mode,
                              struct err *err)
{
    w->target = strdup(target);
    if (!w->target)
        return err_set(err, ERR_MEMORY, "%s: no memory to write it", w->path);
    return open_tmp(&w->fd, &w->tmp, target, mode, err);
}

static status open_own(struct file_writer *w, struct err *err)
{
    struct stat st;

    if (lstat(w->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return refuse(w->path, st.st_mode, err);
    return begin_replacing(w, w->path, 0666, err);
}

static status open_output(struct file_writer *w, struct err *err)
{
    struct place p;

    TRY(find_place(&p, w->path, err));
    if (p.is_direct) {
        w->fd = open_directly(p.target);
        return w->fd < 0 ? file_error(err, w->path) : OK;
    }
    if (!p.is_there)
        return begin_replacing(w, p.target, 0666, err);
    TRY(begin_replacing(w, p.target, p.st.st_mode & 0777, err));
    (void)!fchown(w->fd, p.st.st_uid, p.st.st_gid);
    (void)!fchmod(w->fd, p.st.st_mode & 0777);
    return OK;
}

static status open_patchable(struct file_writer *w, struct err *err)
{
    TRY(open_output(w, err));
    if (w->target)
        return OK;
    w->into = w->fd;
    return file_nameless(&w->fd, err);
}

static status open_as(status (*open_it)(struct file_writer *, struct err *),
                      struct file_writer *w, const char *path, struct err *err)
{
    status result = begin(w, path, err);

    THEN(result, open_it(w, err));
    if (result != OK)
        writer_free(w);
    return result;
}

status file_writer_open(struct file_writer *w, const char *path, struct err *err)
{
    return open_as(open_own, w, path, err);
}

status file_writer_open_output(struct file_writer *w, const char *path, struct err *err)
{
    return open_as(open_output, w, path, err);
}

status file_writer_open_patchable(struct file_writer *w, const char *path,
                                  struct err *err)
{
    return open_as(open_patchable, w, path, err);
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

status file_writer_patch(struct file_writer *w, uint64_t at, const void *data, size_t n,
                         struct err *err)
{
    BUG_ON((!w->target && w->into < 0) || at > w->n_bytes || n > w->n_bytes - at);
    TRY(flush(w, err));
    status result = lseek(w->fd, (off_t)at, SEEK_SET) < 0 ? file_error(err, w->path) : OK;
    THEN(result, file_put(w->fd, data, n, w->path, err));
    if (result == OK && lseek(w->fd, 0, SEEK_END) < 0)
        result = file_error(err, w->path);
    w->is_broken = result != OK;
    return result;
}

/* The bytes that waited to where they belong, which becomes the file to sync. */
static status pour(struct file_writer *w, struct err *err)
{
    status result = OK;
    ssize_t n;

    for (off_t at = 0; (n = pread(w->fd, w->buf, WRITE_BUFFER, at)) > 0; at += n) {
        result = file_put(w->into, w->buf, (size_t)n, w->path, err);
        if (result != OK)
            break;
    }
    if (n < 0)
        result = file_error(err, w->path);
    const int waiting = w->fd;
    w->fd = w->into;
    w->into = waiting;
    return result;
}

/* Pipes and most devices have nothing to sync, and say so. */
static bool sync_all(const struct file_writer *w)
{
    return fsync(w->fd) == 0 || (!w->target && (errno == EINVAL || errno == EROFS ||
                                                errno == ENOTSUP || errno == ENOSYS));
}

status file_writer_commit(struct file_writer *w, struct err *err)
{
    status result = flush(w, err);

    if (w->into >= 0)
        THEN(result, pour(w, err));
    if (result == OK && !sync_all(w))
        result = file_error(err, w->path);
    if (close(w->fd) != 0 && result == OK)
        result = file_error(err, w->path);
    if (w->target) {
        THEN(result, file_rename(w->tmp, w->target, err));
        if (result != OK)
            unlink(w->tmp);
    }
    writer_free(w);
    return result;
}

void file_writer_abort(struct file_writer *w)
{
    if (!w->path)
        return;
    close(w->fd);
    if (w->target)
        unlink(w->tmp);
    writer_free(w);
}

static status write_whole(struct file_writer *w, const void *data, size_t n,
                          struct err *err)
{
    if (file_writer_add(w, data, n, err) == OK)
        return file_writer_commit(w, err);
    file_writer_abort(w);
    return err->code;
}

status file_write(const char *path, const void *data, size_t n, struct err *err)
{
    struct file_writer w;

    TRY(file_writer_open(&w, path, err));
    return write_whole(&w, data, n, err);
}

status file_write_output(const char *path, const void *data, size_t n, struct err *err)
{
    struct file_writer w;

    TRY(file_writer_open_output(&w, path, err));
    return write_whole(&w, data, n, err);
}

status file_write_str(const char *path, const struct str *text, struct err *err)
{
    TRY(str_check(text, path, err));
    return file_write(path, str_text(text), text->len, err);
}
