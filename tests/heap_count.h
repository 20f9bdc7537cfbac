/*
 * heap_count - how often this program asked the heap for memory, on any thread.
 *
 * Included by one file of a test program. A sanitizer's heap is watched through its
 * hook, glibc's by standing in front of it.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

static atomic_size_t heap_asked;

#ifdef __has_feature
#define HEAP_CLANG_SANITIZER \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HEAP_CLANG_SANITIZER 0
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HEAP_CLANG_SANITIZER

int __sanitizer_install_malloc_and_free_hooks(void (*asked)(const volatile void *,
                                                            size_t),
                                              void (*freed)(const volatile void *));

static inline void heap_on_malloc(const volatile void *p, size_t n)
{
    (void)p;
    (void)n;
    atomic_fetch_add(&heap_asked, 1);
}

static inline void heap_on_free(const volatile void *p)
{
    (void)p;
}

__attribute__((constructor)) static void heap_watch(void)
{
    __sanitizer_install_malloc_and_free_hooks(heap_on_malloc, heap_on_free);
}

#else

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

void *malloc(size_t n)
{
    atomic_fetch_add(&heap_asked, 1);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t bytes)
{
    atomic_fetch_add(&heap_asked, 1);
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t n)
{
    atomic_fetch_add(&heap_asked, 1);
    return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
    atomic_fetch_add(&heap_asked, 1);
    return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    *p = memalign(align, n);
    return *p ? 0 : ENOMEM;
}

#endif
