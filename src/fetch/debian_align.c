/*
 * The title is always a pair. Paragraphs are paired when both texts have as many; within
 * a paragraph, running text and list items are paired when they follow each other alike;
 * running text is cut into sentences when both sides have as many. What does not line up
 * is left out, not guessed.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "base/mem.h"
#include "base/str.h"
#include "fetch/debian.h"

/* A piece of a description: where it stands in parts.text, NUL-terminated there. */
enum kind { TITLE, FLOW, ITEM };

struct piece {
    enum kind kind;
    size_t paragraph; /* the title's is 0, then from 1 */
    size_t at;
};

/* A description, taken apart. */
struct parts {
    struct str text;
    struct piece *piece;
    size_t n, cap, n_paragraphs;
    size_t item_indent; /* of the item that lines may continue, 0: none */
};

static status begin_piece(struct parts *p, enum kind kind, struct err *err)
{
    TRY(mem_grow(&p->piece, &p->cap, p->n + 1, sizeof *p->piece, err));
    if (p->n)
        str_putc(&p->text, '\0');
    p->piece[p->n++] = (struct piece){kind, p->n_paragraphs, p->text.len};
    return OK;
}

/* "Filter-" at the end of a line and "Graphen" on the next are one word; "Filter-" and
 * "und" are two. */
static bool is_hyphenated(const struct parts *p, const char *next)
{
    const struct str *t = &p->text;
    const size_t n = t->len - p->piece[p->n - 1].at;

    return n > 1 && t->data[t->len - 1] == '-' &&
           isalpha((unsigned char)t->data[t->len - 2]) && isupper((unsigned char)*next);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

/* Words with single blanks between them, behind what the piece has already. */
static void add_words(struct parts *p, const char *s, size_t n)
{
    bool is_first = true;

    for (size_t i = 0; i < n;) {
        if (is_blank(s[i])) {
            i++;
            continue;
        }
        const size_t first = i;
        while (i < n && !is_blank(s[i]))
            i++;
        if (p->text.len > p->piece[p->n - 1].at &&
            !(is_first && is_hyphenated(p, s + first)))
            str_putc(&p->text, ' ');
        is_first = false;
        str_add(&p->text, s + first, i - first);
    }
}

/* Bytes of a bullet and the blank behind it; 0: the line has none. */
static size_t bullet(const char *s, size_t n)
{
    static const char *const marks[] = {"*", "-", "+", "o", "\xe2\x80\xa2"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t n_mark = strlen(marks[i]);
        if (n > n_mark + 1 && memcmp(s, marks[i], n_mark) == 0 && s[n_mark] == ' ')
            return n_mark + 1;
    }
    return 0;
}

/* A line of the long description, its first blank left out. */
static status add_line(struct parts *p, const char *s, size_t n, bool *is_open,
                       struct err *err)
{
    size_t indent = 0;

    while (indent < n && s[indent] == ' ')
        indent++;
    const size_t n_bullet = bullet(s + indent, n - indent);
    const bool goes_on = p->item_indent && indent >= p->item_indent && !n_bullet;
    if (indent == n)
        return OK;
    if (n_bullet) {
        TRY(begin_piece(p, ITEM, err));
        p->item_indent = indent + n_bullet;
        if (n_bullet > 2) /* a mark of several bytes is one column wide */
            p->item_indent = indent + 2;
    } else if (!goes_on && (indent || !*is_open || p->item_indent)) {
        /* indented text stands for itself, line by line */
        TRY(begin_piece(p, indent ? ITEM : FLOW, err));
        p->item_indent = 0;
    }
    *is_open = !indent || n_bullet || goes_on;
    add_words(p, s + indent + n_bullet, n - indent - n_bullet);
    return OK;
}

static status take_apart(struct parts *p, const char *s, size_t n, struct err *err)
{
    struct lines lines = lines_over(s, n);
    struct line line = {0};
    bool is_open = false; /* the next line may continue the piece */

    TRY(begin_piece(p, TITLE, err));
    (void)lines_next(&lines, &line);
    add_words(p, line.text, line.n_bytes);
    p->n_paragraphs = 1;
    while (lines_next(&lines, &line)) {
        const size_t n_rest = line.n_bytes ? line.n_bytes - 1 : 0;
        const char *rest = line.text + (line.n_bytes > 0); /* its first is a blank */
        if (n_rest == 1 && *rest == '.') {
            p->n_paragraphs++;
            p->item_indent = 0;
            is_open = false;
        } else {
            TRY(add_line(p, rest, n_rest, &is_open, err));
        }
    }
    return OK;
}

/* Words whose full stop ends no sentence. */
static bool is_abbreviation(const char *word, size_t n)
{
    static const char *const known[] = {
        "e.g", "i.e",  "etc", "vs",   "cf",  "resp", "approx", "incl", "Inc",
        "Ltd", "Corp", "Mr",  "Mrs",  "Dr",  "St",   "No",     "Nr",   "ca",
        "bzw", "usw",  "ggf", "evtl", "vgl", "inkl", "z.B",    "d.h",  "u.a",
        "o.ä", "u.ä",  "sog", "Abk",  "min", "max",  "Jh",     "Std",  "engl",
        "eig", "et",   "al",  "ver",  "Fig", "vol",  "p",      "pp",
    };
    bool is_number = n > 0;

    while (n && (*word == '(' || *word == '"' || *word == '\'')) {
        word++;
        n--;
    }
    for (size_t i = 0; i < n; i++)
        is_number = is_number && isdigit((unsigned char)word[i]);
    if (n <= 1 || (is_number && n <= 2))
        return true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == n && strncmp(word, known[i], n) == 0)
            return true;
    return false;
}

