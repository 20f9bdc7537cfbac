/*
 * Any bytes as a pack, once as they are and once with size and checksums made right,
 * since a fuzzer cannot guess those: refused with a sentence, or every byte is in the
 * head, in the table, in exactly one section, or zero, and every section is found.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "format/crc32c.h"
#include "format/pack.h"
#include "mended_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void demand_zeros(const unsigned char *bytes, size_t at, size_t end)
{
    demand(at <= end);
    for (; at < end; at++)
        demand(bytes[at] == 0);
}

static void check_whole(const struct pack *p, const unsigned char *bytes, size_t n)
{
    const size_t table_at = n - p->n_sections * PACK_ENTRY;
    size_t end = PACK_HEAD;

    demand(n >= PACK_HEAD && p->n_sections <= (n - PACK_HEAD) / PACK_ENTRY);
    for (size_t i = 0; i < p->n_sections; i++) {
        const struct pack_section *s = &p->section[i];
        const size_t at = (size_t)(s->bytes - bytes);
        demand(at % PACK_ALIGN == 0 && at <= table_at && s->n_bytes <= table_at - at);
        demand_zeros(bytes, end, at);
        demand(crc32c_plain(0, s->bytes, s->n_bytes) == s->crc);
        demand(s->name[0] && utf8_valid(s->name, strlen(s->name)));
        demand(pack_find(p, s->name) == s);
        end = at + s->n_bytes;
    }
    demand_zeros(bytes, end, table_at);
}

static void read_pack(const unsigned char *bytes, size_t n)
{
    struct pack p;
    struct err err = {0};
    const bool is_known = pack_parse(&p, bytes, n, false, &err) == OK;

    pack_close(&p);
    err = (struct err){0};
    if (pack_parse(&p, bytes, n, true, &err) == OK) {
        demand(is_known);
        check_whole(&p, bytes, n);
    } else
        demand(err.code == ERR_FORMAT && err.msg[0] && !p.section);
    pack_close(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *copy = malloc(n ? n : 1);

    if (!copy)
        return 0;
    memcpy(copy, data, n);
    read_pack(copy, n);
    if (mended_pack(copy, n))
        read_pack(copy, n);
    free(copy);
    return 0;
}
