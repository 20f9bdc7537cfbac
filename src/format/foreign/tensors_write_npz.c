/*
 * .npz as npz_read.c describes it, members stored as they are. Marian reads members one
 * behind the other, by their heads, and NumPy by the list at the end; both get the same
 * sizes and checksums. There is no time in it, so that the same model is the same file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "format/foreign/tensors_list.h"
#include "format/le.h"

enum { LOCAL_BYTES = 30, ENTRY_BYTES = 46, END_BYTES = 22, NPY_HEAD = 10, ALIGN = 64 };
enum { VERSION = 20, DATE_1980 = 0x21, MEMBERS_MOST = 65535, LITERAL_MOST = 512 };

/* A member, as both heads tell of it. */
struct member {
    uint32_t crc, n_bytes, at;
    char name[256]; /* with .npy */
};

static const char *descr_of(enum tensors_type type)
{
    static const char *const names[N_TENSORS_TYPES] = {
        [TENSORS_F32] = "<f4", [TENSORS_F64] = "<f8", [TENSORS_F16] = "<f2",
        [TENSORS_I8] = "|i1",  [TENSORS_I16] = "<i2", [TENSORS_I32] = "<i4",
        [TENSORS_I64] = "<i8", [TENSORS_U8] = "|u1"};

    BUG_ON(!names[type]);
    return names[type];
}

/* The head of an array, blanks in front of its line feed so that numbers are aligned. */
static size_t npy_head(unsigned char out[NPY_HEAD + LITERAL_MOST],
                       const struct tensors_item *item)
{
    char text[LITERAL_MOST];
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    size_t n = (size_t)snprintf(text, sizeof text,
                                "{'descr': '%s', 'fortran_order': False, 'shape': (",
                                descr_of(item->type));

    for (size_t i = 0; i < item->n_dims; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu%s", i ? " " : "",
                              (unsigned long long)item->dim[i],
                              i + 1 < item->n_dims || item->n_dims == 1 ? "," : "");
    n += (size_t)snprintf(text + n, sizeof text - n, "), }");
    const size_t n_all = (NPY_HEAD + n + ALIGN) / ALIGN * ALIGN;
    memset(out, ' ', n_all);
    memcpy(out, magic, sizeof magic);
    le_put16(out + 8, (uint16_t)(n_all - NPY_HEAD));
    memcpy(out + NPY_HEAD, text, n);
    out[n_all - 1] = '\n';
    return n_all;
}

/* From the version that is needed to the lengths of name and extra, 26 bytes that both
 * heads have. */
static void put_common(unsigned char p[26], const struct member *m)
{
    memset(p, 0, 26);
    le_put16(p, VERSION);
    le_put16(p + 8, DATE_1980);
    le_put32(p + 10, m->crc);
    le_put32(p + 14, m->n_bytes);
    le_put32(p + 18, m->n_bytes);
    le_put16(p + 22, (uint16_t)(strlen(m->name)));
}

static status too_large(struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "the model is too large for a .npz file, which holds 4 GiB");
}

static status put_member(struct tensors_sink *s, size_t i, struct member *m,
                         struct err *err)
{
    const struct tensors_item *item = &s->list->item[i];
    const size_t n = tensors_item_bytes(item);
    unsigned char head[NPY_HEAD + LITERAL_MOST], local[LOCAL_BYTES] = "PK\x03\x04";
    const size_t n_head = npy_head(head, item);

    if (s->out->n_bytes + n + n_head > UINT32_MAX - (1u << 24))
        return too_large(err);
    TRY(tensors_sink_make(s, i, err));
    uLong crc = crc32_z(crc32_z(0, NULL, 0), head, n_head);
    *m = (struct member){.n_bytes = (uint32_t)(n_head + n),
                         .crc = (uint32_t)crc32_z(crc, s->bytes, n),
                         .at = (uint32_t)s->out->n_bytes};
    snprintf(m->name, sizeof m->name, "%s.npy", item->name);
    put_common(local + 4, m);
    TRY(file_writer_add(s->out, local, sizeof local, err));
    TRY(file_writer_add(s->out, m->name, strlen(m->name), err));
    TRY(file_writer_add(s->out, head, n_head, err));
    return file_writer_add(s->out, s->bytes, n, err);
}

static status put_list(struct tensors_sink *s, const struct member *m, struct err *err)
{
    const size_t n = s->list->n;
    const uint64_t at = s->out->n_bytes;
    unsigned char end[END_BYTES] = "PK\x05\x06";

    for (size_t i = 0; i < n; i++) {
        unsigned char entry[ENTRY_BYTES] = "PK\x01\x02";
        le_put16(entry + 4, VERSION);
        put_common(entry + 6, &m[i]);
        le_put32(entry + 42, m[i].at);
        TRY(file_writer_add(s->out, entry, sizeof entry, err));
        TRY(file_writer_add(s->out, m[i].name, strlen(m[i].name), err));
    }
    le_put16(end + 8, (uint16_t)(n));
    le_put16(end + 10, (uint16_t)(n));
    le_put32(end + 12, (uint32_t)(s->out->n_bytes - at));
    le_put32(end + 16, (uint32_t)at);
    return file_writer_add(s->out, end, sizeof end, err);
}

status tensors_write_npz(struct tensors_sink *s, struct err *err)
{
    RELEASED_BY(mem_release) struct member *m = NULL;

    if (s->list->n > MEMBERS_MOST)
        return too_large(err);
    TRY(mem_alloc(&m, s->list->n, sizeof *m, err));
    for (size_t i = 0; i < s->list->n; i++)
        TRY(put_member(s, i, &m[i], err));
    return put_list(s, m, err);
}
