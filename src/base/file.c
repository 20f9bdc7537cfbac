#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

const char *file_reason(int code)
{
    if (code == EFBIG)
        return "File too large: a limit on the size of files is reached (ulimit -f)";
    return strerror(code);
}

status file_error(struct err *err, const char *path)
{
    return err_set(err, ERR_IO, "%s: %s", path, file_reason(errno));
}

/* The open mappings, for file_mapped_at, which takes no lock: an entry is valid while its
 * `data` is set. */
static struct mapped {
    _Atomic(const unsigned char *) data;
    size_t n_bytes;
    char path[256]; /* the end of a longer one */
} mapped[64];
static pthread_mutex_t mapped_lock = PTHREAD_MUTEX_INITIALIZER;
enum { N_MAPPED = sizeof mapped / sizeof *mapped };

static void remember(const struct file_map *m, const char *path)
{
    const size_t n = strlen(path), room = sizeof mapped->path - 1;

    pthread_mutex_lock(&mapped_lock);
    for (size_t i = 0; i < N_MAPPED; i++)
        if (!mapped[i].data) {
            mapped[i].n_bytes = m->n_bytes;
            snprintf(mapped[i].path, room + 1, "%s", path + (n > room ? n - room : 0));
            mapped[i].data = m->data;
            break;
        }
    pthread_mutex_unlock(&mapped_lock);
}

static void forget(const struct file_map *m)
{
    pthread_mutex_lock(&mapped_lock);
    for (size_t i = 0; i < N_MAPPED; i++)
        if (mapped[i].data == m->data)
            mapped[i].data = NULL;
    pthread_mutex_unlock(&mapped_lock);
}

const char *file_mapped_at(const void *address)
{
    const uintptr_t at = (uintptr_t)address;

    for (size_t i = 0; i < N_MAPPED; i++) {
        const uintptr_t data = (uintptr_t)mapped[i].data;
        if (data && at >= data && at - data < mapped[i].n_bytes)
            return mapped[i].path;
    }
    return NULL;
}

/* A regular file and its size; *fd is -1 on failure. */
static status open_regular(int *fd, size_t *n_bytes, const char *path, struct err *err)
{
    struct stat st;

    /* a pipe without a writer must not hold us; regular files do not mind */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return file_error(err, path);
    status result = fstat(*fd, &st) == 0 ? OK : file_error(err, path);
    if (result == OK && !S_ISREG(st.st_mode))
        result = err_set(err, ERR_IO, "%s: not a regular file", path);
    if (result != OK) {
        close(*fd);
        *fd = -1;
        return result;
    }
    *n_bytes = (size_t)st.st_size;
    return OK;
}

status file_map_open(struct file_map *m, const char *path, struct err *err)
{
    size_t n = 0;
    int fd;

    *m = (struct file_map){0};
    TRY(open_regular(&fd, &n, path, err));
    if (n > 0) {
        void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED) {
            close(fd);
            return file_error(err, path);
        }
        *m = (struct file_map){p, n};
        remember(m, path);
    }
    close(fd); /* the mapping keeps the file alive */
    return OK;
}

static status read_all(int fd, unsigned char *to, size_t n, const char *path,
                       struct err *err)
{
    for (size_t at = 0; at < n;) {
        const ssize_t got = read(fd, to + at, n - at);
        if (got == 0)
            return err_set(err, ERR_IO, "%s was cut short while it was read", path);
        if (got < 0 && errno != EINTR)
            return file_error(err, path);
        at += got > 0 ? (size_t)got : 0;
    }
    return OK;
}

status file_map_copy(struct file_map *m, const char *path, struct err *err)
{
    status result = OK;
    size_t n = 0;
    int fd;

    *m = (struct file_map){0};
    TRY(open_regular(&fd, &n, path, err));
    if (n > 0) {
        void *p =
            mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p != MAP_FAILED)
            *m = (struct file_map){p, n};
        result = p == MAP_FAILED ? err_set(err, ERR_MEMORY, "no memory for %s", path)
                                 : read_all(fd, p, n, path, err);
    }
    close(fd);
    if (result != OK)
        file_map_close(m);
    return result;
}

void file_map_close(struct file_map *m)
{
    if (m->data) {
        forget(m);
        munmap((void *)m->data, m->n_bytes);
    }
    *m = (struct file_map){0};
}

status file_open_regular(int *fd, const char *path, int flags, struct err *err)
{
    struct stat st;

    /* a pipe without a reader must not hold us; regular files do not mind */
    *fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == ELOOP)
        return err_set(err, ERR_IO,
                       "%s is a symbolic link; a file of Ferry's own is not written "
                       "through links: remove it",
                       path);
    if (*fd < 0)
        return file_error(err, path);
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        return OK;
    close(*fd);
    *fd = -1;
    return err_set(err, ERR_IO, "%s is not a regular file; remove it", path);
}

void file_close_to_others(int fd)
{
    struct stat st;

    if (fstat(fd, &st) == 0 && st.st_mode & S_IRWXO)
        (void)!fchmod(fd, st.st_mode & (S_ISVTX | S_ISGID | S_IRWXU | S_IRWXG));
}

status file_put(int fd, const void *data, size_t n, const char *path, struct err *err)
{
    return os_write(fd, data, n) ? OK : file_error(err, path);
}

/* A rename is durable once its directory is. */
status file_rename(const char *from, const char *to, struct err *err)
{
    if (rename(from, to) != 0)
        return file_error(err, to);
    char *copy = strdup(to);
    const int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
    return OK;
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

bool file_is_special(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
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
            return file_error(err, part);
    }
    if (!file_is_dir(path))
        return err_set(err, ERR_IO, "%s: exists and is not a directory", path);
    return OK;
}

status file_remove(const char *path, struct err *err)
{
    if (unlink(path) != 0 && errno != ENOENT)
        return file_error(err, path);
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

status file_absolute(char out[FILE_PATH_MAX], const char *path, struct err *err)
{
    char here[FILE_PATH_MAX];

    if (path[0] == '/')
        return file_path(out, err, "%s", path);
    if (!getcwd(here, sizeof here))
        return err_set(err, ERR_IO, "the present directory: %s", strerror(errno));
    return file_join(out, FILE_PATH_MAX, strcmp(here, "/") == 0 ? "" : here, path, err);
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
