#include "foreign/pour.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "device/half.h"
#include "format/le.h"

const struct pour_type *pour_type_of(const char *name)
{
    static const struct pour_type types[] = {
#define ROW(name, matrix, other) {#name, TENSORS_##matrix, TENSORS_##other},
        POUR_TYPES(ROW)
#undef ROW
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

void pour_release(struct pour *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->item[i].tensor.name);
        free(p->item[i].bytes);
    }
    free(p->item);
    p->item = NULL;
    p->n = p->cap = p->n_aliases = 0;
}

static status add(struct pour *p, const char *name, struct pour_item item,
                  struct err *err)
{
    struct tensors_item *t = &item.tensor;

    t->n = 1;
    for (size_t i = 0; i < t->n_dims; i++)
        TRY(mem_mul(&t->n, t->n, (size_t)t->dim[i], err));
    TRY(mem_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item, err));
    t->name = strdup(name);
    if (!t->name)
        return err_set(err, ERR_MEMORY, "out of memory for the names of tensors");
    p->item[p->n++] = item;
    return OK;
}

/* ---- weights ---- */

/* Two sides in the file of what a row makes of t; one where it is a vector. */
static struct tensors_item shape_of(const struct pour *p, const struct fill_row *row,
                                    const struct param *t)
{
    const size_t cols = t->cols * (row->n_beside ? row->n_beside : 1);
    const bool is_turned = row->kind == FILL_TRANSPOSED || row->kind == FILL_COLUMNS;

    if (t->n_dims == 1 && !p->has_rows)
        return (struct tensors_item){.n_dims = 1, .dim = {cols}};
    if (t->n_dims == 2 && is_turned)
        return (struct tensors_item){.n_dims = 2, .dim = {cols, t->rows}};
    return (struct tensors_item){.n_dims = 2, .dim = {t->rows, cols}};
}

static bool has_scale(enum tensors_type type)
{
    return type == TENSORS_I8 || type == TENSORS_I16;
}

static status add_weight(struct pour *p, const struct fill_row *row,
                         const struct param *t, struct err *err)
{
    struct pour_item item = {.row = row, .layer = t->layer};
    char name[FILL_NAME + 8];

    fill_name(name, &p->names, row, t->layer);
    item.tensor = shape_of(p, row, t);
    item.tensor.type = t->n_dims == 2 ? p->type->matrix : p->type->other;
    TRY(add(p, name, item, err));
    if (!has_scale(item.tensor.type))
        return OK;
    item.is_scale = true;
    item.tensor.n_dims = item.tensor.type == TENSORS_I8; /* one a row, or one */
    item.tensor.type = TENSORS_F32;
    snprintf(name + strlen(name), sizeof "_scale", "_scale");
    return add(p, name, item, err);
}

status pour_weights(struct pour *p, struct err *err)
{
    for (size_t i = 0; i < p->params->n_list; i++) {
        const struct param *t = &p->params->list[i];
        const struct fill_row *row = fill_find(&p->names, t->id);
        if (row && row->which == 0)
            TRY(add_weight(p, row, t, err));
    }
    return OK;
}

status pour_row(struct pour *p, const struct fill_row *row, struct err *err)
{
    return add_weight(p, row, params_get(p->params, row->id, 0), err);
}

/* Numbers of one parameter, into those of the tensor it is a part of. */
static void gather_one(const struct pour *p, const struct fill_row *row,
                       const struct param *t, float *out)
{
    const float *from = p->flat + t->at;
    const size_t beside = row->n_beside ? row->n_beside : 1, at = row->which * t->cols;
    const bool is_turned = row->kind == FILL_TRANSPOSED || row->kind == FILL_COLUMNS;

    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++)
            out[is_turned && t->n_dims == 2 ? (at + c) * t->rows + r
                                            : r * t->cols * beside + at + c] =
                from[r * t->stride + c];
}

/* The tensor's numbers, row-major as in the file. */
static void gather(const struct pour *p, const struct pour_item *item, float *out)
{
    for (size_t i = 0; i < p->names.n_rows; i++) {
        const struct fill_row *row = &p->names.row[i];
        if (row == item->row || strcmp(row->name, item->row->name) == 0)
            if (params_has(p->params, row->id))
                gather_one(p, row, params_get(p->params, row->id, item->layer), out);
    }
}

/* ---- numbers as bytes ---- */

static void put_floats(unsigned char *to, const float *x, size_t n,
                       enum tensors_type type)
{
    for (size_t i = 0; i < n; i++)
        switch (type) {
        case TENSORS_F16:
            le_put16(to + 2 * i, half_from(half_clip(x[i])));
            break;
        case TENSORS_BF16:
            le_put16(to + 2 * i, half_from_b(x[i]));
            break;
        default:
            le_put32(to + 4 * i, half_bits(x[i]));
        }
}

static float largest(const float *x, size_t n)
{
    float most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    return most;
}

/*
 * CTranslate2's own scales: q = w s, in int8 with s = 127 / max |w| for each row, in
 * int16 with 2^10 in place of 127 and one s for all, so that sums of products of two
 * numbers of ten bits fit in 32. Zeros may have any scale, and a row of very small
 * numbers has one that is a number.
 */
