#include "markup/item.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "markup/placeholder.h"
#include "text/unicode.h"

/* Occurrences of a kept text that are looked at; words that one link may be of; bytes of
 * a word that are searched for white space. All keep the time linear. */
enum { MOST_TRIES = 16, MOST_LINKED = 64, MOST_WORD = 256 };

static const struct line one_blank = {" ", 1};

void item_release(struct items *items)
{
    free(items->item);
    free(items->range);
    free(items->overlap);
    *items = (struct items){0};
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_word_code(uint32_t code)
{
    return code != UTF8_BAD &&
           (unicode_is_letter(code) || unicode_is_digit(code) || unicode_is_mark(code));
}

/* Is there a word on both sides of the byte? */
static bool is_inside_word(struct line text, size_t at)
{
    size_t len;

    if (at == 0 || at >= text.n_bytes)
        return false;
    const uint32_t before = utf8_decode_last(text.text, at, &len);
    const uint32_t behind = utf8_decode(text.text + at, text.n_bytes - at, &len);
    return is_word_code(before) && is_word_code(behind) && !unicode_is_unspaced(before) &&
           !unicode_is_unspaced(behind);
}

static struct line shown(const struct item_input *in, size_t mark)
{
    return (struct line){in->source.text + in->mark[mark].at, in->mark[mark].n_bytes};
}

static bool is_same(struct line a, struct line b)
{
    return a.n_bytes == b.n_bytes && memcmp(a.text, b.text, a.n_bytes) == 0;
}

static status add_range(struct items *t, struct item_range r, struct err *err)
{
    TRY(mem_grow(&t->range, &t->cap_ranges, t->n_ranges + 1, sizeof *t->range, err));
    t->range[t->n_ranges++] = r;
    return OK;
}

static bool is_taken(const struct items *t, size_t n_ranges, size_t at, size_t n)
{
    for (size_t i = 0; i < n_ranges; i++)
        if (!t->range[i].is_text && at < t->range[i].at + t->range[i].n_bytes &&
            t->range[i].at < at + n)
            return true;
    return false;
}

/* The range of the translation that says the text in words of its own, if there is one.
 */
static status find_words(struct items *t, struct line out, struct line text,
                         struct item_range r, struct err *err)
{
    r.n_bytes = text.n_bytes;
    for (int try = 0; try < MOST_TRIES && r.at < out.n_bytes; try++) {
        const char *hit =
            memmem(out.text + r.at, out.n_bytes - r.at, text.text, text.n_bytes);
        if (!hit)
            break;
        r.at = (size_t)(hit - out.text);
        if (!is_inside_word(out, r.at) && !is_inside_word(out, r.at + r.n_bytes) &&
            !is_taken(t, t->n_ranges, r.at, r.n_bytes))
            return add_range(t, r, err);
        r.at += r.n_bytes;
    }
    return OK;
}

/* Elements that the translator copied. */
static status find_elements(struct items *t, const struct item_input *in, struct err *err)
{
    for (size_t i = 0; i < in->segment->n_marks; i++)
        if (in->mark[i].kind == MARKUP_ELEMENT)
            TRY(find_words(t, in->translation.text, shown(in, i),
                           (struct item_range){.mark = i}, err));
    return OK;
}

static status find_phrases(struct items *t, const struct item_input *in, struct err *err)
{
    const struct line all = in->translation.phrases;
    const struct item_range phrase = {.mark = ITEM_NONE, .is_phrase = true};

    for (size_t at = 0, n; at < all.n_bytes; at += n + 1) {
        n = strlen(all.text + at);
        if (n)
            TRY(find_words(t, in->translation.text, (struct line){all.text + at, n},
                           phrase, err));
    }
    return OK;
}

static bool is_placed(const struct items *t, size_t mark)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->item[i].mark == mark)
            return true;
    return false;
}

/* Do two numbers with units have the same digits? */
static bool has_same_digits(struct line a, struct line b)
{
    size_t i = 0, k = 0;

    for (;; i++, k++) {
        while (i < a.n_bytes && !(a.text[i] >= '0' && a.text[i] <= '9'))
            i++;
        while (k < b.n_bytes && !(b.text[k] >= '0' && b.text[k] <= '9'))
            k++;
        if (i == a.n_bytes || k == b.n_bytes || a.text[i] != b.text[k])
            return i == a.n_bytes && k == b.n_bytes;
    }
}

enum likeness { SAME, SIMILAR };

