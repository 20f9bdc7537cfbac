/*
 * mem - heap memory that is either there or a sentence.
 *
 * mem_alloc and mem_grow fail through `struct err`; sizes are products that are
 * checked for overflow, because one factor often comes from a file.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* a * b in *product; ERR_MEMORY when it does not fit in a size_t. */
status mem_mul(size_t *product, size_t a, size_t b, struct err *err);

/* n zeroed items of `bytes` each in *out (a `T **` cast to void *). n may be 0. */
status mem_alloc(void *out, size_t n, size_t bytes, struct err *err);

/*
 * Make room for at least `want` items in the array *items (a `T **` cast to void *)
 * of capacity *cap, growing by half, so that appending one by one is linear. On failure
 * the array is as it was.
 */
status mem_grow(void *items, size_t *cap, size_t want, size_t bytes, struct err *err);

/* Free what the pointer at `pointer` (a `T **` cast to void *) points to, if anything:
 * for RELEASED_BY. */
void mem_release(void *pointer);

/*
 * Large pages, please, under memory that was just allocated: fewer page faults, and
 * tables that are read in no order miss the processor's list of pages less often.
 * mem_alloc and mem_grow ask for it themselves. A wish only; small blocks are left alone.
 */
void mem_large_pages(void *mem, size_t n_bytes);

/* Zeros under whole pages that begin at `mem`; they take memory when they are used. */
void mem_zero_pages(void *mem, size_t n_bytes);

/* What the system, or the container we are in, could still give to programs; 0 when it
 * does not say. */
size_t mem_free_bytes(void);

/*
 * The memory that control groups leave to this process: the least that is left in its
 * group and those above it. A container's limit does not show in /proc/meminfo. `list` is
 * the text of /proc/self/cgroup, `root` is /sys/fs/cgroup; both versions of the kernel's
 * interface are read. Pages of files that nobody uses count as free, since the kernel
 * takes them back first. SIZE_MAX: nothing is limited.
 */
size_t mem_group_bytes(const char *list, const char *root);
