#include "text/subword/bpe_cut.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char space_mark[] = "\xE2\x96\x81";

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

bool bpe_cut_fits(const struct spm_parts *parts)
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
    const struct bpe_cut_symbol *a = &c->symbol[left];
    const size_t n = a->n_bytes + c->symbol[right].n_bytes;
    const uint32_t id =
        n > c->longest ? TABLE_NONE : find_piece(c, c->word.data + a->at, n);
    if (id == TABLE_NONE)
        return OK;
    TRY(mem_grow(&c->pair, &c->cap_pairs, c->n_pairs + 1, sizeof *c->pair, err));
    c->pair[c->n_pairs] = (struct bpe_cut_pair){id, left, right, n};
    return bpe_heap_push(&c->heap,
                         (struct bpe_heap_entry){rank_of(c->parts->piece[id].score),
                                                 (uint32_t)c->n_pairs++},
                         err);
}

static status split(struct bpe_cut *c, struct line word, struct err *err)
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
        c->symbol[c->n_symbols++] = (struct bpe_cut_symbol){
            at, n, i ? i - 1 : SIZE_MAX, i + 1, find_piece(c, c->word.data + at, n)};
        at += n;
    }
    c->symbol[c->n_symbols - 1].next = SIZE_MAX;
    return OK;
}

static status merge(struct bpe_cut *c, const struct bpe_cut_pair *m, struct err *err)
{
    struct bpe_cut_symbol *a = &c->symbol[m->left], *b = &c->symbol[m->right];

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

status bpe_cut_word(struct bpe_cut *c, struct line word, struct bpe_cut_ids *ids,
                    size_t first, struct err *err)
{
    TRY(split(c, word, err));
    c->n_pairs = c->heap.n = 0;
    for (size_t i = 1; i < c->n_symbols; i++)
        TRY(add_pair(c, i - 1, i, err));
    while (c->heap.n) {
        const struct bpe_cut_pair p = c->pair[bpe_heap_pop(&c->heap).pair];
        TRY(merge(c, &p, err));
    }
    TRY(mem_grow(&ids->id, &ids->cap, ids->n + c->n_symbols, sizeof *ids->id, err));
    for (size_t i = 0; i != SIZE_MAX; i = c->symbol[i].next) {
        const uint32_t id = c->symbol[i].id == TABLE_NONE ? c->unknown : c->symbol[i].id;
        if (id == c->unknown && ids->n > first && ids->id[ids->n - 1] == id)
            continue;
        ids->id[ids->n++] = (uint16_t)id;
    }
    return OK;
}
