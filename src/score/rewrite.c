#include "score/rewrite.h"

#include <string.h>

#include "base/utf8.h"

struct rewrite rewrite_begin(const char *text, size_t n)
{
    struct rewrite w = {str_new(SIZE_MAX / 2), str_new(SIZE_MAX / 2)};

    str_add(&w.now, text, n);
    return w;
}

void rewrite_release(struct rewrite *w)
{
    str_release(&w->now);
    str_release(&w->next);
}

static void turn(struct rewrite *w)
{
    const struct str was = w->now;

    w->next.bad |= was.bad;
    w->now = w->next;
    w->next = was;
    str_reset(&w->next);
}

void rewrite_step(struct rewrite *w, rewrite_fn *step)
{
    step(&w->next, &w->now);
    turn(w);
}

void rewrite_replace(struct rewrite *w, const char *from, const char *to)
{
    const size_t n_from = strlen(from);
    const char *at = str_text(&w->now), *end = at + w->now.len, *hit;

    if (!memmem(at, w->now.len, from, n_from))
        return;
    for (; (hit = memmem(at, (size_t)(end - at), from, n_from)); at = hit + n_from) {
        str_add(&w->next, at, (size_t)(hit - at));
        str_puts(&w->next, to);
    }
    str_add(&w->next, at, (size_t)(end - at));
    turn(w);
}

void rewrite_entities(struct rewrite *w)
{
    rewrite_replace(w, "&quot;", "\"");
    rewrite_replace(w, "&amp;", "&");
    rewrite_replace(w, "&lt;", "<");
    rewrite_replace(w, "&gt;", ">");
}

/* ---- steps; all their patterns are ASCII, so bytes serve as well as characters ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_stop(char c)
{
    return c == '.' || c == ',';
}

static bool is_mark(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' ||
           (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static void put_apart(struct str *out, char c)
{
    const char text[] = {' ', c, ' '};

    str_add(out, text, sizeof text);
}

void rewrite_pad(struct str *out, const struct str *in)
{
    str_putc(out, ' ');
    str_add(out, str_text(in), in->len);
    str_putc(out, ' ');
}

void rewrite_marks(struct str *out, const struct str *in)
{
    for (size_t i = 0; i < in->len; i++)
        if (is_mark(in->data[i]))
            put_apart(out, in->data[i]);
        else
            str_putc(out, in->data[i]);
}

/* "x," becomes "x , " unless x is a digit. */
static void apart_stops_after_text(struct str *out, const struct str *in)
{
    for (size_t i = 0; i < in->len; i++) {
        str_putc(out, in->data[i]);
        if (!is_digit(in->data[i]) && i + 1 < in->len && is_stop(in->data[i + 1]))
            put_apart(out, in->data[++i]);
    }
}

/* ",x" becomes " , x" unless x is a digit. */
static void apart_stops_before_text(struct str *out, const struct str *in)
{
    for (size_t i = 0; i < in->len; i++) {
        if (is_stop(in->data[i]) && i + 1 < in->len && !is_digit(in->data[i + 1]))
            put_apart(out, in->data[i++]);
        str_putc(out, in->data[i]);
    }
}

/* "7-" becomes "7 - ". */
static void apart_hyphens_after_digits(struct str *out, const struct str *in)
{
    for (size_t i = 0; i < in->len; i++) {
        str_putc(out, in->data[i]);
        if (is_digit(in->data[i]) && i + 1 < in->len && in->data[i + 1] == '-')
            put_apart(out, in->data[++i]);
    }
}

void rewrite_stops(struct rewrite *w)
{
    rewrite_step(w, apart_stops_after_text);
    rewrite_step(w, apart_stops_before_text);
    rewrite_step(w, apart_hyphens_after_digits);
}

/* ---- words ---- */

bool rewrite_is_space(uint32_t code)
{
    return utf8_is_space(code) || (code >= 0x1C && code <= 0x1F);
}

void rewrite_join_text(struct str *out, const char *text, size_t n)
{
    const size_t start = out->len;
    size_t from = 0, len; /* the word that is being read starts here */

    for (size_t i = 0; i <= n; i += len) {
        len = 1;
        if (i < n && !rewrite_is_space(utf8_decode(text + i, n - i, &len)))
            continue;
        if (i > from) {
            if (out->len > start)
                str_putc(out, ' ');
            str_add(out, text + from, i - from);
        }
        from = i + len;
    }
}

void rewrite_join(struct str *out, const struct rewrite *w)
{
    rewrite_join_text(out, str_text(&w->now), w->now.len);
    out->bad |= w->now.bad;
}
