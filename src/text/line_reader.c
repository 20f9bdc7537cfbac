#include "text/line_reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { BLOCK = 1 << 16, FIRST_CAP = 1 << 18 };

/* The 16-bit unit at p. */
static uint32_t unit(const struct line_reader *f, const unsigned char *p)
{
    return f->encoding == LINE_READER_UTF16_LE ? (uint32_t)p[0] | (uint32_t)p[1] << 8
                                               : (uint32_t)p[1] | (uint32_t)p[0] << 8;
}

/* The character at p[0..n), n >= 2, and its bytes; 0 bytes when its second half is not
 * there yet. Lone surrogates stay what they are, which is not UTF-8. */
static size_t decode16(const struct line_reader *f, const unsigned char *p, size_t n,
                       uint32_t *code)
{
    const uint32_t high = *code = unit(f, p);

    if (high < 0xD800 || high > 0xDBFF)
        return 2;
    if (n < 4)
        return f->ended ? 2 : 0;
    const uint32_t low = unit(f, p + 2);
    if (low < 0xDC00 || low > 0xDFFF)
        return 2;
    *code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return 4;
}

/* raw[0..n) as UTF-8 at the end of the buffer, which has room for it. */
static void decode_block(struct line_reader *f, const unsigned char *raw, size_t n)
{
    size_t at = 0, len;
    uint32_t code;

    f->n_rest = 0;
    while (n - at >= 2 && (len = decode16(f, raw + at, n - at, &code))) {
        f->end += utf8_encode((char *)f->buf + f->end, code);
        at += len;
    }
    if (f->ended && at < n)
        f->buf[f->end++] = 0xFF; /* half a unit: not text in any encoding */
    else if (at < n)
        memcpy(f->rest, raw + at, f->n_rest = n - at);
}

static status fill16(struct line_reader *f, struct err *err)
{
    unsigned char raw[BLOCK / 2];
    size_t got;

    memcpy(raw, f->rest, f->n_rest);
    TRY(stream_read(&f->in, raw + f->n_rest, sizeof raw - f->n_rest, &got, err));
    f->ended = got == 0;
    decode_block(f, raw, f->n_rest + got);
    return OK;
}

/* More bytes behind `end`; f->ended when there are none. */
static status fill(struct line_reader *f, struct err *err)
{
    size_t got;

    BUG_ON(f->cap - f->end < BLOCK);
    if (f->encoding != LINE_READER_UTF8)
        return fill16(f, err);
    TRY(stream_read(&f->in, f->buf + f->end, BLOCK, &got, err));
    f->end += got;
    f->ended = got == 0;
    return OK;
}

/* Could more bytes make these a byte order mark? A terminal that has given a short line
 * must not be asked for more. */
static bool may_be_mark(const unsigned char *p, size_t n)
{
    return n == 0 || (n == 1 && (p[0] == 0xEF || p[0] >= 0xFE)) ||
           (n == 2 && memcmp(p, "\xEF\xBB", 2) == 0);
}

/* The first bytes tell the encoding. */
static status begin(struct line_reader *f, struct err *err)
{
    f->max_line = LINE_READER_MAX;
    TRY(mem_grow(&f->buf, &f->cap, FIRST_CAP, 1, err));
    while (!f->ended && may_be_mark(f->buf, f->end))
        TRY(fill(f, err));
    if (f->end >= 3 && memcmp(f->buf, "\xEF\xBB\xBF", 3) == 0)
        f->at = 3;
    if (f->end < 2 ||
        (memcmp(f->buf, "\xFF\xFE", 2) != 0 && memcmp(f->buf, "\xFE\xFF", 2) != 0))
        return OK;
    f->encoding = f->buf[0] == 0xFF ? LINE_READER_UTF16_LE : LINE_READER_UTF16_BE;
    const size_t n = f->end - 2;
    unsigned char *raw = f->buf + f->cap - n; /* out of the way of what it becomes */
    memmove(raw, f->buf + 2, n);
    f->end = 0;
    decode_block(f, raw, n);
    return OK;
}

static status open_on(struct line_reader *f, status opened, struct err *err)
{
    if (opened == OK && begin(f, err) == OK)
        return OK;
    line_reader_close(f);
    return err->code;
}

