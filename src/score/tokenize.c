#include "score/tokenize.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "score/letters.h"
#include "score/rewrite.h"

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

bool tokenize_is_elsewhere(const char *name)
{
    static const char *const others[] = {"ja-mecab",  "ko-mecab",  "spm",
                                         "flores101", "flores200", "spBLEU-1K"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}

size_t tokenize_trimmed(const char *text, size_t n)
{
    size_t end = 0, len;

    for (size_t i = 0; i < n; i += len)
        if (!rewrite_is_space(utf8_decode(text + i, n - i, &len)))
            end = i + len;
    return end;
}

/* ---- 13a: the marks of ASCII, after the markup of the mteval format ---- */

static void cut_13a(struct rewrite *w)
{
    rewrite_replace(w, "<skipped>", "");
    rewrite_replace(w, "-\n", "");
    rewrite_replace(w, "\n", " ");
    rewrite_entities(w);
    rewrite_step(w, rewrite_pad);
    rewrite_step(w, rewrite_marks);
    rewrite_stops(w);
}

/* ---- intl: punctuation and symbols of any script ---- */

/* The character at in[i..], whose kind it returns. */
static enum letters_kind kind_at(const struct str *in, size_t i, size_t *len)
{
    return letters_kind(utf8_decode(in->data + i, in->len - i, len));
}

static void put_around(struct str *out, const char *text, size_t n)
{
    str_putc(out, ' ');
    str_add(out, text, n);
    str_putc(out, ' ');
}

/* "x!" becomes "x ! " unless x is a number. */
static void apart_after_text(struct str *out, const struct str *in)
{
    size_t len, next;

    for (size_t i = 0; i < in->len; i += len) {
        const bool is_text = kind_at(in, i, &len) != LETTERS_NUMBER;
        str_add(out, in->data + i, len);
        if (!is_text || i + len >= in->len ||
            kind_at(in, i + len, &next) != LETTERS_PUNCTUATION)
            continue;
        put_around(out, in->data + i + len, next);
        len += next;
    }
}

/* "!x" becomes " ! x" unless x is a number. */
static void apart_before_text(struct str *out, const struct str *in)
{
    size_t len, next;

    for (size_t i = 0; i < in->len; i += len) {
        const bool is_mark = kind_at(in, i, &len) == LETTERS_PUNCTUATION;
        if (!is_mark || i + len >= in->len ||
            kind_at(in, i + len, &next) == LETTERS_NUMBER) {
            str_add(out, in->data + i, len);
            continue;
        }
        put_around(out, in->data + i, len);
        str_add(out, in->data + i + len, next);
        len += next;
    }
}

static void apart_symbols(struct str *out, const struct str *in)
{
    size_t len;

    for (size_t i = 0; i < in->len; i += len)
        if (kind_at(in, i, &len) == LETTERS_SYMBOL)
            put_around(out, in->data + i, len);
        else
            str_add(out, in->data + i, len);
}

static void cut_intl(struct rewrite *w)
{
    rewrite_step(w, apart_after_text);
    rewrite_step(w, apart_before_text);
    rewrite_step(w, apart_symbols);
}

/* ---- char and zh ---- */

static void apart_all(struct str *out, const struct str *in)
{
    size_t len;

    for (size_t i = 0; i < in->len; i += len) {
        utf8_decode(in->data + i, in->len - i, &len);
        put_around(out, in->data + i, len);
    }
}

static void cut_char(struct rewrite *w)
{
    rewrite_step(w, apart_all);
}

/* What sacreBLEU takes for Chinese. Where it means the planes above U+20000, it compares
 * with strings of two characters, of which the first decides: hence the first span, which
 * has dashes and curly quotation marks. */
static bool is_chinese(uint32_t code)
{
    static const struct letters_span spans[] = {
        {0x2001, 0x2A6D}, {0x3400, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D},
        {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF},
        {0x3000, 0x303F}, {0x31C0, 0x31EF}, {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF},
        {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F},
        {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF},
    };

    return letters_in(spans, sizeof spans / sizeof *spans, code);
}

static void apart_chinese(struct str *out, const struct str *in)
{
    size_t len;

    for (size_t i = 0; i < in->len; i += len)
        if (is_chinese(utf8_decode(in->data + i, in->len - i, &len)))
            put_around(out, in->data + i, len);
        else
            str_add(out, in->data + i, len);
}

static void cut_zh(struct rewrite *w)
{
    rewrite_step(w, apart_chinese);
    rewrite_step(w, rewrite_marks);
    rewrite_stops(w);
}

/* White space at the beginning. */
static size_t leading(const char *text, size_t n)
{
    size_t i = 0, len;

    while (i < n && rewrite_is_space(utf8_decode(text + i, n - i, &len)))
        i += len;
    return i;
}

status tokenize_line(struct str *out, enum tokenize rule, const char *text, size_t n,
                     struct err *err)
{
    static void (*const cut[N_TOKENIZE])(struct rewrite * w) = {
        [TOKENIZE_13A] = cut_13a,
        [TOKENIZE_INTL] = cut_intl,
        [TOKENIZE_CHAR] = cut_char,
        [TOKENIZE_ZH] = cut_zh,
    };
    const size_t end = tokenize_trimmed(text, n);
    const size_t from = rule == TOKENIZE_ZH ? leading(text, end) : 0;

    if (!cut[rule]) {
        rewrite_join_text(out, text, end);
    } else {
        RELEASED_BY(rewrite_release)
        struct rewrite w = rewrite_begin(text + from, end - from);
        cut[rule](&w);
        rewrite_join(out, &w);
    }
    return str_check(out, "a tokenised line", err);
}
