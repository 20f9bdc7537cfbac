/*
 * Words start as characters. The most frequent pair of neighbours becomes a piece and is
 * merged wherever it stands, until there are enough pieces; the characters follow, most
 * frequent first. A piece has at most 16 characters, all of one script, and a space mark
 * only in front. Ties go to the shorter piece, then to the first by its characters; a
 * piece that two pairs spell is taken once, and the second pair is not merged. A pair
 * that has died out still counts as one that occurs 0 times. All this as SentencePiece
 * does.
 *
 * Where SentencePiece looks for the best pair again and again, counts are kept exact
 * here while merging, so that learning takes time in proportion to the merges made.
 */
#include "text/subword/spm_train.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "base/utf8.h"
#include "text/subword/bpe_heap.h"
#include "text/subword/bpe_words.h"
#include "text/subword/script.h"
#include "text/subword/spm_parts.h"

enum { MAX_CHARS = 16, MAX_BYTES = 4 * MAX_CHARS, AHEAD = 12 };

/* A character or an accepted merge. */
struct symbol {
    size_t at; /* its bytes in the text */
    unsigned char n_bytes, n_chars;
    bool is_space; /* starts with the space mark */
    unsigned script;
};

/* Two symbols that stood side by side when the younger of them appeared. */
struct pair {
    uint32_t left, right;
    uint64_t count; /* how often they do now */
    uint64_t freq;  /* how often they did when last asked: that of the valid heap entry */
    union {
        uint32_t one, *many;
    } at; /* cells of the left ones, rising; some may be out of date */
    uint32_t n_at;
    bool is_lent;  /* `many` belongs to the block of the first pairs */
    bool is_stale; /* freq is out of date */
    bool is_active;
};

/* A pair that appears while another is merged. */
struct fresh {
    uint32_t left, right;
    uint64_t count;
    uint32_t n_at;
    bool is_valid;
};

/* What merging does to the pairs that a neighbour makes. */
struct neighbour {
    uint64_t n_lost;
    uint32_t fresh; /* 1 + index, 0: none yet */
    bool is_touched;
};

/* The neighbours on one side of what is merged. */
struct side {
    struct neighbour *of; /* by symbol; zero between merges */
    uint32_t *touched;    /* the symbols that are not zero */
    size_t n_touched;
};

struct occurrence {
    uint32_t fresh, at;
};

struct learner {
    struct bpe_words words;
    struct str text;
    struct symbol *symbol;
    size_t n_symbols, cap_symbols;
    struct pair *pair;
    size_t n_pairs, cap_pairs;
    struct table pair_table;
    uint32_t *block; /* occurrences of the first pairs */
    struct bpe_heap heap;
    struct table taken; /* symbols by the spelling of the merge that made them */

    struct side before, after;
    struct fresh *fresh;
    size_t n_fresh, cap_fresh;
    struct occurrence *occurrence;
    size_t n_occurrences, cap_occurrences;
};

/* --- spelling --- */

static bool is_unknown(const struct learner *l, uint32_t symbol)
{
    return symbol == l->words.n_chars;
}

static size_t spell(const struct learner *l, uint32_t left, uint32_t right,
                    char out[MAX_BYTES])
{
    const struct symbol *a = &l->symbol[left], *b = &l->symbol[right];

    memcpy(out, l->text.data + a->at, a->n_bytes);
    memcpy(out + a->n_bytes, l->text.data + b->at, b->n_bytes);
    return (size_t)a->n_bytes + b->n_bytes;
}

