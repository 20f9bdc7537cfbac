#include "text/sentences.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
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
    size_t n = 1;

    while (n < 4 && at - n > t->from && ((unsigned char)t->s[at - n] & 0xC0) == 0x80)
        n++;
    const uint32_t code = utf8_decode(t->s + at - n, n, len);
    if (*len == n)
        return code;
    *len = 1;
    return UTF8_BAD;
}

static bool is_among(uint32_t code, const uint32_t *list)
{
    while (*list && *list != code)
        list++;
    return *list != 0;
}

static enum mark mark_of(const struct scan *t, uint32_t code, size_t at)
{
    static const uint32_t loud[] = {'!', '?', 0x203D, 0x37E, 0x61F, 0x589, 0};
    static const uint32_t wide[] = {0x3002, 0xFF01, 0xFF1F, 0xFF61, 0xFF0E, 0x203C,
                                    0x2047, 0x2048, 0x2049, 0x964,  0x965,  0x6D4,
                                    0x1362, 0x1367, 0x17D4, 0x104B, 0};
    size_t len;

    if (code == '.')
        return STOP;
    if (code == 0x2026)
        return DOTS;
    if (is_among(code, loud))
        return LOUD;
    if (code == ';') /* the question mark of Greek */
        return t->is_greek || (at > t->from &&
                               unicode_is_of(code_before(t, at, &len), UNICODE_GREEK))
                   ? LOUD
                   : NO_MARK;
    return code >= 0x80 && is_among(code, wide) ? WIDE : NO_MARK;
}

static bool is_emoji(uint32_t code)
{
    return (code >= 0x1F000 && code <= 0x1FAFF) || (code >= 0x2600 && code <= 0x27BF) ||
           code == 0xFE0F || code == 0x200D;
}

/* What closes behind a mark, or, where white space is before it, opens a sentence. */
static bool is_quote(uint32_t code)
{
    static const uint32_t quotes[] = {'"',    '\'',   '*',    '_',    0xAB,   0xBB,
                                      0x2018, 0x2019, 0x201C, 0x201D, 0x201F, 0x2039,
                                      0x203A, 0xFF02, 0xFF07, 0};

    return is_among(code, quotes);
}

/* Brackets and quotes of one direction. */
static bool is_closer(uint32_t code)
{
    static const uint32_t closers[] = {
        ')',    ']',    '}',    0x300D, 0x300F, 0x3011, 0x3015, 0x3009, 0x300B, 0x301E,
        0x301F, 0xFF09, 0xFF3D, 0xFF5D, 0xFF63, 0xB9,   0xB2,   0xB3,   0};

    return is_among(code, closers) || is_emoji(code);
}

/* What may stand before the first letter of a sentence, besides quotes. */
static bool is_opener(uint32_t code)
{
    static const uint32_t openers[] = {
        '(',    '[',    '{',    '$',    '#',    '@',    '-',    '+',    0xA1,   0xA3,
        0xA7,   0xBF,   0x2012, 0x2013, 0x2014, 0x2015, 0x201A, 0x201E, 0x2022, 0x20AC,
        0x300C, 0x300E, 0x3010, 0x3014, 0x3008, 0x300A, 0x301D, 0xFF08, 0xFF3B, 0};

    return is_among(code, openers);
}

static size_t skip_space(const struct scan *t, size_t at)
{
    size_t len;

    while (at < t->n && utf8_is_space(code_at(t, at, &len)))
        at += len;
    return at;
}

