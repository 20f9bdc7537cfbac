/* os - threads, libraries that are opened at run time, descriptors, the host's name. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The name in out[0..n), cut to fit and always terminated; "localhost" when there is
 * none. */
void os_host_name(char *out, size_t n);

/* The function `name` of the library `so` into the function pointer that `to` points at;
 * false, and NULL there, when the library is NULL or has none. */
bool os_symbol(void *so, const char *name, void *to);

/* A thread to which no signal is delivered but those of its own faults: the others are
 * for the main one. */
status os_thread(pthread_t *thread, void *(*fn)(void *), void *arg, struct err *err);

/* This process may open as many files as the system lets it, up to 65,536: one connection
 * to every rank is more than the usual 1,024. */
void os_raise_files(void);

/* All n bytes, waiting as long as it takes; false when the descriptor takes no more. */
bool os_write(int fd, const void *bytes, size_t n);
