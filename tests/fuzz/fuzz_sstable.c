/*
 * The input as a whole table, and as the one data block of a table whose checksums are
 * right, since a fuzzer cannot guess those. A table that is accepted must find its own
 * keys.
 */
#include <stdlib.h>

#include "format/crc32c.h"
#include "format/le.h"
#include "format/tf/sstable.h"
#include "format/varint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_table(const unsigned char *bytes, size_t n)
{
    struct sstable t;
    struct err err;

    if (sstable_read(&t, bytes, n, &err) != OK)
        return;
    for (size_t i = 0; i < t.n; i++)
        if (sstable_find(&t, t.entry[i].key, t.entry[i].n_key) != &t.entry[i])
            abort();
    sstable_release(&t);
}

/* Append a block with its trailer; its place goes to place[], whose length returns. */
static size_t add_block(struct str *out, const void *block, size_t n,
                        unsigned char *place)
{
    unsigned char crc[4];
    size_t used = varint_put(place, out->len);

    used += varint_put(place + used, n);
    str_add(out, block, n);
    str_putc(out, 0);
    le_put32(crc, crc32c_mask(crc32c(0, out->data + out->len - n - 1, n + 1)));
    str_add(out, crc, sizeof crc);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char restarts[8] = {0, 0, 0, 0, 1, 0, 0, 0};
    struct str file = str_new(0), index = str_new(0);
    unsigned char footer[48] = {0}, place[20];

    check_table(data, n);
    const size_t n_place = add_block(&file, data, n, place);
    str_add(&index, "\0\x08", 2); /* an entry with the highest key of eight bytes */
    str_putc(&index, (char)n_place);
    str_add(&index, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    str_add(&index, place, n_place);
    str_add(&index, restarts, sizeof restarts);
    const size_t used = add_block(&file, restarts, sizeof restarts, footer);
    add_block(&file, index.data, index.len, footer + used);
    le_put64(footer + 40, 0xdb4775248b80fb57ULL);
    str_add(&file, footer, sizeof footer);
    check_table((const unsigned char *)file.data, file.len);
    str_release(&file);
    str_release(&index);
    return 0;
}
