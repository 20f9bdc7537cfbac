#include "report/read/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/os.h"

/* A pulse is written every second. So much older it is none, here and on another host,
 * whose clock may differ. */
static const double t_silent = 20, t_silent_elsewhere = 90;

enum lock { LOCK_UNKNOWN, LOCK_FREE, LOCK_HELD };

/*
 * A lock cannot be looked at but by taking it, shared with other readers and for some
 * microseconds; a training that starts just then tries again (train/run/run_dir.c).
 * *number is the file's on its disk; 0: there is none.
 */
static enum lock look_at_lock(const char *dir, uint64_t *number)
{
    char path[FILE_PATH_MAX];
    struct stat st;
    struct err ignored;

    *number = 0;
    if (file_join(path, sizeof path, dir, PULSE_LOCK, &ignored) != OK ||
        stat(path, &st) != 0)
        return LOCK_UNKNOWN;
    *number = (uint64_t)st.st_ino;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return LOCK_UNKNOWN; /* somebody else's */
    const bool is_free = flock(fd, LOCK_SH | LOCK_NB) == 0;
    const enum lock lock = is_free                ? LOCK_FREE
                           : errno == EWOULDBLOCK ? LOCK_HELD
                                                  : LOCK_UNKNOWN;
    close(fd); /* and with it the lock */
    return lock;
}

static bool is_this_host(const char *host)
{
    char own[PULSE_HOST];

    os_host_name(own, sizeof own);
    return host && strcmp(host, own) == 0;
}

static enum holder_kind judge(const struct holder *h, enum lock lock, const char *host)
{
    const bool is_here = is_this_host(h->has_pulse ? h->pulse.host : host);
    const bool is_silent = h->age > (is_here ? t_silent : t_silent_elsewhere);

    if (lock == LOCK_HELD)
        return is_silent ? HOLDER_FROZEN : HOLDER_ALIVE;
    const bool is_restarted = h->has_pulse && strcmp(h->pulse.phase, PULSE_RESTART) == 0;
    if (lock == LOCK_FREE && is_here && !is_restarted)
        return HOLDER_GONE;
    /* Not every disk passes the locks of other hosts on. */
    if (!h->has_pulse)
        return HOLDER_UNKNOWN;
    return is_silent ? HOLDER_GONE : HOLDER_ALIVE;
}

void holder_find(struct holder *h, const char *dir, const char *host, double now)
{
    char path[FILE_PATH_MAX];
    struct err ignored;
    uint64_t number;

    *h = (struct holder){.age = NAN};
    if (file_join(path, sizeof path, dir, PULSE_FILE, &ignored) != OK)
        return;
    const enum lock lock = look_at_lock(dir, &number);
    const bool is_read = pulse_read(&h->pulse, path);
    h->has_pulse = is_read && number && h->pulse.lock == number;
    h->age = h->has_pulse ? now - h->pulse.now : NAN;
    /* What was copied has a lock that nobody will take. */
    const bool is_copy = is_read && !h->has_pulse && lock != LOCK_HELD;
    h->kind = is_copy ? HOLDER_UNKNOWN : judge(h, lock, host);
}
