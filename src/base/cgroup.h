/*
 * cgroup - the memory that control groups leave to this process.
 *
 * A container's limit does not show in /proc/meminfo. Both versions of the kernel's
 * interface are read; pages of files that nobody uses count as free, since the kernel
 * takes them back first.
 */
#pragma once

#include <stddef.h>

/* The least that is left in the process's group and those above it. `list` is the text of
 * /proc/self/cgroup, `root` is /sys/fs/cgroup. SIZE_MAX: nothing is limited. */
size_t cgroup_free_bytes(const char *list, const char *root);
