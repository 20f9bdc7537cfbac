#include "format/tf/sstable.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "format/crc32c.h"
#include "format/le.h"
#include "format/varint.h"

/* Prefix compression lets a small hostile file claim very many bytes of keys. */
#define ALL_KEYS_MAX ((size_t)64 << 20)

struct place {
    uint64_t at, n_bytes;
};

/* A walk over the entries of one block. */
struct walk {
    const unsigned char *block; /* entries, then restart points, then their count */
    size_t at, end;             /* of the entries */
    uint64_t block_at;          /* in the file, for messages */
    uint32_t next_restart, n_restarts;
    struct str key;
    const unsigned char *value;
    size_t n_value;
};

static size_t get_place(const unsigned char *p, size_t n, struct place *place)
{
    const size_t a = varint_get64(p, n, &place->at);
    const size_t b = a ? varint_get64(p + a, n - a, &place->n_bytes) : 0;

    return b ? a + b : 0;
}

static status read_footer(const unsigned char *bytes, size_t n_bytes, struct place *meta,
                          struct place *index, struct err *err)
{
    const size_t end = SSTABLE_FOOTER_BYTES - 8;
    size_t a, b;

    if (n_bytes < SSTABLE_FOOTER_BYTES)
        return err_set(err, ERR_FORMAT, "%zu bytes are too few for an index", n_bytes);
    const unsigned char *p = bytes + n_bytes - SSTABLE_FOOTER_BYTES;
    if (le_get64(p + end) != SSTABLE_MAGIC)
        return err_set(err, ERR_FORMAT,
                       "the last bytes are not those of an index; the file is "
                       "truncated or something else");
    a = get_place(p, end, meta);
    b = a ? get_place(p + a, end - a, index) : 0;
    if (!b)
        return err_set(err, ERR_FORMAT, "the footer is damaged");
    for (size_t i = a + b; i < end; i++)
        if (p[i])
            return err_set(err, ERR_FORMAT, "the footer is damaged");
    return OK;
}

/* Check one block's place, type and checksum and start at its first entry. */
static status walk_open(struct walk *w, const unsigned char *bytes, size_t n_bytes,
                        struct place place, struct err *err)
{
    const size_t room = n_bytes - SSTABLE_FOOTER_BYTES;

    if (place.at > room || place.n_bytes > room - place.at ||
        room - place.at - place.n_bytes < SSTABLE_TRAILER_BYTES || place.n_bytes < 4)
        return err_set(err, ERR_FORMAT, "a block of %llu bytes at %llu is out of bounds",
                       (unsigned long long)place.n_bytes, (unsigned long long)place.at);
    const unsigned char *p = bytes + place.at, *trailer = p + place.n_bytes;
    if (crc32c_mask(crc32c(0, p, (size_t)place.n_bytes + 1)) != le_get32(trailer + 1))
        return err_set(err, ERR_FORMAT, "the block at byte %llu fails its checksum",
                       (unsigned long long)place.at);
    if (*trailer != SSTABLE_PLAIN)
        return err_set(err, ERR_FORMAT,
                       "the block at byte %llu is compressed%s, which is not supported; "
                       "save it again without compression",
                       (unsigned long long)place.at,
                       *trailer == SSTABLE_SNAPPY ? " by snappy" : "");

    w->block = p;
    w->block_at = place.at;
    w->at = 0;
    w->next_restart = 0;
    w->n_restarts = le_get32(trailer - 4);
    str_reset(&w->key);
    if (w->n_restarts == 0 || w->n_restarts > (place.n_bytes - 4) / 4)
        return err_set(err, ERR_FORMAT, "the block at byte %llu counts %u restart points",
                       (unsigned long long)place.at, w->n_restarts);
    w->end = (size_t)place.n_bytes - 4 - (size_t)w->n_restarts * 4;
    return OK;
}

static status bad_entry(const struct walk *w, struct err *err)
{
    const unsigned long long at = w->block_at + w->at;

    return err_set(err, ERR_FORMAT, "the entry at byte %llu is malformed", at);
}

/* Whether entry `at` must be a restart point; each one is met once, in order. */
static bool at_restart(struct walk *w, size_t at)
{
    if (w->next_restart == w->n_restarts ||
        le_get32(w->block + w->end + (size_t)w->next_restart * 4) != at)
        return false;
    w->next_restart++;
    return true;
}

