/* The writing side of pack: sections as they come, then the table, then the head. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "format/pack.h"
#include "format/pack_layout.h"

static status add_zeros(struct pack_writer *w, size_t n, struct err *err)
{
    static const unsigned char zeros[PACK_ALIGN];

    BUG_ON(n > sizeof zeros);
    return file_writer_add(&w->file, zeros, n, err);
}

status pack_writer_create(struct pack_writer *w, const char *path, struct err *err)
{
    *w = (struct pack_writer){0};
    TRY(file_writer_open_patchable(&w->file, path, err));
    if (add_zeros(w, PACK_HEAD, err) == OK)
        return OK;
    pack_writer_abort(w);
    return err->code;
}

static status check_new_name(const struct pack_writer *w, const char *name,
                             struct err *err)
{
    if (!pack_is_name(name, strlen(name)))
        return err_set(err, ERR_USAGE,
                       "%s: '%s' cannot name a section: 1 to %d bytes of UTF-8 without "
                       "control characters can",
                       w->file.path, name, PACK_NAME_MAX);
    for (size_t i = 0; i < w->n_sections; i++)
        if (strcmp((const char *)w->table + i * PACK_ENTRY, name) == 0)
            return err_set(err, ERR_USAGE, "%s: two sections would be called '%s'",
                           w->file.path, name);
    return OK;
}

status pack_writer_begin(struct pack_writer *w, const char *name, uint32_t flags,
                         struct err *err)
{
    BUG_ON(w->is_in_section || flags & ~(uint32_t)PACK_REQUIRED ||
           w->n_sections == UINT32_MAX);
    TRY(check_new_name(w, name, err));
    TRY(mem_grow(&w->table, &w->cap, w->n_sections + 1, PACK_ENTRY, err));

    unsigned char *entry = w->table + w->n_sections * PACK_ENTRY;
    memset(entry, 0, PACK_ENTRY);
    memcpy(entry, name, strlen(name) + 1);
    le_put64(entry + PACK_ENTRY_AT, w->file.n_bytes);
    le_put32(entry + PACK_ENTRY_FLAGS, flags);
    w->section_at = w->file.n_bytes;
    w->crc = 0;
    w->is_in_section = true;
    return OK;
}

status pack_writer_add(struct pack_writer *w, const void *bytes, size_t n,
                       struct err *err)
{
    BUG_ON(!w->is_in_section);
    w->crc = crc32c(w->crc, bytes, n);
    return file_writer_add(&w->file, bytes, n, err);
}

status pack_writer_end(struct pack_writer *w, struct err *err)
{
    unsigned char *entry = w->table + w->n_sections * PACK_ENTRY;

    BUG_ON(!w->is_in_section);
    le_put64(entry + PACK_ENTRY_BYTES, w->file.n_bytes - w->section_at);
    le_put32(entry + PACK_ENTRY_CRC, w->crc);
    w->n_sections++;
    w->is_in_section = false;
    return add_zeros(w, (size_t)(-w->file.n_bytes % PACK_ALIGN), err);
}

static status finish(struct pack_writer *w, struct err *err)
{
    const size_t n_table = w->n_sections * PACK_ENTRY;
    unsigned char head[PACK_HEAD] = PACK_MAGIC;

    BUG_ON(w->is_in_section);
    const uint64_t table_at = w->file.n_bytes;
    TRY(file_writer_add(&w->file, w->table, n_table, err));
    le_put32(head + PACK_HEAD_VERSION, PACK_VERSION);
    le_put32(head + PACK_HEAD_ORDER, PACK_ORDER_MARK);
    le_put64(head + PACK_HEAD_FILE_BYTES, w->file.n_bytes);
    le_put64(head + PACK_HEAD_TABLE_AT, table_at);
    le_put32(head + PACK_HEAD_N_SECTIONS, (uint32_t)w->n_sections);
    le_put32(head + PACK_HEAD_TABLE_CRC, crc32c(0, w->table, n_table));
    le_put32(head + PACK_HEAD_CRC, crc32c(0, head, PACK_HEAD_CRC));
    TRY(file_writer_patch(&w->file, 0, head, sizeof head, err));
    return file_writer_commit(&w->file, err);
}

status pack_writer_commit(struct pack_writer *w, struct err *err)
{
    const status result = finish(w, err);

    pack_writer_abort(w);
    return result;
}

void pack_writer_abort(struct pack_writer *w)
{
    file_writer_abort(&w->file);
    free(w->table);
    *w = (struct pack_writer){0};
}
