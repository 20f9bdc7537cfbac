#include "format/foreign/tensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "format/le.h"

/* name, bytes of an element */
#define TENSORS_TYPES(T) \
    T(F32, 4)            \
    T(F64, 8)            \
    T(F16, 2)            \
    T(BF16, 2)           \
    T(I8, 1)             \
    T(I16, 2)            \
    T(I32, 4)            \
    T(I64, 8)            \
    T(U8, 1)             \
    T(U16, 2)            \
    T(U32, 4)            \
    T(BOOL, 1)

static const struct {
    const char *name;
    size_t n_bytes;
} types[N_TENSORS_TYPES] = {
#define ROW(name, n_bytes) [TENSORS_##name] = {#name, n_bytes},
    TENSORS_TYPES(ROW)
#undef ROW
};

const char *tensors_type_name(enum tensors_type type)
{
    return types[type].name;
}

size_t tensors_type_bytes(enum tensors_type type)
{
    return types[type].n_bytes;
}

/* Elements of a shape; false: more than any file has. */
static bool count(const struct tensors_item *item, uint64_t *n)
{
    const uint64_t most = (uint64_t)1 << 48;

    *n = 1;
    for (size_t i = 0; i < item->n_dims; i++) {
        if (item->dim[i] > most || (item->dim[i] && *n > most / item->dim[i]))
            return false;
        *n *= item->dim[i];
    }
    return true;
}

static uint32_t find(const struct tensors *t, const char *name, size_t n)
{
    struct table_search s = table_search(&t->by_name, table_hash(name, n));
    uint32_t i;

    while ((i = table_next(&s)) != TABLE_NONE)
        if (strncmp(t->item[i].name, name, n) == 0 && !t->item[i].name[n])
            break;
    return i;
}

status tensors_add(struct tensors *t, const char *name, size_t n_name,
                   struct tensors_item item, uint64_t at, uint64_t n_bytes,
                   struct err *err)
{
    uint64_t n;

    if (!utf8_valid(name, n_name) || memchr(name, '\0', n_name))
        return err_set(err, ERR_FORMAT, "the name of tensor %zu is no text", t->n);
    if (find(t, name, n_name) != TABLE_NONE)
        return err_set(err, ERR_FORMAT, "there are two tensors %.*s",
                       (int)(n_name < 100 ? n_name : 100), name);
    if (!count(&item, &n) || n * types[item.type].n_bytes != n_bytes)
        return err_set(
            err, ERR_FORMAT, "tensor %.*s: its shape is not that of its %llu bytes",
            (int)(n_name < 100 ? n_name : 100), name, (unsigned long long)n_bytes);
    if (at > t->map.n_bytes || n_bytes > t->map.n_bytes - at)
        return err_set(err, ERR_FORMAT,
                       "tensor %.*s lies beyond the end of the file: it is cut short",
                       (int)(n_name < 100 ? n_name : 100), name);
    item.name = strndup(name, n_name);
    item.n = (size_t)n;
    item.bytes = (const unsigned char *)t->map.data + at;
    if (!item.name || mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item, err) != OK) {
        free(item.name);
        return err_set(err, ERR_MEMORY, "out of memory for the names of tensors");
    }
    t->item[t->n++] = item;
    return table_add(&t->by_name, table_hash(name, n_name), (uint32_t)(t->n - 1), err);
}

const struct tensors_item *tensors_find(const struct tensors *t, const char *name)
{
    const uint32_t i = find(t, name, strlen(name));

    return i == TABLE_NONE ? NULL : &t->item[i];
}

static status read_all(struct tensors *t, enum tensors_format format, struct err *err)
{
    static status (*const readers[N_TENSORS_FORMATS])(struct tensors *, struct err *) = {
        [TENSORS_SAFETENSORS] = safetensors_read,
        [TENSORS_NPZ] = npz_read,
        [TENSORS_CTRANSLATE2] = ctranslate2_read,
        [TENSORS_TORCH] = torch_read};

    return readers[format](t, err);
}

status tensors_open(struct tensors *t, enum tensors_format format, const char *path,
                    struct err *err)
{
    *t = (struct tensors){.is_mapped = true};
    TRY(file_map_open(&t->map, path, err));
    if (read_all(t, format, err) == OK)
        return OK;
    tensors_close(t);
    return err_wrap(err, "%s", path);
}

status tensors_parse(struct tensors *t, enum tensors_format format, const void *bytes,
                     size_t n, struct err *err)
{
    *t = (struct tensors){.map = {.data = bytes, .n_bytes = n}};
    if (read_all(t, format, err) == OK)
        return OK;
    tensors_close(t);
    return err->code;
}

void tensors_close(struct tensors *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->item[i].name);
    free(t->item);
    table_release(&t->by_name);
    if (t->is_mapped)
        file_map_close(&t->map);
    *t = (struct tensors){0};
}

static double real_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 1 + 5 + 10 bits; (-1)^s 2^(e-15) 1.f, below the smallest exponent 2^-14 0.f */
static double half_of(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, e = bits >> 10 & 31,
                   f = bits & 1023;

    if (e == 31)
        return real_of(sign | 0x7f800000 | f << 13);
    if (e)
        return real_of(sign | (e + 112) << 23 | f << 13);
    return (sign ? -1 : 1) * (double)f / (1 << 24);
}

double tensors_value(const struct tensors_item *item, size_t i)
{
    const unsigned char *at = item->bytes + i * types[item->type].n_bytes;
    const uint16_t two = types[item->type].n_bytes == 2 ? le_get16(at) : 0;

    switch (item->type) {
    case TENSORS_F32:
        return real_of(le_get32(at));
    case TENSORS_F64:
        return double_of(le_get64(at));
    case TENSORS_F16:
        return half_of(two);
    case TENSORS_BF16:
        return real_of((uint32_t)two << 16);
    case TENSORS_I8:
        return (int8_t)*at;
    case TENSORS_I16:
        return (int16_t)two;
    case TENSORS_I32:
        return (int32_t)le_get32(at);
    case TENSORS_I64:
        return (double)(int64_t)le_get64(at);
    case TENSORS_U16:
        return two;
    case TENSORS_U32:
        return le_get32(at);
    default:
        return *at;
    }
}