static bool is_like(const struct item_input *in, size_t mark, const struct item_range *r,
                    enum likeness likeness)
{
    const struct markup_mark *m = &in->mark[mark];
    const struct line text = {in->translation.text.text + r->at, r->n_bytes};

    if (m->kind != MARKUP_HOLDER || m->holder != r->holder)
        return false;
    if (likeness == SAME)
        return is_same(shown(in, mark), text);
    return r->holder != PLACEHOLDER_MEASURE || has_same_digits(shown(in, mark), text);
}

/* Give the ranges from `first` on that have no mark one that is like them. */
static void claim(struct items *t, const struct item_input *in, size_t first,
                  enum likeness likeness, bool *has)
{
    for (size_t i = first; i < t->n_ranges; i++) {
        struct item_range *r = &t->range[i];
        for (size_t k = 0; r->mark == ITEM_NONE && k < in->segment->n_marks; k++)
            if (!has[k] && is_like(in, k, r, likeness)) {
                r->mark = k;
                has[k] = true;
            }
    }
}

size_t item_count(struct line text, struct line what)
{
    size_t n = 0;
    const char *hit = text.text, *end = text.text + text.n_bytes;

    while (hit < end &&
           (hit = memmem(hit, (size_t)(end - hit), what.text, what.n_bytes))) {
        hit += what.n_bytes;
        n++;
    }
    return n;
}

/* A number with a unit that the source has not is the translator's own, and stays; so
 * does one that the source also has where it is no placeholder: two blanks, seen as one.
 */
static bool is_own(const struct item_input *in, const struct item_range *r)
{
    const struct line text = {in->translation.text.text + r->at, r->n_bytes};
    size_t n_marks = 0;

    if (r->mark != ITEM_NONE || r->holder != PLACEHOLDER_MEASURE)
        return false;
    for (size_t k = 0; k < in->segment->n_marks; k++)
        n_marks += is_like(in, k, r, SAME);
    return n_marks == 0 || item_count(in->source, text) > n_marks;
}

/* Placeholders of the translation: as they are in the source, changed, or not there. */
static status find_holders(struct items *t, const struct item_input *in, struct err *err)
{
    const struct line out = in->translation.text;
    const size_t n_elements = t->n_ranges;
    bool has[MARKUP_MARKS] = {false};
    struct placeholder p;

    for (size_t at = 0; placeholder_next(out.text, out.n_bytes, at, &p);
         at = p.at + p.n_bytes)
        if (!is_taken(t, n_elements, p.at, p.n_bytes)) {
            const struct item_range r = {.at = p.at,
                                         .n_bytes = p.n_bytes,
                                         .mark = ITEM_NONE,
                                         .holder = (int)p.kind};
            TRY(add_range(t, r, err));
        }
    claim(t, in, n_elements, SAME, has);
    claim(t, in, n_elements, SIMILAR, has);
    for (size_t i = n_elements; i < t->n_ranges; i++)
        t->range[i].is_text = is_own(in, &t->range[i]);
    return OK;
}

static int compare_ranges(const void *a, const void *b)
{
    const size_t x = ((const struct item_range *)a)->at;
    const size_t y = ((const struct item_range *)b)->at;

    return x < y ? -1 : x > y;
}

/* Is a stretch of the translation in one of the first n ranges, which are sorted? */
static bool is_known(const struct items *t, size_t n, size_t at, size_t n_bytes)
{
    size_t low = 0, high = n;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (t->range[middle].at + t->range[middle].n_bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && t->range[low].at < at + n_bytes;
}

static void find_single(struct items *t, const struct item_input *in)
{
    for (size_t i = 0; i < in->segment->n_marks; i++) {
        const struct markup_mark *m = &in->mark[i];
        size_t n = 0;
        t->is_single[i] = false;
        if (m->kind != MARKUP_HOLDER || m->holder == PLACEHOLDER_MEASURE)
            continue;
        for (size_t k = 0; k < in->segment->n_marks; k++)
            if (in->mark[k].n_bytes)
                n += item_count(shown(in, k), shown(in, i));
        t->is_single[i] = item_count(in->source, shown(in, i)) <= n;
    }
}

/* Copies of placeholders that are none where they stand, as in "{x}}" or ":x:y", would be
 * read as ones all the same. */
static status find_copies(struct items *t, const struct item_input *in, struct err *err)
{
    const struct line out = in->translation.text;
    const size_t n_known = t->n_ranges;

    if (n_known)
        qsort(t->range, n_known, sizeof *t->range, compare_ranges);
    for (size_t i = 0; i < in->segment->n_marks; i++) {
        const struct line text = shown(in, i);
        if (!t->is_single[i] || !out.n_bytes)
            continue;
        const char *hit = out.text, *end = out.text + out.n_bytes;
        while ((hit = memmem(hit, (size_t)(end - hit), text.text, text.n_bytes))) {
            const struct item_range r = {.at = (size_t)(hit - out.text),
                                         .n_bytes = text.n_bytes,
                                         .mark = ITEM_NONE};
            if (!is_known(t, n_known, r.at, r.n_bytes))
                TRY(add_range(t, r, err));
            hit += text.n_bytes;
        }
    }
    return OK;
}

static status add_item(struct items *t, struct item item, struct line *gap,
                       struct err *err)
{
    TRY(mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item, err));
    item.gap = *gap;
    *gap = (struct line){"", 0};
    t->item[t->n++] = item;
    return OK;
}

