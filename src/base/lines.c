#include "base/lines.h"

#include <string.h>

static const char byte_order_mark[] = "\xEF\xBB\xBF";

static void start(struct lines *l, const char *text, size_t n_bytes)
{
    const size_t n_mark = sizeof byte_order_mark - 1;

    if (n_bytes == 0)
        text = ""; /* so that the three pointers always belong to one object */
    l->end = text + n_bytes;
    l->has_mark = n_bytes >= n_mark && memcmp(text, byte_order_mark, n_mark) == 0;
    l->text = l->next = l->has_mark ? text + n_mark : text;
}

status lines_open(struct lines *l, const char *path, struct err *err)
{
    *l = (struct lines){0};
    TRY(file_map_open(&l->map, path, err));
    start(l, (const char *)l->map.data, l->map.n_bytes);
    return OK;
}

struct lines lines_over(const void *text, size_t n_bytes)
{
    struct lines l = {0};

    start(&l, text, n_bytes);
    return l;
}

void lines_close(struct lines *l)
{
    file_map_close(&l->map);
    *l = (struct lines){0};
}

bool lines_next(struct lines *l, struct line *line)
{
    if (l->next == l->end)
        return false;
    const size_t n_left = (size_t)(l->end - l->next);
    const char *feed = memchr(l->next, '\n', n_left);
    size_t n = feed ? (size_t)(feed - l->next) : n_left;

    line->text = l->next;
    l->next += n + (feed != NULL);
    l->n_read++;
    if (n && line->text[n - 1] == '\r')
        n--;
    line->n_bytes = n;
    return true;
}

void lines_rewind(struct lines *l)
{
    l->next = l->text;
    l->n_read = 0;
}

uint64_t lines_count(const struct lines *l)
{
    struct lines again = *l; /* a second cursor; what it borrows, *l owns */
    struct line line;

    lines_rewind(&again);
    while (lines_next(&again, &line)) {
    }
    return again.n_read;
}
