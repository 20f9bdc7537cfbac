#include "dist/exchange/embed_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dist/comm/comm_backend.h"
#include "recipe/params.h"

static size_t n_words(const struct embed_rows *t)
{
    return (t->n_rows + 63) / 64;
}

status embed_rows_open(struct embed_rows *t, const struct params *p, size_t n_max,
                       struct err *err)
{
    const struct param *e = params_get(p, PARAM_embed, 0);

    *t = (struct embed_rows){.first = e->at,
                             .n_rows = e->rows,
                             .stride = e->stride,
                             .most = n_max / e->stride};
    if (mem_alloc(&t->mine, n_words(t), sizeof *t->mine, err) != OK ||
        mem_alloc(&t->scratch, n_words(t), sizeof *t->scratch, err) != OK ||
        mem_alloc(&t->merged, n_words(t), sizeof *t->merged, err) != OK ||
        mem_alloc(&t->packed, t->most * t->stride, sizeof *t->packed, err) != OK) {
        embed_rows_close(t);
        return err->code;
    }
    return OK;
}

void embed_rows_close(struct embed_rows *t)
{
    free(t->mine);
    free(t->scratch);
    free(t->merged);
    free(t->packed);
    *t = (struct embed_rows){0};
}

/* ------------------------------------------------------------ marks */

void embed_rows_mark_all(struct embed_rows *t, bool is_marked)
{
    memset(t->mine, is_marked ? 0xFF : 0, n_words(t) * sizeof *t->mine);
}

void embed_rows_mark(struct embed_rows *t, const int32_t *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (row[i] >= 0 && (size_t)row[i] < t->n_rows)
            t->mine[row[i] / 64] |= UINT64_C(1) << (row[i] % 64);
}

/* Moves *row to the first one from there on that is marked, or is not; false: none. */
static bool find(const struct embed_rows *t, const uint64_t *marks, bool is_marked,
                 size_t *row)
{
    for (; *row < t->n_rows; ++*row)
        if ((marks[*row / 64] >> (*row % 64) & 1) == is_marked)
            return true;
    return false;
}

static void fold_marks(void *into, const void *from, const void *ctx)
{
    const struct embed_rows *t = ctx;
    uint64_t *a = into;
    const uint64_t *b = from;

    for (size_t i = 0; i < n_words(t); i++)
        a[i] |= b[i];
}

status embed_rows_merge(struct embed_rows *t, struct comm *c, struct err *err)
{
    const size_t bytes = n_words(t) * sizeof *t->mine;

    memcpy(t->merged, t->mine, bytes);
    return comm_job_allreduce(c, (struct comm_folding){fold_marks, t, bytes}, t->merged,
                              t->scratch, err);
}

/* ------------------------------------------------------------ rows */

static size_t row_at(const struct embed_rows *t, size_t row)
{
    return t->first + row * t->stride;
}

double embed_rows_square(const struct embed_rows *t, const float *flat)
{
    double sum = 0;

    for (size_t row = 0; find(t, t->mine, true, &row); row++)
        for (size_t i = 0; i < t->stride; i++) {
            const double x = (double)flat[row_at(t, row) + i];
            sum += x * x;
        }
    return sum;
}

/* Copy at most t->most rows from *row on to `packed`, or back; *row is then behind the
 * last of them. */
static size_t copy_rows(const struct embed_rows *t, float *flat, bool is_marked,
                        bool is_back, size_t *row)
{
    size_t n = 0;

    for (; n < t->most && find(t, t->merged, is_marked, row); ++*row) {
        float *packed = t->packed + n++ * t->stride, *in_place = flat + row_at(t, *row);
        memcpy(is_back ? in_place : packed, is_back ? packed : in_place,
               t->stride * sizeof *flat);
    }
    return n;
}

status embed_rows_sum(struct embed_rows *t, struct exchange *x, float *flat,
                      bool is_marked, enum wire w, struct err *err)
{
    size_t from = 0, to = 0, n;

    while ((n = copy_rows(t, flat, is_marked, false, &from)) > 0) {
        TRY(exchange_allreduce(x, t->packed, n * t->stride, w, NULL, err));
        copy_rows(t, flat, is_marked, true, &to);
    }
    return OK;
}
