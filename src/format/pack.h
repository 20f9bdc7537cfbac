/*
 * pack - named sections in one file that is mapped, not parsed: the container of a packed
 * model (.ferry). What the sections mean is not known here.
 *
 * A head, the sections in the order in which they were written, each at a multiple of 64
 * bytes with zeros before it, and a table of them at the end (docs/formats/pack.md).
 * Every byte is covered by a checksum or must be zero, and pack_open() looks at all of
 * them: a pack that is open is as it was written. Processes that open the same file share
 * its memory. The same sections give the same bytes.
 *
 * Owns:     the mapping, the list of sections.  Borrows: nothing.
 * Outlives: every section and its bytes.
 * Threads:  immutable after pack_open(), read from any thread without a lock; a writer
 *           is of one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/file.h"

#define PACK_MAGIC "\211FERRY\r\n" /* the first eight bytes of every pack; 0x89 */

enum {
    PACK_VERSION = 1,
    PACK_ALIGN = 64,
    PACK_HEAD = 64,    /* bytes */
    PACK_ENTRY = 64,   /* bytes of the table for each section */
    PACK_NAME_MAX = 31 /* bytes */
};

/* Flags of a section. */
enum { PACK_REQUIRED = 1 }; /* a reader that does not know it must refuse the file */

struct pack_section {
    char name[PACK_NAME_MAX + 1]; /* UTF-8 without control characters, not empty */
    const unsigned char *bytes;   /* [n_bytes], aligned to PACK_ALIGN */
    size_t n_bytes;
    uint32_t crc; /* CRC-32C of them */
    uint32_t flags;
};

/* The name of section `i`. */
struct pack_name {
    const char *name;
    size_t i;
};

/* Zeroed = closed. */
struct pack {
    struct file_map map;
    char *path;                   /* NULL: of bytes at hand */
    struct pack_section *section; /* [n_sections], in the order of the file */
    size_t n_sections;
    struct pack_name *by_name; /* [n_sections], sorted */
};

/* Map the file and check all of it. On failure *p is closed and the message names the
 * path: ERR_FORMAT when it is no pack, of a newer version, cut short or damaged. */
status pack_open(struct pack *p, const char *path, struct err *err);

/*
 * The same of n bytes at hand, which *p borrows; sections are aligned if `bytes` is. If
 * not `verify`, head and table are checked and the sections are not read. Failures do not
 * name a path.
 */
status pack_parse(struct pack *p, const unsigned char *bytes, size_t n, bool verify,
                  struct err *err);

/* Safe on a zeroed or closed pack. */
void pack_close(struct pack *p);

/* The section of this name, or NULL. */
const struct pack_section *pack_find(const struct pack *p, const char *name);

/* Whether these n bytes can name a section. */
bool pack_is_name(const char *name, size_t n);

/* ERR_FORMAT when a section that is PACK_REQUIRED has none of the `known` names: a newer
 * program wrote it, and ignoring it would be wrong. */
status pack_check_known(const struct pack *p, const char *const *known, size_t n_known,
                        struct err *err);

/* A pack being written in one stream; sections are not kept in memory. After a failure
 * only pack_writer_abort() may be called. */
struct pack_writer {
    struct file_writer file;
    unsigned char *table; /* entries of the sections so far, and of the open one */
    size_t n_sections, cap;
    uint64_t section_at; /* where the open one begins */
    uint32_t crc;        /* of the open one so far */
    bool is_in_section;
};

/* `path` is a name that the user gave (file_writer_open_patchable). */
status pack_writer_create(struct pack_writer *w, const char *path, struct err *err);
/* ERR_USAGE when the name cannot be one, or was used before. */
status pack_writer_begin(struct pack_writer *w, const char *name, uint32_t flags,
                         struct err *err);
/* The next bytes of the open section. */
status pack_writer_add(struct pack_writer *w, const void *bytes, size_t n,
                       struct err *err);
status pack_writer_end(struct pack_writer *w, struct err *err);
/* Table, head, rename into place. Releases *w either way. */
status pack_writer_commit(struct pack_writer *w, struct err *err);
/* Nothing is left behind. Safe on a zeroed, committed or aborted writer. */
void pack_writer_abort(struct pack_writer *w);
