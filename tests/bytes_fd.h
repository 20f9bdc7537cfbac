/* bytes_fd - bytes as an open file, for readers that take one. */
#pragma once

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Positioned at the start; the caller closes it. */
static inline int bytes_fd(const void *bytes, size_t n)
{
    const int fd = memfd_create("input", MFD_CLOEXEC);

    for (size_t done = 0; fd >= 0 && done < n;) {
        const ssize_t got = write(fd, (const char *)bytes + done, n - done);
        if (got <= 0)
            abort();
        done += (size_t)got;
    }
    if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}
