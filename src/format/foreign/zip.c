/*
 * At the end of an archive stands a record with the number of members and the place of
 * their list; an entry of the list has method, sizes and where the member begins; the
 * member has a head of its own, with a name and extra bytes of any length. What does not
 * fit in 32 bits stands in an extra field of the entry (zip64), and in a second record.
 */
#include "format/foreign/zip.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "format/le.h"

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MOST = 65535,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1, /* a flag */
    ZIP64 = 1      /* an extra field */
};

/* Where a member's head begins, until its bytes are found. */
struct entry {
    const char *name;
    size_t n_name;
    uint64_t head;
};

static status damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "the zip archive is damaged or cut short");
}

bool zip_is(const void *bytes, size_t n)
{
    return n >= END_BYTES &&
           (memcmp(bytes, "PK\x03\x04", 4) == 0 || memcmp(bytes, "PK\x05\x06", 4) == 0);
}

/* A path that stays below where it is put, of visible text. */
static bool is_tame(const char *name, size_t n)
{
    if (!n || n > PATH_MAX / 4 || name[0] == '/' || memchr(name, '\\', n) ||
        !utf8_valid(name, n))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == ':')
            if (name[i] != ':' || i == 1) /* C:\, but special:model.yml is a name */
                return false;
    for (size_t i = 0, end; i < n; i = end + 1) {
        const char *slash = memchr(name + i, '/', n - i);
        end = slash ? (size_t)(slash - name) : n;
        if (end - i == 2 && name[i] == '.' && name[i + 1] == '.')
            return false;
    }
    return true;
}

/* The numbers that did not fit, in the order in which they are missed. */
static status read_zip64(const unsigned char *extra, size_t n_extra,
                         uint64_t *const number[3], struct err *err)
{
    for (size_t at = 0; at + 4 <= n_extra;) {
        const size_t n = le_get16(extra + at + 2), end = at + 4 + n;
        if (end > n_extra)
            return damaged(err);
        if (le_get16(extra + at) == ZIP64) {
            size_t from = at + 4;
            for (size_t i = 0; i < 3; i++)
                if (*number[i] == UINT32_MAX && from + 8 <= end) {
                    *number[i] = le_get64(extra + from);
                    from += 8;
                }
            return OK;
        }
        at = end;
    }
    return OK;
}

/* Where the bytes begin, behind the member's own head. */
static status find_bytes(const struct zip *z, struct zip_member *m, uint64_t head,
                         struct err *err)
{
    if (z->n_bytes < LOCAL_BYTES || head > z->n_bytes - LOCAL_BYTES ||
        memcmp(z->bytes + head, "PK\x03\x04", 4) != 0)
        return damaged(err);
    m->at = head + LOCAL_BYTES + le_get16(z->bytes + head + 26) +
            le_get16(z->bytes + head + 28);
    if (m->at > z->n_bytes || m->n_packed > z->n_bytes - m->at)
        return damaged(err);
    return OK;
}

static status check_member(const struct zip_member *m, const struct entry *e,
                           unsigned method, unsigned flags, struct err *err)
{
    const int n = (int)(e->n_name < 80 ? e->n_name : 80);

    if (!is_tame(e->name, e->n_name))
        return err_set(err, ERR_FORMAT,
                       "the archive has a member named '%.*s', which is no path inside "
                       "of it",
                       n, e->name);
    if (flags & ENCRYPTED)
        return err_set(err, ERR_FORMAT, "member %.*s is encrypted", n, e->name);
    if (method != STORED && method != DEFLATED)
        return err_set(err, ERR_FORMAT,
                       "member %.*s is packed by method %u; read are stored and deflated",
                       n, e->name, method);
    if (method == STORED && m->n != m->n_packed)
        return damaged(err);
    if (m->n > ZIP_SMALL && m->n / ZIP_RATIO > m->n_packed)
        return err_set(err, ERR_FORMAT,
                       "member %.*s claims to be %llu bytes, packed in %llu: more than "
                       "%d times as much is not unpacked",
                       n, e->name, (unsigned long long)m->n,
                       (unsigned long long)m->n_packed, ZIP_RATIO);
    return OK;
}

