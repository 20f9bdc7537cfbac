#include "decode/translate_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/mem.h"

struct window {
    struct str in;  /* read and not yet translated */
    size_t n_taken; /* bytes of it that belong to this window */
    bool is_end;    /* nothing more to read */
    struct line *lines;
    size_t n;
    struct translations found;
    struct str out;
    uint64_t n_before; /* lines of earlier windows */
};

static void window_release(struct window *w)
{
    str_release(&w->in);
    str_release(&w->out);
    translations_release(&w->found);
    free(w->lines);
}

static status read_more(struct window *w, const struct translate_stream *s,
                        struct err *err)
{
    char block[1 << 16];
    ssize_t n;

    do {
        n = read(s->fd, block, sizeof block);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set(err, ERR_IO, "%s: %s", s->name, strerror(errno));
    w->is_end = n == 0;
    str_add(&w->in, block, (size_t)n);
    return str_check(&w->in, s->name, err);
}

/*
 * Read until w->in holds the window's lines; n_taken counts their bytes. A window of
 * very long lines ends early: at the last line that ends within the limit.
 */
static status fill(struct window *w, const struct translate_stream *s, struct err *err)
{
    size_t n_lines = 0, seen = 0;

    w->n_taken = 0;
    while (n_lines < s->window) {
        const char *feed =
            seen < w->in.len ? memchr(w->in.data + seen, '\n', w->in.len - seen) : NULL;
        if (feed) {
            seen = w->n_taken = (size_t)(feed - w->in.data) + 1;
            n_lines++;
            continue;
        }
        if (w->is_end) {
            w->n_taken = w->in.len;
            return OK;
        }
        seen = w->in.len;
        if (seen >= TRANSLATE_STREAM_LINE_MAX) {
            if (n_lines)
                return OK;
            return err_set(err, ERR_FORMAT, "%s: line %llu is longer than %d MiB",
                           s->name, (unsigned long long)w->n_before + 1,
                           TRANSLATE_STREAM_LINE_MAX >> 20);
        }
        TRY(read_more(w, s, err));
    }
    return OK;
}

/* A byte order mark at the start of a later window goes too: it is no text there. */
static void split(struct window *w)
{
    struct lines reader = lines_over(w->in.data, w->n_taken);

    w->n = 0;
    while (lines_next(&reader, &w->lines[w->n]))
        w->n++;
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

static void drop_taken(struct window *w)
{
    w->in.len -= w->n_taken;
    if (w->in.len)
        memmove(w->in.data, w->in.data + w->n_taken, w->in.len);
}

static status run(struct window *w, const struct translate_stream *s,
                  struct translator *t, struct err *err)
{
    w->in = str_new(2 * (size_t)TRANSLATE_STREAM_LINE_MAX);
    w->out = str_new(SIZE_MAX / 2);
    TRY(mem_alloc(&w->lines, s->window, sizeof *w->lines, err));
    for (;;) {
        TRY(fill(w, s, err));
        if (!w->n_taken)
            return OK;
        split(w);
        if (translate_lines(t, w->lines, w->n, &w->found, err) != OK)
            return err_wrap(err, "%s", s->name);
        str_reset(&w->out);
        for (size_t i = 0; i < w->n; i++)
            put_line(w, s, i);
        TRY(str_check(&w->out, "the translations", err));
        TRY(s->write(s->ctx, w->out.data, w->out.len, err));
        drop_taken(w);
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
