#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/file.h"

enum { PAGE = 4096, LARGE_PAGE = 2 << 20 };

void mem_large_pages(void *mem, size_t n_bytes)
{
    const size_t skip = (PAGE - (uintptr_t)mem % PAGE) % PAGE;

    if (n_bytes >= LARGE_PAGE)
        (void)madvise((char *)mem + skip, (n_bytes - skip) / PAGE * PAGE, MADV_HUGEPAGE);
}

void mem_zero_pages(void *mem, size_t n_bytes)
{
    if (madvise(mem, n_bytes, MADV_DONTNEED) != 0) /* locked pages stay where they are */
        memset(mem, 0, n_bytes);
}

status mem_mul(size_t *product, size_t a, size_t b, struct err *err)
{
    if (__builtin_mul_overflow(a, b, product))
        return err_set(err, ERR_MEMORY, "%zu items of %zu bytes do not fit in memory", a,
                       b);
    return OK;
}

status mem_alloc(void *out, size_t n, size_t bytes, struct err *err)
{
    void *p = calloc(n ? n : 1, bytes ? bytes : 1);

    memcpy(out, &p, sizeof p);
    if (!p)
        return err_set(err, ERR_MEMORY, "cannot allocate %zu items of %zu bytes", n,
                       bytes);
    mem_large_pages(p, n * bytes);
    return OK;
}

void mem_release(void *pointer)
{
    void *p;

    memcpy(&p, pointer, sizeof p);
    free(p);
}

status mem_grow(void *items, size_t *cap, size_t want, size_t bytes, struct err *err)
{
    size_t total, next = *cap ? *cap : 16;
    void *p;

    if (want <= *cap)
        return OK;
    while (next < want)
        next = next < SIZE_MAX / 2 ? next + next / 2 + 1 : want;
    TRY(mem_mul(&total, next, bytes, err));
    memcpy(&p, items, sizeof p);
    p = realloc(p, total);
    if (!p)
        return err_set(err, ERR_MEMORY, "cannot allocate %zu bytes", total);
    mem_large_pages(p, total);
    memcpy(items, &p, sizeof p);
    *cap = next;
    return OK;
}

static size_t system_bytes(void)
{
    FILE *f = fopen("/proc/meminfo", "re");
    char line[128];
    size_t kib = 0;

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Where a version keeps what it knows, below its root. */
static const struct layout {
    const char *below, *limit, *used, *idle; /* the last is a line of memory.stat */
} layouts[] = {
    {"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
    {"", "memory.max", "memory.current", "inactive_file"},
};

/* The number in a file, or behind the word `key`; `other` when there is none, or none
 * that fits ("max"). */
static size_t number_in(const char *dir, const char *name, const char *key, size_t other)
{
    char path[FILE_PATH_MAX], word[64] = "";
    unsigned long long n;
    bool is_found = false;

    if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
        return other;
    FILE *f = fopen(path, "re");
    while (f && !is_found && (!*key || fscanf(f, "%63s", word) == 1) &&
           fscanf(f, "%llu", &n) == 1)
        is_found = strcmp(word, key) == 0;
    if (f)
        fclose(f);
    return is_found && n < SIZE_MAX ? (size_t)n : other;
}

static size_t left_in(const char *dir, const struct layout *l)
{
    const size_t limit = number_in(dir, l->limit, "", SIZE_MAX);
    const size_t used = number_in(dir, l->used, "", SIZE_MAX);
    const size_t idle = number_in(dir, "memory.stat", l->idle, 0);

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
size_t mem_group_bytes(const char *list, const char *root)
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

size_t mem_free_bytes(void)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char list[4096] = "";

    if (f) {
        list[fread(list, 1, sizeof list - 1, f)] = '\0';
        fclose(f);
    }
    const size_t system = system_bytes(), group = mem_group_bytes(list, "/sys/fs/cgroup");
    return group < system ? group : system;
}