/* A note's number behind a mark: the end of [12], otherwise `at`. */
static size_t skip_note(const struct scan *t, size_t at)
{
    size_t end = at + 1;

    while (end < t->n && end < at + 5 && t->s[end] >= '0' && t->s[end] <= '9')
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
        } else if (is_quote(code) || is_closer(code)) {
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
    static const uint32_t closing[] = {0xBB, 0x203A, 0x201D, 0x2019, 0};
    size_t len;

    for (;;) {
        size_t at = skip_space(t, e->after);
        if (at == t->n || at == e->after)
            return;
        const uint32_t code = code_at(t, at, &len);
        if (!is_closer(code) && !is_among(code, closing) &&
            !(code == '"' && t->in_quotes))
            return;
        for (at += len; at < t->n && is_emoji(code_at(t, at, &len));)
            at += len;
        if (at < t->n && !utf8_is_space(code_at(t, at, &len)))
            return;
        t->in_quotes ^= code == '"';
        e->has_closer |= !is_emoji(code);
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
        if (!is_quote(code) && !is_opener(code) && !utf8_is_space(code))
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

/* Its kind as an abbreviation; the last pieces alone may be one too. */
static enum sentence_words_kind kind_of(const struct scan *t, struct before b, size_t end)
{
    char key[WORD_MAX + 4], small[8];
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
        enum sentence_words_kind kind =
            sentence_words_abbreviation(t->words, (struct line){key + at, n - at});
        const uint32_t first = utf8_decode(key + at, n - at, &len);
        if (!kind && utf8_encode(small, unicode_lower(first)) == len) {
            memcpy(key + at, small, len);
            kind = sentence_words_abbreviation(t->words, (struct line){key + at, n - at});
        }
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

/* Whether a full stop behind a number ends a sentence. */
static bool number_ends(const struct scan *t, size_t end, size_t next)
{
    char room[WORD_MAX];
    size_t at = end, n, len;

    while (at > t->from && end - at < 4 && t->s[at - 1] >= '0' && t->s[at - 1] <= '9')
        at--;
    if (end - at > 3)
        return true;
    if (at <= t->first)
        return false;
    if (sentence_words_after_ordinal(t->words, word_at(t, next, room)))
        return false;
    if (at <= t->from || !utf8_is_space(code_before(t, at, &len)))
        return true;
    const size_t word = letters_before(t, at - len, &n);
    return !sentence_words_before_ordinal(t->words, word_at(t, word, room)) ||
           starts(t, next);
}

/* Whether what is before a full stop ends in one letter that stands alone, unlike those
 * of "Tom's." and "3 °C.". */
static bool looks_initial(const struct scan *t, struct before b, size_t end)
{
    static const uint32_t before[] = {'"', '-', '.', '&', '/', 0};
    size_t len;
    const uint32_t last = code_before(t, end, &len);

    if (b.n_last != 1 || (!unicode_is_lower(last) && unicode_lower(last) == last))
        return false;
    if (b.at == t->from)
        return true;
    const uint32_t code = code_before(t, b.at, &len);
    return utf8_is_space(code) || is_opener(code) || is_among(code, before);
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

    const bool is_digit = unicode_is_digit(code_at(t, next, &len));
    const bool is_initial = looks_initial(t, b, end);
    const bool is_number = is_roman(t, b.at, end);
    const enum sentence_words_kind kind = kind_of(t, b, end);
    if (kind == SENTENCE_WORDS_NEVER || (kind == SENTENCE_WORDS_NUMBER && is_digit))
        return false;
    if (kind == SENTENCE_WORDS_LETTER && follows_small(t, b.at))
        return true;
    if ((is_initial || is_number) && b.n_pieces == 1 && b.at <= t->first)
        return false; /* the number of an item of a list */
    const bool may_end = kind == SENTENCE_WORDS_MAYBE || is_initial ||
                         (is_number && sentence_words_has_ordinals(t->words));
    return !may_end || starts(t, next);
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

/* Whether it ends a sentence although no white space follows, as in Chinese. */
static bool ends_unspaced(const struct scan *t, const struct end *e)
{
    static const uint32_t clause[] = {',', 0x3001, 0xFF0C, 0xFF1B, 0xFF1A, 0x30FB, 0};
    size_t len;
    const uint32_t next = code_at(t, e->after, &len);
    const bool is_hiragana = next >= 0x3040 && next <= 0x309F;

    if (e->has_closer && is_hiragana) /* 「...？」と聞いた */
        return false;
    if (e->mark == WIDE)
        return !is_among(next, clause) && !unicode_is_digit(next);
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
    next = skip_openers(t, next, &is_sure);
    if (next == t->n)
        return is_sure;
    const uint32_t code = code_at(t, next, &len);
    if (is_sure || e->mark == WIDE)
        return true;
    if (unicode_is_lower(code) || !(unicode_is_letter(code) || unicode_is_digit(code)))
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

/* How well a text may be cut behind a character, the best first. */
enum cut { CUT_CLAUSE, CUT_COMMA, CUT_SPACE, CUT_LETTER, CUT_JOINED };

/* Where white space follows, or where the script has none. */
static enum cut cut_behind(uint32_t code)
{
    static const uint32_t clauses[] = {';',    ':',    '!',    '?',    0x2013, 0x2014,
                                       0x2026, 0x37E,  0x387,  0xB7,   0x61B,  0x3002,
                                       0xFF01, 0xFF1A, 0xFF1B, 0xFF1F, 0};
    static const uint32_t commas[] = {',',    ')',    ']',    0x60C, 0x1363,
                                      0x3001, 0xFF0C, 0xFF64, 0};

    return is_among(code, clauses)  ? CUT_CLAUSE
           : is_among(code, commas) ? CUT_COMMA
                                    : CUT_SPACE;
}

/* Joined to the character before it. */
static bool is_joined(uint32_t code)
{
    return (code >= 0x300 && code <= 0x36F) || is_emoji(code) || is_quote(code) ||
           is_closer(code);
}

size_t sentences_clause(const char *text, size_t n_bytes, size_t at_most)
{
    static const size_t eighths[] = {0, 1, 6, 16, 32}; /* of a part, that a cut costs */
    const size_t n_parts = (n_bytes - !!n_bytes) / (at_most + !at_most) + 1;
    const size_t ideal = n_bytes / n_parts;
    size_t best = 0, least = SIZE_MAX, len = 0, next_len;
    enum cut cut = CUT_SPACE;

    if (n_bytes <= at_most)
        return n_bytes;
    for (size_t at = 0; at < n_bytes; at += len) {
        const uint32_t code = utf8_decode(text + at, n_bytes - at, &len);
        const size_t end = at + len;
        if (best && end > at_most)
            break;
        if (!is_quote(code))
            cut = cut_behind(code);
        if (utf8_is_space(code) || end == n_bytes)
            continue;
        const uint32_t next = utf8_decode(text + end, n_bytes - end, &next_len);
        const bool is_wide = code >= 0x3000 && cut < CUT_SPACE;
        const enum cut here = utf8_is_space(next) ? cut
                              : is_joined(next)   ? CUT_JOINED
                              : is_wide           ? cut
                                                  : CUT_LETTER;
        const size_t away = end > ideal ? end - ideal : ideal - end;
        const size_t cost = away + eighths[here] * ideal / 8;
        if (cost < least) {
            best = end;
            least = cost;
        }
    }
    return best ? best : n_bytes;
}
