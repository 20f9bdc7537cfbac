/*
 * heap_count - how often this program asked the heap for memory, on any thread, and how
 * much it holds.
 *
 * Included by one file of a test program. A sanitizer's heap is watched through its
 * hook, which does not count bytes, glibc's by standing in front of it.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

static atomic_size_t heap_asked;
static atomic_llong heap_held, heap_most; /* bytes, now and at most */

#ifdef __has_feature
#define HEAP_CLANG_SANITIZER \
    (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HEAP_CLANG_SANITIZER 0
#endif

/* Let heap_most count from now on; what is held now. */
static inline long long heap_begin(void)
{
    const long long now = atomic_load(&heap_held);

    atomic_store(&heap_most, now);
    return now;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HEAP_CLANG_SANITIZER

#define HEAP_HAS_BYTES 0

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

#define HEAP_HAS_BYTES 1

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static inline void *heap_given(void *p)
{
    const long long n = (long long)malloc_usable_size(p);
    const long long now = atomic_fetch_add(&heap_held, n) + n;
    long long most = atomic_load(&heap_most);

    atomic_fetch_add(&heap_asked, 1);
    while (now > most && !atomic_compare_exchange_weak(&heap_most, &most, now))
        ;
    return p;
}

void *malloc(size_t n)
{
    return heap_given(__libc_malloc(n));
}

void *calloc(size_t n, size_t bytes)
{
    return heap_given(__libc_calloc(n, bytes));
}

/* Both blocks may be there while one is copied. */
void *realloc(void *p, size_t n)
{
    const long long before = (long long)malloc_usable_size(p);
    void *new = heap_given(__libc_realloc(p, n));

    if (new || !n)
        atomic_fetch_sub(&heap_held, before);
    return new;
}

void *memalign(size_t align, size_t n)
{
    return heap_given(__libc_memalign(align, n));
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

void free(void *p)
{
    atomic_fetch_sub(&heap_held, (long long)malloc_usable_size(p));
    __libc_free(p);
}

#endif
