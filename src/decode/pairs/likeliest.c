#include "decode/pairs/likeliest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

status likeliest_add(struct likeliest *l, double value, struct err *err)
{
    TRY(mem_grow(&l->value, &l->cap, l->n + 1, sizeof *l->value, err));
    l->value[l->n++] = isnan(value) ? (double)-INFINITY : value;
    return OK;
}

void likeliest_release(struct likeliest *l)
{
    free(l->value);
    *l = (struct likeliest){0};
}

static int by_falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

status likeliest_choose(struct likeliest *l, double share, struct err *err)
{
    RELEASED_BY(mem_release) double *sorted = NULL;
    const size_t n_kept = (size_t)(share * (double)l->n + 0.5);

    l->least = INFINITY;
    l->n_least = 0;
    if (!n_kept)
        return OK;
    TRY(mem_alloc(&sorted, l->n, sizeof *sorted, err));
    memcpy(sorted, l->value, l->n * sizeof *sorted);
    qsort(sorted, l->n, sizeof *sorted, by_falling);
    l->least = sorted[n_kept - 1];
    for (size_t i = n_kept; i > 0 && sorted[i - 1] <= l->least; i--)
        l->n_least++;
    return OK;
}

bool likeliest_stays(struct likeliest *l, size_t i)
{
    if (l->value[i] > l->least)
        return true;
    if (l->value[i] < l->least || isinf(l->value[i]) || !l->n_least)
        return false;
    l->n_least--;
    return true;
}
