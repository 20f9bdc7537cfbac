#include "foreign/fill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct fill_row *fill_find(const struct fill *f, enum param_id id)
{
    for (size_t i = 0; i < f->n_rows; i++)
        if (f->row[i].id == id)
            return &f->row[i];
    return NULL;
}

void fill_name(char out[FILL_NAME], const struct fill *f, const struct fill_row *row,
               int layer)
{
    const char *hole = strstr(row->name, "%d");
    const size_t n = strlen(row->name);
    const char *suffix = n && row->name[n - 1] == '*' ? f->norm_suffix : NULL;
    const int before = (int)(hole ? (size_t)(hole - row->name) : n - (suffix != NULL));

    snprintf(out, FILL_NAME, "%.*s", before, row->name);
    if (!hole) {
        snprintf(out + before, FILL_NAME - (size_t)before, "%s", suffix ? suffix : "");
        return;
    }
    const size_t at = strlen(out);
    snprintf(out + at, FILL_NAME - at, "%d%.*s%s", layer + f->first_layer,
             (int)(strlen(hole + 2) - (suffix != NULL)), hole + 2, suffix ? suffix : "");
}

/* One tensor of theirs, and how its numbers are read. */
struct from {
    const struct tensors_item *item, *scale; /* scale: of numbers in 8 or 16 bits */
    size_t cols;                             /* of theirs */
};

static double value(const struct from *f, size_t row, size_t col)
{
    const double x = tensors_value(f->item, row * f->cols + col);

    if (!f->scale)
        return x;
    return x / tensors_value(f->scale, f->scale->n == 1 ? 0 : row);
}

/* Rows and columns of theirs: what stands before and behind sides of one. */
static bool has_shape(const struct tensors_item *item, size_t rows, size_t cols)
{
    uint64_t side[2] = {1, 1};
    size_t n = 0;

    for (size_t i = 0; i < item->n_dims; i++)
        if (item->dim[i] != 1) {
            if (n == 2)
                return false;
            side[n++] = item->dim[i];
        }
    if (rows == 1 || cols == 1)
        return n <= 1 && item->n == rows * cols;
    return n == 2 && side[0] == rows && side[1] == cols;
}

/* CTranslate2 keeps w times a number, the largest that fits, of each row or of all. */
static status find_scale(const struct fill *f, struct from *from, struct err *err)
{
    char name[FILL_NAME + 8];

    from->scale = NULL;
    if (from->item->type != TENSORS_I8 && from->item->type != TENSORS_I16)
        return OK;
    snprintf(name, sizeof name, "%s_scale", from->item->name);
    from->scale = tensors_find(f->tensors, name);
    const size_t rows = from->item->n_dims ? (size_t)from->item->dim[0] : 0;
    if (!from->scale || (from->scale->n != 1 && from->scale->n != rows))
        return err_set(err, ERR_FORMAT, "tensor %.120s has no scale", from->item->name);
    for (size_t i = 0; i < from->scale->n; i++)
        if (!(fabs(tensors_value(from->scale, i)) > 0) ||
            !isfinite(tensors_value(from->scale, i)))
            return err_set(err, ERR_FORMAT,
                           "scale %zu of tensor %.120s is no number "
                           "above zero",
                           i, from->item->name);
    return OK;
}

static bool is_by_token(enum fill_kind kind)
{
    return kind == FILL_SOURCES || kind == FILL_TARGETS || kind == FILL_COLUMNS;
}

