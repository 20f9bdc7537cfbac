#include "text/subword/encoder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "text/subword/bpe_heap.h"
#include "text/subword/normalizer.h"
#include "text/subword/spm_parts.h"

enum { MAX_KEY = 255, MAX_IDS = 255, LEAST_CACHE = 1 << 16 };
static const size_t default_cache = (size_t)32 << 20;
static const size_t most_cache = (size_t)6 << 30; /* places in its store have 32 bits */

/* --- a word into the pieces of a BPE model --- */

/* A run of bytes that will be one piece; n_bytes 0: merged into the one before. */
struct symbol {
    size_t at, n_bytes, prev, next; /* SIZE_MAX: none */
    uint32_t id;
};

/* Neighbours that spell a piece, as they stood when they became neighbours. */
struct pair {
    uint32_t id;
    size_t left, right, n_bytes;
};

/* A growing row of ids of 16 bits. */
struct narrow_ids {
    uint16_t *id;
    size_t n, cap;
};

/*
 * The word starts as characters; of all neighbours that together spell a piece, those
 * with the highest score merge first, the leftmost of equal ones, until none are left.
 * What then is no piece is unknown. This is what SentencePiece does with a line; a word
 * may be cut alone when no piece has a space mark but in front.
 */
struct cut {
    const struct spm_parts *parts;
    uint32_t unknown;
    size_t longest; /* bytes of the longest piece */
    struct table pieces;
    struct str word;
    struct symbol *symbol;
    size_t n_symbols, cap_symbols;
    struct pair *pair;
    size_t n_pairs, cap_pairs;
    struct bpe_heap heap; /* of pairs, by their scores */
};

static const char space_mark[] = "\xE2\x96\x81";

/* How long a character is by its first byte, as SentencePiece reads normalised text. */
static size_t char_bytes(const char *s, size_t n)
{
    static const unsigned char length[] = {1, 1, 1, 1, 1, 1, 1, 1,
                                           1, 1, 1, 1, 2, 2, 3, 4};
    const size_t want = length[(unsigned char)s[0] >> 4];

    return want < n ? want : n;
}

static uint32_t find_piece(const struct cut *c, const char *s, size_t n)
{
    struct table_search search = table_search(&c->pieces, table_hash(s, n));

    for (uint32_t id; (id = table_next(&search)) != TABLE_NONE;) {
        const struct line have = c->parts->piece[id].text;
        if (have.n_bytes == n && memcmp(have.text, s, n) == 0)
            return id;
    }
    return TABLE_NONE;
}

/* A word of its own: the mark of a space stands in front or nowhere. */
static bool is_word_piece(struct line text)
{
    return text.n_bytes &&
           !(text.n_bytes > 1 && memmem(text.text + 1, text.n_bytes - 1, space_mark, 3));
}

/* True when words of this model may be cut here, with SentencePiece's own result. */
static bool can_cut(const struct spm_parts *parts)
{
    size_t n_unknown = 0;

    if (parts->model != SPM_PARTS_BPE || parts->has_byte_fallback ||
        parts->is_space_last || !parts->has_dummy_prefix || !parts->squeezes_spaces ||
        !parts->escapes_spaces)
        return false;
    for (size_t i = 0; i < parts->n_pieces; i++) {
        const struct spm_parts_piece *p = &parts->piece[i];
        if (p->kind > SPM_PARTS_CONTROL || isnan(p->score) || !is_word_piece(p->text))
            return false;
        if (p->kind != SPM_PARTS_NORMAL && /* the name of a special may not be text */
            char_bytes(p->text.text, p->text.n_bytes) == p->text.n_bytes)
            return false;
        n_unknown += p->kind == SPM_PARTS_UNKNOWN;
    }
    return n_unknown == 1 && parts->n_pieces <= UINT16_MAX + 1;
}

/* Of pairs with equal scores the leftmost comes first. */
static bool is_after(const void *ctx, uint32_t a, uint32_t b)
{
    const struct cut *c = ctx;

    return c->pair[a].left > c->pair[b].left;
}

