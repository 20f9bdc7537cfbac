#include "text/sentences.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/sentence_marks.h"
#include "text/sentence_words.h"
#include "text/unicode.h"

/* A longer word is no abbreviation; bytes, and the pieces of one as U. S. A. */
enum { WORD_MAX = 32, PIECES_MAX = 6 };

/* Marks that may end a sentence; the strongest of a run decides. */
enum mark {
    NO_MARK,
    STOP, /* one full stop */
    DOTS, /* an ellipsis */
    LOUD, /* ! ? */
    WIDE, /* those that need no white space after them */
};

/* The line, and the sentence that is being read. */
struct scan {
    const char *s;
    size_t n, from, first; /* bytes; the sentence's beginning, and its first letter */
    const struct sentence_words *words;
    bool is_greek;
    bool is_small;  /* the line has small letters and no capitals */
    bool in_quotes; /* an odd number of " so far */
};

/* Marks and what closes behind them: [mark_at.., after). */
struct end {
    enum mark mark;
    size_t mark_at, after; /* of the last mark; behind everything */
    bool has_closer;
};

static uint32_t code_at(const struct scan *t, size_t at, size_t *len)
{
    return utf8_decode(t->s + at, t->n - at, len);
}

/* The character that ends at `at`, which is behind the sentence's beginning. */
static uint32_t code_before(const struct scan *t, size_t at, size_t *len)
{
    return utf8_decode_last(t->s + t->from, at - t->from, len);
}

static enum mark mark_of(const struct scan *t, uint32_t code, size_t at)
{
    size_t len;

    if (code == '.')
        return STOP;
    if (code == 0x2026)
        return DOTS;
    if (sentence_marks_among(code, U"!?‽\u037e؟։"))
        return LOUD;
    if (code == ';') /* the question mark of Greek */
        return t->is_greek || (at > t->from &&
                               unicode_is_of(code_before(t, at, &len), UNICODE_GREEK))
                   ? LOUD
                   : NO_MARK;
    return code >= 0x80 && sentence_marks_among(code, U"。！？｡．‼⁇⁈⁉।॥۔።፧។။") ? WIDE
                                                                               : NO_MARK;
}