/* *more is false at the end of the block. */
static status walk_next(struct walk *w, bool *more, struct err *err)
{
    uint32_t shared, n_rest, n_value;
    size_t at = w->at;

    *more = w->at < w->end;
    if (!*more) { /* a block without entries still has the restart point 0 */
        if (w->end == 0 && !at_restart(w, 0))
            return bad_entry(w, err);
        return w->next_restart == w->n_restarts ? OK : bad_entry(w, err);
    }
    uint32_t *const field[] = {&shared, &n_rest, &n_value};
    for (int i = 0; i < 3; i++) {
        const size_t used = varint_get32(w->block + at, w->end - at, field[i]);
        if (!used)
            return bad_entry(w, err);
        at += used;
    }
    if (n_rest > w->end - at || n_value > w->end - at - n_rest || shared > w->key.len ||
        (at_restart(w, w->at) && shared) || (size_t)shared + n_rest > SSTABLE_KEY_MAX)
        return bad_entry(w, err);
    w->key.len = shared;
    str_add(&w->key, w->block + at, n_rest);
    w->value = w->block + at + n_rest;
    w->n_value = n_value;
    w->at = at + n_rest + n_value;
    return str_check(&w->key, "a key", err);
}

/* Keys are found by their offset until the last one is in: the string moves. */
static status add_entry(struct sstable *t, const struct walk *w, struct err *err)
{
    TRY(mem_grow(&t->entry, &t->cap, t->n + 1, sizeof *t->entry, err));
    t->entry[t->n++] = (struct sstable_entry){
        .n_key = w->key.len, .value = w->value, .n_value = w->n_value};
    str_add(&t->keys, str_text(&w->key), w->key.len);
    str_putc(&t->keys, '\0');
    return str_check(&t->keys, "the table's keys", err);
}

/* Entries of one data block, all above `low` (the last key so far). */
static status read_data(struct sstable *t, struct walk *w, struct str *low, bool *any,
                        struct err *err)
{
    for (bool more;;) {
        TRY(walk_next(w, &more, err));
        if (!more)
            return OK;
        if (*any && sstable_compare(w->key.data, w->key.len, low->data, low->len) <= 0)
            return err_set(err, ERR_FORMAT, "key '%s' is out of order",
                           str_text(&w->key));
        TRY(add_entry(t, w, err));
        str_reset(low);
        str_add(low, str_text(&w->key), w->key.len);
        *any = true;
    }
}

struct reader {
    struct walk index, data;
    struct str low; /* nothing below or at this key may follow, once any */
    bool any;
};

/* The blocks that the index lists. A separator is at or above every key of its block
 * and below every key of the next. */
static status read_blocks(struct sstable *t, struct reader *r, const unsigned char *bytes,
                          size_t n_bytes, struct err *err)
{
    for (bool more;;) {
        struct place place = {0};
        const struct str *separator = &r->index.key;

        TRY(walk_next(&r->index, &more, err));
        if (!more)
            return OK;
        if (get_place(r->index.value, r->index.n_value, &place) != r->index.n_value)
            return bad_entry(&r->index, err);
        TRY(walk_open(&r->data, bytes, n_bytes, place, err));
        TRY(read_data(t, &r->data, &r->low, &r->any, err));
        if (r->any &&
            sstable_compare(separator->data, separator->len, r->low.data, r->low.len) < 0)
            return err_set(err, ERR_FORMAT, "the index of blocks is out of order");
        str_reset(&r->low);
        str_add(&r->low, str_text(separator), separator->len);
        TRY(str_check(&r->low, "a key", err));
        r->any = true;
    }
}

static void resolve_keys(struct sstable *t)
{
    const char *key = str_text(&t->keys);

    for (size_t i = 0; i < t->n; i++) {
        t->entry[i].key = key;
        key += t->entry[i].n_key + 1;
    }
}

status sstable_read(struct sstable *t, const unsigned char *bytes, size_t n_bytes,
                    struct err *err)
{
    struct reader r = {0};
    struct place meta = {0}, index = {0};
    bool more = true;
    status result;

    *t = (struct sstable){.keys = str_new(ALL_KEYS_MAX)};
    result = read_footer(bytes, n_bytes, &meta, &index, err);
    if (result == OK)
        result = walk_open(&r.data, bytes, n_bytes, meta, err);
    while (result == OK && more)
        result = walk_next(&r.data, &more, err);
    if (result == OK)
        result = walk_open(&r.index, bytes, n_bytes, index, err);
    if (result == OK)
        result = read_blocks(t, &r, bytes, n_bytes, err);
    str_release(&r.data.key);
    str_release(&r.index.key);
    str_release(&r.low);
    if (result != OK)
        sstable_release(t);
    else
        resolve_keys(t);
    return result;
}

void sstable_release(struct sstable *t)
{
    free(t->entry);
    str_release(&t->keys);
    *t = (struct sstable){0};
}

const struct sstable_entry *sstable_find(const struct sstable *t, const void *key,
                                         size_t n_key)
{
    size_t lo = 0, hi = t->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        const struct sstable_entry *e = &t->entry[mid];
        const int order = sstable_compare(key, n_key, e->key, e->n_key);
        if (order == 0)
            return e;
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}
