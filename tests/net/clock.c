/*
 * Preloaded into everything that runs on a host of the lab, this shifts its wall clock by
 * the seconds in SHIFT_FILE, which every host has for itself. The kernel has one wall
 * clock for all of them and no namespace for it. What the kernel does by that clock
 * (times of files, absolute timeouts) is not shifted.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHIFT_FILE "/tmp/node-tmp/clock"

static int64_t shift(void)
{
    const int before = errno;
    char text[32] = "";
    const int fd = open(SHIFT_FILE, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = '\0';
        close(fd);
    }
    errno = before;
    return strtoll(text, NULL, 10);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    const int result = (int)syscall(SYS_clock_gettime, id, t);

    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;

    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
