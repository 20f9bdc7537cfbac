#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "markup/element.h"
#include "markup/markup.h"
#include "markup/piece.h"
#include "markup/reference.h"
#include "markup/token.h"
#include "text/unicode.h"

/* Spellings of a segment. Bytes that a kept element shows; a longer one would be no word
 * of the sentence. */
enum { MOST_SPELLINGS = 16, MOST_SHOWN = 64 };

struct parse {
    struct markup *m;
    struct tokens tokens;
    struct pieces pieces;
    struct str shown;
};

static void parse_release(struct parse *p)
{
    token_release(&p->tokens);
    piece_release(&p->pieces);
    str_release(&p->shown);
}

void markup_release(struct markup *m)
{
    str_release(&m->text);
    free(m->segment);
    free(m->mark);
    free(m->gap);
    free(m->spelling);
    *m = (struct markup){0};
}

struct line markup_text(const struct markup *m, size_t segment)
{
    const struct markup_segment *s = &m->segment[segment];

    return (struct line){m->text.data + s->text_at, s->n_bytes};
}

static bool is_shown(const struct piece *p)
{
    return p->kind == PIECE_WORD || p->kind == PIECE_HOLDER || p->kind == PIECE_ELEMENT;
}

static bool is_mark(const struct piece *p)
{
    return p->kind != PIECE_WORD && p->kind != PIECE_SPACE;
}

/* Does the text end before it, so that what is joined there stays apart? */
static bool is_border(const struct piece *p)
{
    return p->kind != PIECE_WORD && p->kind != PIECE_HOLDER;
}

static bool has_letters(const char *text, size_t n)
{
    size_t len;

    for (size_t i = 0; i < n; i += len)
        if (unicode_is_letter(utf8_decode(text + i, n - i, &len)))
            return true;
    return false;
}

/* Is there anything to translate? */
static bool is_wanted(const struct pieces *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (p->item[i].kind == PIECE_WORD &&
            has_letters(str_text(&p->text) + p->item[i].text_at, p->item[i].text_n))
            return true;
    return false;
}

/* Leave out at both ends what needs no place among the words: white space, points, and
 * tags whose partner is not between words. false when nothing is left. */
static bool trim(const struct pieces *p, size_t *from, size_t *to)
{
    size_t first = *from, last = *to;

    while (first < last && !is_shown(&p->item[first]))
        first++;
    while (last > first && !is_shown(&p->item[last - 1]))
        last--;
    if (first == last)
        return false;
    const size_t first_token = p->item[first].token, last_token = p->item[last - 1].token;
    for (; *from < first; ++*from) {
        const struct piece *a = &p->item[*from];
        if (a->kind == PIECE_OPEN && a->pair > first_token && a->pair < last_token)
            break;
    }
    for (; *to > last; --*to) {
        const struct piece *a = &p->item[*to - 1];
        if (a->kind == PIECE_CLOSE && a->pair > first_token && a->pair < last_token)
            break;
    }
    return true;
}

static status add_spelling(struct markup *m, struct markup_segment *s, uint32_t code,
                           size_t raw_at, size_t raw_n, struct err *err)
{
    for (size_t i = 0; i < s->n_spellings; i++)
        if (m->spelling[s->spelling_at + i].code == code)
            return OK;
    if (s->n_spellings == MOST_SPELLINGS)
        return OK;
    TRY(mem_grow(&m->spelling, &m->cap_spellings, m->n_spellings + 1, sizeof *m->spelling,
                 err));
    m->spelling[m->n_spellings++] = (struct markup_spelling){code, raw_at, raw_n};
    s->n_spellings++;
    return OK;
}

/* What a word of the source writes as a reference, or should have. */
static status add_spellings(struct markup *m, struct markup_segment *s,
                            const struct piece *p, struct err *err)
{
    const char *text = m->source.text;
    const size_t end = p->raw_at + p->raw_n;
    uint32_t code = 0;

    for (size_t at = p->raw_at, n; at < end; at += n) {
        n = text[at] == '&' ? reference_read(text + at, end - at, &code) : 0;
        if (!n)
            code = (unsigned char)text[at];
        if (n || code == '&' || code == '<' || code == '>')
            TRY(add_spelling(m, s, code, at, n ? n : 1, err));
        n += !n;
    }
    return OK;
}

