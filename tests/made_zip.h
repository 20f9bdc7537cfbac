/* made_zip - zip archives made by hand, of stored members and of members that lie. */
#pragma once

#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "base/str.h"

struct made_zip {
    struct str bytes, list;
    size_t n;
};

/* What an entry says where it differs from the truth. */
struct made_zip_lie {
    uint64_t n, n_packed, at, method, flags;
    bool has_n, has_packed, has_at;
};

static inline struct made_zip made_zip(void)
{
    return (struct made_zip){.bytes = str_new(0), .list = str_new(0)};
}

static inline void made_zip_put(struct str *s, uint64_t x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_putc(s, (char)(i < 8 ? x >> (8 * i) : 0));
}

static inline void made_zip_lie(struct made_zip *z, const char *name, const void *data,
                                size_t n, struct made_zip_lie lie)
{
    const uint64_t at = z->bytes.len, crc = crc32(0, data, (unsigned)n);
    const uint64_t said = lie.has_n ? lie.n : n,
                   packed = lie.has_packed ? lie.n_packed : n;

    made_zip_put(&z->bytes, 0x04034b50, 4);
    made_zip_put(&z->bytes, 0, 10);
    made_zip_put(&z->bytes, crc, 4);
    made_zip_put(&z->bytes, n, 4);
    made_zip_put(&z->bytes, n, 4);
    made_zip_put(&z->bytes, strlen(name), 4);
    str_puts(&z->bytes, name);
    str_add(&z->bytes, data, n);
    made_zip_put(&z->list, 0x02014b50, 4);
    made_zip_put(&z->list, 0, 4);
    made_zip_put(&z->list, lie.flags, 2);
    made_zip_put(&z->list, lie.method, 2);
    made_zip_put(&z->list, 0, 4);
    made_zip_put(&z->list, crc, 4);
    made_zip_put(&z->list, packed, 4);
    made_zip_put(&z->list, said, 4);
    made_zip_put(&z->list, strlen(name), 4);
    made_zip_put(&z->list, 0, 10);
    made_zip_put(&z->list, lie.has_at ? lie.at : at, 4);
    str_puts(&z->list, name);
    z->n++;
}

static inline void made_zip_add(struct made_zip *z, const char *name, const void *data,
                                size_t n)
{
    made_zip_lie(z, name, data, n, (struct made_zip_lie){.n = 0});
}

/* The list, and the record behind it; the archive is z->bytes then. */
static inline void made_zip_end(struct made_zip *z)
{
    const size_t at = z->bytes.len, n = z->list.len;

    str_add(&z->bytes, z->list.data ? z->list.data : "", n);
    made_zip_put(&z->bytes, 0x06054b50, 4);
    made_zip_put(&z->bytes, 0, 4);
    made_zip_put(&z->bytes, z->n, 2);
    made_zip_put(&z->bytes, z->n, 2);
    made_zip_put(&z->bytes, n, 4);
    made_zip_put(&z->bytes, at, 4);
    made_zip_put(&z->bytes, 0, 2);
}

static inline void made_zip_release(struct made_zip *z)
{
    str_release(&z->bytes);
    str_release(&z->list);
}
