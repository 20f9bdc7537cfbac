#include "recipe/pulse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* Always as long, so that a reader never finds the rest of an older line. */
enum { LINE = 320 };

enum pulse_lock pulse_look_at_lock(const char *path, uint64_t *number)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    enum pulse_lock lock = PULSE_LOCK_UNKNOWN;
    struct stat st;

    *number = stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
    if (fd < 0)
        return lock;
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        lock = PULSE_LOCK_FREE;
    else if (errno == EWOULDBLOCK)
        lock = PULSE_LOCK_HELD;
    close(fd); /* and with it the lock */
    return lock;
}

/* The file is opened and closed each time: on NFS, closing it is what others see. One
 * that the disk does not take is removed: an old pulse would look like a frozen run. */
void pulse_write(const char *path, const struct pulse *p)
{
    char line[LINE + 1];
    struct err ignored;
    int fd;

    if (file_open_regular(&fd, path, O_WRONLY | O_CREAT, &ignored) != OK)
        return;
    const int n = snprintf(
        line, sizeof line, "ferry 1 %s %ld %" PRIu64 " %.3f %.3f %" PRIu64 " %.1f %s ",
        p->host, p->pid, p->lock, p->began, p->now, p->step, p->since, p->phase);
    if (n > 0 && n < LINE) {
        memset(line + n, ' ', (size_t)(LINE - n));
        line[LINE - 1] = '\n';
        if (pwrite(fd, line, LINE, 0) != LINE)
            unlink(path);
    }
    close(fd);
}

bool pulse_read(struct pulse *p, const char *path)
{
    char line[LINE + 1] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    *p = (struct pulse){0};
    if (fd < 0)
        return false;
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    const ssize_t n = is_file ? read(fd, line, LINE) : 0;
    close(fd);
    return n == LINE && line[LINE - 1] == '\n' &&
           sscanf(line, "ferry 1 %127s %ld %" SCNu64 " %lf %lf %" SCNu64 " %lf %15s",
                  p->host, &p->pid, &p->lock, &p->began, &p->now, &p->step, &p->since,
                  p->phase) == 8 &&
           isfinite(p->began) && isfinite(p->now) && isfinite(p->since);
}
