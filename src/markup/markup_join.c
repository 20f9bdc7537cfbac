#include <string.h>

#include "base/utf8.h"
#include "markup/item.h"
#include "markup/markup.h"
#include "markup/placeholder.h"
#include "markup/reference.h"
#include "markup/weave.h"

/* A placeholder in the text at hand. */
struct kept {
    size_t at, n_bytes, mark;
};

struct join {
    struct item_input in;
    struct str *out;
    struct items items;
    struct weave weave;
    struct str text; /* since the last tag, not yet written */
    struct kept kept[MARKUP_MARKS];
    size_t n_kept;
};

static void join_release(struct join *j)
{
    item_release(&j->items);
    str_release(&j->text);
}

static struct line raw(const struct join *j, size_t mark)
{
    return (struct line){j->in.m->source.text + j->in.mark[mark].raw_at,
                         j->in.mark[mark].raw_n};
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Could the bytes from the "&" or "<" at text[at] on be read as markup? `next` follows
 * the text. */
static bool is_risky(const char *text, size_t at, size_t n, char next)
{
    uint32_t code;
    size_t end = at + 1;
    const char c = end < n ? text[end] : next;

    if (text[at] == '<')
        return is_letter(c) || (c && strchr("/!?", c));
    while (end < n && (is_letter(text[end]) || (text[end] >= '0' && text[end] <= '9') ||
                       text[end] == '#'))
        end++;
    if (end == n &&
        (is_letter(next) || (next >= '0' && next <= '9') || next == '#' || next == ';'))
        return true;
    return reference_read(text + at, n - at, &code) > 0;
}

static const struct markup_spelling *spelling_of(const struct join *j, uint32_t code)
{
    const struct markup_segment *s = j->in.segment;

    for (size_t i = 0; i < s->n_spellings; i++)
        if (j->in.m->spelling[s->spelling_at + i].code == code)
            return &j->in.m->spelling[s->spelling_at + i];
    return NULL;
}

/* Text as HTML, with the characters that the source writes as references written so. */
static void write_escaped(struct join *j, const char *text, size_t n, char next)
{
    size_t len;

    for (size_t i = 0; i < n; i += len) {
        const uint32_t code = utf8_decode(text + i, n - i, &len);
        const struct markup_spelling *s = spelling_of(j, code);
        const bool is_special = code == '&' || code == '<' || code == '>';
        if (s && (s->raw_n > 1 || code == '>' || !is_risky(text, i, n, next)))
            str_add(j->out, j->in.m->source.text + s->raw_at, s->raw_n);
        else if (is_special)
            str_puts(j->out, code == '&' ? "&amp;" : code == '<' ? "&lt;" : "&gt;");
        else
            str_add(j->out, text + i, len);
        if (s && s->raw_n > 1 && j->out->data && j->out->data[j->out->len - 1] != ';')
            str_putc(j->out, ';');
    }
}

static void write_text(struct join *j, size_t at, size_t end, char next)
{
    if (j->in.m->format == MARKUP_HTML)
        write_escaped(j, str_text(&j->text) + at, end - at, next);
    else
        str_add(j->out, str_text(&j->text) + at, end - at);
}

/* Is no placeholder in the text more often than it was put there, not even as a part of
 * something else? */
static bool is_alone(const struct join *j, size_t mark)
{
    const struct markup_mark *m = &j->in.mark[mark];
    const struct line what = {j->in.source.text + m->at, m->n_bytes};
    size_t n = 0;

    if (!j->items.is_single[mark])
        return true;
    for (size_t i = 0; i < j->n_kept; i++) {
        const struct markup_mark *k = &j->in.mark[j->kept[i].mark];
        n += item_count((struct line){j->in.source.text + k->at, k->n_bytes}, what);
    }
    return item_count((struct line){str_text(&j->text), j->text.len}, what) <= n;
}

/* Are the placeholders of the text at hand those that were put there? A number with a
 * unit may be the translator's own, unless the source has it too. */
static bool is_sure(const struct join *j)
{
    struct placeholder p;
    size_t n = 0;

    for (size_t at = 0; placeholder_next(str_text(&j->text), j->text.len, at, &p);
         at = p.at + p.n_bytes) {
        const char *text = str_text(&j->text) + p.at;
        if (n < j->n_kept && j->kept[n].at == p.at && j->kept[n].n_bytes == p.n_bytes &&
            j->in.mark[j->kept[n].mark].holder == (int)p.kind) {
            n++;
            continue;
        }
        if (p.kind != PLACEHOLDER_MEASURE)
            return false;
        for (size_t k = 0; k < j->in.segment->n_marks; k++) {
            const struct markup_mark *m = &j->in.mark[k];
            if (m->kind == MARKUP_HOLDER && m->n_bytes == p.n_bytes &&
                memcmp(j->in.source.text + m->at, text, p.n_bytes) == 0)
                return false;
        }
    }
    for (size_t k = 0; k < j->in.segment->n_marks; k++)
        if (!is_alone(j, k))
            return false;
    return n == j->n_kept;
}

/* Could a placeholder be read otherwise where it stands now: for a "<" that was text, or
 * a
 * "&" that what follows goes on with? */
static bool is_open(struct line holder)
{
    const char *mark = memrchr(holder.text, '&', holder.n_bytes);

    return memchr(holder.text, '<', holder.n_bytes) ||
           (mark && !memchr(mark, ';', holder.n_bytes - (size_t)(mark - holder.text)));
}

/* Write the text at hand; `next` is the byte that will follow. false: what is in it could
 * be misread. */
static bool flush(struct join *j, char next)
{
    size_t at = 0;
    const bool sure = is_sure(j);

    for (size_t i = 0; i < j->n_kept; i++) {
        const struct line holder = raw(j, j->kept[i].mark);
        write_text(j, at, j->kept[i].at, holder.text[0]);
        at = j->kept[i].at + j->kept[i].n_bytes;
        const char follows = at < j->text.len ? j->text.data[at] : next;
        if (is_open(holder))
            write_text(j, j->kept[i].at, at, follows);
        else
            str_add(j->out, holder.text, holder.n_bytes);
    }
    write_text(j, at, j->text.len, next);
    str_reset(&j->text);
    j->n_kept = 0;
    return sure;
}

/* Does the tag stand before the white space at its place? */
static bool is_before_gap(const struct join *j, size_t mark)
{
    const struct markup_mark *m = &j->in.mark[mark];
    const struct line source = j->in.source;
    const bool is_behind = m->at > 0 && source.text[m->at - 1] == ' ';
    const bool is_before = m->at < source.n_bytes && source.text[m->at] == ' ';

    return m->kind == MARKUP_OPEN ? is_before : !is_behind;
}

/* A tag, or a reference that is kept, which what follows must not become part of. */
static void put_raw(struct join *j, size_t mark)
{
    const struct line text = raw(j, mark);
    const char last = text.text[text.n_bytes - 1];

    str_add(j->out, text.text, text.n_bytes);
    if (is_letter(last) || (last >= '0' && last <= '9'))
        str_putc(j->out, ';');
}

/* Tags from event *e on that stand before item i, and the gap among them. */
static bool put_tags(struct join *j, size_t i, size_t *e)
{
    const struct line gap =
        i > 0 && i < j->items.n ? j->items.item[i].gap : (struct line){"", 0};
    bool is_open = gap.n_bytes > 0, sure = true;

    for (; *e < j->weave.n_events && j->weave.event[*e].at == i; ++*e) {
        const size_t mark = j->weave.event[*e].mark;
        if (is_open && !is_before_gap(j, mark)) {
            str_add(&j->text, gap.text, gap.n_bytes);
            is_open = false;
        }
        sure &= flush(j, '<');
        put_raw(j, mark);
    }
    if (is_open)
        str_add(&j->text, gap.text, gap.n_bytes);
    return sure;
}

static bool put_item(struct join *j, const struct item *item)
{
    if (item->mark == ITEM_NONE) {
        str_add(&j->text, j->in.translation.text.text + item->at, item->n_bytes);
        return true;
    }
    const struct markup_mark *m = &j->in.mark[item->mark];
    if (m->kind == MARKUP_HOLDER) {
        j->kept[j->n_kept++] = (struct kept){j->text.len, m->n_bytes, item->mark};
        str_add(&j->text, j->in.source.text + m->at, m->n_bytes);
        return true;
    }
    const bool sure = flush(j, '<');
    put_raw(j, item->mark);
    return sure;
}

/* What follows the segment in the source, as far as it matters: a letter stands for
 * anything that could go on with its last word. */
static char follower(const struct join *j)
{
    const size_t end = j->in.segment->raw_at + j->in.segment->raw_n;
    const char c = end < j->in.m->source.n_bytes ? j->in.m->source.text[end] : ' ';

    return c == '<' || c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' ? c
                                                                                    : 'a';
}

/* The segment with its translation; *sure: as it should be. */
static status write_segment(struct join *j, bool is_strict, bool *sure, struct err *err)
{
    size_t e = 0;

    j->in.is_strict = is_strict;
    TRY(item_build(&j->items, &j->in, err));
    weave_tags(&j->weave, &j->items, &j->in);
    *sure = true;
    for (size_t i = 0; i < j->items.n; i++) {
        *sure &= put_tags(j, i, &e);
        *sure &= put_item(j, &j->items.item[i]);
    }
    *sure &= put_tags(j, j->items.n, &e) && e == j->weave.n_events;
    *sure &= flush(j, follower(j));
    return str_check(&j->text, "text", err);
}

static status join_segment(struct join *j, bool *is_left, struct err *err)
{
    const struct markup_segment *s = j->in.segment;
    const size_t begin = j->out->len;
    bool sure = false;

    for (int strict = 0; strict < 2 && !sure; strict++) {
        j->out->len = begin;
        TRY(write_segment(j, strict, &sure, err));
    }
    *is_left = !sure;
    if (!sure) {
        j->out->len = begin;
        str_add(j->out, j->in.m->source.text + s->raw_at, s->raw_n);
    }
    return OK;
}

status markup_join(struct str *out, const struct markup *m,
                   const struct markup_translation *translation, size_t *n_left,
                   struct err *err)
{
    RELEASED_BY(join_release) struct join j = {.in = {.m = m}, .out = out};
    static const struct markup_mark no_mark;
    size_t at = 0, n = 0;

    for (size_t i = 0; i < m->n_segments; i++) {
        const struct markup_segment *s = &m->segment[i];
        bool is_left;
        j.in.segment = s;
        j.in.source = markup_text(m, i);
        j.in.mark = s->n_marks ? m->mark + s->mark_at : &no_mark;
        j.in.translation = translation[i];
        str_add(out, m->source.text + at, s->raw_at - at);
        TRY(join_segment(&j, &is_left, err));
        at = s->raw_at + s->raw_n;
        n += is_left;
    }
    str_add(out, m->source.text + at, m->source.n_bytes - at);
    if (n_left)
        *n_left = n;
    return str_check(out, "translation", err);
}