/* One of the list, at `at`; *size is what it takes there. */
static status add_entry(struct zip *z, const unsigned char *at, size_t left, size_t *size,
                        struct err *err)
{
    if (left < ENTRY_BYTES || memcmp(at, "PK\x01\x02", 4) != 0)
        return damaged(err);
    struct entry e = {.name = (const char *)at + ENTRY_BYTES,
                      .n_name = le_get16(at + 28),
                      .head = le_get32(at + 42)};
    const size_t n_extra = le_get16(at + 30);
    const unsigned method = le_get16(at + 10), flags = le_get16(at + 8);
    struct zip_member m = {.crc = le_get32(at + 16),
                           .n_packed = le_get32(at + 20),
                           .n = le_get32(at + 24),
                           .is_deflated = method == DEFLATED};

    *size = ENTRY_BYTES + e.n_name + n_extra + le_get16(at + 32);
    if (*size > left)
        return damaged(err);
    if (e.n_name && e.name[e.n_name - 1] == '/')
        return OK; /* a folder */
    TRY(read_zip64(at + ENTRY_BYTES + e.n_name, n_extra,
                   (uint64_t *const[]){&m.n, &m.n_packed, &e.head}, err));
    TRY(check_member(&m, &e, method, flags, err));
    TRY(find_bytes(z, &m, e.head, err));
    TRY(mem_grow(&z->member, &z->cap, z->n + 1, sizeof *z->member, err));
    m.name = strndup(e.name, e.n_name);
    if (!m.name)
        return err_set(err, ERR_MEMORY, "out of memory for the names of an archive");
    z->member[z->n++] = m;
    if (zip_find(z, m.name))
        return err_set(err, ERR_FORMAT, "the archive has member %.80s twice", m.name);
    return table_add(&z->by_name, table_hash(m.name, e.n_name), (uint32_t)(z->n - 1),
                     err);
}

/* Where the record at the end begins; behind it there may be a comment. */
static const unsigned char *find_end(const struct zip *z)
{
    const size_t n = z->n_bytes;

    for (size_t back = END_BYTES; back <= n && back <= END_BYTES + COMMENT_MOST; back++)
        if (memcmp(z->bytes + n - back, "PK\x05\x06", 4) == 0)
            return z->bytes + n - back;
    return NULL;
}

/* Number of members and place of the list, out of the second record if there is one. */
static status find_list(const struct zip *z, const unsigned char *end, uint64_t *n,
                        uint64_t *at, struct err *err)
{
    const size_t end_at = (size_t)(end - z->bytes);

    *n = le_get16(end + 10);
    *at = le_get32(end + 16);
    if (end_at < LOCATOR_BYTES || memcmp(end - LOCATOR_BYTES, "PK\x06\x07", 4) != 0)
        return OK;
    const uint64_t second = le_get64(end - LOCATOR_BYTES + 8);
    if (end_at < END64_BYTES || second > end_at - END64_BYTES ||
        memcmp(z->bytes + second, "PK\x06\x06", 4) != 0)
        return damaged(err);
    *n = le_get64(z->bytes + second + 32);
    *at = le_get64(z->bytes + second + 48);
    return OK;
}

static status read_list(struct zip *z, struct err *err)
{
    const unsigned char *end = find_end(z);
    uint64_t n, at;

    if (!end)
        return err_set(err, ERR_FORMAT, "it is no zip archive, or cut short");
    TRY(find_list(z, end, &n, &at, err));
    const uint64_t list_end = (uint64_t)(end - z->bytes);
    for (uint64_t i = 0; i < n; i++) {
        size_t size = 0;
        if (at > list_end)
            return damaged(err);
        TRY(add_entry(z, z->bytes + at, (size_t)(list_end - at), &size, err));
        at += size;
    }
    return OK;
}

static int by_place(const void *a, const void *b)
{
    const struct zip_member *const *x = a, *const *y = b;

    return ((*x)->at > (*y)->at) - ((*x)->at < (*y)->at);
}

