#include "prepare/source/source.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "prepare/source/source_kinds.h"

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
    size_t n = strlen(path);

    (void)(cut_end(path, &n, ".gz") || cut_end(path, &n, ".xz") ||
           cut_end(path, &n, ".zst"));
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

static void begin(struct source *s, struct line_reader reader)
{
    const bool is_markup = s->kind == SOURCE_SGM || s->kind == SOURCE_TMX;

    if (is_markup)
        markup_init(&s->markup, reader);
    else
        s->reader = reader;
    for (int i = 0; i < SOURCE_SIDES; i++)
        s->room[i] = str_new(0);
}

status source_open(struct source *s, const char *path, const char *name,
                   enum source_kind kind, struct source_options options, struct err *err)
{
    struct line_reader reader;

    *s = (struct source){.kind = kind, .options = options};
    TRY(line_reader_open(&reader, path, name, err));
    begin(s, reader);
    return OK;
}

status source_over(struct source *s, const void *bytes, size_t n, const char *name,
                   enum source_kind kind, struct source_options options, struct err *err)
{
    struct line_reader reader;

    *s = (struct source){.kind = kind, .options = options};
    TRY(line_reader_over(&reader, bytes, n, name, err));
    begin(s, reader);
    return OK;
}

void source_close(struct source *s)
{
    if (s->kind == SOURCE_SGM || s->kind == SOURCE_TMX)
        markup_close(&s->markup);
    else
        line_reader_close(&s->reader);
    str_release(&s->room[0]);
    str_release(&s->room[1]);
    *s = (struct source){0};
}

static status next_text(struct source *s, bool *has, struct err *err)
{
    TRY(line_reader_next(&s->reader, &s->seg[0], has, err));
    s->line = s->reader.n_lines;
    s->is_cut = s->reader.is_cut;
    return OK;
}

status source_next(struct source *s, bool *has, struct err *err)
{
    typedef status next_fn(struct source * s, bool *has, struct err *err);
    static next_fn *const next[] = {[SOURCE_TEXT] = next_text,
                                    [SOURCE_TSV] = source_kinds_tsv,
                                    [SOURCE_SGM] = source_kinds_sgm,
                                    [SOURCE_TMX] = source_kinds_tmx};

    TRY(next[s->kind](s, has, err));
    s->n_rows += *has;
    return OK;
}

uint64_t source_bytes_read(const struct source *s)
{
    const bool is_markup = s->kind == SOURCE_SGM || s->kind == SOURCE_TMX;

    return is_markup ? s->markup.file.in.n_in : s->reader.in.n_in;
}

void source_kinds_add(struct source *s, int side)
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

void source_kinds_finish(struct source *s, int side)
{
    const char *text = str_text(&s->room[side]);
    size_t from = 0, to = s->room[side].len;

    while (from < to && text[from] == ' ')
        from++;
    while (to > from && text[to - 1] == ' ')
        to--;
    s->seg[side] = (struct line){text + from, to - from};
}

void source_kinds_id(char out[SOURCE_ID_MAX], const char *value)
{
    snprintf(out, SOURCE_ID_MAX, "%s", value ? value : "");
}
