#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cgroup.h"

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

static size_t group_bytes(void)
{
    FILE *f = fopen("/proc/self/cgroup", "re");
    char list[4096] = "";

    if (f) {
        list[fread(list, 1, sizeof list - 1, f)] = '\0';
        fclose(f);
    }
    return cgroup_free_bytes(list, "/sys/fs/cgroup");
}

size_t mem_free_bytes(void)
{
    const size_t system = system_bytes(), group = group_bytes();

    return group < system ? group : system;
}
