#include "dist/exchange/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/comm/comm_backend.h"
#include "recipe/params.h"

static size_t n_words(const struct table *t)
{
    return (t->n_rows + 63) / 64;
}

status table_open(struct table *t, const struct params *p, size_t n_max, struct err *err)
{
    const struct param *e = params_get(p, PARAM_embed, 0);

    *t = (struct table){.first = e->at,
                        .n_rows = e->rows,
                        .stride = e->stride,
                        .most = n_max / e->stride};
    if (mem_alloc(&t->mine, n_words(t), sizeof *t->mine, err) != OK ||
        mem_alloc(&t->heard, n_words(t), sizeof *t->heard, err) != OK ||
        mem_alloc(&t->named, n_words(t), sizeof *t->named, err) != OK ||
        mem_alloc(&t->packed, t->most * t->stride, sizeof *t->packed, err) != OK) {
        table_close(t);
        return err->code;
    }
    return OK;
}

void table_close(struct table *t)
{
    free(t->mine);
    free(t->heard);
    free(t->named);
    free(t->packed);
    *t = (struct table){0};
}

/* ------------------------------------------------------------ marks */

void table_mark_all(struct table *t)
{
    memset(t->mine, 0xFF, n_words(t) * sizeof *t->mine);
}

void table_mark_none(struct table *t)
{
    memset(t->mine, 0, n_words(t) * sizeof *t->mine);
}

void table_mark(struct table *t, const int32_t *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (row[i] >= 0 && (size_t)row[i] < t->n_rows)
            t->mine[row[i] / 64] |= UINT64_C(1) << (row[i] % 64);
}

/* Moves *row to the first one from there on that is marked, or is not; false: none. */
static bool find(const struct table *t, const uint64_t *marks, bool is_marked,
                 size_t *row)
{
    for (; *row < t->n_rows; ++*row)
        if ((marks[*row / 64] >> (*row % 64) & 1) == is_marked)
            return true;
    return false;
}

/* Through the first rank, as all small things go. */
status table_merge(struct table *t, struct comm *c, struct err *err)
{
    const size_t bytes = n_words(t) * sizeof *t->mine;
    const struct comm_msg up = {0, t->mine, bytes};

    if (c->rank != 0)
        TRY(comm_swap(c, &up, 1, NULL, 0, err));
    else
        memcpy(t->named, t->mine, bytes);
    for (int rank = 1; c->rank == 0 && rank < c->size; rank++) {
        const struct comm_msg in = {rank, t->heard, bytes};
        TRY(comm_swap(c, NULL, 0, &in, 1, err));
        for (size_t i = 0; i < n_words(t); i++)
            t->named[i] |= t->heard[i];
    }
    return comm_tell(c, t->named, bytes, err);
}

/* ------------------------------------------------------------ rows */

static size_t row_at(const struct table *t, size_t row)
{
    return t->first + row * t->stride;
}

double table_square(const struct table *t, const float *flat)
{
    double sum = 0;

    for (size_t row = 0; find(t, t->mine, true, &row); row++)
        for (size_t i = 0; i < t->stride; i++) {
            const double x = (double)flat[row_at(t, row) + i];
            sum += x * x;
        }
    return sum;
}

/* At most t->most of them, from *row on; *row is then behind the last. */
static size_t pack(const struct table *t, const float *flat, bool is_named, size_t *row)
{
    size_t n = 0;

    for (; n < t->most && find(t, t->named, is_named, row); ++*row)
        memcpy(t->packed + n++ * t->stride, flat + row_at(t, *row),
               t->stride * sizeof *flat);
    return n;
}

static void unpack(const struct table *t, float *flat, bool is_named, size_t row,
                   size_t n)
{
    for (size_t i = 0; i < n && find(t, t->named, is_named, &row); i++, row++)
        memcpy(flat + row_at(t, row), t->packed + i * t->stride,
               t->stride * sizeof *flat);
}

status table_sum(struct table *t, struct exchange *x, float *flat, bool is_named,
                 enum wire w, struct err *err)
{
    size_t begin = 0, end = 0, n;

    while ((n = pack(t, flat, is_named, &end)) > 0) {
        TRY(exchange_sum(x, t->packed, n * t->stride, w, NULL, err));
        unpack(t, flat, is_named, begin, n);
        begin = end;
    }
    return OK;
}
