/* small_pack - the pack of docs/formats/pack.md, which is tests/data/golden.ferry too. */
#pragma once

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "format/pack.h"
#include "test.h"

static inline status small_pack_add(struct pack_writer *w, const char *name,
                                    uint32_t flags, const void *bytes, size_t n,
                                    struct err *err)
{
    TRY(pack_writer_begin(w, name, flags, err));
    TRY(pack_writer_add(w, bytes, n, err));
    return pack_writer_end(w, err);
}

/* Bytes of it, and where they are. */
enum { SMALL_PACK = 384, SMALL_PACK_TABLE = 192, SMALL_PACK_WEIGHTS = 128 };

static inline status small_pack_write(const char *path, struct err *err)
{
    static const unsigned char weights[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct pack_writer w;

    TRY(pack_writer_create(&w, path, err));
    status result = small_pack_add(&w, "config", PACK_REQUIRED, "vocab: 4\n", 9, err);
    THEN(result, small_pack_add(&w, "notes", 0, NULL, 0, err));
    THEN(result, small_pack_add(&w, "weights", PACK_REQUIRED, weights, 8, err));
    THEN(result, pack_writer_commit(&w, err));
    pack_writer_abort(&w);
    return result;
}

/* A private copy of a file that a test may spoil. */
static inline unsigned char *small_pack_copy(const char *path, size_t *n)
{
    struct file_map map;
    struct err err = {0};
    unsigned char *copy;

    CHECK_OK(file_map_open(&map, path, &err), &err);
    CHECK_OK(mem_alloc(&copy, map.n_bytes, 1, &err), &err);
    memcpy(copy, map.data, map.n_bytes);
    *n = map.n_bytes;
    file_map_close(&map);
    return copy;
}

/* Its SMALL_PACK bytes; the caller frees them. */
static inline unsigned char *small_pack_bytes(void)
{
    const char *path = test_path("small.ferry");
    struct err err = {0};
    size_t n;

    CHECK_OK(small_pack_write(path, &err), &err);
    unsigned char *bytes = small_pack_copy(path, &n);
    CHECK(n == SMALL_PACK);
    return bytes;
}
