#include "decode/translate_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "text/line_reader.h"

struct window {
    struct line_reader reader;
    struct str in; /* its lines, one behind the other */
    struct line *lines;
    size_t n;
    struct translations found;
    struct str out;
    uint64_t n_before; /* lines of earlier windows */
};

static void window_release(struct window *w)
{
    line_reader_close(&w->reader);
    str_release(&w->in);
    str_release(&w->out);
    translations_release(&w->found);
    free(w->lines);
}

/* The lines of the next window. One of very long lines ends early. */
static status fill(struct window *w, const struct translate_stream *s, struct err *err)
{
    struct line line;
    bool has = true;
    size_t at = 0;

    str_reset(&w->in);
    for (w->n = 0; w->n < s->window && w->in.len < TRANSLATE_STREAM_LINE_MAX; w->n++) {
        if (!w->reader.is_cut)
            TRY(line_reader_next(&w->reader, &line, &has, err));
        if (!has || (w->reader.is_cut && w->n)) /* the lines before it come first */
            break;
        if (w->reader.is_cut)
            return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %d MiB",
                           s->name, (unsigned long long)w->reader.n_lines,
                           TRANSLATE_STREAM_LINE_MAX >> 20);
        str_add(&w->in, line.text, line.n_bytes);
        w->lines[w->n].n_bytes = line.n_bytes;
    }
    for (size_t i = 0; i < w->n; at += w->lines[i++].n_bytes)
        w->lines[i].text = str_text(&w->in) + at;
    return str_check(&w->in, s->name, err);
}

static void put_line(struct window *w, const struct translate_stream *s, size_t i)
{
    const struct translations *f = &w->found;

    for (size_t rank = 0; rank < f->n_found[i]; rank++) {
        const double score = f->item[i * f->n_best + rank].score;
        const char *text = translations_text(f, i, rank);
        if (f->n_best > 1)
            str_printf(&w->out, "%llu ||| %s ||| %.6f\n",
                       (unsigned long long)w->n_before + i, text, score);
        else if (s->has_scores)
            str_printf(&w->out, "%s\t%.6f\n", text, score);
        else
            str_printf(&w->out, "%s\n", text);
    }
}

static status run(struct window *w, const struct translate_stream *s,
                  struct translator *t, struct err *err)
{
    w->in = str_new(SIZE_MAX / 2);
    w->out = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&w->lines, s->window, sizeof *w->lines, err));
    TRY(line_reader_open_fd(&w->reader, s->fd, s->name, err));
    w->reader.max_line = TRANSLATE_STREAM_LINE_MAX;
    for (;;) {
        TRY(fill(w, s, err));
        if (!w->n)
            return OK;
        if (translate_lines(t, w->lines, w->n, &w->found, err) != OK)
            return err_wrap(err, "%s", s->name);
        str_reset(&w->out);
        for (size_t i = 0; i < w->n; i++)
            put_line(w, s, i);
        TRY(str_check(&w->out, "the translations", err));
        TRY(s->write(s->ctx, w->out.data, w->out.len, err));
        w->n_before += w->n;
    }
}

status translate_stream_run(const struct translate_stream *s, struct translator *t,
                            struct err *err)
{
    struct window w = {0};
    const status result = run(&w, s, t, err);

    window_release(&w);
    return result;
}
