#include "text/subword/bpe_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* A run of bytes that will be one piece; n_bytes 0: merged into the one before. */
struct bpe_symbol {
    size_t at, n_bytes, prev, next; /* SIZE_MAX: none */
    uint32_t id;
};

/* Neighbours that spell a piece, as they stood when they became neighbours. */
struct bpe_pair {
    uint32_t id;
    size_t left, right, n_bytes;
};

static const char space_mark[] = "\xE2\x96\x81";

void bpe_cut_ids_release(struct bpe_ids *ids)
{
    free(ids->id);
    *ids = (struct bpe_ids){0};
}

/* How long a character is by its first byte, as SentencePiece reads normalised text. */
static size_t char_bytes(const char *s, size_t n)
{
    static const unsigned char length[] = {1, 1, 1, 1, 1, 1, 1, 1,
                                           1, 1, 1, 1, 2, 2, 3, 4};
    const size_t want = length[(unsigned char)s[0] >> 4];

    return want < n ? want : n;
}

static uint32_t find_piece(const struct bpe_cut *c, const char *s, size_t n)
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

bool bpe_cut_can(const struct spm_parts *parts)
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
    const struct bpe_cut *c = ctx;

    return c->pair[a].left > c->pair[b].left;
}

status bpe_cut_init(struct bpe_cut *c, const struct spm_parts *parts, struct err *err)
{
    *c = (struct bpe_cut){.parts = parts, .word = str_new(SIZE_MAX)};
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

void bpe_cut_release(struct bpe_cut *c)
{
    table_release(&c->pieces);
    free(c->symbol);
    free(c->pair);
    bpe_heap_release(&c->heap);
    str_release(&c->word);
    *c = (struct bpe_cut){0};
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
static status add_pair(struct bpe_cut *c, size_t left, size_t right, struct err *err)
{
    if (left == SIZE_MAX || right == SIZE_MAX)
        return OK;
    const struct bpe_symbol *a = &c->symbol[left];
    const size_t n = a->n_bytes + c->symbol[right].n_bytes;
    const uint32_t id =
        n > c->longest ? TABLE_NONE : find_piece(c, c->word.data + a->at, n);
    if (id == TABLE_NONE)
        return OK;
    TRY(mem_grow(&c->pair, &c->cap_pairs, c->n_pairs + 1, sizeof *c->pair, err));
    c->pair[c->n_pairs] = (struct bpe_pair){id, left, right, n};
    return bpe_heap_push(&c->heap,
                         (struct bpe_heap_entry){rank_of(c->parts->piece[id].score),
                                                 (uint32_t)c->n_pairs++},
                         err);
}

/* c->word into its characters. */
static status split(struct bpe_cut *c, struct err *err)
{
    TRY(str_check(&c->word, "a word", err));
    c->n_symbols = 0;
    for (size_t at = 0; at < c->word.len;) {
        const size_t n = char_bytes(c->word.data + at, c->word.len - at),
                     i = c->n_symbols;
        TRY(mem_grow(&c->symbol, &c->cap_symbols, i + 1, sizeof *c->symbol, err));
        c->symbol[c->n_symbols++] = (struct bpe_symbol){
            at, n, i ? i - 1 : SIZE_MAX, i + 1, find_piece(c, c->word.data + at, n)};
        at += n;
    }
    c->symbol[c->n_symbols - 1].next = SIZE_MAX;
    return OK;
}

/* False when one of them has merged with another since. */
static bool is_there(const struct bpe_cut *c, const struct bpe_pair *m)
{
    const struct bpe_symbol *a = &c->symbol[m->left], *b = &c->symbol[m->right];

    return a->n_bytes && b->n_bytes && a->n_bytes + b->n_bytes == m->n_bytes;
}

static status merge(struct bpe_cut *c, const struct bpe_pair *m, struct err *err)
{
    struct bpe_symbol *a = &c->symbol[m->left], *b = &c->symbol[m->right];

    a->n_bytes = m->n_bytes;
    a->id = m->id;
    a->next = b->next;
    b->n_bytes = 0;
    if (a->next != SIZE_MAX)
        c->symbol[a->next].prev = m->left;
    TRY(add_pair(c, a->prev, m->left, err));
    return add_pair(c, m->left, a->next, err);
}

/* Merge the characters of c->word; each merge draws whether it is skipped. */
static status merge_all(struct bpe_cut *c, double rate, struct rng draws, struct err *err)
{
    TRY(split(c, err));
    c->n_pairs = c->heap.n = 0;
    for (size_t i = 1; i < c->n_symbols; i++)
        TRY(add_pair(c, i - 1, i, err));
    while (c->heap.n) {
        const struct bpe_pair p = c->pair[bpe_heap_pop(&c->heap).pair];
        if (is_there(c, &p) && !(rate > 0 && rng_unit(&draws) < rate))
            TRY(merge(c, &p, err));
    }
    return OK;
}

status bpe_cut_word(struct bpe_cut *c, struct line word, struct bpe_ids *ids,
                    struct err *err)
{
    str_reset(&c->word);
    str_puts(&c->word, space_mark);
    str_add(&c->word, word.text, word.n_bytes);
    TRY(merge_all(c, 0, (struct rng){0}, err));
    TRY(mem_grow(&ids->id, &ids->cap, ids->n + c->n_symbols, sizeof *ids->id, err));
    for (size_t i = 0; i != SIZE_MAX; i = c->symbol[i].next) {
        const uint32_t id = c->symbol[i].id == TABLE_NONE ? c->unknown : c->symbol[i].id;
        if (id == c->unknown && ids->n && ids->id[ids->n - 1] == id)
            continue;
        ids->id[ids->n++] = (uint16_t)id;
    }
    return OK;
}

/* --- once more, with dropout --- */

/* Whether an id spells something; the rest is taken as it is. */
static bool is_text(const struct bpe_cut *c, uint16_t id)
{
    return id < c->parts->n_pieces && c->parts->piece[id].kind == SPM_PARTS_NORMAL;
}

static bool begins_word(const struct bpe_cut *c, uint16_t id)
{
    const struct line text = c->parts->piece[id].text;

    return text.n_bytes >= 3 && memcmp(text.text, space_mark, 3) == 0;
}

/* How many of the n ids are one word, or the part of one beside an unknown. */
static size_t word_length(const struct bpe_cut *c, const uint16_t *id, size_t n)
{
    size_t i = 1;

    if (!is_text(c, id[0]))
        return 1;
    while (i < n && is_text(c, id[i]) && !begins_word(c, id[i]))
        i++;
    return i;
}

/* Merges that made these pieces: each left one symbol less than the characters were. */
static size_t count_merges(const struct bpe_cut *c, const uint16_t *id, size_t n)
{
    size_t n_chars = 0;

    for (size_t i = 0; i < n; i++) {
        const struct line text = c->parts->piece[id[i]].text;
        for (size_t at = 0; at < text.n_bytes; n_chars++)
            at += char_bytes(text.text + at, text.n_bytes - at);
    }
    return n_chars - n;
}

/* Whether a merge of the word is skipped. As long as none is, they are the merges that
 * made its pieces, so that most words need not be cut to know that they stay. */
static bool is_cut_otherwise(const struct bpe_cut *c, const uint16_t *id, size_t n,
                             double rate, struct rng draws)
{
    if (!is_text(c, id[0]))
        return false;
    for (size_t left = count_merges(c, id, n); left > 0; left--)
        if (rng_unit(&draws) < rate)
            return true;
    return false;
}

static status recut_word(struct bpe_cut *c, const uint16_t *id, size_t n, double rate,
                         struct rng draws, struct bpe_ids *out, struct err *err)
{
    const size_t start = out->n;

    str_reset(&c->word);
    for (size_t i = 0; i < n; i++)
        str_add(&c->word, c->parts->piece[id[i]].text.text,
                c->parts->piece[id[i]].text.n_bytes);
    TRY(merge_all(c, rate, draws, err));
    TRY(mem_grow(&out->id, &out->cap, out->n + c->n_symbols, sizeof *out->id, err));
    for (size_t i = 0; i != SIZE_MAX; i = c->symbol[i].next) {
        if (c->symbol[i].id == TABLE_NONE) { /* a piece of which a character is none */
            out->n = start;
            memcpy(out->id + start, id, n * sizeof *id);
            out->n += n;
            break;
        }
        out->id[out->n++] = (uint16_t)c->symbol[i].id;
    }
    return OK;
}

status bpe_cut_again(struct bpe_cut *c, const uint16_t *id, size_t n,
                     struct bpe_dropout how, struct bpe_ids *out, struct err *err)
{
    for (size_t at = 0, n_word, word = 0; at < n; at += n_word, word++) {
        const struct rng draws = rng_open(rng_hash(how.key, word));
        n_word = word_length(c, id + at, n - at);
        if (is_cut_otherwise(c, id + at, n_word, how.rate, draws)) {
            TRY(recut_word(c, id + at, n_word, how.rate, draws, out, err));
            continue;
        }
        TRY(mem_grow(&out->id, &out->cap, out->n + n_word, sizeof *out->id, err));
        memcpy(out->id + out->n, id + at, n_word * sizeof *id);
        out->n += n_word;
    }
    return OK;
}
