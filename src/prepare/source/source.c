#include "prepare/source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* `n` without `end`, when the name ends so. */
static bool cut_end(const char *name, size_t *n, const char *end)
{
    const size_t len = strlen(end);

    if (*n <= len || strncasecmp(name + *n - len, end, len) != 0)
        return false;
    *n -= len;
    return true;
}

enum source_kind source_kind_of(const char *path)
{
    size_t n = stream_stem(path, strlen(path));

    if (cut_end(path, &n, ".tsv"))
        return SOURCE_TSV;
    if (cut_end(path, &n, ".sgm") || cut_end(path, &n, ".sgml") ||
        cut_end(path, &n, ".xml"))
        return SOURCE_SGM;
    return cut_end(path, &n, ".tmx") ? SOURCE_TMX : SOURCE_TEXT;
}

bool source_is_both(enum source_kind kind)
{
    return kind == SOURCE_TSV || kind == SOURCE_TMX;
}

status source_columns(int column[SOURCE_SIDES], const char *text, struct err *err)
{
    char *end;

    for (int s = 0; s < SOURCE_SIDES; s++) {
        const long n = strtol(text, &end, 10);
        if (end == text || n < 1 || n > 1000 || *end != (s ? '\0' : ','))
            return err_set(
                err, ERR_USAGE,
                "columns = '%s': want two numbers from 1 on, as in columns=1,2", text);
        column[s] = (int)n;
        text = end + 1;
    }
    return OK;
}

status source_open(struct source *s, const char *path, const char *name,
                   enum source_kind kind, struct source_options options, struct err *err)
{
    struct line_reader file;

    *s = (struct source){.kind = kind, .options = options};
    TRY(line_reader_open(&file, path, name, err));
    markup_init(&s->markup, file);
    if (line_reader_expect_text(&file, err) == OK)
        return OK;
    source_close(s);
    return err->code;
}

void source_close(struct source *s)
{
    markup_close(&s->markup);
    str_release(&s->room[0]);
    str_release(&s->room[1]);
    *s = (struct source){0};
}

static status next_line(struct source *s, struct line *row, bool *has, struct err *err)
{
    struct line_reader *file = &s->markup.file;

    TRY(line_reader_next(file, row, has, err));
    s->line = file->n_lines;
    s->is_cut = file->is_cut;
    return OK;
}

static status next_text(struct source *s, bool *has, struct err *err)
{
    return next_line(s, &s->seg[0], has, err);
}

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

static int count(struct line row, char c)
{
    int n = 0;

    for (size_t i = 0; i < row.n_bytes; i++)
        n += row.text[i] == c;
    return n;
}

/* What was seen of a line without column `want`, and what to do about it. */
static status lacks_column(const struct source *s, struct line row, int want,
                           struct err *err)
{
    const int n = 1 + count(row, '\t'), n_semicolons = count(row, ';');
    char hint[160] = "";

    if (n == 1 && n_semicolons)
        snprintf(hint, sizeof hint,
                 ": columns are separated by tabs, and it has none but %d semicolon%s "
                 "(tr ';' '\\t' makes tabs of them)",
                 n_semicolons, n_semicolons == 1 ? "" : "s");
    else if (n == 1)
        snprintf(hint, sizeof hint,
                 ": columns are separated by tabs, and it has none; two files of one "
                 "language each are named with source= and target=");
    return err_set(err, ERR_FORMAT,
                   "%s:%llu: a line of %d column%s, column %d is wanted%s",
                   s->markup.file.in.name, (unsigned long long)s->line, n,
                   n == 1 ? "" : "s", want, hint);
}

static status next_tsv(struct source *s, bool *has, struct err *err)
{
    struct line row;

    TRY(next_line(s, &row, has, err));
    if (!*has)
        return OK;
    for (int i = 0; i < SOURCE_SIDES; i++)
        if (!column(row, s->options.column[i], &s->seg[i])) {
            if (!s->is_cut)
                return lacks_column(s, row, s->options.column[i], err);
            s->seg[i] = (struct line){row.text, 0};
        }
    return OK;
}

status source_next(struct source *s, bool *has, struct err *err)
{
    typedef status next_fn(struct source * s, bool *has, struct err *err);
    static next_fn *const next[] = {[SOURCE_TEXT] = next_text,
                                    [SOURCE_TSV] = next_tsv,
                                    [SOURCE_SGM] = source_sgm_next,
                                    [SOURCE_TMX] = source_tmx_next};

    TRY(next[s->kind](s, has, err));
    s->n_rows += *has;
    return OK;
}

uint64_t source_bytes_read(const struct source *s)
{
    return s->markup.file.in.n_in;
}

void source_add(struct source *s, int side)
{
    const struct str *piece = &s->markup.text;
    struct str *out = &s->room[side];

    if (out->len + piece->len > LINE_READER_MAX) {
        s->is_cut = true;
        return;
    }
    const size_t from = out->len;
    str_add(out, piece->data, piece->len);
    for (size_t i = from; i < out->len; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r' || out->data[i] == '\t')
            out->data[i] = ' ';
}

void source_finish(struct source *s, int side)
{
    const char *text = str_text(&s->room[side]);
    size_t from = 0, to = s->room[side].len;

    while (from < to && text[from] == ' ')
        from++;
    while (to > from && text[to - 1] == ' ')
        to--;
    s->seg[side] = (struct line){text + from, to - from};
}

void source_id(char out[SOURCE_ID_MAX], const char *value)
{
    snprintf(out, SOURCE_ID_MAX, "%s", value ? value : "");
}