static status cut_init(struct cut *c, const struct spm_parts *parts, struct err *err)
{
    *c = (struct cut){.parts = parts, .word = str_new(SIZE_MAX)};
    c->heap.is_after = is_after;
    c->heap.ctx = c;
    /* most lookups miss, and a miss is short in a sparse table */
    TRY(table_reserve(&c->pieces, 2 * parts->n_pieces, err));
    for (uint32_t i = 0; i < parts->n_pieces; i++) {
        const struct spm_parts_piece *p = &parts->piece[i];
        if (p->kind == SPM_PARTS_UNKNOWN)
            c->unknown = i;
        if (p->kind != SPM_PARTS_NORMAL)
            continue;
        TRY(table_add(&c->pieces, table_hash(p->text.text, p->text.n_bytes), i, err));
        if (p->text.n_bytes > c->longest)
            c->longest = p->text.n_bytes;
    }
    return OK;
}

static void cut_release(struct cut *c)
{
    table_release(&c->pieces);
    free(c->symbol);
    free(c->pair);
    bpe_heap_release(&c->heap);
    str_release(&c->word);
    *c = (struct cut){0};
}

/* A whole number in the order of finite scores. */
static uint64_t rank_of(float score)
{
    uint32_t bits;

    score += 0.0f; /* -0 is 0 */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

/* If the two neighbours spell a piece, they wait for their turn. */
static status add_pair(struct cut *c, size_t left, size_t right, struct err *err)
{
    if (left == SIZE_MAX || right == SIZE_MAX)
        return OK;
    const struct symbol *a = &c->symbol[left];
    const size_t n = a->n_bytes + c->symbol[right].n_bytes;
    const uint32_t id =
        n > c->longest ? TABLE_NONE : find_piece(c, c->word.data + a->at, n);
    if (id == TABLE_NONE)
        return OK;
    TRY(mem_grow(&c->pair, &c->cap_pairs, c->n_pairs + 1, sizeof *c->pair, err));
    c->pair[c->n_pairs] = (struct pair){id, left, right, n};
    return bpe_heap_push(&c->heap,
                         (struct bpe_heap_entry){rank_of(c->parts->piece[id].score),
                                                 (uint32_t)c->n_pairs++},
                         err);
}

static status split(struct cut *c, struct line word, struct err *err)
{
    str_reset(&c->word);
    str_puts(&c->word, space_mark);
    str_add(&c->word, word.text, word.n_bytes);
    TRY(str_check(&c->word, "a word", err));
    c->n_symbols = 0;
    for (size_t at = 0; at < c->word.len;) {
        const size_t n = char_bytes(c->word.data + at, c->word.len - at),
                     i = c->n_symbols;
        TRY(mem_grow(&c->symbol, &c->cap_symbols, i + 1, sizeof *c->symbol, err));
        c->symbol[c->n_symbols++] = (struct symbol){at, n, i ? i - 1 : SIZE_MAX, i + 1,
                                                    find_piece(c, c->word.data + at, n)};
        at += n;
    }
    c->symbol[c->n_symbols - 1].next = SIZE_MAX;
    return OK;
}

static status merge(struct cut *c, const struct pair *m, struct err *err)
{
    struct symbol *a = &c->symbol[m->left], *b = &c->symbol[m->right];

    if (!a->n_bytes || !b->n_bytes || a->n_bytes + b->n_bytes != m->n_bytes)
        return OK; /* one of them has merged with another since */
    a->n_bytes = m->n_bytes;
    a->id = m->id;
    a->next = b->next;
    b->n_bytes = 0;
    if (a->next != SIZE_MAX)
        c->symbol[a->next].prev = m->left;
    TRY(add_pair(c, a->prev, m->left, err));
    return add_pair(c, m->left, a->next, err);
}

/*
 * Append the ids of a space mark followed by `word`, which has none. Unknowns side by
 * side are one.
 */
static status cut_word(struct cut *c, struct line word, struct narrow_ids *ids,
                       struct err *err)
{
    TRY(split(c, word, err));
    c->n_pairs = c->heap.n = 0;
    for (size_t i = 1; i < c->n_symbols; i++)
        TRY(add_pair(c, i - 1, i, err));
    while (c->heap.n) {
        const struct pair p = c->pair[bpe_heap_pop(&c->heap).pair];
        TRY(merge(c, &p, err));
    }
    TRY(mem_grow(&ids->id, &ids->cap, ids->n + c->n_symbols, sizeof *ids->id, err));
    for (size_t i = 0; i != SIZE_MAX; i = c->symbol[i].next) {
        const uint32_t id = c->symbol[i].id == TABLE_NONE ? c->unknown : c->symbol[i].id;
        if (id == c->unknown && ids->n && ids->id[ids->n - 1] == id)
            continue;
        ids->id[ids->n++] = (uint16_t)id;
    }
    return OK;
}

/* --- the memory of words --- */

/* A word as it stands in a text and its ids: length, number, ids, bytes. */
struct cache {
    struct table table; /* places in the store */
    size_t max_words;
    unsigned char *store;
    size_t n_store, cap_store;
};

struct encoder {
    const struct spm *spm;
    bool is_own;
    struct spm_parts parts;
    struct normalizer normalizer;
    struct cut cut;
    struct cache cache;
    struct str line;
    struct narrow_ids ids;
};

static status cache_init(struct cache *c, size_t n_bytes, struct err *err)
{
    if (n_bytes < LEAST_CACHE)
        n_bytes = LEAST_CACHE;
    if (n_bytes > most_cache)
        n_bytes = most_cache;
    c->max_words = n_bytes / 48; /* whose slots take a quarter, or up to a half */
    TRY(table_reserve(&c->table, c->max_words, err));
    c->cap_store = n_bytes - c->table.n_slots * sizeof *c->table.slot;
    if (c->cap_store > UINT32_MAX)
        c->cap_store = UINT32_MAX;
    return mem_alloc(&c->store, c->cap_store, 1, err);
}

/* The ids of a word in *ids, *n of them; false when it is not remembered. */
static bool cache_find(const struct cache *c, uint64_t hash, struct line word,
                       const unsigned char **ids, size_t *n)
{
    struct table_search search = table_search(&c->table, hash);

    for (uint32_t at; (at = table_next(&search)) != TABLE_NONE;) {
        const unsigned char *e = c->store + at;
        if (e[0] == word.n_bytes &&
            memcmp(e + 2 + 2 * (size_t)e[1], word.text, word.n_bytes) == 0) {
            *ids = e + 2;
            *n = e[1];
            return true;
        }
    }
    return false;
}

static status cache_put(struct cache *c, uint64_t hash, struct line word,
                        const uint16_t *ids, size_t n, struct err *err)
{
    const size_t n_entry = 2 + 2 * n + word.n_bytes;

    if (word.n_bytes > MAX_KEY || n > MAX_IDS)
        return OK;
    if (c->n_store + n_entry > c->cap_store || c->table.n == c->max_words) {
        table_reset(&c->table);
        c->n_store = 0;
    }
    unsigned char *e = c->store + c->n_store;
    e[0] = (unsigned char)word.n_bytes;
    e[1] = (unsigned char)n;
    if (n) /* a word of control characters alone has none, and may be the first */
        memcpy(e + 2, ids, 2 * n);
    memcpy(e + 2 + 2 * n, word.text, word.n_bytes);
    c->n_store += n_entry;
    return table_add(&c->table, hash, (uint32_t)(c->n_store - n_entry), err);
}

/* --- lines --- */

/* Where the word that starts at s ends: at a blank or at the end. */
static const char *word_end(const char *s, const char *end)
{
    const char *blank = memchr(s, ' ', (size_t)(end - s));

    return blank ? blank : end;
}

/* Append ids of 16 bits; an unknown that follows an unknown of this line is dropped. */
static status append(const struct encoder *e, struct spm_ids *out, size_t first,
                     const void *ids, size_t n, struct err *err)
{
    const unsigned char *from = ids;
    uint16_t id;

    if (out->n + n > out->cap)
        TRY(mem_grow(&out->id, &out->cap, out->n + n, sizeof *out->id, err));
    for (size_t i = 0; i < n; i++) {
        memcpy(&id, from + 2 * i, sizeof id);
        if (id == e->cut.unknown && out->n > first && out->id[out->n - 1] == id)
            continue;
        out->id[out->n++] = id;
    }
    return OK;
}

/* The ids of normalised words, each after a blank, in e->ids. */
static status cut_words(struct encoder *e, struct err *err)
{
    const char *s = str_text(&e->line), *end = s + e->line.len;

    TRY(str_check(&e->line, "a line of text", err));
    e->ids.n = 0;
    while (s < end) {
        const char *word = s + 1;
        s = word_end(word, end);
        TRY(cut_word(&e->cut, (struct line){word, (size_t)(s - word)}, &e->ids, err));
    }
    return OK;
}

/* A line in which words cannot be told apart before they are normalised. */
static status encode_whole(struct encoder *e, struct line text, struct spm_ids *out,
                           struct err *err)
{
    str_reset(&e->line);
    normalizer_line(&e->normalizer, text, &e->line);
    TRY(cut_words(e, err));
    return append(e, out, out->n, e->ids.id, e->ids.n, err);
}

/* A word that is not remembered; *is_word false when it is none by itself. */
static status learn_word(struct encoder *e, uint64_t hash, struct line word,
                         bool *is_word, struct err *err)
{
    str_reset(&e->line);
    *is_word = normalizer_token(&e->normalizer, word, &e->line);
    if (!*is_word)
        return OK;
    TRY(cut_words(e, err));
    return cache_put(&e->cache, hash, word, e->ids.id, e->ids.n, err);
}

static status encode_own(struct encoder *e, struct line text, struct spm_ids *out,
                         struct err *err)
{
    const char *s = text.text, *end = s + text.n_bytes;
    const size_t first = out->n;

    while (s < end) {
        if (*s == ' ') {
            s++;
            continue;
        }
        const char *stop = word_end(s, end);
        const struct line word = {s, (size_t)(stop - s)};
        const uint64_t hash = table_hash(word.text, word.n_bytes);
        const unsigned char *ids;
        size_t n;
        if (cache_find(&e->cache, hash, word, &ids, &n)) {
            TRY(append(e, out, first, ids, n, err));
        } else {
            bool is_word;
            TRY(learn_word(e, hash, word, &is_word, err));
            if (!is_word) {
                out->n = first;
                return encode_whole(e, text, out, err);
            }
            TRY(append(e, out, first, e->ids.id, e->ids.n, err));
        }
        s = stop;
    }
    return OK;
}

/* --- life --- */

static status open_own(struct encoder *e, size_t cache_bytes, struct err *err)
{
    const struct line bytes = spm_bytes(e->spm);

    if (spm_known(e->spm) < spm_size(e->spm))
        return OK;
    TRY(spm_parts_read(&e->parts, bytes.text, bytes.n_bytes, err));
    if (!can_cut(&e->parts))
        return OK;
    TRY(normalizer_init(&e->normalizer, e->parts.charsmap, err));
    if (!e->normalizer.is_plain)
        return OK;
    TRY(cut_init(&e->cut, &e->parts, err));
    TRY(cache_init(&e->cache, cache_bytes ? cache_bytes : default_cache, err));
    e->is_own = true;
    return OK;
}

status encoder_new(struct encoder **e, const struct spm *spm, size_t cache_bytes,
                   struct err *err)
{
    TRY(mem_alloc(e, 1, sizeof **e, err));
    (*e)->spm = spm;
    (*e)->line = str_new(SIZE_MAX);
    if (open_own(*e, cache_bytes, err) == OK)
        return OK;
    encoder_free(*e);
    *e = NULL;
    return err->code;
}

void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    cut_release(&e->cut);
    spm_parts_release(&e->parts);
    str_release(&e->line);
    free(e->ids.id);
    table_release(&e->cache.table);
    free(e->cache.store);
    free(e);
}

bool encoder_is_own(const struct encoder *e)
{
    return e->is_own;
}

status encoder_encode(struct encoder *e, struct line text, struct spm_ids *ids,
                      struct err *err)
{
    return e->is_own ? encode_own(e, text, ids, err) : spm_encode(e->spm, text, ids, err);
}