status line_reader_open(struct line_reader *f, const char *path, const char *name,
                        struct err *err)
{
    *f = (struct line_reader){0};
    return open_on(f, stream_open(&f->in, path, name, err), err);
}

status line_reader_open_fd(struct line_reader *f, int fd, const char *name,
                           struct err *err)
{
    *f = (struct line_reader){0};
    return open_on(f, stream_open_fd(&f->in, fd, name, err), err);
}

void line_reader_close(struct line_reader *f)
{
    stream_close(&f->in);
    free(f->buf);
    *f = (struct line_reader){0};
}

void line_reader_keep_mark(struct line_reader *f)
{
    f->at = 0;
}

/* Room for a block behind `end`, the unread bytes moved to the front. */
static status make_room(struct line_reader *f, struct err *err)
{
    if (f->cap - f->end >= BLOCK)
        return OK;
    memmove(f->buf, f->buf + f->at, f->end - f->at);
    f->end -= f->at;
    f->at = 0;
    if (f->cap - f->end >= BLOCK)
        return OK;
    return mem_grow(&f->buf, &f->cap, f->end + BLOCK, 1, err);
}

/* A line of n bytes; what follows it starts at `next`. */
static void hand_out(struct line_reader *f, struct line *line, size_t n, size_t next)
{
    const char *text = (const char *)f->buf + f->at;

    f->is_cut = n > f->max_line;
    if (f->is_cut)
        n = f->max_line;
    if (n && text[n - 1] == '\r')
        n--;
    *line = (struct line){text, n};
    f->at = next;
    f->n_lines++;
}

/* Pass over the rest of a line that was cut. Only now: whoever refuses such lines need
 * not wait for the end of one. */
static status skip_rest(struct line_reader *f, struct err *err)
{
    const unsigned char *lf = NULL;

    while (!(lf = memchr(f->buf + f->at, '\n', f->end - f->at)) && !f->ended) {
        f->at = f->end = 0;
        TRY(fill(f, err));
    }
    f->at = lf ? (size_t)(lf - f->buf) + 1 : f->end;
    f->has_rest = false;
    return OK;
}

status line_reader_next(struct line_reader *f, struct line *line, bool *has,
                        struct err *err)
{
    return line_reader_next_within(f, line, has, STREAM_FOR_EVER, err);
}

status line_reader_next_within(struct line_reader *f, struct line *line, bool *has,
                               int milliseconds, struct err *err)
{
    if (f->has_rest)
        TRY(skip_rest(f, err));
    for (size_t scanned = 0;;) {
        const unsigned char *from = f->buf + f->at;
        const size_t n = f->end - f->at;
        const unsigned char *lf = memchr(from + scanned, '\n', n - scanned);
        *has = lf || n;
        if (lf || (f->ended && n) || n > f->max_line) {
            const size_t len = lf ? (size_t)(lf - from) : n;
            f->has_rest = !lf && !f->ended;
            hand_out(f, line, len, f->at + len + (lf != NULL));
            return OK;
        }
        if (f->ended)
            return OK;
        if (stream_stalls(&f->in, milliseconds)) {
            *has = false;
            return OK;
        }
        scanned = n;
        TRY(make_room(f, err));
        TRY(fill(f, err));
    }
}

status line_reader_peek(struct line_reader *f, int *byte, struct err *err)
{
    while (f->at == f->end && !f->ended) {
        f->at = f->end = 0;
        TRY(fill(f, err));
    }
    *byte = f->at == f->end ? LINE_READER_END : f->buf[f->at];
    return OK;
}

status line_reader_byte(struct line_reader *f, int *byte, struct err *err)
{
    TRY(line_reader_peek(f, byte, err));
    f->at += *byte != LINE_READER_END;
    f->n_lines += *byte == '\n';
    return OK;
}

status line_reader_all(struct str *text, const char *path, struct err *err)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    RELEASED_BY(line_reader_close) struct line_reader f = {0};

    TRY(is_stdin ? line_reader_open_fd(&f, STDIN_FILENO, "standard input", err)
                 : line_reader_open(&f, path, path, err));
    line_reader_keep_mark(&f);
    for (bool is_last = false; !is_last && !text->bad;) {
        is_last = f.ended;
        str_add(text, f.buf, f.end);
        f.end = 0;
        if (!is_last)
            TRY(fill(&f, err));
    }
    return str_check(text, path, err);
}
