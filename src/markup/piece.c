#include "markup/piece.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "markup/placeholder.h"
#include "markup/reference.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

void piece_reset(struct pieces *p)
{
    p->n = 0;
    str_reset(&p->text);
}

void piece_release(struct pieces *p)
{
    free(p->item);
    free(p->raw);
    str_release(&p->text);
    str_release(&p->decoded);
    *p = (struct pieces){0};
}

/* Words of a text with single blanks between them. */
static void add_words(struct str *out, struct line text)
{
    const size_t begin = out->len;
    bool gap = false;

    for (size_t i = 0; i < text.n_bytes; i++) {
        const bool blank = is_blank(text.text[i]);
        if (!blank && gap && out->len > begin)
            str_putc(out, ' ');
        if (!blank)
            str_putc(out, text.text[i]);
        gap = blank;
    }
}

status piece_add(struct pieces *p, struct piece piece, struct line shown, struct err *err)
{
    TRY(mem_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item, err));
    piece.text_at = p->text.len;
    if (piece.kind == PIECE_WORD)
        str_add(&p->text, shown.text, shown.n_bytes);
    else
        add_words(&p->text, shown);
    piece.text_n = p->text.len - piece.text_at;
    p->item[p->n++] = piece;
    return str_check(&p->text, "text", err);
}

/* Bytes [from, to) of the decoded text as one piece. */
static status add_part(struct pieces *p, enum piece_kind kind, int holder, size_t from,
                       size_t to, size_t token, struct err *err)
{
    const struct piece piece = {.kind = kind,
                                .holder = holder,
                                .raw_at = p->raw[from],
                                .raw_n = p->raw[to] - p->raw[from],
                                .token = token,
                                .pair = (size_t)-1};

    return piece_add(p, piece, (struct line){p->decoded.data + from, to - from}, err);
}

static status add_plain(struct pieces *p, size_t from, size_t to, size_t token,
                        struct err *err)
{
    while (from < to) {
        const bool blank = is_blank(p->decoded.data[from]);
        size_t end = from;
        while (end < to && is_blank(p->decoded.data[end]) == blank)
            end++;
        TRY(add_part(p, blank ? PIECE_SPACE : PIECE_WORD, 0, from, end, token, err));
        from = end;
    }
    return OK;
}

/* What is decoded so far, and nothing is. */
static status flush(struct pieces *p, size_t raw_end, size_t token, struct err *err)
{
    const size_t n = p->decoded.len;
    struct placeholder holder;
    size_t at = 0;

    if (n == 0)
        return OK;
    TRY(str_check(&p->decoded, "text", err));
    p->raw[n] = raw_end;
    while (placeholder_next(p->decoded.data, n, at, &holder)) {
        const size_t end = holder.at + holder.n_bytes;
        TRY(add_plain(p, at, holder.at, token, err));
        TRY(add_part(p, PIECE_HOLDER, (int)holder.kind, holder.at, end, token, err));
        at = end;
    }
    TRY(add_plain(p, at, n, token, err));
    str_reset(&p->decoded);
    return OK;
}

static void decode(struct pieces *p, const char *text, size_t n, size_t raw_at)
{
    for (size_t i = 0; i < n; i++)
        p->raw[p->decoded.len + i] = raw_at;
    str_add(&p->decoded, text, n);
}

status piece_add_text(struct pieces *p, struct line source, size_t raw_at, size_t raw_n,
                      size_t token, bool is_html, struct err *err)
{
    const size_t end = raw_at + raw_n;
    uint32_t code = 0;

    TRY(mem_grow(&p->raw, &p->cap_raw, raw_n + 1, sizeof *p->raw, err));
    str_reset(&p->decoded);
    for (size_t at = raw_at, n; at < end; at += n) {
        const char *text = source.text + at;
        n = is_html && *text == '&' ? reference_read(text, end - at, &code) : 0;
        if (n && code == REFERENCE_ODD) {
            const struct piece odd = {.kind = PIECE_POINT,
                                      .raw_at = at,
                                      .raw_n = n,
                                      .token = token,
                                      .pair = (size_t)-1};
            TRY(flush(p, at, token, err));
            TRY(piece_add(p, odd, (struct line){"", 0}, err));
        } else if (n) {
            char bytes[4];
            decode(p, bytes, utf8_encode(bytes, code), at);
        } else {
            decode(p, text, 1, at);
            n = 1;
        }
    }
    return flush(p, end, token, err);
}
