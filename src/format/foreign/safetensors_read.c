/*
 * safetensors: eight bytes with the length of a JSON object, the object, and the bytes of
 * all tensors. The object has {"dtype", "shape", "data_offsets": [begin, end]} for each
 * name, offsets counting from the end of the object, and texts in "__metadata__".
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "format/foreign/tensors.h"
#include "format/le.h"

enum { HEAD = 8, JSON_MOST = 100 << 20 /* as the format's own reader allows */ };

static bool find_type(const char *name, enum tensors_type *type)
{
    for (int i = 0; i < N_TENSORS_TYPES; i++)
        if (strcmp(name, tensors_type_name((enum tensors_type)i)) == 0) {
            *type = (enum tensors_type)i;
            return true;
        }
    return false;
}

static status add(struct tensors *t, const char *name, json_t *row, uint64_t data,
                  struct err *err)
{
    const char *type;
    json_t *shape;
    json_int_t begin, end;
    struct tensors_item item = {0};

    if (json_unpack(row, "{s:s, s:o, s:[I,I]}", "dtype", &type, "shape", &shape,
                    "data_offsets", &begin, &end) != 0 ||
        !json_is_array(shape) || json_array_size(shape) > TENSORS_DIMS || begin < 0 ||
        end < begin)
        return err_set(err, ERR_FORMAT, "tensor %.100s is described wrongly", name);
    if (!find_type(type, &item.type))
        return err_set(err, ERR_FORMAT,
                       "tensor %.100s is of type %.20s, which is not read", name, type);
    item.n_dims = json_array_size(shape);
    for (size_t i = 0; i < item.n_dims; i++) {
        const json_int_t n = json_integer_value(json_array_get(shape, i));
        if (n < 0)
            return err_set(err, ERR_FORMAT, "tensor %.100s has a side of %lld", name,
                           (long long)n);
        item.dim[i] = (uint64_t)n;
    }
    if ((uint64_t)begin > t->map.n_bytes)
        begin = end = (json_int_t)t->map.n_bytes; /* beyond the end, without a wrap */
    return tensors_add(t, name, strlen(name), item, data + (uint64_t)begin,
                       (uint64_t)(end - begin), err);
}

static status add_all(struct tensors *t, json_t *head, uint64_t data, struct err *err)
{
    const char *name;
    json_t *row;

    if (!json_is_object(head))
        return err_set(err, ERR_FORMAT, "its head is no JSON object");
    json_object_foreach(head, name, row) if (strcmp(name, "__metadata__") != 0)
        TRY(add(t, name, row, data, err));
    return OK;
}

static int by_place(const void *a, const void *b)
{
    const struct tensors_item *const *x = a, *const *y = b;

    return ((*x)->bytes > (*y)->bytes) - ((*x)->bytes < (*y)->bytes);
}

/* The format has every byte belong to one tensor. */
static status check_overlap(const struct tensors *t, struct err *err)
{
    RELEASED_BY(mem_release) const struct tensors_item **sorted = NULL;
    size_t n = 0;

    TRY(mem_alloc(&sorted, t->n, sizeof(const struct tensors_item *), err));
    for (size_t i = 0; i < t->n; i++)
        if (t->item[i].n)
            sorted[n++] = &t->item[i];
    if (n)
        qsort(sorted, n, sizeof(const struct tensors_item *), by_place);
    for (size_t i = 1; i < n; i++) {
        const struct tensors_item *a = sorted[i - 1], *b = sorted[i];
        if (a->n * tensors_type_bytes(a->type) > (size_t)(b->bytes - a->bytes))
            return err_set(err, ERR_FORMAT,
                           "tensors %.100s and %.100s lie over each other", a->name,
                           b->name);
    }
    return OK;
}

status safetensors_read(struct tensors *t, struct err *err)
{
    const unsigned char *bytes = t->map.data;
    json_error_t why;

    if (t->map.n_bytes < HEAD)
        return err_set(err, ERR_FORMAT, "too short for a safetensors file");
    const uint64_t n = le_get64(bytes);
    if (n > t->map.n_bytes - HEAD || n > JSON_MOST)
        return err_set(err, ERR_FORMAT, "no safetensors file, or cut short");
    json_t *head =
        json_loadb((const char *)bytes + HEAD, (size_t)n, JSON_REJECT_DUPLICATES, &why);
    if (!head)
        return err_set(err, ERR_FORMAT, "its head is no JSON: %s", why.text);
    status result = add_all(t, head, HEAD + n, err);
    json_decref(head);
    THEN(result, check_overlap(t, err));
    return result;
}