static float scale_of(enum tensors_type type, const float *x, size_t n)
{
    const float most = largest(x, n), top = type == TENSORS_I8 ? 127.0F : 1024.0F;

    return most > 0 ? top / fmaxf(most, top / FLT_MAX) : 1;
}

/* The row's bytes, or only its scale. */
static void put_row(unsigned char *to, const float *x, size_t n, enum tensors_type type,
                    float scale)
{
    for (size_t i = 0; i < n; i++) {
        const long q = lrintf(x[i] * scale);
        if (type == TENSORS_I8)
            to[i] = (unsigned char)q;
        else
            le_put16(to + 2 * i, (uint16_t)q);
    }
}

static void put_integers(unsigned char *to, const float *x, size_t rows, size_t cols,
                         enum tensors_type type, bool is_scale)
{
    const size_t n = type == TENSORS_I8 ? cols : rows * cols;
    const size_t n_bytes = n * tensors_type_bytes(type);

    for (size_t r = 0; r < rows * cols / n; r++) {
        const float scale = scale_of(type, x + r * n, n);
        if (is_scale)
            le_put32(to + 4 * r, half_bits(scale));
        else
            put_row(to + r * n_bytes, x + r * n, n, type, scale);
    }
}

static status make(void *ctx, size_t i, unsigned char *bytes, struct err *err)
{
    const struct pour *p = ctx;
    const struct pour_item *item = &p->item[i];
    RELEASED_BY(mem_release) float *x = NULL;

    if (!item->row) {
        memcpy(bytes, item->bytes, tensors_item_bytes(&item->tensor));
        return OK;
    }
    const struct param *t = params_get(p->params, item->row->id, item->layer);
    const struct tensors_item shape = shape_of(p, item->row, t);
    const size_t rows = (size_t)shape.dim[0],
                 cols = shape.n_dims == 2 ? (size_t)shape.dim[1] : 1;
    TRY(mem_alloc(&x, rows * cols, sizeof *x, err));
    gather(p, item, x);
    const enum tensors_type type = item->is_scale ? p->type->matrix : item->tensor.type;
    if (has_scale(type))
        put_integers(bytes, x, rows, cols, type, item->is_scale);
    else
        put_floats(bytes, x, rows * cols, type);
    return OK;
}

/* ---- what is no weight ---- */

status pour_bytes(struct pour *p, const char *name, struct tensors_item shape,
                  const void *bytes, struct err *err)
{
    TRY(add(p, name, (struct pour_item){.tensor = shape}, err));
    struct pour_item *item = &p->item[p->n - 1];
    const size_t n = tensors_item_bytes(&item->tensor);
    TRY(mem_alloc(&item->bytes, n, 1, err));
    if (bytes)
        memcpy(item->bytes, bytes, n);
    return OK;
}

status pour_number(struct pour *p, const char *name, enum tensors_type type,
                   int64_t number, struct err *err)
{
    unsigned char bytes[8];

    le_put64(bytes, (uint64_t)number);
    return pour_bytes(p, name, (struct tensors_item){.type = type}, bytes, err);
}

status pour_positions(struct pour *p, const char *name, enum positions kind, size_t n,
                      size_t D, struct err *err)
{
    const struct tensors_item shape = {
        .type = p->type->other, .n_dims = 2, .dim = {n, D}};
    RELEASED_BY(mem_release) float *x = NULL;

    TRY(mem_alloc(&x, n * D, sizeof *x, err));
    positions_fill(kind, x, n, D);
    TRY(pour_bytes(p, name, shape, NULL, err));
    put_floats(p->item[p->n - 1].bytes, x, n * D, shape.type);
    return OK;
}

static size_t find(const struct pour *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->item[i].tensor.name, name) == 0)
            return i;
    BUG_ON(true);
    return 0;
}

void pour_as_row(struct pour *p, const char *name)
{
    struct tensors_item *t = &p->item[find(p, name)].tensor;

    BUG_ON(t->n_dims != 1);
    t->dim[1] = t->dim[0];
    t->dim[0] = 1;
    t->n_dims = 2;
}

void pour_alias(struct pour *p, const char *name, const char *of)
{
    BUG_ON(p->n_aliases == POUR_ALIASES);
    p->alias[p->n_aliases++] = (struct pour_alias){name, of};
}

/* ---- the file ---- */

static int by_name(const void *a, const void *b)
{
    const struct pour_item *x = a, *y = b;

    return strcmp(x->tensor.name, y->tensor.name);
}

static status list(const struct pour *p, struct tensors_list *l, struct err *err)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct tensors_item *t = &p->item[i].tensor;
        TRY(tensors_list_add(l, t->name, t->type, t->dim, t->n_dims, err));
    }
    for (size_t i = 0; i < p->n_aliases; i++)
        TRY(tensors_list_alias(l, p->alias[i].name, find(p, p->alias[i].of), err));
    return OK;
}

status pour_write(struct pour *p, enum tensors_format format, const char *path,
                  struct err *err)
{
    struct tensors_list l = {0};

    qsort(p->item, p->n, sizeof *p->item, by_name);
    status result = list(p, &l, err);
    THEN(result, tensors_write(&l, format, path, make, p, err));
    tensors_list_release(&l);
    return result;
}