/* Order of equally frequent pairs: the longer one, or the later by its characters. */
static bool is_after(const void *ctx, uint32_t x, uint32_t y)
{
    const struct learner *l = ctx;
    const struct pair *a = &l->pair[x], *b = &l->pair[y];
    const int n_a = l->symbol[a->left].n_chars + l->symbol[a->right].n_chars;
    const int n_b = l->symbol[b->left].n_chars + l->symbol[b->right].n_chars;
    char text_a[MAX_BYTES], text_b[MAX_BYTES];

    if (n_a != n_b)
        return n_a > n_b;
    const size_t bytes_a = spell(l, a->left, a->right, text_a);
    const size_t bytes_b = spell(l, b->left, b->right, text_b);
    const int d = memcmp(text_a, text_b, bytes_a < bytes_b ? bytes_a : bytes_b);
    return d ? d > 0 : bytes_a > bytes_b;
}

static bool is_piece(const struct learner *l, uint32_t left, uint32_t right)
{
    const struct symbol *a = &l->symbol[left], *b = &l->symbol[right];

    return !is_unknown(l, left) && !is_unknown(l, right) &&
           a->n_chars + b->n_chars <= MAX_CHARS && !b->is_space &&
           (a->script == SCRIPT_ANY || b->script == SCRIPT_ANY || a->script == b->script);
}

/* Append a symbol whose bytes are the last n_bytes of the text. */
static status add_symbol(struct learner *l, struct symbol s, struct err *err)
{
    TRY(str_check(&l->text, "the pieces", err));
    TRY(mem_grow(&l->symbol, &l->cap_symbols, l->n_symbols + 1, sizeof *l->symbol, err));
    s.at = l->text.len - s.n_bytes;
    l->symbol[l->n_symbols++] = s;
    return OK;
}

static status add_character(struct learner *l, uint32_t code, struct err *err)
{
    char bytes[4];
    const size_t n = utf8_encode(bytes, code);
    const bool is_space = code == BPE_WORDS_SPACE;

    str_add(&l->text, bytes, n);
    return add_symbol(l,
                      (struct symbol){.n_bytes = (unsigned char)n,
                                      .n_chars = 1,
                                      .is_space = is_space,
                                      .script = is_space ? SCRIPT_ANY : script_of(code)},
                      err);
}

static status add_merge(struct learner *l, uint32_t left, uint32_t right, struct err *err)
{
    const struct symbol a = l->symbol[left], b = l->symbol[right];
    char bytes[MAX_BYTES];

    str_add(&l->text, bytes, spell(l, left, right, bytes));
    return add_symbol(
        l,
        (struct symbol){.n_bytes = (unsigned char)(a.n_bytes + b.n_bytes),
                        .n_chars = (unsigned char)(a.n_chars + b.n_chars),
                        .is_space = a.is_space,
                        .script = a.script == SCRIPT_ANY ? b.script : a.script},
        err);
}

/* --- the table of pairs --- */

static uint64_t hash_pair(uint32_t left, uint32_t right)
{
    return table_mix(((uint64_t)left << 32 | right) + 1, 0x9E3779B97F4A7C15u);
}

static struct pair *find_pair(const struct learner *l, uint32_t left, uint32_t right)
{
    struct table_search s = table_search(&l->pair_table, hash_pair(left, right));

    for (uint32_t i; (i = table_next(&s)) != TABLE_NONE;)
        if (l->pair[i].left == left && l->pair[i].right == right)
            return &l->pair[i];
    return NULL;
}

static status add_pair(struct learner *l, struct pair p, struct err *err)
{
    TRY(mem_grow(&l->pair, &l->cap_pairs, l->n_pairs + 1, sizeof *l->pair, err));
    TRY(table_add(&l->pair_table, hash_pair(p.left, p.right), (uint32_t)l->n_pairs, err));
    l->pair[l->n_pairs++] = p;
    return OK;
}

static const uint32_t *occurrences_of(const struct pair *p)
{
    return p->n_at == 1 && !p->is_lent ? &p->at.one : p->at.many;
}

static void drop_occurrences(struct pair *p)
{
    if (p->n_at > 1 && !p->is_lent)
        free(p->at.many);
    p->n_at = 0;
}

