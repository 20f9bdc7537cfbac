/*
 * tar - the members of a tar archive, one after the other, from any source of bytes.
 *
 * Old, ustar, GNU (long names) and pax headers (path, size) are understood; every
 * header's checksum is checked. Nothing is ever written here: the caller sees a name and
 * bytes. A name that is absolute or climbs with "..", a header that cannot be, and an
 * archive without its end mark are refused with a sentence. Memory is constant.
 *
 * Borrows: the source and its name. Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { TAR_PATH_MAX = 4096, TAR_PAX_MAX = 1 << 16 };

/* No member and no sum of members may be longer: beyond any corpus that we know. */
#define TAR_BYTES_MAX ((uint64_t)1 << 40)

/* Up to n > 0 bytes; *got is 0 only at the end. */
typedef status tar_read_fn(void *from, void *buf, size_t n, size_t *got, struct err *err);

enum tar_kind { TAR_FILE, TAR_DIR, TAR_LINK, TAR_OTHER };

struct tar_entry {
    char path[TAR_PATH_MAX]; /* relative, without "./" in front */
    enum tar_kind kind;
    uint64_t n_bytes;
};

struct tar {
    tar_read_fn *read;
    void *from;
    const char *name; /* of the archive, in messages */
    uint64_t n_left;  /* bytes of the present member's data that were not read */
    uint64_t n_pad;   /* zeros that follow them */
    uint64_t n_total; /* bytes of data of all members so far */
    bool is_done;
    char long_path[TAR_PATH_MAX]; /* what the next header's name really is, or "" */
    uint64_t long_bytes;
    bool has_long_bytes;
};

void tar_open(struct tar *t, tar_read_fn *read, void *from, const char *name);

/* The next member, after what is left of this one; *has is false at the end mark. */
status tar_next(struct tar *t, struct tar_entry *e, bool *has, struct err *err);

/* Up to n > 0 bytes of the present member; *got is 0 only at its end. */
status tar_data(struct tar *t, void *buf, size_t n, size_t *got, struct err *err);