static status add_mark(struct markup *m, struct markup_segment *s, const struct piece *p,
                       size_t at, struct err *err)
{
    static const enum markup_kind kinds[] = {[PIECE_OPEN] = MARKUP_OPEN,
                                             [PIECE_CLOSE] = MARKUP_CLOSE,
                                             [PIECE_POINT] = MARKUP_POINT,
                                             [PIECE_ELEMENT] = MARKUP_ELEMENT,
                                             [PIECE_HOLDER] = MARKUP_HOLDER};

    TRY(mem_grow(&m->mark, &m->cap_marks, m->n_marks + 1, sizeof *m->mark, err));
    m->mark[m->n_marks++] = (struct markup_mark){.kind = kinds[p->kind],
                                                 .holder = p->holder,
                                                 .at = at,
                                                 .n_bytes = p->text_n,
                                                 .raw_at = p->raw_at,
                                                 .raw_n = p->raw_n,
                                                 .pair = (size_t)-1};
    s->n_marks++;
    return OK;
}

/* White space is a blank between words, else it belongs to the tag before it. */
static status add_space(struct markup *m, struct markup_segment *s, const struct piece *p,
                        size_t *space_at, struct err *err)
{
    const size_t n = m->text.len - s->text_at;
    const bool is_single = p->raw_n == 1 && m->source.text[p->raw_at] == ' ';

    if (n == 0 || m->text.data[m->text.len - 1] == ' ') {
        m->mark[m->n_marks - 1].raw_n += p->raw_n;
        return OK;
    }
    str_putc(&m->text, ' ');
    *space_at = p->raw_at;
    if (is_single)
        return OK;
    TRY(mem_grow(&m->gap, &m->cap_gaps, m->n_gaps + 1, sizeof *m->gap, err));
    m->gap[m->n_gaps++] = (struct markup_gap){n, p->raw_at, p->raw_n};
    s->n_gaps++;
    return OK;
}

/* A blank at the end belongs to the tag behind it. */
static void end_text(struct markup *m, struct markup_segment *s, size_t space_at)
{
    size_t n = m->text.len - s->text_at;

    if (n == 0 || m->text.data[m->text.len - 1] != ' ')
        return;
    m->text.data[--m->text.len] = '\0';
    n--;
    if (s->n_gaps && m->gap[m->n_gaps - 1].at == n) {
        m->n_gaps--;
        s->n_gaps--;
    }
    bool is_first = true;
    for (size_t i = s->mark_at; i < m->n_marks; i++) {
        struct markup_mark *mark = &m->mark[i];
        if (mark->at <= n)
            continue;
        if (is_first) {
            mark->raw_n += mark->raw_at - space_at;
            mark->raw_at = space_at;
        }
        mark->at = n;
        is_first = false;
    }
}

/* Pairs of the segment's own marks; tags that stand in pairs in the source do so here if
 * both are inside. */
static void find_pairs(struct markup *m, struct markup_segment *s, const size_t *partner)
{
    struct markup_mark *mark = s->n_marks ? m->mark + s->mark_at : NULL;
    size_t open[MARKUP_MARKS], n_open = 0;

    s->is_nested = true;
    for (size_t i = 0; i < s->n_marks; i++) {
        if (mark[i].kind == MARKUP_OPEN)
            open[n_open++] = i;
        if (mark[i].kind != MARKUP_CLOSE)
            continue;
        if (n_open == 0 || partner[i] != partner[open[n_open - 1]]) {
            s->is_nested = false;
            return;
        }
        mark[i].pair = open[--n_open];
        mark[mark[i].pair].pair = i;
    }
    s->is_nested = n_open == 0;
}