static status push(struct learner *l, uint32_t index, struct err *err)
{
    struct pair *p = &l->pair[index];

    p->freq = p->count;
    p->is_stale = false;
    return bpe_heap_push(&l->heap, (struct bpe_heap_entry){p->freq, index}, err);
}

/* --- the first pairs: neighbouring characters --- */

static status count_first(struct learner *l, struct err *err)
{
    const struct bpe_words *b = &l->words;
    uint64_t count = 0;

    for (size_t i = 0; i + 1 < b->n_cells; i++) {
        const uint32_t left = b->cell[i], right = b->cell[i + 1];
        if (left & BPE_WORDS_HEAD) {
            count = b->count[left & BPE_WORDS_MASK];
            continue;
        }
        if (right & BPE_WORDS_HEAD)
            continue;
        struct pair *p = find_pair(l, left, right);
        if (!p) {
            TRY(add_pair(l,
                         (struct pair){.left = left,
                                       .right = right,
                                       .is_lent = true,
                                       .is_active = is_piece(l, left, right)},
                         err));
            p = &l->pair[l->n_pairs - 1];
        }
        p->count += count;
        p->n_at++;
    }
    return OK;
}

static status index_first(struct learner *l, struct err *err)
{
    const struct bpe_words *b = &l->words;
    size_t n = 0;

    TRY(mem_alloc(&l->block, b->n_cells, sizeof *l->block, err));
    for (size_t i = 0; i < l->n_pairs; i++) {
        struct pair *p = &l->pair[i];
        const uint32_t n_at = p->n_at;
        p->at.many = l->block + n;
        p->n_at = 0;
        n += p->is_active ? n_at : 0;
    }
    for (size_t i = 1; i + 1 < b->n_cells; i++) {
        if ((b->cell[i] | b->cell[i + 1]) & BPE_WORDS_HEAD)
            continue;
        struct pair *p = find_pair(l, b->cell[i], b->cell[i + 1]);
        if (p->is_active)
            p->at.many[p->n_at++] = (uint32_t)i;
    }
    return OK;
}

static status make_first(struct learner *l, struct err *err)
{
    TRY(count_first(l, err));
    TRY(index_first(l, err));
    for (uint32_t i = 0; i < l->n_pairs; i++)
        if (l->pair[i].is_active)
            TRY(push(l, i, err));
    return OK;
}

/* --- merging --- */

static struct neighbour *touch(struct side *side, uint32_t symbol)
{
    if (!side->of[symbol].is_touched)
        side->touched[side->n_touched++] = symbol;
    side->of[symbol].is_touched = true;
    return &side->of[symbol];
}

/* `left` and `right`, one of which is new, now stand side by side at cell `at`. */
static status add_neighbours(struct learner *l, struct neighbour *n, uint32_t left,
                             uint32_t right, size_t at, uint64_t count, struct err *err)
{
    if (!n->fresh) {
        TRY(mem_grow(&l->fresh, &l->cap_fresh, l->n_fresh + 1, sizeof *l->fresh, err));
        l->fresh[l->n_fresh] = (struct fresh){
            .left = left, .right = right, .is_valid = is_piece(l, left, right)};
        n->fresh = (uint32_t)++l->n_fresh;
    }
    struct fresh *f = &l->fresh[n->fresh - 1];
    if (!f->is_valid)
        return OK;
    f->count += count;
    f->n_at++;
    TRY(mem_grow(&l->occurrence, &l->cap_occurrences, l->n_occurrences + 1,
                 sizeof *l->occurrence, err));
    l->occurrence[l->n_occurrences++] = (struct occurrence){n->fresh - 1, (uint32_t)at};
    return OK;
}

/* Make `merged` of the symbol `left`, which stands at cell `at`, and the one after it. */
static status merge_at(struct learner *l, size_t at, uint32_t left, uint32_t merged,
                       struct err *err)
{
    struct bpe_words *b = &l->words;
    const size_t n_left = l->symbol[left].n_chars, n = l->symbol[merged].n_chars;
    const size_t before = bpe_words_before(b, at), after = at + n;
    const uint32_t next = b->cell[after];
    const uint64_t count = bpe_words_count(b, at);

