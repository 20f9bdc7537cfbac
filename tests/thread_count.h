/* thread_count - the threads of this process, and the two dots of a folder: a number to
 * compare with an earlier one. */
#pragma once

#include <dirent.h>

#include "test.h"

static inline size_t count_threads(void)
{
    DIR *d = opendir("/proc/self/task");
    size_t n = 0;

    CHECK(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}
