#include "format/pack.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "format/pack_layout.h"

static bool is_zero(const unsigned char *p, size_t n)
{
    for (; n; n--, p++)
        if (*p)
            return false;
    return true;
}

static status cut_short(const char *least, uint64_t want, size_t n, struct err *err)
{
    return err_set(
        err, ERR_FORMAT,
        "cut short: %s%llu bytes expected, %zu seen; copy or download it again", least,
        (unsigned long long)want, n);
}

static status damaged(const char *part, struct err *err)
{
    return err_set(err, ERR_FORMAT,
                   "its %s is damaged (the checksum does not match); copy or download it "
                   "again",
                   part);
}

static status check_magic(const unsigned char *bytes, size_t n, struct err *err)
{
    const size_t n_magic = strlen(PACK_MAGIC);

    if (n && memcmp(bytes, PACK_MAGIC, n < n_magic ? n : n_magic) != 0) {
        if (n >= n_magic && memcmp(bytes + 1, "FERRY", 5) == 0)
            return err_set(err, ERR_FORMAT,
                           "its first bytes were changed, as a transfer in text mode "
                           "does; copy it again as binary");
        return err_set(err, ERR_FORMAT, "not a packed model of Ferry's");
    }
    return n < PACK_HEAD ? cut_short("at least ", PACK_HEAD, n, err) : OK;
}

/* The byte order comes before the checksum, whose bytes are turned too; the checksum
 * before the version, because every version has it in this place. */
static status check_head(const unsigned char *head, size_t n, struct err *err)
{
    TRY(check_magic(head, n, err));
    const uint32_t version = le_get32(head + PACK_HEAD_VERSION);
    const uint32_t order = le_get32(head + PACK_HEAD_ORDER);
    const uint64_t n_bytes = le_get64(head + PACK_HEAD_FILE_BYTES);
    if (order == PACK_ORDER_TURNED)
        return err_set(err, ERR_FORMAT,
                       "written in another byte order (big-endian); pack the model again "
                       "with this Ferry");
    if (crc32c(0, head, PACK_HEAD_CRC) != le_get32(head + PACK_HEAD_CRC))
        return damaged("head", err);
    if (version > PACK_VERSION)
        return err_set(err, ERR_FORMAT,
                       "was written by a newer Ferry: version %u, this one reads %d",
                       version, PACK_VERSION);
    if (version != PACK_VERSION || order != PACK_ORDER_MARK ||
        !is_zero(head + PACK_HEAD_ZEROS, PACK_HEAD_CRC - PACK_HEAD_ZEROS))
        return err_set(
            err, ERR_FORMAT,
            "its head cannot be of a packed model (version %u, byte order %08x)", version,
            order);
    if (n < n_bytes)
        return cut_short("", n_bytes, n, err);
    if (n > n_bytes)
        return err_set(err, ERR_FORMAT,
                       "%llu bytes expected, %zu seen: something was added to its end",
                       (unsigned long long)n_bytes, n);
    return OK;
}

/* The table lies between the sections and the end of the file, and fills that. */
static status check_table(const unsigned char *bytes, size_t n, struct err *err)
{
    const uint64_t at = le_get64(bytes + PACK_HEAD_TABLE_AT);
    const uint64_t n_table =
        (uint64_t)le_get32(bytes + PACK_HEAD_N_SECTIONS) * PACK_ENTRY;

    if (at < PACK_HEAD || at % PACK_ALIGN != 0 || at > n || n - at != n_table)
        return err_set(err, ERR_FORMAT,
                       "a table of %llu bytes at %llu does not end a file of %zu bytes",
                       (unsigned long long)n_table, (unsigned long long)at, n);
    if (crc32c(0, bytes + at, (size_t)n_table) != le_get32(bytes + PACK_HEAD_TABLE_CRC))
        return damaged("table of sections", err);
    return OK;
}

/* The section of entry i, which begins at or after `floor` and ends at or before
 * `ceiling`. */
static status read_section(struct pack_section *s, const unsigned char *bytes, size_t i,
                           uint64_t floor, uint64_t ceiling, struct err *err)
{
    const unsigned char *entry = bytes + ceiling + i * PACK_ENTRY;
    const size_t n_name = strnlen((const char *)entry, PACK_NAME_MAX + 1);
    const uint64_t at = le_get64(entry + PACK_ENTRY_AT),
                   n = le_get64(entry + PACK_ENTRY_BYTES);
    const uint32_t flags = le_get32(entry + PACK_ENTRY_FLAGS);

    if (!pack_is_name((const char *)entry, n_name) ||
        !is_zero(entry + n_name, PACK_ENTRY_AT - n_name))
        return err_set(err, ERR_FORMAT, "section %zu has no valid name", i);
    memcpy(s->name, entry, sizeof s->name);
    if (flags & ~(uint32_t)PACK_REQUIRED ||
        !is_zero(entry + PACK_ENTRY_ZEROS, PACK_ENTRY - PACK_ENTRY_ZEROS))
        return err_set(err, ERR_FORMAT,
                       "section '%s' has flags that this Ferry does not know (%08x)",
                       s->name, flags);
    if (at % PACK_ALIGN != 0)
        return err_set(err, ERR_FORMAT,
                       "section '%s' begins at %llu, which is no multiple of %d", s->name,
                       (unsigned long long)at, PACK_ALIGN);
    if (at < floor)
        return err_set(err, ERR_FORMAT,
                       "section '%s' begins at %llu, within what is before it (%llu)",
                       s->name, (unsigned long long)at, (unsigned long long)floor);
    if (at > ceiling || n > ceiling - at)
        return err_set(err, ERR_FORMAT,
                       "section '%s', %llu bytes at %llu, passes the end at %llu",
                       s->name, (unsigned long long)n, (unsigned long long)at,
                       (unsigned long long)ceiling);
    s->bytes = bytes + at;
    s->n_bytes = (size_t)n;
    s->crc = le_get32(entry + PACK_ENTRY_CRC);
    s->flags = flags;
    return OK;
}

