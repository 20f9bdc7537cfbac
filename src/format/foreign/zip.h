/*
 * zip - the members of a zip archive at hand: arrays of NumPy, weights of PyTorch, models
 * as they are handed on.
 *
 * An archive from elsewhere may be made to do harm, so it is looked at as a whole before
 * anything of it is used: members are stored or deflated; none lies over another; names
 * are relative paths that lead nowhere else, each once; and none claims to be more than
 * ZIP_RATIO times what it takes, which weights and vocabularies never are.
 *
 * Owns: the list. Borrows: the bytes, which outlive it. Threads: immutable once read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/table.h"

enum {
    ZIP_RATIO = 100,
    ZIP_SMALL = 1 << 16 /* a member may always have so many bytes */
};

struct zip_member {
    char *name;
    uint64_t at, n_packed; /* its bytes in the archive */
    uint64_t n;            /* unpacked */
    uint32_t crc;
    bool is_deflated;
};

struct zip {
    const unsigned char *bytes;
    size_t n_bytes;
    struct zip_member *member; /* [n] */
    size_t n, cap;
    struct table by_name;
};

/* Does it begin as one of these does? */
bool zip_is(const void *bytes, size_t n);

/* On failure *z is closed; ERR_FORMAT says what is wrong with the archive. */
status zip_open(struct zip *z, const void *bytes, size_t n, struct err *err);
void zip_close(struct zip *z);

/* NULL when there is none. */
const struct zip_member *zip_find(const struct zip *z, const char *name);

/* The member's bytes into to[0, m->n); ERR_FORMAT when they are damaged. */
status zip_unpack(const struct zip *z, const struct zip_member *m, unsigned char *to,
                  struct err *err);
/* Are these m->n bytes those that were packed? For a stored one that is read in place. */
status zip_check(const struct zip_member *m, const unsigned char *bytes, struct err *err);
