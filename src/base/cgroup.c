#include "base/cgroup.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* Where a version keeps what it knows, below its root. */
static const struct layout {
    const char *below, *limit, *used, *idle; /* the last is a line of memory.stat */
} layouts[] = {
    {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
    {"", "memory.max", "memory.current", "inactive_file"},
};

static FILE *open_file(const char *dir, const char *name)
{
    char path[FILE_PATH_MAX];

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return NULL;
    return fopen(path, "re");
}

/* The number in a file; SIZE_MAX when there is none, or none that fits ("max"). */
static size_t number_in(const char *dir, const char *name)
{
    FILE *f = open_file(dir, name);
    unsigned long long n;
    const bool is_there = f && fscanf(f, "%llu", &n) == 1;

    if (f)
        fclose(f);
    return is_there && n < SIZE_MAX ? (size_t)n : SIZE_MAX;
}

static size_t idle_bytes(const char *dir, const char *key)
{
    FILE *f = open_file(dir, "memory.stat");
    char name[64];
    unsigned long long n;
    size_t found = 0;

    while (f && fscanf(f, "%63s %llu", name, &n) == 2)
        if (strcmp(name, key) == 0)
            found = (size_t)n;
    if (f)
        fclose(f);
    return found;
}

static size_t left_in(const char *dir, const struct layout *l)
{
    const size_t limit = number_in(dir, l->limit), used = number_in(dir, l->used);
    const size_t idle = idle_bytes(dir, l->idle);

    if (limit == SIZE_MAX || used == SIZE_MAX)
        return SIZE_MAX;
    const size_t held = used > idle ? used - idle : 0;
    return limit > held ? limit - held : 0;
}

/* The group `path` and all above it. In a container without a namespace for groups the
 * path is the host's, and only its root is there. */
static size_t left_above(const char *root, const struct layout *l, const char *path)
{
    char dir[FILE_PATH_MAX];
    size_t least = SIZE_MAX;

    const size_t n_root = (size_t)snprintf(dir, sizeof dir, "%s%s", root, l->below);
    if (n_root + strlen(path) >= sizeof dir)
        return SIZE_MAX;
    memcpy(dir + n_root, path, strlen(path) + 1);
    for (;;) {
        const size_t left = left_in(dir, l);
        least = left < least ? left : least;
        char *slash = strrchr(dir + n_root, '/');
        if (!slash)
            return least;
        *slash = '\0';
    }
}

/* A line is "number:controllers:path"; version 2 has number 0 and names none. */
size_t cgroup_free_bytes(const char *list, const char *root)
{
    size_t least = SIZE_MAX;

    for (const char *line = list; *line; line += *line == '\n') {
        char number[16], controllers[128] = "", path[1024];
        const size_t n = strcspn(line, "\n");
        char text[1200];
        snprintf(text, sizeof text, "%.*s", (int)n, line);
        line += n;
        const bool is_first =
            sscanf(text, "%15[0-9]:%127[^:]:%1023[^\n]", number, controllers, path) == 3;
        const bool is_second = !is_first && sscanf(text, "0::%1023[^\n]", path) == 1;
        if (!is_second && !(is_first && strcmp(controllers, "memory") == 0))
            continue;
        const size_t left = left_above(root, &layouts[is_second], path);
        least = left < least ? left : least;
    }
    return least;
}
