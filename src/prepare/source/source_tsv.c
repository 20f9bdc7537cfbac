#include <string.h>

#include "prepare/source/source_kinds.h"

/* Column `k`, from 1; false when the line has fewer. */
static bool column(struct line row, int k, struct line *out)
{
    const char *at = row.text, *end = row.text + row.n_bytes;

    for (;; k--) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        *out = (struct line){at, (size_t)((tab ? tab : end) - at)};
        if (k == 1)
            return true;
        if (!tab)
            return false;
        at = tab + 1;
    }
}

static int count_columns(struct line row)
{
    int n = 1;

    for (size_t i = 0; i < row.n_bytes; i++)
        n += row.text[i] == '\t';
    return n;
}

status source_kinds_tsv(struct source *s, bool *has, struct err *err)
{
    struct line row;

    TRY(line_reader_next(&s->reader, &row, has, err));
    if (!*has)
        return OK;
    s->line = s->reader.n_lines;
    s->is_cut = s->reader.is_cut;
    for (int i = 0; i < SOURCE_SIDES; i++)
        if (!column(row, s->options.column[i], &s->seg[i])) {
            if (!s->is_cut)
                return err_set(err, ERR_FORMAT,
                               "%s:%llu: a line of %d columns, column %d is wanted",
                               s->reader.in.name, (unsigned long long)s->line,
                               count_columns(row), s->options.column[i]);
            s->seg[i] = (struct line){row.text, 0};
        }
    return OK;
}
