#include "text/subword/encoder.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/table.h"
#include "text/subword/bpe_cut.h"
#include "text/subword/normalizer.h"
#include "text/subword/spm_parts.h"

enum { MAX_KEY = 255, MAX_IDS = 255, LEAST_CACHE = 1 << 16 };
static const size_t default_cache = (size_t)32 << 20;
static const size_t most_cache = (size_t)6 << 30; /* places in its store have 32 bits */

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
    struct bpe_cut cut;
    struct cache cache;
    struct str line;
    struct bpe_ids ids;
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
        TRY(bpe_cut_word(&e->cut, (struct line){word, (size_t)(s - word)}, &e->ids, err));
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
    if (!bpe_cut_can(&e->parts))
        return OK;
    TRY(normalizer_init(&e->normalizer, e->parts.charsmap, err));
    if (!e->normalizer.is_plain)
        return OK;
    TRY(bpe_cut_init(&e->cut, &e->parts, err));
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
    bpe_cut_release(&e->cut);
    spm_parts_release(&e->parts);
    str_release(&e->line);
    bpe_cut_ids_release(&e->ids);
    table_release(&e->cache.table);
    free(e->cache.store);
    free(e);
}

bool encoder_is_own(const struct encoder *e)
{
    return e->is_own;
}

status encoder_recut(struct encoder *e, const uint16_t *id, size_t n,
                     struct bpe_dropout how, struct bpe_ids *out, struct err *err)
{
    BUG_ON(!e->is_own);
    return bpe_cut_again(&e->cut, id, n, how, out, err);
}

status encoder_encode(struct encoder *e, struct line text, struct spm_ids *ids,
                      struct err *err)
{
    return e->is_own ? encode_own(e, text, ids, err) : spm_encode(e->spm, text, ids, err);
}
