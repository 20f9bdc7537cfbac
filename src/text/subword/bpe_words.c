#include "text/subword/bpe_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

enum { N_CODES = 0x110000 };

/* SentencePiece's sign for a character that gets no piece. */
static const char unknown_sign[] = "\xE2\x96\x85";

struct entry {
    const char *text;
    uint64_t n_bytes, count;
    uint64_t start; /* the first bytes, the first one highest */
};

struct work {
    uint64_t *n_of;   /* occurrences of each code point */
    uint32_t *symbol; /* 1 + symbol of each code point, 0: none */
    struct entry *entry;
    size_t n_entries;
    struct str text; /* words with characters that get no piece, rewritten */
    uint64_t n_all;  /* occurrences of all characters but NUL */
};

/* The character at *s, which moves on; the words are UTF-8. */
static uint32_t next_code(const char **s, const char *end)
{
    size_t n;
    const uint32_t code = utf8_decode(*s, (size_t)(end - *s), &n);

    *s += n;
    return code == UTF8_BAD ? 0xFFFD : code;
}

static uint64_t start_of(const char *text, size_t n)
{
    uint64_t start = 0;

    for (size_t i = 0; i < 8; i++)
        start = start << 8 | (i < n ? (unsigned char)text[i] : 0);
    return start;
}

static void count_characters(struct work *w, const struct word_counts *words)
{
    for (size_t i = 0; i < word_counts_size(words); i++) {
        const struct word_counts_word word = word_counts_at(words, i);
        const char *s = word.text.text, *end = s + word.text.n_bytes;
        w->n_of[BPE_WORDS_SPACE] += word.count;
        w->n_all += word.count;
        while (s < end) {
            const uint32_t code = next_code(&s, end);
            if (code == 0)
                continue;
            w->n_of[code] += word.count;
            w->n_all += word.count;
        }
    }
}

struct char_count {
    uint64_t count;
    uint32_t code;
};

static int by_count(const void *x, const void *y)
{
    const struct char_count *a = x, *b = y;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->code < b->code ? -1 : a->code > b->code;
}

/*
 * Characters in falling order of their counts get pieces until their share of the text
 * is 1 in single precision, as SentencePiece computes it: of a large text, the last few
 * go without. So does the tab, which stands for names of specials.
 */
static status choose_characters(struct bpe_words *b, struct work *w, struct err *err)
{
    RELEASED_BY(mem_release) struct char_count *chars = NULL;
    size_t n = 0;
    uint64_t covered = 0;

    for (size_t c = 0; c < N_CODES; c++)
        n += w->n_of[c] > 0;
    TRY(mem_alloc(&b->code, n, sizeof *b->code, err));
    TRY(mem_alloc(&chars, n, sizeof *chars, err));
    n = 0;
    for (uint32_t c = 0; c < N_CODES; c++)
        if (w->n_of[c])
            chars[n++] = (struct char_count){w->n_of[c], c};
    qsort(chars, n, sizeof *chars, by_count);
    for (size_t i = 0; i < n; i++) {
        if ((float)((double)covered / (double)w->n_all) >= 1.0f)
            break;
        covered += chars[i].count;
        if (chars[i].code == '\t')
            continue;
        b->code[b->n_chars++] = chars[i].code;
        w->symbol[chars[i].code] = (uint32_t)b->n_chars;
    }
    return OK;
}

static bool is_covered(const struct work *w, struct line text)
{
    const char *s = text.text, *end = s + text.n_bytes;

    while (s < end)
        if (!w->symbol[next_code(&s, end)])
            return false;
    return true;
}

/* Append the word with a sign in place of each character that gets no piece. */
static void rewrite(struct work *w, struct line text)
{
    const char *s = text.text, *end = s + text.n_bytes;

    while (s < end) {
        const char *from = s;
        if (w->symbol[next_code(&s, end)])
            str_add(&w->text, from, (size_t)(s - from));
        else
            str_puts(&w->text, unknown_sign);
    }
}

static int by_text(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    const size_t n = a->n_bytes < b->n_bytes ? a->n_bytes : b->n_bytes;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    const int d = memcmp(a->text, b->text, n);
    return d ? d : a->n_bytes < b->n_bytes ? -1 : a->n_bytes > b->n_bytes;
}

static int by_count_and_text(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return by_text(x, y);
}

