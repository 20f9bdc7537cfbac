#include "sample/lexicon.h"

#include <string.h>

const void *lexicon_find(const void *rows, size_t n, size_t row_bytes, const char *en)
{
    for (const char *row = rows; n > 0; n--, row += row_bytes) {
        const char *const *name = (const void *)row;
        if (*name && strcmp(*name, en) == 0)
            return row;
    }
    return NULL;
}

const struct det *lexicon_det(const char *en)
{
    for (const struct det *d = lexicon_dets; d < lexicon_dets + lexicon_dets_n; d++)
        if ((d->en && strcmp(d->en, en) == 0) ||
            (d->en_plural && strcmp(d->en_plural, en) == 0))
            return d;
    return NULL;
}
