/*
 * .npz: a zip of .npy files, of which each is one array. As Marian writes it nothing is
 * compressed, and what is compressed is refused.
 *
 *   npy   \x93NUMPY, version, length of a Python literal, the literal: {'descr': '<f4',
 *         'fortran_order': False, 'shape': (512, 512), }, and the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "format/foreign/tensors.h"
#include "format/foreign/zip.h"
#include "format/le.h"

enum { NPY_HEAD = 10, LITERAL_MOST = 1024 };

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
                 {"'<i4'", TENSORS_I32}, {"'<i8'", TENSORS_I64}, {"'|u1'", TENSORS_U8},
                 {"'|b1'", TENSORS_BOOL}};

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

/* The array that a member is. */
static status add_array(struct tensors *t, const struct zip_member *m, struct err *err)
{
    const unsigned char *bytes = (const unsigned char *)t->map.data + m->at;
    const size_t n_name = strlen(m->name) - (str_ends(m->name, ".npy") ? 4 : 0);
    struct tensors_item item = {0};
    char literal[LITERAL_MOST];

    if (m->is_deflated)
        return err_set(err, ERR_FORMAT, "array %.80s is compressed, which is not read",
                       m->name);
    if (m->n < NPY_HEAD || memcmp(bytes, "\x93NUMPY\x01", 7) != 0)
        return err_set(err, ERR_FORMAT, "%.80s is no array of NumPy's version 1",
                       m->name);
    const size_t n_literal = le_get16(bytes + 8);
    if (n_literal >= sizeof literal || m->n - NPY_HEAD < n_literal)
        return err_set(err, ERR_FORMAT, "array %.80s is damaged", m->name);
    memcpy(literal, bytes + NPY_HEAD, n_literal);
    literal[n_literal] = '\0';
    const char *order = value_of(literal, "'fortran_order'");
    if (!read_type(value_of(literal, "'descr'"), &item.type) || !order ||
        strncmp(order, "False", 5) != 0 ||
        !read_shape(value_of(literal, "'shape'"), &item))
        return err_set(err, ERR_FORMAT, "array %.80s: %.80s is not read", m->name,
                       literal);
    TRY(tensors_add(t, m->name, n_name, item, m->at + NPY_HEAD + n_literal,
                    m->n - NPY_HEAD - n_literal, err));
    return zip_check(m, bytes, err);
}

status npz_read(struct tensors *t, struct err *err)
{
    struct zip zip;
    status result = OK;

    TRY(zip_open(&zip, t->map.data, t->map.n_bytes, err));
    for (size_t i = 0; i < zip.n; i++)
        THEN(result, add_array(t, &zip.member[i], err));
    zip_close(&zip);
    return result;
}
