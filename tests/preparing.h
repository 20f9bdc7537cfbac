/*
 * preparing - what the tests of `ferry prepare` do again and again: options by name, a
 * silent run, a run that must be refused, files that must be the same.
 */
#pragma once

#include "base/file.h"
#include "prepare/prepare.h"
#include "test.h"

static inline void preparing_set(struct prepare_config *c, const char *name,
                                 const char *value)
{
    struct err err = {0};

    CHECK_OK(opt_set(prepare_config_table, c, name, value, &err), &err);
}

static inline struct prepare_config preparing_defaults(const char *out,
                                                       const char *vocab_size)
{
    struct prepare_config c;
    struct err err = {0};

    CHECK_OK(opt_defaults(prepare_config_table, &c, &err), &err);
    preparing_set(&c, "out", test_path(out));
    preparing_set(&c, "fresh", "true");
    preparing_set(&c, "vocab_size", vocab_size);
    return c;
}

static inline struct prepare_stats preparing_run(const struct prepare_config *c)
{
    struct progress silent = {0};
    struct prepare_stats stats;
    struct err err = {0};

    CHECK_OK(prepare_run(c, &silent, &stats, &err), &err);
    return stats;
}

static inline void preparing_refused(const struct prepare_config *c, status code,
                                     const char *why)
{
    struct progress silent = {0};
    struct prepare_stats stats;
    struct err err = {0};

    CHECK_FAILS(prepare_run(c, &silent, &stats, &err), &err, code, why);
}

static inline bool preparing_same(const char *a, const char *b)
{
    struct file_map m, n;
    struct err err = {0};

    CHECK_OK(file_map_open(&m, a, &err), &err);
    CHECK_OK(file_map_open(&n, b, &err), &err);
    const bool same = m.n_bytes == n.n_bytes && memcmp(m.data, n.data, m.n_bytes) == 0;
    file_map_close(&m);
    file_map_close(&n);
    return same;
}