/* A new sentence begins with a capital, a digit, or what may stand before one. */
static bool may_begin(const char *s)
{
    const unsigned char c = (unsigned char)*s;

    if (c == '"' || c == '\'' || c == '(' || c == '[')
        return may_begin(s + 1);
    if (c == 0xE2 || (c == 0xC2 && (unsigned char)s[1] == 0xAB))
        return true; /* quotation marks */
    if (c == 0xC3)   /* capitals of Latin-1 */
        return (unsigned char)s[1] < 0x9F;
    return isupper(c) || isdigit(c);
}

size_t debian_align_sentence(const char *text)
{
    size_t word = 0, i = 0;

    for (; text[i]; i++) {
        if (text[i] == ' ') {
            word = i + 1;
            continue;
        }
        if (text[i] != '.' && text[i] != '!' && text[i] != '?')
            continue;
        size_t end = i + 1;
        while (text[end] == ')' || text[end] == '"' || text[end] == '\'')
            end++;
        if (text[end] != ' ' || !may_begin(text + end + 1))
            continue;
        if (text[i] != '.' || !is_abbreviation(text + word, i - word))
            return end;
    }
    return i;
}

static size_t n_sentences(const char *text)
{
    size_t n = 0;

    while (*text) {
        text += debian_align_sentence(text);
        text += *text == ' ';
        n++;
    }
    return n;
}

/* Where pairs go, and what is counted on the way. */
struct outlet {
    debian_align_fn *add;
    void *to;
    struct debian_align_stats *stats;
};

static status add_sentences(struct outlet *o, char *text[N_FETCH_SIDES], struct err *err)
{
    while (*text[FETCH_EN] && *text[FETCH_DE]) {
        size_t n[N_FETCH_SIDES];
        bool is_last[N_FETCH_SIDES];
        for (int s = 0; s < N_FETCH_SIDES; s++) {
            n[s] = debian_align_sentence(text[s]);
            is_last[s] = text[s][n[s]] == '\0';
            text[s][n[s]] = '\0';
        }
        TRY(o->add(o->to, (const char *const *)text, err));
        o->stats->n_sentences++;
        for (int s = 0; s < N_FETCH_SIDES; s++)
            text[s] += n[s] + !is_last[s];
    }
    return OK;
}

static status add_piece(struct outlet *o, enum kind kind, char *text[N_FETCH_SIDES],
                        struct err *err)
{
    if (!*text[FETCH_EN] || !*text[FETCH_DE])
        return OK;
    if (kind == FLOW && n_sentences(text[FETCH_EN]) == n_sentences(text[FETCH_DE]))
        return add_sentences(o, text, err);
    o->stats->n_titles += kind == TITLE;
    o->stats->n_paragraphs += kind == FLOW;
    o->stats->n_items += kind == ITEM;
    return o->add(o->to, (const char *const *)text, err);
}

/* The pieces of one paragraph from *at on: how many, and where the next one begins. */
static size_t run_of(const struct parts *p, size_t at, size_t paragraph)
{
    size_t n = 0;

    while (at + n < p->n && p->piece[at + n].paragraph == paragraph)
        n++;
    return n;
}

static bool are_alike(const struct parts *en, size_t a, const struct parts *de, size_t b,
                      size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (en->piece[a + i].kind != de->piece[b + i].kind)
            return false;
    return true;
}

static status pair_paragraphs(struct outlet *o, struct parts *p, struct err *err)
{
    struct parts *en = &p[FETCH_EN], *de = &p[FETCH_DE];
    const bool is_equal =
        en->n_paragraphs == de->n_paragraphs && (en->n > 1) == (de->n > 1);
    const size_t n_paragraphs = is_equal ? en->n_paragraphs : 0;
    size_t a = 0, b = 0;

    o->stats->n_unequal += !is_equal;
    for (size_t k = 0; k <= n_paragraphs; k++) {
        const size_t n_en = run_of(en, a, k), n_de = run_of(de, b, k);
        const bool alike = n_en == n_de && are_alike(en, a, de, b, n_en);
        o->stats->n_unlike += !alike;
        for (size_t i = 0; alike && i < n_en; i++) {
            char *text[N_FETCH_SIDES] = {en->text.data + en->piece[a + i].at,
                                         de->text.data + de->piece[b + i].at};
            TRY(add_piece(o, en->piece[a + i].kind, text, err));
        }
        a += n_en;
        b += n_de;
    }
    return OK;
}

static void release_both(struct parts (*p)[N_FETCH_SIDES])
{
    for (int s = 0; s < N_FETCH_SIDES; s++) {
        str_release(&(*p)[s].text);
        free((*p)[s].piece);
    }
}

status debian_align(const char *const text[N_FETCH_SIDES], const size_t n[N_FETCH_SIDES],
                    struct debian_align_stats *stats, debian_align_fn *add, void *to,
                    struct err *err)
{
    struct outlet o = {add, to, stats};
    RELEASED_BY(release_both) struct parts p[N_FETCH_SIDES] = {0};

    for (int s = 0; s < N_FETCH_SIDES; s++) {
        TRY(take_apart(&p[s], text[s], n[s], err));
        str_putc(&p[s].text, '\0'); /* so that an empty one is a string, too */
        TRY(str_check(&p[s].text, "a description", err));
    }
    return pair_paragraphs(&o, p, err);
}
