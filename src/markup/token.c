#include "markup/token.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "markup/element.h"

/* The text, and where its last ">" stands (0: nowhere, or where it ends nothing). */
struct scan {
    const char *text;
    size_t n, last_end;
};

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

static bool is_letter(char c)
{
    return lower(c) >= 'a' && lower(c) <= 'z';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

/* Ends the name of an attribute. */
static bool is_of_end(char c)
{
    return c == '/' || c == '>' || c == '=';
}

static bool equals(const char *text, size_t n, const char *word)
{
    size_t i = 0;

    while (i < n && word[i] && lower(text[i]) == word[i])
        i++;
    return i == n && !word[i];
}

static size_t last_end(struct line text)
{
    const char *hit = text.n_bytes ? memrchr(text.text, '>', text.n_bytes) : NULL;

    return hit ? (size_t)(hit - text.text) : 0;
}

static size_t find(const struct scan *s, size_t from, const char *what)
{
    const size_t n = strlen(what);
    const char *hit = from < s->n ? memmem(s->text + from, s->n - from, what, n) : NULL;

    return hit ? (size_t)(hit - s->text) + n : s->n;
}

/* Is "notranslate" among the words? */
static bool has_class(const char *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t len = 0;
        while (i + len < n && !is_blank(text[i + len]))
            len++;
        if (equals(text + i, len, "notranslate"))
            return true;
        i += len + 1;
    }
    return false;
}

static void take_attribute(struct token *t, const char *name, size_t n_name,
                           const char *value, size_t n_value)
{
    if (equals(name, n_name, "translate")) {
        if (equals(value, n_value, "no"))
            t->translate = -1;
        else if (n_value == 0 || equals(value, n_value, "yes"))
            t->translate = 1;
    } else if (equals(name, n_name, "class") && has_class(value, n_value))
        t->translate = -1;
}

static size_t skip_blanks(const struct scan *s, size_t i)
{
    while (i < s->n && is_blank(s->text[i]))
        i++;
    return i;
}

/* The value at i, behind "=": its bytes without quotes. Behind it, all told. */
static size_t read_value(const struct scan *s, size_t i, struct line *value)
{
    const char quote = s->text[i];

    if (quote == '\'' || quote == '"') {
        const char *end = memchr(s->text + i + 1, quote, s->n - i - 1);
        const size_t until = end ? (size_t)(end - s->text) : s->n;
        *value = (struct line){s->text + i + 1, until - i - 1};
        return until + (end != NULL);
    }
    size_t end = i;
    while (end < s->n && !is_blank(s->text[end]) && s->text[end] != '>')
        end++;
    *value = (struct line){s->text + i, end - i};
    return end;
}

/* One attribute, which begins at i. Behind it. */
static size_t read_attribute(const struct scan *s, size_t i, struct token *t)
{
    const size_t name = i++;
    struct line value = {"", 0};

    while (i < s->n && !is_blank(s->text[i]) && !is_of_end(s->text[i]))
        i++;
    const size_t n_name = i - name, behind = skip_blanks(s, i);
    if (behind < s->n && s->text[behind] == '=') {
        i = skip_blanks(s, behind + 1);
        if (i < s->n && s->text[i] != '>')
            i = read_value(s, i, &value);
    }
    take_attribute(t, s->text + name, n_name, value.text, value.n_bytes);
    return i;
}

/* What ends a raw element that was opened before i: behind "</name ... >". */
static size_t raw_end(const struct scan *s, size_t i, const struct token *t)
{
    const char *name = s->text + t->name_at;

    while ((i = find(s, i, "</")) < s->n) {
        const size_t n = t->name_bytes;
        size_t k = 0;
        while (k < n && i + k < s->n && lower(s->text[i + k]) == lower(name[k]))
            k++;
        if (k == n && (i + k == s->n || !is_letter(s->text[i + k])))
            return find(s, i, ">");
    }
    return s->n;
}

/* A tag whose name begins at i. Behind it. */
static size_t read_tag(const struct scan *s, size_t i, bool is_close, struct token *t)
{
    bool closes_itself = false;

    t->name_at = i;
    while (i < s->n && !is_blank(s->text[i]) && s->text[i] != '/' && s->text[i] != '>')
        i++;
    t->name_bytes = i - t->name_at;
    t->traits = element_traits(s->text + t->name_at, t->name_bytes);
    while (i < s->n && s->text[i] != '>') {
        closes_itself = s->text[i] == '/';
        i = closes_itself || is_blank(s->text[i]) ? i + 1 : read_attribute(s, i, t);
    }
    if (i == s->n) { /* swallowed to the end */
        t->kind = TOKEN_ALONE;
        t->traits |= ELEMENT_BLOCK;
        return i;
    }
    const bool is_alone = closes_itself || t->traits & (ELEMENT_VOID | ELEMENT_RAW);
    t->kind = is_close ? TOKEN_CLOSE : is_alone ? TOKEN_ALONE : TOKEN_OPEN;
    if (!is_close && !closes_itself && t->traits & ELEMENT_RAW)
        return raw_end(s, i + 1, t);
    return i + 1;
}