static status check_shape(const struct fill *f, const struct fill_row *row,
                          const struct param *t, struct from *from, struct err *err)
{
    const struct vocabulary *v = row->kind == FILL_SOURCES ? f->source : f->target;
    const size_t beside = row->n_beside ? row->n_beside : 1;
    size_t rows = t->rows, cols = t->cols * beside;

    if (row->kind == FILL_TRANSPOSED) {
        rows = t->cols * beside;
        cols = t->rows;
    } else if (row->kind == FILL_COLUMNS) {
        rows = t->cols;
        cols = v->n;
    } else if (is_by_token(row->kind)) {
        rows = t->rows == 1 ? 1 : v->n;
        cols = t->rows == 1 ? v->n : t->cols;
    }
    from->cols = cols;
    if (has_shape(from->item, rows, cols))
        return OK;
    return err_set(err, ERR_FORMAT, "tensor %.120s is not %zu x %zu, as this model needs",
                   from->item->name, rows, cols);
}

static void copy_plain(const struct fill_row *row, const struct param *t,
                       const struct from *from, float *flat)
{
    const size_t at = row->which * t->cols;

    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++)
            flat[t->at + r * t->stride + c] =
                (float)(row->kind == FILL_TRANSPOSED ? value(from, at + c, r)
                                                     : value(from, r, at + c));
}

static void copy_tokens(const struct vocabulary *v, const struct fill_row *row,
                        const struct param *t, const struct from *from, float *flat)
{
    for (size_t i = 0; i < v->n; i++) {
        const size_t id = (size_t)v->token[i].id;
        if (t->rows == 1) {
            flat[t->at + id] = (float)value(from, 0, i);
            continue;
        }
        for (size_t c = 0; c < t->cols; c++)
            flat[t->at + id * t->stride + c] =
                (float)(row->kind == FILL_COLUMNS ? value(from, c, i)
                                                  : value(from, i, c));
    }
}

/* Numbers that are none would be carried into every translation. */
static status check_numbers(const struct param *t, const char *name, const float *flat,
                            struct err *err)
{
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->cols; c++)
            if (!isfinite(flat[t->at + r * t->stride + c]))
                return err_set(err, ERR_FORMAT,
                               "tensor %.120s holds something that is no number", name);
    return OK;
}

/* The tensor of a row, as this parameter needs it. */
static status find_tensor(const struct fill *f, const struct fill_row *row,
                          const struct param *t, struct from *from, struct err *err)
{
    char name[FILL_NAME];

    fill_name(name, f, row, t->layer);
    from->item = tensors_find(f->tensors, name);
    if (!from->item)
        return err_set(err, ERR_FORMAT, "there is no tensor %s", name);
    TRY(check_shape(f, row, t, from, err));
    return find_scale(f, from, err);
}

static status fill_one(const struct fill *f, const struct param *t, float *flat,
                       struct err *err)
{
    const struct fill_row *row = fill_find(f, t->id);
    struct from from;

    if (!row)
        return OK; /* what a caller sets */
    TRY(find_tensor(f, row, t, &from, err));
    if (is_by_token(row->kind))
        copy_tokens(row->kind == FILL_SOURCES ? f->source : f->target, row, t, &from,
                    flat);
    else
        copy_plain(row, t, &from, flat);
    return check_numbers(t, from.item->name, flat, err);
}

status fill_check_size(const struct params *p, const struct tensors *t, struct err *err)
{
    const size_t n = p->n_flat * sizeof(float);

    if (n / FILL_MEMORY <= t->map.n_bytes)
        return OK;
    return err_set(err, ERR_FORMAT,
                   "its weights would take %zu bytes of memory, more than %d for each "
                   "byte of the file",
                   n, FILL_MEMORY);
}

status fill_check(const struct fill *f, const struct params *p, struct err *err)
{
    struct from from;

    for (size_t i = 0; i < p->n_list; i++) {
        const struct fill_row *row = fill_find(f, p->list[i].id);
        if (row)
            TRY(find_tensor(f, row, &p->list[i], &from, err));
    }
    return fill_check_size(p, f->tensors, err);
}

status fill_all(const struct fill *f, const struct params *p, float *flat,
                struct err *err)
{
    for (size_t i = 0; i < p->n_list; i++)
        TRY(fill_one(f, &p->list[i], flat, err));
    return OK;
}