static status add_segment(struct parse *p, size_t from, size_t to, struct err *err)
{
    struct markup *m = p->m;
    const struct piece *first = &p->pieces.item[from], *last = &p->pieces.item[to - 1];
    size_t partner[MARKUP_MARKS], space_at = 0;
    struct markup_segment s = {.text_at = m->text.len,
                               .raw_at = first->raw_at,
                               .raw_n = last->raw_at + last->raw_n - first->raw_at,
                               .mark_at = m->n_marks,
                               .gap_at = m->n_gaps,
                               .spelling_at = m->n_spellings};

    for (size_t i = from; i < to; i++) {
        const struct piece *a = &p->pieces.item[i];
        if (is_mark(a)) {
            partner[s.n_marks] = a->kind == PIECE_CLOSE ? a->pair : a->token;
            TRY(add_mark(m, &s, a, m->text.len - s.text_at, err));
        }
        if (a->kind == PIECE_SPACE)
            TRY(add_space(m, &s, a, &space_at, err));
        else
            str_add(&m->text, str_text(&p->pieces.text) + a->text_at, a->text_n);
        if (a->kind == PIECE_WORD && m->format == MARKUP_HTML)
            TRY(add_spellings(m, &s, a, err));
    }
    TRY(str_check(&m->text, "text", err));
    end_text(m, &s, space_at);
    find_pairs(m, &s, partner);
    s.n_bytes = m->text.len - s.text_at;
    TRY(mem_grow(&m->segment, &m->cap_segments, m->n_segments + 1, sizeof *m->segment,
                 err));
    m->segment[m->n_segments++] = s;
    return OK;
}

/* Where a stretch must be cut because it has too many marks: finding the place of each
 * takes time by their number. Not inside text, where what is joined could become one with
 * what follows; *is_apart: it could be cut in time. */
static size_t cut(const struct pieces *p, size_t from, bool *is_apart)
{
    size_t n = 0, i = from;

    for (; i < p->n; i++) {
        const bool can =
            i > from && (is_border(&p->item[i]) || is_border(&p->item[i - 1]));
        if (can && n >= MARKUP_MARKS)
            break;
        n += is_mark(&p->item[i]);
    }
    *is_apart = n <= MARKUP_MARKS;
    return i;
}

/* The stretch that is collected becomes segments, and the next begins. */
static status divide(struct parse *p, struct err *err)
{
    for (size_t from = 0, end; from < p->pieces.n; from = end) {
        bool is_apart;
        end = cut(&p->pieces, from, &is_apart);
        size_t a = from, b = end;
        if (is_apart && trim(&p->pieces, &a, &b) && is_wanted(&p->pieces, a, b))
            TRY(add_segment(p, a, b, err));
    }
    piece_reset(&p->pieces);
    return OK;
}

static status parse_text(struct parse *p, struct err *err)
{
    const struct line source = p->m->source;

    for (size_t at = 0, n; at < source.n_bytes; at += n + 1) {
        const char *end = memchr(source.text + at, '\n', source.n_bytes - at);
        n = end ? (size_t)(end - source.text) - at : source.n_bytes - at;
        TRY(piece_add_text(&p->pieces, source, at, n, 0, false, err));
        TRY(divide(p, err));
    }
    return OK;
}

/* Text of a kept element as far as it belongs to the sentence. */
static struct line shown(struct parse *p, size_t from, size_t to, unsigned traits)
{
    const char *text = p->m->source.text;
    uint32_t code = 0;

    str_reset(&p->shown);
    for (size_t i = from; i < to && !(traits & ELEMENT_HIDDEN); i++) {
        const struct token *t = &p->tokens.item[i];
        if (t->kind != TOKEN_TEXT)
            continue;
        for (size_t at = t->at, n; at < t->at + t->n_bytes; at += n) {
            char bytes[4] = {text[at]};
            n = text[at] == '&'
                    ? reference_read(text + at, t->at + t->n_bytes - at, &code)
                    : 0;
            if (n && code == REFERENCE_ODD)
                continue;
            str_add(&p->shown, bytes, n ? utf8_encode(bytes, code) : 1);
            n += !n;
            if (p->shown.len > MOST_SHOWN)
                return (struct line){"", 0};
        }
    }
    return (struct line){str_text(&p->shown), p->shown.len};
}

/* Do the tags inside of an element stand in pairs, so that it may be moved? */
static bool is_whole(const struct parse *p, size_t i, size_t end)
{
    for (size_t k = i; k < end; k++) {
        const struct token *t = &p->tokens.item[k];
        const bool is_tag = t->kind == TOKEN_OPEN || t->kind == TOKEN_CLOSE;
        if (is_tag && (t->pair < i || t->pair >= end))
            return false;
    }
    return true;
}

/* Tokens [i, end) as they are: a word of the sentence if they are an element in a line,
 * otherwise the sentence ends. */