/* What begins with the "<" at i: behind it; i when that is text. */
static size_t read_markup(const struct scan *s, size_t i, struct token *t)
{
    const char next = i + 1 < s->n ? s->text[i + 1] : '\0';
    const bool is_close = next == '/';

    if (i >= s->last_end || !(is_letter(next) || is_close || next == '!' || next == '?'))
        return i;
    if (is_letter(next) || (is_close && is_letter(s->text[i + 2])))
        return read_tag(s, i + 1 + is_close, is_close, t);
    t->kind = TOKEN_ALONE;
    if (s->n - i >= 4 && memcmp(s->text + i, "<!--", 4) == 0)
        return find(s, i + 2, "-->");
    if (s->n - i >= 9 && memcmp(s->text + i, "<![CDATA[", 9) == 0)
        return find(s, i, "]]>");
    return find(s, i, ">");
}

static status add(struct tokens *t, struct token token, size_t at, size_t end,
                  struct err *err)
{
    struct token *last = t->n ? &t->item[t->n - 1] : NULL;

    if (at == end)
        return OK;
    if (token.kind == TOKEN_TEXT && last && last->kind == TOKEN_TEXT) {
        last->n_bytes += end - at;
        return OK;
    }
    TRY(mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item, err));
    token.at = at;
    token.n_bytes = end - at;
    token.pair = TOKEN_NONE;
    t->item[t->n++] = token;
    return OK;
}

static status cut(struct tokens *t, const struct scan *s, struct err *err)
{
    const struct token text = {.kind = TOKEN_TEXT};

    for (size_t at = 0; at < s->n;) {
        const char *hit = memchr(s->text + at, '<', s->n - at);
        const size_t tag = hit ? (size_t)(hit - s->text) : s->n;
        struct token token = {.kind = TOKEN_TEXT};
        TRY(add(t, text, at, tag, err));
        const size_t end = tag < s->n ? read_markup(s, tag, &token) : tag;
        at = end > tag ? end : tag + (tag < s->n);
        TRY(add(t, end > tag ? token : text, tag, at, err));
    }
    return OK;
}

/* Names of tags, and how many of each are open. */
struct names {
    struct table table;
    struct name {
        size_t token, n_open; /* a tag that has the name */
    } * item;
    size_t n, cap;
    char *key; /* the name at hand in lower case */
    size_t cap_key;
};

static void names_release(struct names *n)
{
    table_release(&n->table);
    free(n->item);
    free(n->key);
}

static bool is_same(const struct tokens *t, const struct token *a, const struct token *b)
{
    for (size_t i = 0; i < a->name_bytes && a->name_bytes == b->name_bytes; i++)
        if (lower(t->text.text[a->name_at + i]) != lower(t->text.text[b->name_at + i]))
            return false;
    return a->name_bytes == b->name_bytes;
}

/* The number of a tag's name, a new one if need be. */
static status number_of(struct names *n, const struct tokens *t, size_t token,
                        uint32_t *number, struct err *err)
{
    const struct token *tag = &t->item[token];

    TRY(mem_grow(&n->key, &n->cap_key, tag->name_bytes, 1, err));
    for (size_t i = 0; i < tag->name_bytes; i++)
        n->key[i] = lower(t->text.text[tag->name_at + i]);
    const uint64_t hash = table_hash(n->key, tag->name_bytes);
    struct table_search s = table_search(&n->table, hash);
    while ((*number = table_next(&s)) != TABLE_NONE)
        if (is_same(t, tag, &t->item[n->item[*number].token]))
            return OK;
    TRY(mem_grow(&n->item, &n->cap, n->n + 1, sizeof *n->item, err));
    TRY(table_add(&n->table, hash, (uint32_t)n->n, err));
    *number = (uint32_t)n->n;
    n->item[n->n++] = (struct name){.token = token};
    return OK;
}

/* A closing tag ends all that was opened since its pair. The number of open tags of each
 * name tells at once when there is none, so every tag is looked at twice. */
static status find_pairs(struct tokens *t, struct err *err)
{
    RELEASED_BY(names_release) struct names names = {0};
    RELEASED_BY(mem_release) uint32_t *name = NULL;
    RELEASED_BY(mem_release) size_t *open = NULL;
    size_t n_open = 0;

    TRY(mem_alloc(&name, t->n, sizeof *name, err));
    TRY(mem_alloc(&open, t->n, sizeof *open, err));
    for (size_t i = 0; i < t->n; i++) {
        struct token *tag = &t->item[i];
        tag->end = t->n;
        if (tag->kind != TOKEN_OPEN && tag->kind != TOKEN_CLOSE)
            continue;
        TRY(number_of(&names, t, i, &name[i], err));
        struct name *of = &names.item[name[i]];
        if (tag->kind == TOKEN_OPEN) {
            of->n_open++;
            open[n_open++] = i;
        }
        while (tag->kind == TOKEN_CLOSE && of->n_open && tag->pair == TOKEN_NONE) {
            const size_t top = open[--n_open];
            names.item[name[top]].n_open--;
            t->item[top].end = i;
            if (name[top] == name[i]) {
                t->item[top].pair = i;
                tag->pair = top;
            }
        }
    }
    return OK;
}

status token_scan(struct tokens *t, struct line text, struct err *err)
{
    const struct scan s = {text.text, text.n_bytes, last_end(text)};

    t->text = text;
    t->n = 0;
    TRY(cut(t, &s, err));
    return find_pairs(t, err);
}

void token_release(struct tokens *t)
{
    free(t->item);
    *t = (struct tokens){0};
}
