/*
 * test - cmocka with self-registering tests. A test file holds TEST blocks and nothing
 * lists them by hand; the process exits with 1 when a test failed, with 77 when every
 * test was skipped. A test name is a sentence about behaviour. Run one by giving
 * part of its name as the argument; a part that is in no name is an error.
 */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

typedef void test_fn(void **state);

void test_add(const char *name, test_fn *fn);
uint64_t test_seed(void); /* FERRY_TEST_SEED or a fixed default; printed on failure */

/* A fresh directory for the running test, removed with all it holds when it ends. */
const char *test_dir(void);
/* test_dir() + "/" + name, in one of eight rotating buffers. */
const char *test_path(const char *name);
/* Path of a file under tests/data. */
const char *test_data(const char *name);

_Noreturn void test_fail(const char *file, int line, const char *fmt, ...) PRINTF(3, 4);

/* End the running test as skipped. The reason is in the list at the end of `make test`.
 */
_Noreturn void test_skip(const char *fmt, ...) PRINTF(1, 2);

#define TEST(name)                                                 \
    static void name(void **state);                                \
    __attribute__((constructor)) static void register_##name(void) \
    {                                                              \
        test_add(#name, name);                                     \
    }                                                              \
    static void name(void **state __attribute__((unused)))

#define CHECK(cond)                                     \
    do {                                                \
        if (!(cond))                                    \
            test_fail(__FILE__, __LINE__, "%s", #cond); \
    } while (0)

/* |got - want| <= tol * (1 + |want|) */
#define CHECK_NEAR(got, want, tol)                                                 \
    do {                                                                           \
        const double g_ = (got), w_ = (want);                                      \
        if (!(fabs(g_ - w_) <= (tol) * (1 + fabs(w_))))                            \
            test_fail(__FILE__, __LINE__, "%s = %.12g, want %.12g", #got, g_, w_); \
    } while (0)

#define CHECK_STR(got, want)                                                     \
    do {                                                                         \
        const char *g_ = (got), *w_ = (want);                                    \
        if (strcmp(g_, w_) != 0)                                                 \
            test_fail(__FILE__, __LINE__, "%s = '%s', want '%s'", #got, g_, w_); \
    } while (0)

#define CHECK_OK(call, err)                                             \
    do {                                                                \
        if ((call) != OK)                                               \
            test_fail(__FILE__, __LINE__, "%s: %s", #call, (err)->msg); \
    } while (0)

/* The call fails with this code, and its message contains this text. */
#define CHECK_FAILS(call, err, want_code, text)                                          \
    do {                                                                                 \
        const status s_ = (call);                                                        \
        if (s_ != (want_code) || !strstr((err)->msg, (text)))                            \
            test_fail(__FILE__, __LINE__, "%s: status %d '%s', want %d and '%s'", #call, \
                      (int)s_, s_ == OK ? "" : (err)->msg, (int)(want_code), (text));    \
    } while (0)