/* The end of the word that begins at i, without punctuation at its end; of anything else
 * one character. */
static size_t word_end(struct line text, size_t i, size_t end)
{
    size_t len, last = i;

    for (size_t k = i; k < end && !is_blank(text.text[k]); k += len) {
        const uint32_t code = utf8_decode(text.text + k, end - k, &len);
        const bool is_word = is_word_code(code) && !unicode_is_unspaced(code);
        if (k == i && !is_word)
            return k + len;
        if (unicode_is_unspaced(code) || (code != UTF8_BAD && utf8_is_space(code)))
            break;
        if (is_word)
            last = k + len;
    }
    return last;
}

/* Words between bytes `at` and `end` of the translation. */
static status add_words(struct items *t, struct line text, size_t at, size_t end,
                        struct line *gap, struct err *err)
{
    while (at < end) {
        size_t k = at;
        if (is_blank(text.text[at])) {
            while (k < end && is_blank(text.text[k]))
                k++;
            *gap = (struct line){text.text + at, k - at};
        } else {
            const struct item word = {.at = at,
                                      .n_bytes = (k = word_end(text, at, end)) - at,
                                      .mark = ITEM_NONE,
                                      .source = ITEM_NONE};
            TRY(add_item(t, word, gap, err));
        }
        at = k;
    }
    return OK;
}

static status cut(struct items *t, const struct item_input *in, struct err *err)
{
    const struct line out = in->translation.text;
    struct line gap = {"", 0};
    size_t at = 0;

    if (t->n_ranges)
        qsort(t->range, t->n_ranges, sizeof *t->range, compare_ranges);
    for (size_t i = 0; i < t->n_ranges; i++) {
        const struct item_range *r = &t->range[i];
        if (r->is_text || r->at < at)
            continue;
        TRY(add_words(t, out, at, r->at, &gap, err));
        const struct item kept = {.at = r->at,
                                  .n_bytes = r->n_bytes,
                                  .mark = r->mark,
                                  .source = ITEM_NONE,
                                  .is_phrase = r->is_phrase};
        if (r->mark != ITEM_NONE || r->is_phrase)
            TRY(add_item(t, kept, &gap, err));
        else if (in->is_strict)
            gap = one_blank;
        at = r->at + r->n_bytes;
    }
    return add_words(t, out, at, out.n_bytes, &gap, err);
}