    b->cell[at] = merged;
    b->cell[at + n_left] = BPE_WORDS_BACK; /* no symbol starts here any more */
    b->cell[at + n - 1] = BPE_WORDS_BACK | (uint32_t)(n - 1);
    if (before && b->cell[before] == merged) { /* a moment ago `left` stood after it */
        const struct neighbour *lost = touch(&l->after, left);
        if (lost->fresh && l->fresh[lost->fresh - 1].is_valid)
            l->fresh[lost->fresh - 1].count -= count;
        struct neighbour *twin = touch(&l->after, merged);
        TRY(add_neighbours(l, twin, merged, merged, before, count, err));
    } else if (before) {
        struct neighbour *prev = touch(&l->before, b->cell[before]);
        prev->n_lost += count;
        TRY(add_neighbours(l, prev, b->cell[before], merged, before, count, err));
    }
    if (next & BPE_WORDS_HEAD)
        return OK;
    struct neighbour *follows = touch(&l->after, next);
    follows->n_lost += count;
    return add_neighbours(l, follows, merged, next, at, count, err);
}

static void lose(struct learner *l, uint32_t left, uint32_t right, uint64_t count)
{
    struct pair *p = count ? find_pair(l, left, right) : NULL;

    if (!p || !p->is_active)
        return;
    p->count -= count;
    p->is_stale = true;
    if (p->count == 0)
        drop_occurrences(p);
}

/* The next symbol that was touched, whose scratch space is cleared; *n_lost its pairs. */
static bool forget(struct side *side, uint32_t *symbol, uint64_t *n_lost)
{
    if (!side->n_touched)
        return false;
    *symbol = side->touched[--side->n_touched];
    *n_lost = side->of[*symbol].n_lost;
    side->of[*symbol] = (struct neighbour){0};
    return true;
}

/* Add the fresh pairs in the order in which they appeared. */
static status add_fresh(struct learner *l, struct err *err)
{
    const size_t first = l->n_pairs;

    for (size_t i = 0; i < l->n_fresh; i++) {
        struct fresh *f = &l->fresh[i];
        struct pair p = {
            .left = f->left, .right = f->right, .count = f->count, .is_active = true};
        if (!f->is_valid)
            continue;
        if (f->n_at > 1)
            TRY(mem_alloc(&p.at.many, f->n_at, sizeof *p.at.many, err));
        p.n_at = f->n_at;
        f->n_at = 0;
        f->left = (uint32_t)l->n_pairs;
        const status s = add_pair(l, p, err);
        if (s != OK) {
            drop_occurrences(&p);
            return s;
        }
    }
    for (size_t i = 0; i < l->n_occurrences; i++) {
        struct fresh *f = &l->fresh[l->occurrence[i].fresh];
        struct pair *p = &l->pair[f->left];
        *(p->n_at > 1 ? &p->at.many[f->n_at++] : &p->at.one) = l->occurrence[i].at;
    }
    l->n_fresh = l->n_occurrences = 0;
    for (size_t i = first; i < l->n_pairs; i++)
        TRY(push(l, (uint32_t)i, err));
    return OK;
}

