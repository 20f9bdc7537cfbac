#include "base/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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

/* Everything that a stream which cannot be mapped has to say. */
static status copy_stream(struct str *out, FILE *in, const char *name, struct err *err)
{
    char block[1 << 14];
    size_t n;

    *out = str_new(SIZE_MAX / 2);
    while ((n = fread(block, 1, sizeof block, in)) > 0)
        str_add(out, block, n);
    if (ferror(in))
        return err_set(err, ERR_IO, "%s: %s", name, strerror(errno));
    return str_check(out, name, err);
}

static status copy_file(struct str *out, const char *path, struct err *err)
{
    FILE *in = fopen(path, "rbe");

    if (!in)
        return err_set(err, ERR_IO, "%s: %s", path, strerror(errno));
    const status s = copy_stream(out, in, path, err);
    (void)fclose(in); /* only read from: nothing can be lost */
    return s;
}

/* A pipe, a socket or a terminal: `score <(zcat ref.gz) hyp` hands us one. */
static bool is_stream(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 &&
           (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode));
}

status lines_open(struct lines *l, const char *path, struct err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;

    *l = (struct lines){0};
    if (!is_stdin && !is_stream(path)) {
        TRY(file_map_open(&l->map, path, err));
        start(l, (const char *)l->map.data, l->map.n_bytes);
        return OK;
    }
    const status s = is_stdin ? copy_stream(&l->copy, stdin, "standard input", err)
                              : copy_file(&l->copy, path, err);
    if (s != OK) {
        lines_close(l);
        return s;
    }
    start(l, l->copy.data, l->copy.len);
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
    str_release(&l->copy);
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