static int compare_names(const void *a, const void *b)
{
    const struct pack_name *x = a, *y = b;

    return strcmp(x->name, y->name);
}

/* Sorted and not hashed: a foreign file chooses the names, and with them the time. */
static status sort_names(struct pack *p, struct err *err)
{
    for (size_t i = 0; i < p->n_sections; i++)
        p->by_name[i] = (struct pack_name){p->section[i].name, i};
    if (p->n_sections)
        qsort(p->by_name, p->n_sections, sizeof *p->by_name, compare_names);
    for (size_t i = 1; i < p->n_sections; i++)
        if (compare_names(&p->by_name[i - 1], &p->by_name[i]) == 0)
            return err_set(err, ERR_FORMAT, "two sections are called '%s'",
                           p->by_name[i].name);
    return OK;
}

static status read_table(struct pack *p, const unsigned char *bytes, struct err *err)
{
    const uint64_t table_at = le_get64(bytes + PACK_HEAD_TABLE_AT);
    const size_t n = le_get32(bytes + PACK_HEAD_N_SECTIONS);
    uint64_t end = PACK_HEAD;

    TRY(mem_alloc(&p->section, n, sizeof *p->section, err));
    TRY(mem_alloc(&p->by_name, n, sizeof *p->by_name, err));
    p->n_sections = n;
    for (size_t i = 0; i < n; i++) {
        struct pack_section *s = &p->section[i];
        TRY(read_section(s, bytes, i, end, table_at, err));
        end = (uint64_t)(s->bytes - bytes) + s->n_bytes;
    }
    return sort_names(p, err);
}

static status check_gap(const unsigned char *bytes, uint64_t at, uint64_t end,
                        struct err *err)
{
    if (is_zero(bytes + at, (size_t)(end - at)))
        return OK;
    return err_set(err, ERR_FORMAT,
                   "damaged between its sections (at %llu to %llu, where only zeros may "
                   "be); copy or download it again",
                   (unsigned long long)at, (unsigned long long)end);
}

/* Read everything between the head and the table. */
static status verify_sections(const struct pack *p, const unsigned char *bytes,
                              struct err *err)
{
    uint64_t end = PACK_HEAD;

    for (size_t i = 0; i < p->n_sections; i++) {
        const struct pack_section *s = &p->section[i];
        TRY(check_gap(bytes, end, (uint64_t)(s->bytes - bytes), err));
        if (crc32c(0, s->bytes, s->n_bytes) != s->crc)
            return err_set(err, ERR_FORMAT,
                           "its section '%s' is damaged (the checksum does not match); "
                           "copy or download it again",
                           s->name);
        end = (uint64_t)(s->bytes - bytes) + s->n_bytes;
    }
    return check_gap(bytes, end, le_get64(bytes + PACK_HEAD_TABLE_AT), err);
}

status pack_parse(struct pack *p, const unsigned char *bytes, size_t n, bool verify,
                  struct err *err)
{
    *p = (struct pack){0};
    TRY(check_head(bytes, n, err));
    TRY(check_table(bytes, n, err));
    status result = read_table(p, bytes, err);
    if (verify)
        THEN(result, verify_sections(p, bytes, err));
    if (result != OK)
        pack_close(p);
    return result;
}

status pack_open(struct pack *p, const char *path, struct err *err)
{
    struct file_map map;

    *p = (struct pack){0};
    TRY(file_map_open(&map, path, err));
    status result = pack_parse(p, map.data, map.n_bytes, true, err);
    if (result != OK) {
        file_map_close(&map);
        return err_wrap(err, "%s", path);
    }
    p->map = map;
    p->path = strdup(path);
    if (p->path)
        return OK;
    pack_close(p);
    return err_set(err, ERR_MEMORY, "%s: no memory to open it", path);
}

void pack_close(struct pack *p)
{
    file_map_close(&p->map);
    free(p->path);
    free(p->section);
    free(p->by_name);
    *p = (struct pack){0};
}

const struct pack_section *pack_find(const struct pack *p, const char *name)
{
    const struct pack_name key = {.name = name}, *found = NULL;

    if (p->n_sections)
        found =
            bsearch(&key, p->by_name, p->n_sections, sizeof *p->by_name, compare_names);
    return found ? &p->section[found->i] : NULL;
}

bool pack_is_name(const char *name, size_t n)
{
    size_t len;

    for (size_t at = 0; at < n; at += len)
        if (!utf8_is_shown(utf8_decode(name + at, n - at, &len)))
            return false;
    return n >= 1 && n <= PACK_NAME_MAX;
}

static bool is_among(const char *name, const char *const *known, size_t n_known)
{
    for (size_t i = 0; i < n_known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

status pack_check_known(const struct pack *p, const char *const *known, size_t n_known,
                        struct err *err)
{
    for (size_t i = 0; i < p->n_sections; i++) {
        const struct pack_section *s = &p->section[i];
        if (!(s->flags & PACK_REQUIRED) || is_among(s->name, known, n_known))
            continue;
        (void)err_set(
            err, ERR_FORMAT,
            "was written by a newer Ferry: its section '%s' is needed, and this "
            "one does not know it",
            s->name);
        return p->path ? err_wrap(err, "%s", p->path) : err->code;
    }
    return OK;
}