static status merge_pair(struct learner *l, uint32_t index, struct err *err)
{
    struct pair *p = &l->pair[index];
    const uint32_t left = p->left, right = p->right, merged = (uint32_t)l->n_symbols;
    const uint32_t *at = occurrences_of(p);
    uint32_t other;
    uint64_t n_lost;

    p->is_active = false;
    TRY(add_merge(l, left, right, err));
    const size_t n_left = l->symbol[left].n_chars;
    for (size_t i = 0; i < p->n_at; i++) {
        if (i + AHEAD < p->n_at) /* they are far apart in memory */
            __builtin_prefetch(&l->words.cell[at[i + AHEAD]]);
        if (l->words.cell[at[i]] == left && l->words.cell[at[i] + n_left] == right)
            TRY(merge_at(l, at[i], left, merged, err));
    }
    drop_occurrences(p);
    while (forget(&l->before, &other, &n_lost))
        lose(l, other, left, n_lost);
    while (forget(&l->after, &other, &n_lost))
        lose(l, right, other, n_lost);
    return add_fresh(l, err);
}

/* --- choosing --- */

/* *is_new when no merge is spelt like the pair; the next symbol will be. */
static status take_spelling(struct learner *l, const struct pair *p, bool *is_new,
                            struct err *err)
{
    char text[MAX_BYTES];
    const size_t n = spell(l, p->left, p->right, text);
    const uint64_t hash = table_hash(text, n);
    struct table_search search = table_search(&l->taken, hash);

    *is_new = false;
    for (uint32_t i; (i = table_next(&search)) != TABLE_NONE;) {
        const struct symbol *s = &l->symbol[i];
        if (s->n_bytes == n && memcmp(l->text.data + s->at, text, n) == 0)
            return OK;
    }
    *is_new = true;
    return table_add(&l->taken, hash, (uint32_t)l->n_symbols, err);
}

/* The best pair in *index; false when there is none left. */
static status choose(struct learner *l, uint32_t *index, bool *is_found, struct err *err)
{
    *is_found = false;
    while (l->heap.n) {
        const struct bpe_heap_entry e = bpe_heap_pop(&l->heap);
        struct pair *p = &l->pair[e.pair];
        if (!p->is_active || e.rank != p->freq)
            continue;
        if (p->is_stale) {
            TRY(push(l, e.pair, err));
            continue;
        }
        TRY(take_spelling(l, p, is_found, err));
        if (*is_found) {
            *index = e.pair;
            return OK;
        }
        p->is_active = false;
        drop_occurrences(p);
    }
    return OK;
}

static status side_init(struct side *side, size_t n_symbols, struct err *err)
{
    TRY(mem_alloc(&side->of, n_symbols, sizeof *side->of, err));
    return mem_alloc(&side->touched, n_symbols, sizeof *side->touched, err);
}

static status prepare(struct learner *l, size_t n_merges, struct err *err)
{
    const size_t n_symbols = l->words.n_chars + 1 + n_merges;

    for (size_t i = 0; i < l->words.n_chars; i++)
        TRY(add_character(l, l->words.code[i], err));
    TRY(add_symbol(l, (struct symbol){.n_chars = 1}, err)); /* the unknown one */
    TRY(side_init(&l->before, n_symbols, err));
    return side_init(&l->after, n_symbols, err);
}

static void release(struct learner *l)
{
    for (size_t i = 0; i < l->n_pairs; i++)
        drop_occurrences(&l->pair[i]);
    bpe_words_release(&l->words);
    bpe_heap_release(&l->heap);
    str_release(&l->text);
    free(l->symbol);
    free(l->pair);
    table_release(&l->pair_table);
    free(l->block);
    table_release(&l->taken);
    free(l->before.of);
    free(l->before.touched);
    free(l->after.of);
    free(l->after.touched);
    free(l->fresh);
    free(l->occurrence);
}

/* --- the model file --- */

static void put_specials(struct str *out, const struct spm_train_options *o)
{
    static const char *const name[ID_N_SPECIAL] = {
        [ID_PAD] = "<pad>", [ID_EOS] = "</s>", [ID_BOS] = "<s>", [ID_UNK] = "<unk>"};

    for (size_t i = 0; i < ID_N_SPECIAL; i++)
        spm_parts_put_piece(
            out, &(struct spm_parts_piece){.text = {name[i], strlen(name[i])},
                                           .kind = i == ID_UNK ? SPM_PARTS_UNKNOWN
                                                               : SPM_PARTS_CONTROL});
    for (size_t i = 0; i < o->n_marks; i++)
        spm_parts_put_piece(
            out, &(struct spm_parts_piece){.text = {o->mark[i], strlen(o->mark[i])},
                                           .kind = SPM_PARTS_CONTROL});
}

