#include "text/line_reader.h"

#include <stdlib.h>
#include <string.h>

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

/* The kind of file that these bytes begin; NULL when none of those below. Kinds of ZIP
 * archives stand before it. */
static const char *foreign_kind(const unsigned char *p, size_t n)
{
    static const struct {
        const char *kind;
        unsigned short at;
        unsigned char n;
        const char *bytes;
    } list[] = {
        {"an OpenDocument file", 30, 25, "mimetypeapplication/vnd.o"},
        {"an Office document", 30, 19, "[Content_Types].xml"},
        {"an Office document", 30, 11, "_rels/.rels"},
        {"an Office document", 0, 8, "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"},
        {"an e-book", 30, 24, "mimetypeapplication/epub"},
        {"a ZIP archive", 0, 4, "PK\3\4"},
        {"a PDF document", 0, 5, "%PDF-"},
        {"an RTF document", 0, 5, "{\\rtf"},
        {"a PNG image", 0, 8, "\x89PNG\r\n\x1A\n"},
        {"a JPEG image", 0, 3, "\xFF\xD8\xFF"},
        {"a GIF image", 0, 6, "GIF89a"},
        {"a tar archive", 257, 5, "ustar"},
        {"packed by bzip2, which is not read here", 4, 6, "1AY&SY"},
        {"a 7z archive", 0, 6, "7z\xBC\xAF\x27\x1C"},
        {"a program", 0, 4,
         "\x7F"
         "ELF"},
    };

    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (n >= (size_t)list[i].at + list[i].n &&
            memcmp(p + list[i].at, list[i].bytes, list[i].n) == 0)
            return list[i].kind;
    return NULL;
}

status line_reader_expect_text(const struct line_reader *f, struct err *err)
{
    enum { FEW = 8 }; /* bytes that prove nothing */
    const unsigned char *p = f->buf;
    const char *kind = foreign_kind(p, f->end);
    size_t n_zero = 0;

    for (size_t i = 0; i < f->end; i++)
        n_zero += p[i] == 0;
    if (kind)
        return err_set(err, ERR_FORMAT, "%s is %s, and text is wanted, a sentence a line",
                       f->in.name, kind);
    if (f->end > FEW && n_zero > f->end / 4)
        return err_set(err, ERR_FORMAT,
                       "%s is not text: %zu of its first %zu bytes are zero (UTF-16 "
                       "without its mark is converted by iconv -f UTF-16LE -t UTF-8)",
                       f->in.name, n_zero, f->end);
    return OK;
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