/* The first item that ends behind a byte of the translation. */
static size_t find_item(const struct items *t, size_t at)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (t->item[middle].at + t->item[middle].n_bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* One link: each of its words takes the source of the link that covers most of it. */
static bool take_link(struct items *t, const struct item_input *in, struct markup_link l)
{
    const struct line out = in->translation.text;

    if (l.src_at >= in->source.n_bytes || l.dst_at >= out.n_bytes || !l.src_n || !l.dst_n)
        return false;
    const size_t src_n = least(l.src_n, in->source.n_bytes - l.src_at);
    const size_t dst_n = least(l.dst_n, out.n_bytes - l.dst_at);
    const size_t first = find_item(t, l.dst_at), end = l.dst_at + dst_n;
    for (size_t i = first; i < t->n && i - first < MOST_LINKED; i++) {
        struct item *item = &t->item[i];
        if (item->at >= end)
            break;
        const size_t from = item->at > l.dst_at ? item->at : l.dst_at;
        const size_t overlap = least(item->at + item->n_bytes, end) - from;
        if (overlap <= t->overlap[i])
            continue;
        t->overlap[i] = overlap;
        const double middle = (double)(from - l.dst_at) + (double)overlap / 2;
        item->source = l.src_at + (size_t)(middle / (double)dst_n * (double)src_n);
    }
    return true;
}

/* Not a blank but the word behind it; and punctuation that is linked to a word goes with
 * its neighbours. */
static void mend_source(struct item *item, const struct item_input *in)
{
    const char *source = in->source.text;
    const char *out = in->translation.text.text + item->at;
    size_t len;

    if (item->source + 1 < in->source.n_bytes && source[item->source] == ' ')
        item->source++;
    while (item->source > 0 && ((unsigned char)source[item->source] & 0xC0) == 0x80)
        item->source--;
    const size_t n = in->source.n_bytes - item->source;
    if (!is_word_code(utf8_decode(out, item->n_bytes, &len)) &&
        is_word_code(utf8_decode(source + item->source, n, &len)))
        item->source = ITEM_NONE;
}

/* What each word stands for; without links by their place. */
static status find_sources(struct items *t, const struct item_input *in, struct err *err)
{
    const struct markup_translation *x = &in->translation;
    bool is_linked = false;

    TRY(mem_grow(&t->overlap, &t->cap_overlap, t->n, sizeof *t->overlap, err));
    if (t->n)
        memset(t->overlap, 0, t->n * sizeof *t->overlap);
    for (size_t i = 0; i < x->n_links; i++)
        is_linked |= take_link(t, in, x->link[i]);
    for (size_t i = 0; i < t->n; i++) {
        struct item *item = &t->item[i];
        if (!is_linked)
            item->source = (size_t)(((double)item->at + (double)item->n_bytes / 2) /
                                    (double)x->text.n_bytes * (double)in->source.n_bytes);
        if (item->mark != ITEM_NONE)
            item->source = in->mark[item->mark].at;
        else if (item->source != ITEM_NONE)
            mend_source(item, in);
    }
    return OK;
}

/* At least half of the word's bytes are in the placeholder. */
static bool resembles(struct line word, struct line holder)
{
    size_t n = 0;

    for (size_t i = 0; i < word.n_bytes; i++)
        n += memchr(holder.text, word.text[i], holder.n_bytes) != NULL;
    return 2 * n >= word.n_bytes;
}

/* Is the item what became of the mark? */
static bool is_of(const struct items *t, const struct item_input *in, size_t i,
                  size_t mark)
{
    const struct markup_mark *m = &in->mark[mark];
    const struct item *item = &t->item[i];
    const struct line word = {in->translation.text.text + item->at, item->n_bytes};

    return item->mark == ITEM_NONE && !item->is_phrase && item->source >= m->at &&
           item->source < m->at + m->n_bytes &&
           (m->kind == MARKUP_ELEMENT || resembles(word, shown(in, mark)));
}

/* Put the mark in the place of the longest run of words that it became, if any. */
static bool replace(struct items *t, const struct item_input *in, size_t mark)
{
    size_t best = 0, n_best = 0, run = 0, n = 0;

    for (size_t i = 0; i < t->n; i++) {
        run = is_of(t, in, i, mark) ? run + 1 : 0;
        if (run > n_best) {
            n_best = run;
            best = i + 1 - run;
        }
    }
    if (n_best == 0)
        return false;
    t->item[best].mark = mark;
    t->item[best].source = in->mark[mark].at;
    for (size_t i = 0; i < t->n; i++)
        if (i <= best || i >= best + n_best)
            t->item[n++] = t->item[i];
    t->n = n;
    return true;
}

/* Is something at the source's byte before which words follow? */
static bool leads(struct line source, size_t at, size_t n)
{
    const size_t end = at + n;
    size_t len;

    if (end >= source.n_bytes || (at > 0 && source.text[at - 1] != ' '))
        return false;
    const size_t next = end + (source.text[end] == ' ' && n > 0);
    return next < source.n_bytes &&
           is_word_code(utf8_decode(source.text + next, source.n_bytes - next, &len));
}

size_t item_anchor(const struct items *t, const struct item_input *in, size_t first,
                   size_t end, size_t at, size_t n)
{
    size_t before = ITEM_NONE, behind = ITEM_NONE;

    for (size_t i = first; i < end; i++) {
        const size_t source = t->item[i].source;
        if (source == ITEM_NONE)
            continue;
        if (source < at && (before == ITEM_NONE || source >= t->item[before].source))
            before = i;
        if (source >= at + n && (behind == ITEM_NONE || source < t->item[behind].source))
            behind = i;
    }
    if (behind != ITEM_NONE && (before == ITEM_NONE || leads(in->source, at, n)))
        return behind;
    return before != ITEM_NONE ? before + 1 : first;
}

/* Must a blank stand between what is put in and its neighbour in the result? Not where
 * the source has the same character there, nor beside scripts without blanks. */
static bool needs_blank(struct line text, bool is_before, char source)
{
    size_t len;

    if (text.n_bytes == 0)
        return true;
    const uint32_t code = is_before ? utf8_decode_last(text.text, text.n_bytes, &len)
                                    : utf8_decode(text.text, text.n_bytes, &len);
    return !(code == (unsigned char)source && !is_word_code(code)) &&
           !unicode_is_unspaced(code);
}

static struct line item_text(const struct items *t, const struct item_input *in, size_t i)
{
    const struct item *item = &t->item[i];

    return item->mark == ITEM_NONE
               ? (struct line){in->translation.text.text + item->at, item->n_bytes}
               : shown(in, item->mark);
}

/* Put a mark before item k. */
static status insert(struct items *t, const struct item_input *in, size_t mark, size_t k,
                     struct err *err)
{
    const struct markup_mark *m = &in->mark[mark];
    const size_t behind = m->at + m->n_bytes;
    const char left = m->at ? in->source.text[m->at - 1] : '\0';
    const char right = behind < in->source.n_bytes ? in->source.text[behind] : '\0';
    struct item item = {.mark = mark, .source = m->at, .gap = {"", 0}};

    TRY(mem_grow(&t->item, &t->cap, t->n + 1, sizeof *t->item, err));
    if (k > 0 && needs_blank(item_text(t, in, k - 1), true, left))
        item.gap = one_blank;
    if (k < t->n)
        t->item[k].gap = needs_blank(item_text(t, in, k), false, right)
                             ? one_blank
                             : (struct line){"", 0};
    memmove(t->item + k + 1, t->item + k, (t->n - k) * sizeof *t->item);
    t->item[k] = item;
    t->n++;
    return OK;
}

static status place_rest(struct items *t, const struct item_input *in, struct err *err)
{
    for (size_t i = 0; i < in->segment->n_marks; i++) {
        const struct markup_mark *m = &in->mark[i];
        const bool is_kept = m->kind == MARKUP_ELEMENT || m->kind == MARKUP_HOLDER;
        if (is_kept && !is_placed(t, i) && !replace(t, in, i))
            TRY(insert(t, in, i, item_anchor(t, in, 0, t->n, m->at, m->n_bytes), err));
    }
    return OK;
}

static bool has_blank(struct line text, size_t from, size_t to)
{
    return to - from > MOST_WORD || memchr(text.text + from, ' ', to - from) != NULL;
}

/* White space of the source between two words that are neighbours on both sides. */
static void restore_gap(struct items *t, const struct item_input *in, size_t i)
{
    const struct markup_gap *gap = in->m->gap + in->segment->gap_at;
    const size_t before = t->item[i - 1].source, behind = t->item[i].source;
    size_t low = 0, high = in->segment->n_gaps;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (gap[middle].at < before)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < in->segment->n_gaps && gap[low].at < behind &&
        !has_blank(in->source, before, gap[low].at) &&
        !has_blank(in->source, gap[low].at + 1, behind))
        t->item[i].gap =
            (struct line){in->m->source.text + gap[low].raw_at, gap[low].raw_n};
}

static void mend_gaps(struct items *t, const struct item_input *in)
{
    const size_t n_marks = in->segment->n_marks;

    for (size_t i = 1; i < t->n; i++) {
        const size_t a = t->item[i - 1].mark, b = t->item[i].mark;
        const bool is_beside = (a < n_marks && in->mark[a].kind == MARKUP_HOLDER) ||
                               (b < n_marks && in->mark[b].kind == MARKUP_HOLDER);
        if (in->is_strict && is_beside && !t->item[i].gap.n_bytes)
            t->item[i].gap = one_blank;
        if (in->segment->n_gaps && t->item[i].gap.n_bytes &&
            t->item[i].source != ITEM_NONE && t->item[i - 1].source != ITEM_NONE)
            restore_gap(t, in, i);
    }
}

status item_build(struct items *t, const struct item_input *in, struct err *err)
{
    t->n = t->n_ranges = 0;
    find_single(t, in);
    TRY(find_elements(t, in, err));
    TRY(find_holders(t, in, err));
    TRY(find_copies(t, in, err));
    TRY(find_phrases(t, in, err));
    TRY(cut(t, in, err));
    TRY(find_sources(t, in, err));
    TRY(place_rest(t, in, err));
    mend_gaps(t, in);
    return OK;
}
