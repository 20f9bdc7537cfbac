/* any_translator - a translator that does anything at all with the segments of a text,
 * and the promises of markup/markup.h, which hold all the same. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "markup/markup.h"
#include "markup/piece.h"
#include "markup/placeholder.h"
#include "markup/token.h"

struct any_answer {
    struct str text;
    struct markup_link *link;
    size_t n_links, cap_links;
};

static inline void any_link(struct any_answer *a, struct markup_link l)
{
    struct err err;

    if (mem_grow(&a->link, &a->cap_links, a->n_links + 1, sizeof l, &err) == OK)
        a->link[a->n_links++] = l;
}

/* What no translator should say. */
static inline const char *any_nonsense(struct rng *r)
{
    static const char *const said[] = {
        "%s",  "{name}", "{{x}}", "$1",   "5 km",     "http://evil.example/?a=1&b=2",
        "<b>", "</b>",   "<",     "&",    "&amp;",    "<!--",
        "%",   "{",      "}",     "$",    "@b.c",     "://",
        "10",  "\xff",   "漢字",  "\xA0", "&#x3C;",   "a@b.org",
        ".",   ":ok:",   "-->",   "\"",   "www.a.bc", "<script>",
    };

    return said[rng_below(r, sizeof said / sizeof *said)];
}

/* The word of a text that begins at or behind *at. */
static inline struct line any_word(struct line text, size_t *at)
{
    while (*at < text.n_bytes && text.text[*at] == ' ')
        ++*at;
    const size_t begin = *at;
    while (*at < text.n_bytes && text.text[*at] != ' ')
        ++*at;
    return (struct line){text.text + begin, *at - begin};
}

/* `unrest` is 0 for a copy with true links; the more, the less the answer has to do with
 * the text. */
static inline void any_translate(struct any_answer *a, struct line text, unsigned unrest,
                                 struct rng *r)
{
    struct line word[64];
    size_t n = 0, at = 0;

    str_reset(&a->text);
    a->n_links = 0;
    for (;;) {
        n = 0;
        while (n < 64 && (word[n] = any_word(text, &at)).n_bytes)
            n++;
        for (size_t i = 0; i < n; i++) {
            size_t k = i;
            if (rng_below(r, 100) < unrest)
                k = rng_below(r, n);
            if (rng_below(r, 200) < unrest)
                continue;
            if (a->text.len && rng_below(r, 400) >= unrest)
                str_putc(&a->text, ' ');
            const size_t dst_at = a->text.len;
            if (rng_below(r, 300) < unrest)
                str_puts(&a->text, any_nonsense(r));
            else
                str_add(&a->text, word[k].text, word[k].n_bytes);
            struct markup_link l = {(size_t)(word[k].text - text.text), word[k].n_bytes,
                                    dst_at, a->text.len - dst_at};
            if (rng_below(r, 100) < unrest)
                l = (struct markup_link){rng_below(r, text.n_bytes + 2), rng_below(r, 9),
                                         rng_below(r, a->text.len + 2), rng_below(r, 9)};
            if (rng_below(r, 150) >= unrest)
                any_link(a, l);
        }
        if (n < 64)
            break;
    }
}

static inline void any_release(struct any_answer *a)
{
    str_release(&a->text);
    free(a->link);
    *a = (struct any_answer){0};
}

/* The text through the translator. Segments that the answer could not be joined with. */
static inline size_t any_through(struct str *out, struct line text,
                                 enum markup_format format, unsigned unrest,
                                 struct rng *r)
{
    struct markup m = {0};
    struct err err;
    size_t n_left = 0;

    if (markup_parse(&m, text, format, &err) != OK)
        abort();
    struct any_answer *answer = calloc(m.n_segments + 1, sizeof *answer);
    struct markup_translation *t = calloc(m.n_segments + 1, sizeof *t);
    for (size_t i = 0; i < m.n_segments; i++) {
        any_translate(&answer[i], markup_text(&m, i), unrest, r);
        t[i] =
            (struct markup_translation){{str_text(&answer[i].text), answer[i].text.len},
                                        answer[i].link,
                                        answer[i].n_links};
    }
    if (markup_join(out, &m, t, &n_left, &err) != OK)
        abort();
    for (size_t i = 0; i < m.n_segments; i++)
        any_release(&answer[i]);
    free(answer);
    free(t);
    markup_release(&m);
    return n_left;
}