/* Members that lie over each other are how a small archive claims to be a large one. */
static status check_overlap(const struct zip *z, struct err *err)
{
    RELEASED_BY(mem_release) const struct zip_member **sorted = NULL;

    TRY(mem_alloc(&sorted, z->n, sizeof(const struct zip_member *), err));
    for (size_t i = 0; i < z->n; i++)
        sorted[i] = &z->member[i];
    if (z->n)
        qsort(sorted, z->n, sizeof(const struct zip_member *), by_place);
    for (size_t i = 1; i < z->n; i++)
        if (sorted[i - 1]->n_packed > sorted[i]->at - sorted[i - 1]->at)
            return err_set(err, ERR_FORMAT, "members %.80s and %.80s lie over each other",
                           sorted[i - 1]->name, sorted[i]->name);
    return OK;
}

status zip_open(struct zip *z, const void *bytes, size_t n, struct err *err)
{
    *z = (struct zip){.bytes = bytes, .n_bytes = n};
    status result = read_list(z, err);
    THEN(result, check_overlap(z, err));
    if (result != OK)
        zip_close(z);
    return result;
}

void zip_close(struct zip *z)
{
    for (size_t i = 0; i < z->n; i++)
        free(z->member[i].name);
    free(z->member);
    table_release(&z->by_name);
    *z = (struct zip){0};
}

const struct zip_member *zip_find(const struct zip *z, const char *name)
{
    struct table_search s = table_search(&z->by_name, table_hash(name, strlen(name)));
    uint32_t i;

    while ((i = table_next(&s)) != TABLE_NONE)
        if (strcmp(z->member[i].name, name) == 0)
            return &z->member[i];
    return NULL;
}

/* ---- bytes ---- */

/* zlib counts in unsigned: larger members go through it in pieces. */
static unsigned piece(uint64_t left)
{
    return left < (1u << 30) ? (unsigned)left : 1u << 30;
}

static bool inflate_all(const unsigned char *from, uint64_t n_from, unsigned char *to,
                        uint64_t n_to)
{
    z_stream s = {0};
    unsigned char beyond; /* where a byte too many shows */
    int result = Z_OK;

    if (inflateInit2(&s, -MAX_WBITS) != Z_OK)
        return false;
    while (result == Z_OK) { /* Z_BUF_ERROR where nothing more comes */
        if (!s.avail_in) {
            s.next_in = (unsigned char *)from;
            s.avail_in = piece(n_from);
            from += s.avail_in;
            n_from -= s.avail_in;
        }
        const bool is_full = !n_to;
        const unsigned room = is_full ? 1 : piece(n_to);
        s.next_out = is_full ? &beyond : to;
        s.avail_out = room;
        result = inflate(&s, Z_NO_FLUSH);
        const unsigned got = room - s.avail_out;
        if (is_full && got)
            result = Z_DATA_ERROR;
        else if (!is_full) {
            to += got;
            n_to -= got;
        }
    }
    inflateEnd(&s);
    return result == Z_STREAM_END && !n_to;
}

static uint32_t checksum(const unsigned char *bytes, uint64_t n)
{
    uLong crc = crc32(0, NULL, 0);

    for (unsigned part; n; bytes += part, n -= part) {
        part = piece(n);
        crc = crc32(crc, bytes, part);
    }
    return (uint32_t)crc;
}

status zip_check(const struct zip_member *m, const unsigned char *bytes, struct err *err)
{
    if (checksum(bytes, m->n) == m->crc)
        return OK;
    return err_set(err, ERR_FORMAT, "member %.80s is damaged", m->name);
}

status zip_unpack(const struct zip *z, const struct zip_member *m, unsigned char *to,
                  struct err *err)
{
    const unsigned char *from = z->bytes + m->at;

    if (!m->is_deflated) {
        if (m->n)
            memcpy(to, from, (size_t)m->n);
    } else if (!inflate_all(from, m->n_packed, to, m->n)) {
        return err_set(err, ERR_FORMAT, "member %.80s is damaged", m->name);
    }
    return zip_check(m, to, err);
}
