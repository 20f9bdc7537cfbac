#include "score/tokenize.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static const char *const names[N_TOKENIZE] = {
#define T(code, name) name,
    TOKENIZE_LIST(T)
#undef T
};

const char *tokenize_name(enum tokenize rule)
{
    return names[rule];
}

enum tokenize tokenize_find(const char *name)
{
    unsigned rule = 0;

    while (rule < N_TOKENIZE && strcmp(names[rule], name) != 0)
        rule++;
    return (enum tokenize)rule;
}

bool tokenize_is_space(uint32_t code)
{
    return utf8_is_space(code) || (code >= 0x1C && code <= 0x1F);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_stop(char c)
{
    return c == '.' || c == ',';
}

/* The ASCII marks that always stand alone: all but ' , - and the full stop. */
static bool is_mark(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' ||
           (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/*
 * The steps below each read one string and append the next to another, as a
 * substitution from left to right does: what a match has consumed starts no second
 * match. All their patterns are ASCII, so bytes serve as well as characters.
 */
typedef void step_fn(struct str *out, const struct str *in);

static void put_apart(struct str *out, char c)
{
    const char text[] = {' ', c, ' '};

    str_add(out, text, sizeof text);
}

static void apart_marks(struct str *out, const struct str *in)
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

/* The line as it stands, and the one that the next step writes. */
struct work {
    struct str now, next;
};

static void turn(struct work *w)
{
    const struct str was = w->now;

    w->next.bad |= was.bad;
    w->now = w->next;
    w->next = was;
    str_reset(&w->next);
}

static void replace(struct work *w, const char *from, const char *to)
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

/* Markup of the mteval format. &amp;lt; becomes &lt; and then <: the order matters. */
static void unescape(struct work *w)
{
    static const char *const pairs[][2] = {
        {"<skipped>", ""}, {"-\n", ""},   {"\n", " "},   {"&quot;", "\""},
        {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        replace(w, pairs[i][0], pairs[i][1]);
}

/* Blanks at both ends let a stop there count as next to text. */
static void pad(struct str *out, const struct str *in)
{
    str_putc(out, ' ');
    str_add(out, str_text(in), in->len);
    str_putc(out, ' ');
}

static void cut_13a(struct work *w)
{
    static step_fn *const steps[] = {pad, apart_marks, apart_stops_after_text,
                                     apart_stops_before_text, apart_hyphens_after_digits};

    unescape(w);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        steps[i](&w->next, &w->now);
        turn(w);
    }
}

size_t tokenize_trimmed(const char *text, size_t n)
{
    size_t end = 0, len;

    for (size_t i = 0; i < n; i += len)
        if (!tokenize_is_space(utf8_decode(text + i, n - i, &len)))
            end = i + len;
    return end;
}

static void join_words(struct str *out, const char *text, size_t n)
{
    const size_t start = out->len;
    size_t from = 0, len; /* the word that is being read starts here */

    for (size_t i = 0; i <= n; i += len) {
        len = 1;
        if (i < n && !tokenize_is_space(utf8_decode(text + i, n - i, &len)))
            continue;
        if (i > from) {
            if (out->len > start)
                str_putc(out, ' ');
            str_add(out, text + from, i - from);
        }
        from = i + len;
    }
}

status tokenize_line(struct str *out, enum tokenize rule, const char *text, size_t n,
                     struct err *err)
{
    struct work w = {str_new(SIZE_MAX / 2), str_new(SIZE_MAX / 2)};

    if (rule == TOKENIZE_NONE) {
        join_words(out, text, n);
    } else {
        str_add(&w.now, text, tokenize_trimmed(text, n));
        cut_13a(&w);
        join_words(out, str_text(&w.now), w.now.len);
        out->bad |= w.now.bad;
    }
    str_release(&w.now);
    str_release(&w.next);
    return str_check(out, "a tokenised line", err);
}