static status keep(struct parse *p, size_t i, size_t end, struct err *err)
{
    const struct token *t = &p->tokens.item[i], *last = &p->tokens.item[end - 1];
    struct piece piece = {.kind = PIECE_POINT,
                          .raw_at = t->at,
                          .raw_n = last->at + last->n_bytes - t->at,
                          .token = i,
                          .pair = (size_t)-1};

    if (t->traits & ELEMENT_BLOCK || !is_whole(p, i, end))
        return divide(p, err);
    if (t->kind == TOKEN_ALONE)
        return piece_add(&p->pieces, piece, (struct line){"", 0}, err);
    TRY(piece_add(&p->pieces, piece, shown(p, i, end, t->traits), err));
    struct piece *added = &p->pieces.item[p->pieces.n - 1];
    if (added->text_n)
        added->kind = PIECE_ELEMENT;
    return OK;
}

/* A tag that takes part in the sentence. */
static status add_tag(struct parse *p, size_t i, struct err *err)
{
    const struct token *t = &p->tokens.item[i];
    const struct piece piece = {.kind = t->kind == TOKEN_OPEN ? PIECE_OPEN : PIECE_CLOSE,
                                .raw_at = t->at,
                                .raw_n = t->n_bytes,
                                .token = i,
                                .pair = t->pair};

    return t->traits & ELEMENT_BLOCK
               ? divide(p, err)
               : piece_add(&p->pieces, piece, (struct line){"", 0}, err);
}

/* Elements around a token that say whether to translate: where each ends. */
struct wishes {
    struct wish {
        size_t end;
        bool is_off;
    } * item;
    size_t n, cap;
    size_t next_yes; /* the first tag at or behind the present one that says yes */
};

static void wishes_release(struct wishes *w)
{
    free(w->item);
}

static bool is_off(const struct token *t)
{
    return t->translate < 0 || (t->translate == 0 && t->traits & ELEMENT_KEPT);
}

/* A tag that says something: *end becomes the token behind what is kept whole. */
static status take_wish(struct parse *p, struct wishes *w, size_t i, size_t *end,
                        struct err *err)
{
    const struct token *t = &p->tokens.item[i];

    if (w->next_yes <= i)
        w->next_yes = i + 1;
    while (w->next_yes < p->tokens.n && p->tokens.item[w->next_yes].translate != 1)
        w->next_yes++;
    if (is_off(t) && w->next_yes >= t->end) {
        *end = t->pair == TOKEN_NONE ? t->end : t->pair + 1;
        return keep(p, i, *end, err);
    }
    TRY(mem_grow(&w->item, &w->cap, w->n + 1, sizeof *w->item, err));
    w->item[w->n++] = (struct wish){t->end, is_off(t)};
    return divide(p, err);
}

static status parse_html(struct parse *p, struct err *err)
{
    RELEASED_BY(wishes_release) struct wishes w = {0};
    const struct token *token = p->tokens.item;

    for (size_t i = 0, end; i < p->tokens.n; i = end) {
        const struct token *t = &token[i];
        end = i + 1;
        while (w.n && w.item[w.n - 1].end <= i) {
            w.n--;
            TRY(divide(p, err));
        }
        if (t->kind == TOKEN_OPEN && (t->translate || is_off(t)))
            TRY(take_wish(p, &w, i, &end, err));
        else if (w.n && w.item[w.n - 1].is_off)
            TRY(divide(p, err));
        else if (t->kind == TOKEN_TEXT)
            TRY(piece_add_text(&p->pieces, p->m->source, t->at, t->n_bytes, i, true,
                               err));
        else if (t->kind == TOKEN_ALONE)
            TRY(keep(p, i, end, err));
        else
            TRY(add_tag(p, i, err));
    }
    return divide(p, err);
}

status markup_parse(struct markup *m, struct line source, enum markup_format format,
                    struct err *err)
{
    RELEASED_BY(parse_release) struct parse p = {.m = m};

    m->source = source.n_bytes ? source : (struct line){"", 0};
    m->format = format;
    m->n_segments = m->n_marks = m->n_gaps = m->n_spellings = 0;
    str_reset(&m->text);
    if (format == MARKUP_TEXT)
        return parse_text(&p, err);
    TRY(token_scan(&p.tokens, m->source, err));
    return parse_html(&p, err);
}