static size_t skip_space(const struct scan *t, size_t at)
{
    size_t len;

    while (at < t->n && utf8_is_space(code_at(t, at, &len)))
        at += len;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A note's number behind a mark: the end of [12], otherwise `at`. */
static size_t skip_note(const struct scan *t, size_t at)
{
    size_t end = at + 1;

    while (end < t->n && end < at + 5 && is_digit(t->s[end]))
        end++;
    return end > at + 1 && end < t->n && t->s[end] == ']' ? end + 1 : at;
}

/* The marks at `at` and what closes behind them. */
static struct end read_end(struct scan *t, size_t at)
{
    struct end e = {.mark_at = at, .after = at};
    size_t len;

    while (e.after < t->n) {
        const uint32_t code = code_at(t, e.after, &len);
        const enum mark mark = mark_of(t, code, e.after);
        const size_t note = code == '[' ? skip_note(t, e.after) : e.after;
        if (mark) {
            const bool is_next = e.mark && e.mark_at + 1 == e.after;
            e.mark = mark == STOP && is_next && e.mark == STOP ? DOTS
                     : mark > e.mark                           ? mark
                                                               : e.mark;
            e.mark_at = e.after;
        } else if (sentence_marks_is_quote(code) || sentence_marks_is_closer(code)) {
            e.has_closer = true;
            t->in_quotes ^= code == '"';
        } else if (note > e.after) {
            len = note - e.after;
        } else {
            break;
        }
        e.after += len;
    }
    return e;
}

/* Quotes and brackets that close after white space (French), and emoji. */
static void take_apart(struct scan *t, struct end *e)
{
    size_t len;

    for (;;) {
        size_t at = skip_space(t, e->after);
        if (at == t->n || at == e->after)
            return;
        const uint32_t code = code_at(t, at, &len);
        if (!sentence_marks_is_closer(code) && !sentence_marks_among(code, U"»›”’") &&
            !(code == '"' && t->in_quotes))
            return;
        for (at += len; at < t->n && sentence_marks_is_emoji(code_at(t, at, &len));)
            at += len;
        if (at < t->n && !utf8_is_space(code_at(t, at, &len)))
            return;
        t->in_quotes ^= code == '"';
        e->has_closer |= !sentence_marks_is_emoji(code);
        e->after = at;
    }
}

/* The first letter or digit of what may be the next sentence; *is_sure becomes whether
 * it can be nothing else. */
static size_t skip_openers(const struct scan *t, size_t at, bool *is_sure)
{
    size_t len;

    for (*is_sure = false; at < t->n; at += len) {
        const uint32_t code = code_at(t, at, &len);
        if (!sentence_marks_is_quote(code) && !sentence_marks_is_opener(code) &&
            !utf8_is_space(code))
            break;
        *is_sure |= code == 0xA1 || code == 0xBF;
    }
    return at;
}

static bool is_word(uint32_t code)
{
    return unicode_is_letter(code) || (code >= 0x300 && code <= 0x36F);
}

/* Where the letters before `at` begin; *n counts them, as far as that matters. */
static size_t letters_before(const struct scan *t, size_t at, size_t *n)
{
    size_t len;

    for (*n = 0; at > t->from && *n < WORD_MAX; at -= len, ++*n)
        if (!is_word(code_before(t, at, &len)))
            break;
    return at;
}

/* The word of letters at `at` in lower case; empty when it is too long for any list. */
static struct line word_at(const struct scan *t, size_t at, char *room)
{
    size_t n = 0, len;

    for (; at < t->n; at += len) {
        const uint32_t code = code_at(t, at, &len);
        if (!is_word(code))
            break;
        if (n + 4 > WORD_MAX)
            return (struct line){room, 0};
        n += utf8_encode(room + n, unicode_lower(code));
    }
    return (struct line){room, n};
}

/* What stands before a full stop: letters in pieces, as in "e.g" or "z. B". */
struct before {
    size_t at;     /* where it begins */
    size_t n_last; /* letters of the last piece */
    size_t n_pieces;
};

/* The end of the piece before the one at `at`, which has n letters; `at` for none. */
static size_t piece_before(const struct scan *t, size_t at, size_t n)
{
    size_t len, letters, end = at;

    if (end > t->from && n == 1 && utf8_is_space(code_before(t, end, &len))) {
        end -= len;
        if (end <= t->from || t->s[end - 1] != '.')
            return at;
        letters_before(t, end - 1, &letters);
        return letters == 1 ? end - 1 : at;
    }
    return end > t->from && t->s[end - 1] == '.' ? end - 1 : at;
}

static struct before read_before(const struct scan *t, size_t at)
{
    struct before b = {.at = at};

    while (b.n_pieces < PIECES_MAX) {
        size_t n;
        const size_t start = letters_before(t, at, &n);
        if (n == 0 || n == WORD_MAX)
            break;
        if (b.n_pieces++ == 0)
            b.n_last = n;
        b.at = start;
        at = piece_before(t, start, n);
        if (at == start)
            break;
    }
    return b;
}

/* The kind of an abbreviation in lower case but for its first letter, which counts in
 * some: with a capital, in lower case, and in a line without capitals as if it had one.
 */
static enum sentence_words_kind kind_of_key(const struct scan *t, char *key, size_t n)
{
    const struct line word = {key, n};
    char small[8];
    size_t len;

    if (t->is_small && *key >= 'a' && *key <= 'z')
        *key = (char)(*key - 'a' + 'A');
    const enum sentence_words_kind kind = sentence_words_abbreviation(t->words, word);
    const uint32_t first = utf8_decode(key, n, &len);
    if (kind || utf8_encode(small, unicode_lower(first)) != len)
        return kind;
    memcpy(key, small, len);
    return sentence_words_abbreviation(t->words, word);
}

/* That of what is before a full stop; its last pieces alone may be one too. */
static enum sentence_words_kind kind_of(const struct scan *t, struct before b, size_t end)
{
    char key[WORD_MAX];
    size_t n = 0, len;

    for (size_t at = b.at; at < end; at += len) {
        const uint32_t code = code_at(t, at, &len);
        if (utf8_is_space(code))
            continue;
        if (n + 4 > WORD_MAX)
            return SENTENCE_WORDS_NONE;
        n += utf8_encode(key + n, n ? unicode_lower(code) : code);
    }
    for (size_t at = 0; at < n;) {
        const enum sentence_words_kind kind = kind_of_key(t, key + at, n - at);
        const char *dot = memchr(key + at, '.', n - at);
        if (kind || !dot)
            return kind;
        at = (size_t)(dot - key) + 1;
    }
    return SENTENCE_WORDS_NONE;
}

/* Whether the word at `next` is one that often begins sentences. */
static bool starts(const struct scan *t, size_t next)
{
    char room[WORD_MAX];

    return sentence_words_starts(t->words, word_at(t, next, room));
}

/* Whether [at, end) is a Roman number; a full stop is at `end`. */
static bool is_roman(const struct scan *t, size_t at, size_t end)
{
    return end - at > 1 && strspn(t->s + at, "IVXLC") >= end - at;
}

/* A sentence begins behind the white space at `at`. */
static void begin(struct scan *t, size_t at)
{
    bool is_sure;

    t->from = skip_space(t, at);
    t->first = skip_openers(t, t->from, &is_sure);
}

static bool has_only_small(const struct scan *t)
{
    bool has_small = false;
    size_t len;

    for (size_t at = t->first; at < t->n; at += len) {
        const uint32_t code = code_at(t, at, &len);
        if (unicode_lower(code) != code)
            return false;
        has_small = has_small || unicode_is_lower(code);
    }
    return has_small;
}

/* Whether the number that ends at `end` is that of an item or a section: 2.1. Scope. */
static bool is_item(const struct scan *t, size_t end)
{
    size_t at = end, len;

    while (at > t->first && end - at < 12 &&
           (is_digit(t->s[at - 1]) || t->s[at - 1] == '.'))
        at--;
    if (at <= t->first || !utf8_is_space(code_before(t, at, &len)))
        return at <= t->first;
    at -= len;
    return at > t->from && (t->s[at - 1] == ':' || t->s[at - 1] == ';');
}

/* Whether a full stop behind a number ends a sentence. */
static bool number_ends(const struct scan *t, size_t end, size_t next)
{
    char room[WORD_MAX];
    size_t at = end, n, len;

    while (at > t->from && end - at < 4 && is_digit(t->s[at - 1]))
        at--;
    if (end - at > 3)
        return true;
    if (is_item(t, end) || sentence_words_after_ordinal(t->words, word_at(t, next, room)))
        return false;
    if (at <= t->from || !utf8_is_space(code_before(t, at, &len)))
        return true;
    const size_t word = letters_before(t, at - len, &n);
    return !sentence_words_before_ordinal(t->words, word_at(t, word, room)) ||
           starts(t, next);
}

/* Whether what is before a full stop ends in one letter that stands alone, as in "J.-C."
 * and unlike those of "Tom's.", "3 °C.", "-x." and "I/O.". */
static bool looks_initial(const struct scan *t, struct before b, size_t end)
{
    size_t len;
    const uint32_t last = code_before(t, end, &len);

    if (b.n_last != 1 || (!unicode_is_lower(last) && unicode_lower(last) == last))
        return false;
    if (b.at == t->from)
        return true;
    const uint32_t code = code_before(t, b.at, &len);
    if (code == '-')
        return b.at - len > t->from && t->s[b.at - len - 1] == '.';
    return utf8_is_space(code) || sentence_marks_among(code, U"\"([{.&–—„“‚‘«»");
}

/* Whether a word of small letters is before the one at `at`. */
static bool follows_small(const struct scan *t, size_t at)
{
    size_t len;

    if (at <= t->from || !utf8_is_space(code_before(t, at, &len)))
        return false;
    at -= len;
    return at > t->from && unicode_is_lower(code_before(t, at, &len));
}

/* Whether one full stop at `end` ends a sentence when the next one would begin at `next`
 * with no small letter. */
static bool stop_ends(const struct scan *t, size_t end, size_t next)
{
    const struct before b = read_before(t, end);
    size_t len;

    if (end > t->from && unicode_is_digit(code_before(t, end, &len)))
        return number_ends(t, end, next);
    if (b.n_pieces == 0)
        return true;

    const bool is_counted = unicode_is_digit(code_at(t, next, &len));
    const bool is_initial = looks_initial(t, b, end);
    const bool is_number = is_roman(t, b.at, end);
    const enum sentence_words_kind kind = kind_of(t, b, end);
    if (kind == SENTENCE_WORDS_NEVER || (kind == SENTENCE_WORDS_NUMBER && is_counted))
        return false;
    if (kind == SENTENCE_WORDS_LETTER && follows_small(t, b.at))
        return true;
    if ((is_initial || is_number) && b.n_pieces == 1 && b.at <= t->first)
        return false; /* the number of an item of a list */
    const bool may_end = kind == SENTENCE_WORDS_MAYBE || is_initial ||
                         (is_number && sentence_words_has_ordinals(t->words));
    return !may_end || (!t->is_small && starts(t, next));
}

/* Whether somebody is named at `at` as the speaker of the words before: Tom asked. */
static bool tells_speaker(const struct scan *t, size_t at)
{
    char room[WORD_MAX];
    size_t len;

    for (int i = 0; i < 4 && at < t->n; i++) {
        if (i && sentence_words_speaks(t->words, word_at(t, at, room)))
            return true;
        const size_t word = at;
        while (at < t->n && at < word + WORD_MAX && is_word(code_at(t, at, &len)))
            at += len;
        if (at == t->n || t->s[at] != ' ')
            return false;
        at++;
    }
    return false;
}

/* Whether the letter or number of an item is at `at`: a) or (2). */
static bool is_label(const struct scan *t, size_t at)
{
    size_t len, n = 0;

    while (at < t->n && n++ < 3) {
        const uint32_t code = code_at(t, at, &len);
        if (code == ')')
            return n > 1;
        if (!unicode_is_digit(code) && (n > 1 || !unicode_is_letter(code)))
            return false;
        at += len;
    }
    return false;
}

/* Whether small letters begin a sentence at `next`, behind openers at `at` that touch
 * them and a full stop that a long word, a number or a bracket is before: --help and "x".
 */
static bool opens_small(const struct scan *t, const struct end *e, size_t at, size_t next)
{
    const struct before b = read_before(t, e->mark_at);
    size_t len;

    if (at == next || code_at(t, at, &len) == '(' ||
        utf8_is_space(code_before(t, next, &len)) || utf8_is_space(code_at(t, at, &len)))
        return false;
    return b.n_pieces == 0 || (b.n_last > 3 && b.n_pieces == 1 &&
                               kind_of(t, b, e->mark_at) == SENTENCE_WORDS_NONE);
}

/* Whether it ends a sentence although no white space follows, as in Chinese. */
static bool ends_unspaced(const struct scan *t, const struct end *e)
{
    size_t len;
    const uint32_t next = code_at(t, e->after, &len);
    const bool is_hiragana = next >= 0x3040 && next <= 0x309F;

    if (e->has_closer && is_hiragana) /* 「...？」と聞いた */
        return false;
    if (e->mark == WIDE)
        return !sentence_marks_among(next, U",、，；：・") &&
               !(unicode_is_digit(next) && code_at(t, e->mark_at, &len) == U'．');
    return e->mark != DOTS && e->mark_at > t->from && unicode_is_letter(next) &&
           unicode_is_of(next, UNICODE_JAPANESE) &&
           unicode_is_of(code_before(t, e->mark_at, &len), UNICODE_JAPANESE);
}

/* Whether the sentence ends at *e, which may grow by what closes after white space. */
static bool ends(struct scan *t, struct end *e)
{
    bool is_sure;
    size_t len;

    take_apart(t, e);
    if (e->after == t->n)
        return true;
    size_t next = skip_space(t, e->after);
    if (next == e->after)
        return ends_unspaced(t, e);
    const size_t opener = next;
    next = skip_openers(t, next, &is_sure);
    if (next == t->n || is_sure || e->mark == WIDE)
        return next < t->n || is_sure;
    const uint32_t code = code_at(t, next, &len);
    if (unicode_is_lower(code) && (!t->is_small || e->has_closer || e->mark == DOTS))
        return is_label(t, next) || (e->mark == STOP && opens_small(t, e, opener, next));
    if (!unicode_is_letter(code) && (e->mark == DOTS || !unicode_is_digit(code)))
        return false;
    if (e->mark == STOP)
        return stop_ends(t, e->mark_at, next);
    return !(e->mark == LOUD && e->has_closer && tells_speaker(t, next));
}

static status push(struct sentences *out, size_t at, size_t end, struct err *err)
{
    if (at == end)
        return OK;
    TRY(mem_grow((void *)&out->span, &out->cap, out->n + 1, sizeof *out->span, err));
    out->span[out->n++] = (struct sentences_span){at, end - at};
    return OK;
}

void sentences_release(struct sentences *s)
{
    free(s->span);
    *s = (struct sentences){0};
}

status sentences_split(struct sentences *out, const char *line, size_t n_bytes,
                       const char *lang, struct err *err)
{
    struct scan t = {.s = line,
                     .n = n_bytes,
                     .words = sentence_words_of(lang),
                     .is_greek = strncmp(lang, "el", 2) == 0};
    size_t last = 0, len; /* behind the last character that is no white space */

    out->n = 0;
    begin(&t, 0);
    t.is_small = has_only_small(&t);
    for (size_t at = t.from; at < n_bytes;) {
        const uint32_t code = code_at(&t, at, &len);
        if (mark_of(&t, code, at)) {
            struct end e = read_end(&t, at);
            if (ends(&t, &e)) {
                TRY(push(out, t.from, e.after, err));
                begin(&t, e.after);
            }
            last = e.after;
            at = t.from > e.after ? t.from : e.after;
            continue;
        }
        t.in_quotes ^= code == '"';
        at += len;
        if (!utf8_is_space(code))
            last = at;
    }
    return t.from < n_bytes ? push(out, t.from, last, err) : OK;
}