/* The symbol as the n-th piece, which is then counted. */
static void put_piece(struct str *out, const struct learner *l, size_t symbol, size_t *n)
{
    const struct symbol *s = &l->symbol[symbol];

    spm_parts_put_piece(
        out, &(struct spm_parts_piece){.text = {l->text.data + s->at, s->n_bytes},
                                       .score = -(float)(*n)++,
                                       .kind = SPM_PARTS_NORMAL});
}

/* At most n_wanted pieces, *n_pieces in the end, the characters last. */
static status learn(struct str *out, struct learner *l, size_t n_wanted, size_t *n_pieces,
                    struct err *err)
{
    const size_t n_chars = l->words.n_chars;
    bool is_found = true;
    uint32_t best;

    TRY(prepare(l, n_wanted - n_chars, err));
    TRY(make_first(l, err));
    for (*n_pieces = 0; *n_pieces + n_chars < n_wanted;) {
        TRY(choose(l, &best, &is_found, err));
        if (!is_found)
            break;
        TRY(merge_pair(l, best, err));
        put_piece(out, l, l->n_symbols - 1, n_pieces);
    }
    for (size_t i = 0; i < n_chars; i++)
        put_piece(out, l, i, n_pieces);
    return OK;
}

/* Our pieces, and settings and rules as SentencePiece writes them. */
static status write_model(struct str *out, struct learner *l, struct spm_train_options o,
                          const struct word_counts *words, struct err *err)
{
    const struct line rest = spm_bytes(word_counts_rules(words));
    const size_t n_special = ID_N_SPECIAL + o.n_marks;
    size_t n;

    TRY(bpe_words_make(&l->words, words, err));
    const size_t least = l->words.n_chars + n_special + o.n_merges;
    if (o.n_merges && least > o.vocab_size)
        o.vocab_size = least < SPM_VOCAB_MAX ? least : SPM_VOCAB_MAX;
    if (l->words.n_chars + n_special > o.vocab_size)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %zu: the text has so many different characters "
                       "that at least %zu pieces are needed",
                       o.vocab_size, l->words.n_chars + n_special);
    put_specials(out, &o);
    TRY(learn(out, l, o.vocab_size - n_special, &n, err));
    n += n_special;
    if (n < o.vocab_size && !o.is_at_most)
        return err_set(err, ERR_USAGE,
                       "vocab_size = %zu: the text gives only %zu pieces; take at most "
                       "that many",
                       o.vocab_size, n);
    return spm_parts_put_rest(out, rest.text, rest.n_bytes, n, !o.is_at_most, err);
}

status spm_train_words(struct spm **spm, struct spm_train_options o,
                       const struct word_counts *words, struct err *err)
{
    RELEASED_BY(str_release) struct str bytes = str_new(0);
    RELEASED_BY(release) struct learner l = {.text = str_new(0)};

    *spm = NULL;
    l.heap.is_after = is_after;
    l.heap.ctx = &l;
    if (o.vocab_size <= ID_N_SPECIAL || o.vocab_size > SPM_VOCAB_MAX)
        return err_set(err, ERR_USAGE, "vocab_size = %zu: want %d to %d", o.vocab_size,
                       ID_N_SPECIAL + 1, SPM_VOCAB_MAX);
    if (word_counts_size(words) == 0)
        return err_set(err, ERR_FORMAT, "there is no text to learn word pieces from");
    TRY(write_model(&bytes, &l, o, words, err));
    return spm_parse(spm, str_text(&bytes), bytes.len, err);
}
