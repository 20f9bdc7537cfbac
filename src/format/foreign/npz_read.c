/*
 * .npz: a zip of .npy files, of which each is one array. As Marian writes it nothing is
 * compressed, and what is compressed is refused.
 *
 *   zip   at the end a record with the number of members and the place of their list;
 *         an entry of the list has the method, the sizes and where the member begins;
 *         the member has a head of its own, with a name and extra bytes of any length.
 *   npy   \x93NUMPY, version, length of a Python literal, the literal: {'descr': '<f4',
 *         'fortran_order': False, 'shape': (512, 512), }, and the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "format/foreign/tensors.h"
#include "format/le.h"

enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30, COMMENT_MOST = 65535 };
enum { NPY_HEAD = 10, LITERAL_MOST = 65535 };

static uint16_t get16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static status damaged(struct err *err)
{
    return err_set(err, ERR_FORMAT, "no .npz file, or damaged");
}

/* What stands behind 'key': in the literal; NULL: nothing. */
static const char *value_of(const char *literal, const char *key)
{
    const char *at = strstr(literal, key);

    if (!at)
        return NULL;
    at += strlen(key);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

static bool read_type(const char *at, enum tensors_type *type)
{
    static const struct {
        const char *name;
        enum tensors_type type;
    } types[] = {{"'<f4'", TENSORS_F32}, {"'<f8'", TENSORS_F64}, {"'<f2'", TENSORS_F16},
                 {"'|i1'", TENSORS_I8},  {"'<i1'", TENSORS_I8},  {"'<i2'", TENSORS_I16},
                 {"'<i4'", TENSORS_I32}, {"'<i8'", TENSORS_I64}, {"'|u1'", TENSORS_U8}};

    for (size_t i = 0; at && i < sizeof types / sizeof *types; i++)
        if (strncmp(at, types[i].name, 5) == 0) {
            *type = types[i].type;
            return true;
        }
    return false;
}

static bool read_shape(const char *at, struct tensors_item *item)
{
    if (!at || *at++ != '(')
        return false;
    for (;;) {
        char *end;
        while (*at == ' ' || *at == ',')
            at++;
        if (*at == ')')
            return true;
        if (*at < '0' || *at > '9' || item->n_dims == TENSORS_DIMS)
            return false;
        item->dim[item->n_dims++] = strtoull(at, &end, 10);
        at = end;
    }
}

/* The array in n bytes at `at` of the file. */
static status add_array(struct tensors *t, const char *name, size_t n_name, uint64_t at,
                        uint64_t n, struct err *err)
{
    const unsigned char *bytes = (const unsigned char *)t->map.data + at;
    struct tensors_item item = {0};
    char literal[1024];

    if (n < NPY_HEAD || memcmp(bytes, "\x93NUMPY\x01", 7) != 0)
        return err_set(err, ERR_FORMAT, "%.*s is no array of NumPy's version 1",
                       (int)n_name, name);
    const size_t n_literal = get16(bytes + 8);
    if (n_literal >= sizeof literal || n - NPY_HEAD < n_literal)
        return damaged(err);
    memcpy(literal, bytes + NPY_HEAD, n_literal);
    literal[n_literal] = '\0';
    const char *order = value_of(literal, "'fortran_order'");
    if (!read_type(value_of(literal, "'descr'"), &item.type) || !order ||
        strncmp(order, "False", 5) != 0 ||
        !read_shape(value_of(literal, "'shape'"), &item))
        return err_set(err, ERR_FORMAT, "array %.*s: %.80s is not read", (int)n_name,
                       name, literal);
    return tensors_add(t, name, n_name, item, at + NPY_HEAD + n_literal,
                       n - NPY_HEAD - n_literal, err);
}

/* The member that an entry of the list is about. */
static status add_member(struct tensors *t, const unsigned char *entry, struct err *err)
{
    const unsigned char *bytes = t->map.data;
    const uint64_t at = le_get32(entry + 42), n = le_get32(entry + 24);
    const char *name = (const char *)entry + ENTRY_BYTES;
    size_t n_name = get16(entry + 28);

    if (get16(entry + 10) != 0)
        return err_set(err, ERR_FORMAT, "member %.*s is compressed, which is not read",
                       (int)n_name, name);
    if (t->map.n_bytes < LOCAL_BYTES || at > t->map.n_bytes - LOCAL_BYTES ||
        memcmp(bytes + at, "PK\x03\x04", 4) != 0)
        return damaged(err);
    const uint64_t data =
        at + LOCAL_BYTES + get16(bytes + at + 26) + get16(bytes + at + 28);
    if (data > t->map.n_bytes || n > t->map.n_bytes - data)
        return damaged(err);
    if (n_name > 4 && memcmp(name + n_name - 4, ".npy", 4) == 0)
        n_name -= 4;
    return add_array(t, name, n_name, data, n, err);
}

/* Where the record at the end begins; behind it there may be a comment. */
static const unsigned char *find_end(const struct file_map *map)
{
    const unsigned char *bytes = map->data;
    const size_t n = map->n_bytes;

    for (size_t back = END_BYTES; back <= n && back <= END_BYTES + COMMENT_MOST; back++)
        if (memcmp(bytes + n - back, "PK\x05\x06", 4) == 0)
            return bytes + n - back;
    return NULL;
}

status tensors_read_npz(struct tensors *t, struct err *err)
{
    const unsigned char *bytes = t->map.data, *end = find_end(&t->map);

    if (!end)
        return err_set(err, ERR_FORMAT, "no .npz file, or cut short");
    const size_t n = get16(end + 10);
    uint64_t at = le_get32(end + 16);
    const uint64_t list_end = (uint64_t)(end - bytes);
    for (size_t i = 0; i < n; i++) {
        if (list_end < ENTRY_BYTES || at > list_end - ENTRY_BYTES ||
            memcmp(bytes + at, "PK\x01\x02", 4) != 0)
            return damaged(err);
        const unsigned char *entry = bytes + at;
        at += (uint64_t)ENTRY_BYTES + get16(entry + 28) + get16(entry + 30) +
              get16(entry + 32);
        if (at > list_end)
            return damaged(err);
        TRY(add_member(t, entry, err));
    }
    return OK;
}