/* Of entries [from, n), whose `start` is a place in the text: equal ones become one. */
static void join_equal(struct work *w, size_t from)
{
    size_t to = from;

    for (size_t i = from; i < w->n_entries; i++) {
        struct entry *e = &w->entry[i];
        e->text = str_text(&w->text) + e->start;
        e->start = start_of(e->text, e->n_bytes);
    }
    qsort(w->entry + from, w->n_entries - from, sizeof *w->entry, by_text);
    for (size_t i = from; i < w->n_entries; i++) {
        if (to > from && by_text(&w->entry[to - 1], &w->entry[i]) == 0)
            w->entry[to - 1].count += w->entry[i].count;
        else
            w->entry[to++] = w->entry[i];
    }
    w->n_entries = to;
}

static status list_words(struct work *w, const struct word_counts *words, struct err *err)
{
    const size_t n = word_counts_size(words);
    size_t n_covered = 0, n_other = 0;

    TRY(mem_alloc(&w->entry, n, sizeof *w->entry, err));
    for (size_t i = 0; i < n; i++) {
        const struct word_counts_word word = word_counts_at(words, i);
        const struct line t = word.text;
        if (is_covered(w, t)) {
            w->entry[n_covered++] = (struct entry){t.text, t.n_bytes, word.count,
                                                   start_of(t.text, t.n_bytes)};
            continue;
        }
        struct entry *e = &w->entry[n - ++n_other]; /* from the other end */
        const size_t at = w->text.len;
        rewrite(w, t);
        *e = (struct entry){NULL, w->text.len - at, word.count, at};
    }
    TRY(str_check(&w->text, "the list of words", err));
    w->n_entries = n;
    if (n_other)
        join_equal(w, n_covered);
    qsort(w->entry, w->n_entries, sizeof *w->entry, by_count_and_text);
    return OK;
}

static uint32_t symbol_of(const struct bpe_words *b, const struct work *w, uint32_t code)
{
    return w->symbol[code] ? w->symbol[code] - 1 : (uint32_t)b->n_chars;
}

static size_t count_codes(const char *s, size_t n_bytes)
{
    const char *end = s + n_bytes;
    size_t n = 0;

    for (; s < end; n++)
        next_code(&s, end);
    return n;
}

static status fill_cells(struct bpe_words *b, const struct work *w, struct err *err)
{
    uint64_t n_cells = 1;

    for (size_t i = 0; i < w->n_entries; i++)
        n_cells += 2 + count_codes(w->entry[i].text, w->entry[i].n_bytes);
    if (n_cells > UINT32_MAX || w->n_entries > BPE_WORDS_MASK)
        return err_set(err, ERR_MEMORY,
                       "%zu different words are too many to learn subwords from; learn "
                       "from a part of the text",
                       w->n_entries);
    TRY(mem_alloc(&b->cell, (size_t)n_cells, sizeof *b->cell, err));
    TRY(mem_alloc(&b->count, w->n_entries, sizeof *b->count, err));
    for (size_t i = 0; i < w->n_entries; i++) {
        const char *s = w->entry[i].text, *end = s + w->entry[i].n_bytes;
        b->count[i] = w->entry[i].count;
        b->cell[b->n_cells++] = BPE_WORDS_HEAD | (uint32_t)i;
        b->cell[b->n_cells++] = symbol_of(b, w, BPE_WORDS_SPACE);
        while (s < end)
            b->cell[b->n_cells++] = symbol_of(b, w, next_code(&s, end));
    }
    b->n_words = w->n_entries;
    b->cell[b->n_cells++] = BPE_WORDS_HEAD | BPE_WORDS_MASK;
    return OK;
}

static void release(struct work *w)
{
    free(w->n_of);
    free(w->symbol);
    free(w->entry);
    str_release(&w->text);
}

status bpe_words_make(struct bpe_words *b, const struct word_counts *words,
                      struct err *err)
{
    RELEASED_BY(release) struct work w = {.text = str_new(SIZE_MAX)};

    TRY(mem_alloc(&w.n_of, N_CODES, sizeof *w.n_of, err));
    TRY(mem_alloc(&w.symbol, N_CODES, sizeof *w.symbol, err));
    count_characters(&w, words);
    TRY(choose_characters(b, &w, err));
    TRY(list_words(&w, words, err));
    return fill_cells(b, &w, err);
}

void bpe_words_release(struct bpe_words *b)
{
    free(b->cell);
    free(b->count);
    free(b->code);
    *b = (struct bpe_words){0};
}