/* Tags and placeholders of a text, sorted. */
struct any_parts {
    struct any_part {
        struct line text;
        int kind; /* -1: a tag, comment or the like; else enum placeholder_kind */
    } * item;
    size_t n, cap, n_unpaired;
    struct tokens tokens;
    struct pieces pieces;
};

static inline void any_parts_release(struct any_parts *p)
{
    free(p->item);
    token_release(&p->tokens);
    piece_release(&p->pieces);
}

static inline int any_compare(const void *a, const void *b)
{
    const struct any_part *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->text.n_bytes != y->text.n_bytes)
        return x->text.n_bytes < y->text.n_bytes ? -1 : 1;
    return memcmp(x->text.text, y->text.text, x->text.n_bytes);
}

static inline void any_part(struct any_parts *p, struct line text, int kind)
{
    struct err err;

    if (mem_grow(&p->item, &p->cap, p->n + 1, sizeof *p->item, &err) != OK)
        abort();
    p->item[p->n++] = (struct any_part){text, kind};
}

static inline void any_split(struct any_parts *p, struct line text,
                             enum markup_format format)
{
    struct err err;

    if (format == MARKUP_HTML) {
        if (token_scan(&p->tokens, text, &err) != OK)
            abort();
    } else
        for (size_t at = 0, end; at < text.n_bytes; at = end + 1) {
            for (end = at; end < text.n_bytes && text.text[end] != '\n';)
                end++;
            if (piece_add_text(&p->pieces, text, at, end - at, 0, false, &err) != OK)
                abort();
        }
    for (size_t i = 0; i < p->tokens.n; i++) {
        const struct token *t = &p->tokens.item[i];
        if (t->kind == TOKEN_TEXT &&
            piece_add_text(&p->pieces, text, t->at, t->n_bytes, i, true, &err) != OK)
            abort();
        if (t->kind != TOKEN_TEXT)
            any_part(p, (struct line){text.text + t->at, t->n_bytes}, -1);
        p->n_unpaired +=
            (t->kind == TOKEN_OPEN || t->kind == TOKEN_CLOSE) && t->pair == TOKEN_NONE;
    }
    for (size_t i = 0; i < p->pieces.n; i++) {
        const struct piece *a = &p->pieces.item[i];
        if (a->kind == PIECE_HOLDER)
            any_part(p, (struct line){p->pieces.text.data + a->text_at, a->text_n},
                     a->holder);
    }
    if (p->n)
        qsort(p->item, p->n, sizeof *p->item, any_compare);
}

/* Whether every part of `a` is as often in `b`, and nothing else but numbers with units
 * of the translator's own. */
static inline bool any_same(const struct any_parts *a, const struct any_parts *b)
{
    size_t i = 0, k = 0;

    while (i < a->n || k < b->n) {
        const int order = i == a->n   ? 1
                          : k == b->n ? -1
                                      : any_compare(&a->item[i], &b->item[k]);
        if (order < 0)
            return false;
        if (order > 0 && b->item[k].kind != PLACEHOLDER_MEASURE)
            return false;
        i += order == 0;
        k++;
    }
    return true;
}

/* Does the text keep what it must on its way through a translator? */
static inline bool any_holds(struct line text, enum markup_format format, unsigned unrest,
                             struct rng *r, struct str *out, size_t *n_left)
{
    struct any_parts a = {0}, b = {0};

    *n_left += any_through(out, text, format, unrest, r);
    any_split(&a, text, format);
    any_split(&b, (struct line){str_text(out), out->len}, format);
    const bool holds = any_same(&a, &b) && b.n_unpaired <= a.n_unpaired;
    any_parts_release(&a);
    any_parts_release(&b);
    return holds;
}
